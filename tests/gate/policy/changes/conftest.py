"""A repository whose terms tests change."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.gate.reference.ci_event import VARIABLES
from tests.support.histories.drawn_history import run_git
from tests.support.places import ROOT
from tests.support.tricks.changed_projects import PROJECT
from tests.support.tricks.policy_repository import commit, write


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a repository with the project on main and a branch `work` that begins there."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    run_git(tmp_path, "init", "-q", "-b", "main")
    lists = ("native/operators/operators.yaml", "native/prepacked/operators.yaml")
    write(tmp_path, {**PROJECT, **{path: (ROOT / path).read_text() for path in lists}})
    commit(tmp_path, "project")
    run_git(tmp_path, "checkout", "-q", "-b", "work")
    return tmp_path
