"""Bases and parents of growth, in small repositories: the questions that the gate asks of git."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.gate.gate_result import IS_HEAD
from sizeguard.gate.reference import history as module
from sizeguard.gate.reference.ci_event import VARIABLES, Candidate, CiEvent
from sizeguard.gate.reference.history import History
from sizeguard.measurement.measured_commits import MeasuredCommit, MeasurementPlace
from sizeguard.projects.any_build import AnyBuildRecipe
from sizeguard.runtimes.sizeguard.building.native_recipe import RuntimeRecipe
from sizeguard.snapshots.store import Store
from sizeguard.toolchains.recipe import DoesNotBuildError
from sizeguard.toolchains.toolchain import Toolchain
from tests.support.histories.drawn_history import run_git


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make main with two commits, and `work` with one more."""
    root = tmp_path_factory.mktemp("once") / "tree"
    root.mkdir()
    run_git(root, "init", "-q", "-b", "main")
    for name in ("one", "two"):
        (root / "code.c").write_text(name)
        run_git(root, "add", "-A")
        run_git(root, "commit", "-q", "-m", name)
    run_git(root, "checkout", "-q", "-b", "work")
    run_git(root, "commit", "-q", "--allow-empty", "-m", "three")
    return root


@pytest.fixture
def tree(once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return Path(shutil.copytree(once, tmp_path / "tree"))


def test_a_commit_that_does_not_build_is_built_once_a_run_and_again_on_request(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its build may have failed for a server that did not answer."""
    asked: list[MeasurementPlace] = []

    def fails(place: MeasurementPlace, commit: str, recipe: object) -> None:
        asked.append(place)
        raise DoesNotBuildError("x")

    monkeypatch.setattr(module, "measure_commit", fails)
    recipe: Any = SimpleNamespace(text="app", at=lambda *_: recipe)
    for again in (False, True):
        made = History(tree, again=again)
        for _ in range(2):
            with pytest.raises(DoesNotBuildError):
                made.measure("a" * 40, recipe)
    assert [place.build_failed_again for place in asked] == [False, True]


@pytest.mark.parametrize(
    ("stored", "now", "anew"),
    [
        ("rustc 1.80", "rustc 1.81", True),
        ("rustc 1.80", "rustc 1.80", False),
        ("rustc 1.80", "", False),
        ("", "rustc 1.81", False),
    ],
)
def test_a_measurement_by_other_tools_is_made_anew_once(
    tree: Path, monkeypatch: pytest.MonkeyPatch, stored: str, now: str, anew: bool
) -> None:
    """Tools that no package manager of the system installed are no part of a key."""
    asked: list[bool] = []

    def measured(place: object, commit: str, recipe: object, *, anew: bool = False) -> Any:
        asked.append(anew)
        return MeasuredCommit(commit, "key", None, "", was_built=anew, tools=stored)

    monkeypatch.setattr(module, "measure_commit", measured)
    recipe: Any = SimpleNamespace(text="app", at=lambda *_: recipe)
    history = History(tree)
    history.measure("a" * 40, recipe, now)
    history.measure("a" * 40, recipe, now)
    assert asked == ([False, True, False] if anew else [False, False])


def id_of(tree: Path, revision: str) -> str:
    return run_git(tree, "rev-parse", revision)


def nothing(tree: Path) -> None:
    pass


def edited(tree: Path) -> None:
    (tree / "code.c").write_text("more")


def untracked(tree: Path) -> None:
    (tree / "more.c").write_text("more")


@pytest.mark.parametrize("pushed", [True, False])
@pytest.mark.parametrize("asked", ["", "main"])
def test_what_was_pushed_is_merged_unless_a_base_is_asked_for(
    tree: Path, monkeypatch: pytest.MonkeyPatch, pushed: bool, asked: str
) -> None:
    event = CiEvent((Candidate("main", "main"),), pushed=pushed)
    monkeypatch.setattr(module, "ci_event", lambda: event)
    base = History(tree).base(asked)
    assert base
    assert base.merged == (pushed and not asked)


def test_a_configured_base_that_the_clone_lacks_is_inconclusive(tree: Path) -> None:
    run_git(tree, "checkout", "-q", "main")
    text = "base: gone\ntargets: {x86_64-linux: }\napps: {a: {image: a}}\n"
    (tree / "sizeguard.yaml").write_text(text)
    run_git(tree, "add", "-A")
    run_git(tree, "commit", "-q", "-m", "three")
    with pytest.raises(InconclusiveError, match="there is no commit 'gone' to count growth from"):
        History(tree).base()


@pytest.mark.parametrize(
    ("change", "is_clean"), [(nothing, True), (edited, False), (untracked, False)]
)
def test_a_base_that_is_checked_out_is_merged_unless_files_differ(
    tree: Path, change: Callable[[Path], None], is_clean: bool
) -> None:
    """On its own branch, the last commit is the change; edited files are a change of it."""
    change(tree)
    work = History(tree).base()
    assert work
    assert (work.commit, work.text, work.merged) == (id_of(tree, "main"), "", False)
    asked = History(tree).base("work")
    assert asked
    assert (asked.commit, asked.text, asked.merged) == (id_of(tree, "work"), IS_HEAD, is_clean)
    run_git(tree, "checkout", "-q", "main")
    history = History(tree)
    base = history.base()
    assert base
    assert (base.commit, base.ref, base.subject) == (id_of(tree, "main"), "main", "two")
    assert (base.text, base.merged) == (IS_HEAD, is_clean)
    # Trailers count in the commits of the change
    since = id_of(tree, "main~1" if is_clean else "main")
    assert history.changes_since(base) == since
    assert History(tree).changes_since(work) == work.commit
    pushed = replace(work, commit=id_of(tree, "work"), merged=True)
    assert History(tree).changes_since(pushed) == pushed.commit


@pytest.mark.parametrize(
    ("change", "is_refused"),
    [("work", True), ("unknown", True), ("main", False), ("main~1", False), ("", False)],
)
def test_a_run_for_a_change_refuses_its_base_without_the_change(
    tree: Path, monkeypatch: pytest.MonkeyPatch, change: str, is_refused: bool
) -> None:
    """The base has no growth since itself: it would pass in place of the change."""
    run_git(tree, "checkout", "-q", "main")
    commit = "f" * 40 if change == "unknown" else change and id_of(tree, change)
    event = CiEvent((Candidate("main", "main"),), change=commit)
    monkeypatch.setattr(module, "ci_event", lambda: event)
    assert History(tree).base("main")  # the base of choice is not that of the event
    if is_refused:
        with pytest.raises(InputError, match="not the pull request's commit"):
            History(tree).base()
    else:
        assert History(tree).base()


def test_the_first_commit_has_no_commit_before_it(tree: Path) -> None:
    first = id_of(tree, "main~1")
    run_git(tree, "checkout", "-q", "-B", "main", first)
    history = History(tree)
    base = history.base()
    assert base
    assert base.merged
    assert (history.first_parent(first), history.changes_since(base)) == ("", first)
    assert not history.lacks_parents(first)


def test_a_clone_of_one_commit_lacks_its_parents(tree: Path, tmp_path: Path) -> None:
    second, first = id_of(tree, "main"), id_of(tree, "main~1")
    assert not History(tree).lacks_parents(second)
    for depth, lacking in (("1", id_of(tree, "work")), ("2", second)):
        clone = tmp_path / depth
        run_git(tmp_path, "clone", "-q", "--depth", depth, f"file://{tree}", str(clone))
        history = History(clone)
        assert history.lacks_parents(lacking)
        assert not history.first_parent(lacking)
    assert not history.lacks_parents(id_of(tree, "work"))
    # All commits are there, but the clone is still shallow
    run_git(tmp_path, "clone", "-q", "--depth", "3", f"file://{tree}", str(tmp_path / "3"))
    assert not History(tmp_path / "3").lacks_parents(first)
    (tmp_path / "3" / ".git" / "shallow").write_text(f"{first}\n")
    assert not History(tmp_path / "3").lacks_parents(first)


def crossed(tree: Path) -> None:
    """Merge main and `work` into each other, so that both have two merge bases."""
    run_git(tree, "branch", "-q", "side", "main")
    run_git(tree, "checkout", "-q", "side")
    run_git(tree, "commit", "-q", "--allow-empty", "-m", "four")
    side, work = id_of(tree, "side"), id_of(tree, "work")
    run_git(tree, "merge", "-q", "--no-ff", "-m", "side", work)
    run_git(tree, "checkout", "-q", "work")
    run_git(tree, "merge", "-q", "--no-ff", "-m", "work", side)


def test_of_several_merge_bases_the_one_on_the_main_line_counts(tree: Path) -> None:
    crossed(tree)
    assert len(run_git(tree, "merge-base", "--all", "work", "side").split()) == 2
    base = History(tree).base("side")
    assert base
    assert base.subject == "four"
    # A branch whose main line has neither
    run_git(tree, "checkout", "-q", "--detach", "main")
    run_git(tree, "merge", "-q", "--no-ff", "-m", "all", "side")
    other = id_of(tree, "HEAD")
    run_git(tree, "checkout", "-q", "work")
    with pytest.raises(InconclusiveError, match="have several merge bases"):
        History(tree).base(other)


def test_a_single_merge_base_need_not_be_on_the_main_line(tree: Path) -> None:
    """The branch merged an earlier state of the change."""
    run_git(tree, "checkout", "-q", "-b", "side", "main")
    run_git(tree, "commit", "-q", "--allow-empty", "-m", "four")
    run_git(tree, "merge", "-q", "--no-ff", "-m", "side", "work")
    run_git(tree, "checkout", "-q", "work")
    run_git(tree, "commit", "-q", "--allow-empty", "-m", "five")
    base = History(tree).base("side")
    assert base
    assert (base.subject, base.commit) == ("three", id_of(tree, "work~1"))


def test_the_history_is_that_of_the_repository_at_its_root(tree: Path, tmp_path: Path) -> None:
    (tree / "below").mkdir()
    for root in (tree / "below", tmp_path):
        assert History(root).head is None
        assert History(root).base() is None
        with pytest.raises(InconclusiveError, match="there is no --base main"):
            History(root).base("main")
    head = History(tree).head
    assert head
    assert (head.id, head.subject) == (id_of(tree, "work"), "three")
    store = Store(tmp_path / "store")
    assert History(tree, store).place.store is store
    assert History(tree).place.store.folder != store.folder


def test_branches_without_a_common_commit_have_no_base(tree: Path, tmp_path: Path) -> None:
    run_git(tree, "checkout", "-q", "--orphan", "other")
    run_git(tree, "commit", "-q", "-m", "five")
    with pytest.raises(InconclusiveError, match="no commit in common; name another with --base"):
        History(tree).base("main")
    clone = tmp_path / "shallow"
    run_git(tmp_path, "clone", "-q", "--depth=1", "--no-single-branch", f"file://{tree}", "shallow")
    with pytest.raises(InconclusiveError, match=r"no commit in common; .*--unshallow"):
        History(clone).base("origin/main")


def test_the_bytes_of_a_commit_are_compared_as_they_are(tree: Path) -> None:
    (tree / "code").mkdir()
    (tree / "code" / "crlf.yaml").write_bytes(b"a: 1\r\n")
    run_git(tree, "add", "-A")
    run_git(tree, "commit", "-q", "-m", "five")
    history = History(tree)
    for revision, path, data, expected in (
        ("HEAD", "code/crlf.yaml", b"a: 1\r\n", True),
        ("HEAD", "code/crlf.yaml", b"a: 1\n", False),
        ("HEAD~1", "code/crlf.yaml", b"a: 1\r\n", False),
        ("HEAD", "code", b"", False),
        ("HEAD", "none", b"", False),
        ("HEAD", "code.c", b"two", True),
        ("main~1", "code.c", b"two", False),
    ):
        assert history.has_bytes(revision, path, data) == expected


def recipe() -> Any:
    """Return a recipe of another project's build, of which only the identity counts."""
    made: Any = object.__new__(AnyBuildRecipe)
    return made


def test_keys_of_other_projects_are_computed_once(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A branch may move, and a build that was seen to read more has another identity."""
    asked: list[str] = []
    identity = ["a"]

    def computed(place: object, commit: str, recipe: object) -> str:
        asked.append(commit)
        return f"{commit} {len(asked)}"

    monkeypatch.setattr(module, "measurement_key", computed)
    monkeypatch.setattr(AnyBuildRecipe, "at", lambda self, *_: self)
    monkeypatch.setattr(AnyBuildRecipe, "identity", property(lambda _: tuple(identity)))
    history, commit = History(tree), id_of(tree, "main")
    assert [history.key(commit, recipe()) for _ in range(3)] == [f"{commit} 1"] * 3
    assert [history.key("main", recipe()) for _ in range(2)] == ["main 2", "main 3"]
    identity[0] = "b"
    assert history.key(commit, recipe()) == f"{commit} 4"


def test_keys_of_the_runtime_are_computed_once(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def computed(place: object, commit: str, recipe: RuntimeRecipe) -> str:
        asked.append(recipe.optimize)
        return f"{commit} {len(asked)}"

    monkeypatch.setattr(module, "measurement_key", computed)
    history, commit = History(tree), id_of(tree, "main")
    tools = Toolchain("gcc", "bfd", "x86_64-linux", "gcc", "g++", "12.2.0", "2.40")
    for optimize in ("s", "s", "2", "s"):
        history.key(commit, RuntimeRecipe(tools, "app", optimize=optimize))
    newer = replace(tools, compiler_version="13.1.0")
    assert history.key(commit, RuntimeRecipe(newer, "app")) == f"{commit} 3"
    assert asked == ["s", "2", "s"]


def test_a_repository_is_new_at_its_root_until_the_first_commit(tmp_path: Path) -> None:
    """Only in such a repository do baselines alone decide growth."""
    inner = tmp_path / "inner"
    inner.mkdir()

    def found() -> list[tuple[bool, bool, bool]]:
        histories = (History(tmp_path), History(inner))
        return [(each.head is None, each.is_new, each.may_have_commits) for each in histories]

    assert found() == [(True, False, False)] * 2
    assert History(tmp_path).base() is None
    run_git(tmp_path, "init", "-q", "-b", "main")
    assert found() == [(True, True, False), (True, False, True)]
    new = History(tmp_path)
    base = new.base()
    assert base is not None
    assert (base.commit, base.text.partition(";")[0]) == ("", "there is no commit yet")
    with pytest.raises(InconclusiveError, match="there is no commit yet, so there is no --base x"):
        new.base("x")
    assert History(inner).base() is None
    with pytest.raises(InconclusiveError, match="not the root of a git repository"):
        History(inner).base("x")
    run_git(tmp_path, "commit", "-q", "--allow-empty", "-m", "one")
    assert found() == [(False, False, False), (True, False, True)]
