"""Repositories and commits that tests of references share."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from sizeguard.gate.reference import reference
from sizeguard.gate.reference.ci_event import VARIABLES
from tests.support.histories.drawn_history import run_git
from tests.support.histories.made_up_commits import COMMIT, HEAD, Commits, World


@pytest.fixture(scope="module")
def made_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a branch `work` with two commits, which starts at the second of main's three."""
    root = tmp_path_factory.mktemp("made")
    run_git(root, "init", "-q", "-b", "main")
    for branch, message in (
        ("main", "one"),
        ("main", "two"),
        ("work", "three"),
        ("work", "four"),
        ("main", "five"),
    ):
        if run_git(root, "branch", "--show-current") != branch:
            run_git(
                root,
                "checkout",
                "-q",
                *(["-b"] if branch == "work" and message == "three" else []),
                branch,
            )
        (root / "native").mkdir(exist_ok=True)
        (root / "native" / "code.cpp").write_text(message)
        run_git(root, "add", "-A")
        run_git(root, "commit", "-q", "-m", message)
    run_git(root, "checkout", "-q", "work")
    return root


@pytest.fixture
def repository(made_repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the repository that is made once: 30 tests change it, and git takes 0.1 s to make it."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    shutil.copytree(made_repository, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    history = Commits(tmp_path, texts={COMMIT: b"reviewed", HEAD: b"reviewed"})
    made = World(tmp_path, history)
    (tmp_path / "a.yaml").write_text("reviewed")

    def keep(place: object, commit: str, recipe: object, facts: Any, analysis: object) -> None:
        history.kept.append((commit, facts, analysis))

    for name, value in {
        "reviewed_reference": lambda root, subject: made.reviewed,
        "baseline_path": lambda root, build: tmp_path / "a.yaml",
        "toolchain_key": lambda build: "gcc",
        "has_baseline": lambda root, app: made.has_baseline,
        "other_toolchains": lambda root, build: made.others,
        "differing_inputs": lambda root, commit, read: made.differing.get(commit, []),
        "foreign_inputs": lambda read, root: made.foreign,
        "find_measured": lambda place, commit, key: "found" if commit in made.measured else None,
        "measured_as": lambda analysis, subject: analysis,
        "measurement_of_baseline": lambda baseline: baseline,
        "input_changes": lambda *_: made.changed,
        "keep_measured": keep,
        "how_to_fetch": lambda root: "fetch",
    }.items():
        monkeypatch.setattr(reference, name, value)
    return made
