"""JSON deeper than Python's stack is refused in one line, or ignored if it is a cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sizeguard.base.errors import InputError
from sizeguard.builds.build_record import RECORD, read_build
from sizeguard.builds.link_record import read_link_record
from sizeguard.claims.names_file import read_names
from sizeguard.gate.causes.dependencies import _of_vcpkg
from sizeguard.runtimes.sizeguard.source_facts import read_listed

DEEP = "[" * 100_000


@pytest.mark.parametrize("read", [read_build, read_link_record, read_names, read_listed])
def test_a_file_of_brackets_is_refused(read: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / RECORD
    path.write_text(DEEP)
    with pytest.raises(InputError, match="JSON") as error:
        read(path)
    assert "\n" not in str(error.value)


def test_a_manifest_of_brackets_has_no_versions() -> None:
    assert _of_vcpkg(DEEP) == {}
