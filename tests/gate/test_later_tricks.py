"""More ways to hide growth of another project: none passes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.tricks.any_project import made_project
from tests.support.tricks.later_tricks import TRICKS
from tests.support.tricks.shipped_tricks import SHIPPED

pytestmark = pytest.mark.native


def put(root: Path, files: Mapping[str | bytes, str | None], links: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = root / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(text)
    for name, target in links.items():
        (root / name).unlink(missing_ok=True)
        (root / name).symlink_to(target)


ALL = {**TRICKS, **SHIPPED}


@pytest.mark.parametrize("way", ALL)
def test_growth_is_seen(tmp_path: Path, way: str) -> None:
    """From an empty store, and again with what it knows then."""
    told = ALL[way]
    project = made_project(tmp_path, told.config, {"README": "words\n"})
    put(tmp_path, told.base, told.links[0])
    project.commit("Base")
    project.git("checkout", "-q", "-b", "work")
    put(tmp_path, told.change, told.links[1])
    if told.then:
        project.write({"sizeguard.yaml": told.then})
    project.commit("Change")
    for _ in range(2):
        done = project.run("gate", "--base", "main", "--format", "json")
        assert done.code in told.codes, done.out
