"""A full build that `verify --full` names has to be one, made by the same tools."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sizeguard.base.errors import InputError
from sizeguard.builds.build_record import Build
from sizeguard.gate.verified_builds import check_full


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"variant": "selective"}, "is not a full build: run `sizeguard build full`"),
        ({"variant": "core"}, "is not a full build"),
        ({"target": "aarch64-linux"}, "is a full build for aarch64-linux gcc"),
        ({"toolchain": "clang-19.1-lld-19.1"}, "for x86_64-linux clang-19.1-lld-19.1 -Os; needed"),
        ({"optimize": "2"}, "-O2; needed: x86_64-linux gcc"),
        ({"lto": "full"}, "-Os lto full; needed"),
    ],
)
def test_other_builds_are_no_full_builds(
    recorded_build: Build, changes: dict[str, Any], message: str
) -> None:
    full = replace(recorded_build, variant="full")
    check_full(full, recorded_build)
    check_full(full, None)
    check_full(None, recorded_build)
    with pytest.raises(InputError, match=message):
        check_full(replace(full, **changes), recorded_build)
