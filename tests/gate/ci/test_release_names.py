"""Test which commit the name of a release means."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.base.errors import InputError
from sizeguard.gate.reference.history import History
from tests.support.histories.drawn_history import run_git


def test_a_branch_of_a_change_is_no_release(tmp_path: Path) -> None:
    """Name a branch like a release, in a clone without the tag."""
    run_git(tmp_path, "init", "-q", "-b", "v1.0")
    run_git(tmp_path, "commit", "-q", "--allow-empty", "-m", "release")
    release = run_git(tmp_path, "rev-parse", "HEAD")
    with pytest.raises(InputError, match=r"'v1\.0' is a branch in .*, not a tag or commit"):
        History(tmp_path).commit("v1.0")
    run_git(tmp_path, "tag", "v1.0")
    run_git(tmp_path, "commit", "-q", "--allow-empty", "-m", "growth")
    for name in ("v1.0", release, release[:10], "HEAD~1"):
        assert History(tmp_path).commit(name).id == release
