"""What a bisect must not confuse: a merged branch with its removal, variables with each other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from sizeguard.base.errors import InputError
from sizeguard.git.commits import read_history
from sizeguard.history.points_in_time import commits
from sizeguard.projects import command
from sizeguard.toolchains import native_code
from tests.support.histories.drawn_history import run_git


def _commit(root: Path, message: str) -> str:
    run_git(root, "commit", "-q", "--allow-empty", "-m", message)
    return run_git(root, "rev-parse", "HEAD")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a repository with a commit."""
    run_git(tmp_path, "init", "-q", "-b", "main")
    _commit(tmp_path, "first")
    return tmp_path


def test_a_bisect_does_not_begin_on_a_merged_branch(root: Path) -> None:
    """The next commit of the main line lacks the branch, and would be blamed for its removal."""
    first = run_git(root, "rev-parse", "HEAD")
    run_git(root, "checkout", "-q", "-b", "side")
    side = _commit(root, "side")
    run_git(root, "checkout", "-q", "main")
    _commit(root, "main")
    run_git(root, "merge", "-q", "--no-ff", "-m", "merge", "side")
    bad = run_git(root, "rev-parse", "HEAD")
    with pytest.raises(InputError, match=f"side is on a branch .* where it began, at {first[:12]}"):
        read_history(root, ("side", "main"), (side, bad))
    assert len(read_history(root, ("first", "main"), (first, bad))) == 2
    assert len(read_history(root, ("main", "main"), (bad, bad))) == 0


def test_a_history_names_the_commit_where_a_merged_branch_began(root: Path) -> None:
    run_git(root, "checkout", "-q", "-b", "side")
    _commit(root, "side")
    run_git(root, "checkout", "-q", "main")
    _commit(root, "main")
    run_git(root, "merge", "-q", "--no-ff", "-m", "merge", "side")
    for since, expected in (("side", ["side", "first", "main", "merge"]), ("main", ["merge"])):
        points, _ = commits(root, since, 0)
        assert [point.commit.subject for point in points] == expected


def test_a_bisect_does_not_begin_in_a_merged_history(root: Path) -> None:
    side = run_git(root, "rev-parse", "HEAD")
    run_git(root, "checkout", "-q", "--orphan", "other")
    _commit(root, "other")
    merge = ("merge", "-q", "--allow-unrelated-histories", "-m", "merge", side)
    run_git(root, *merge)
    bad = run_git(root, "rev-parse", "HEAD")
    with pytest.raises(InputError, match="begin at a commit of its main line"):
        read_history(root, ("side", "other"), (side, bad))


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("make CFLAGS=-march=native", True),
        ("RUSTFLAGS='-C target-cpu=native' make", True),
        ("make CC='icx -xHost'", True),
        ("make ARCH=native -march=x86-64-v2", False),
    ],
)
def test_the_processor_counts_for_code_of_its_own(
    root: Path, monkeypatch: pytest.MonkeyPatch, text: str, *, counts: bool
) -> None:
    """Machines that share a store may have other processors."""
    monkeypatch.setattr(native_code, "host_toolchain", str)
    recipe = command.CommandRecipe(text, "app")

    def keys() -> list[Mapping[str, object]]:
        return [recipe.key(root, commit, 9) for commit in ("HEAD~1", "HEAD")]

    (root / "README.md").write_text("Use -march=native.\n")
    run_git(root, "add", "README.md")
    _commit(root, "page")
    (root / "flags.cmake").write_text("add_compile_options(-mcpu=native)\n")
    run_git(root, "add", "flags.cmake")
    _commit(root, "flags")
    before = keys()
    monkeypatch.setattr(native_code, "processor", lambda: "another")
    assert [one != other for one, other in zip(before, keys(), strict=True)] == [counts, True]


def test_variables_that_a_command_names_or_compilers_use_are_inputs(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second bisect with another variable took the sizes of the first one."""
    monkeypatch.setattr(native_code, "host_toolchain", str)  # starts compilers
    recipe = command.CommandRecipe("make $EXTRA level=${LEVEL:-2}", "app")

    def key() -> Mapping[str, object]:
        return recipe.key(root, "HEAD", 9)

    before = key()
    for name, counts in (("EXTRA", True), ("LEVEL", True), ("RUSTFLAGS", True), ("TERM", False)):
        monkeypatch.setenv(name, "other")
        assert (key() != before) == counts
        before = key()
