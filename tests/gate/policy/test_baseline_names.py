"""Baselines of targets whose names begin alike: x86 and x86.debug."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sizeguard.gate.policy.baselines import FOLDER, baseline_text, other_toolchains
from sizeguard.gate.review_result import Baseline
from sizeguard.history.reviewed_sizes import CommitBaselines
from tests.support.histories.git_runs import git


class _Built:
    """What a baseline's path needs of a build."""

    app, target, variant, toolchain = "app", "x86", "image", "gcc-12.2"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a repository with a baseline for x86.debug."""
    git(tmp_path, "init", "-q")
    _write(tmp_path, "x86.debug", 9000)
    return tmp_path


def _write(root: Path, target: str, load: int) -> None:
    found = Baseline("app", target, "gcc-12.2", load, 0, load, {})
    path = root / FOLDER / f"app.{target}.gcc-12.2.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(baseline_text(found))
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", target)


def test_a_baseline_of_a_longer_target_is_not_one_for_other_tools(root: Path) -> None:
    """A cap would seem to be set for the tools `debug.gcc-12.2`, and would not be checked."""
    build: Any = _Built()
    assert other_toolchains(root, build) == []
    _write(root, "x86", 100)
    assert other_toolchains(root, build) == ["gcc-12.2"]
    (root / FOLDER / "app.x86.gcc-13.yaml").write_text("damaged")
    assert other_toolchains(root, build) == ["gcc-12.2", "gcc-13"]


def test_a_history_has_the_sizes_of_its_own_target(root: Path) -> None:
    found, why = CommitBaselines(root, "HEAD").of("app", "x86", "gcc-12.2")
    assert (found, why) == (None, "not measured, and it has no baseline")
    _write(root, "x86", 100)
    for toolchain in ("gcc-12.2", ""):
        found, _ = CommitBaselines(root, "HEAD").of("app", "x86", toolchain)
        assert found is not None
        assert found.load == 100
