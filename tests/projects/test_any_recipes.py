"""Recipes of other projects: their keys, reads, variables and limits, without a build."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.git.trees import Reads, Scope
from sizeguard.git.worktrees import EVERYTHING
from sizeguard.projects import any_build
from sizeguard.projects.any_build import AnyBuildRecipe
from sizeguard.projects.project import BuildSteps, ImageFiles
from sizeguard.toolchains.read_files import ReadFiles
from sizeguard.toolchains.recipe import Limits
from tests.support.tricks.made_recipe import RECIPE, STEPS


def test_recipes_share_no_key_of_a_run(tmp_path: Path) -> None:
    """History keeps keys by identity."""
    others = [
        replace(RECIPE, app="b"), replace(RECIPE, target="u"), replace(RECIPE, group="g"),
        replace(RECIPE, image="i"), replace(RECIPE, store=tmp_path),
        replace(RECIPE, by_all_files=True), replace(RECIPE, with_links=False),
        replace(RECIPE, apart=("b",)), replace(RECIPE, steps=replace(STEPS)),
        replace(RECIPE, reads=Reads(frozenset({"a.c"}))),
    ]  # fmt: skip
    assert len({each.identity for each in (RECIPE, *others)}) == len(others) + 1
    assert RECIPE.identity == replace(RECIPE).identity


def test_a_recipe_has_the_reads_that_it_is_fixed_to(tmp_path: Path) -> None:
    recipe: Any = replace(RECIPE, store=tmp_path)
    unknown = recipe.as_known
    assert (unknown.is_fixed, unknown.by_all_files, unknown._reads) == (True, True, None)
    recipe._known_reads.add(ReadFiles(frozenset({"a.c"})))
    known = recipe.as_known
    assert known._reads == Reads(frozenset({"a.c"})) == recipe._reads
    assert (unknown._reads, recipe.without_store._reads) == (None, None)
    assert (recipe.unwatched.by_all_files, recipe.unwatched._reads) == (True, recipe._reads)
    assert not known.without_store.is_fixed
    recipe.forget_reads()
    assert (recipe._reads, known._reads) == (None, Reads(frozenset({"a.c"})))
    RECIPE.forget_reads()  # nothing is known of it
    assert replace(recipe, steps=replace(STEPS, clean="make clean"))._known_reads is None


def test_variables_have_the_values_of_the_configuration_or_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GIVEN", "caller")
    monkeypatch.setenv("MINE", "caller")
    monkeypatch.delenv("UNSET", raising=False)
    steps = replace(STEPS, env={"MINE": "mine", "GIVEN": None, "UNSET": None})
    recipe = replace(RECIPE, steps=steps)
    assert recipe._given() == {"MINE": "mine", "GIVEN": "caller"}
    assert recipe._recorded().items() >= recipe._given().items()
    assert "UNSET" not in recipe._recorded()


def test_a_setup_is_that_of_an_app_of_all_its_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(any_build, "setup_key", lambda *told: told[:3])
    one, image = RECIPE, replace(RECIPE, app="a.x", group="a")
    keys: list[Any] = [each._setup_key() for each in (one, image)]
    assert keys == [("a", "t", STEPS)] * 2
    twin = replace(RECIPE, app="c.y", group="c")
    recipe = replace(RECIPE, app="b.x", group="b", twins=(twin, RECIPE))
    assert recipe.build_name == "a, b, c for t"
    assert recipe.text == "b.x for t by make"


def hashed(name: str) -> Callable[..., str]:
    return lambda repository, commit, scope, *_: f"{name} {scope.paths or 'all'}"


@pytest.mark.parametrize(
    ("filters", "more", "reads", "expected"),
    [
        ("", {}, None, "tree all"),  # no build has shown its reads
        ("", {}, Reads(frozenset()), "reads ('src',)"),
        ("", {"by_all_files": True}, Reads(frozenset()), "opened ('src',)"),
        ("", {"steps": "clean"}, Reads(frozenset()), "tree ('src',)"),
        ("own", {}, Reads(frozenset()), "tree all and own"),
        ("own", {"steps": "clean"}, None, "tree all and own"),
    ],
)
def test_the_files_that_decide_are_those_that_builds_may_read(
    monkeypatch: pytest.MonkeyPatch, filters: str, more: dict[str, Any], reads: Reads | None,
    expected: str,
) -> None:  # fmt: skip
    for name in ("tree", "reads", "opened"):
        monkeypatch.setattr(any_build, f"{name}_hash", hashed(name))
    monkeypatch.setattr(any_build, "own_filters", lambda *_: filters)
    monkeypatch.setattr(any_build, "fingerprint", lambda told: " and ".join(told.values()))
    steps = replace(STEPS, inputs=("src",), clean=more.pop("steps", ""))
    recipe = replace(RECIPE, steps=steps, reads=reads, **more)
    assert recipe._tree_hash(Path(), "c") == expected


@pytest.mark.parametrize(
    ("strip", "counts"),
    [("", False), ("strip", False), ("/usr/bin/strip", False), ("tools/strip.sh", True)],
)
def test_a_program_of_the_project_that_strips_is_an_input(
    monkeypatch: pytest.MonkeyPatch, strip: str, counts: bool
) -> None:
    monkeypatch.setattr(any_build, "tree_hash", hashed("tree"))
    recipe = replace(RECIPE, steps=BuildSteps({"": ImageFiles("app", strip=strip)}, "make"))
    assert recipe._stripping(Path(), "c") == ({"strips": "tree all"} if counts else {})


def test_the_key_has_rules_and_scope_of_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, answer in {
        "scope_of_commit": lambda repository, commit, app, target: f"{app} {target}",
        "tools_of": lambda repository, commit, told: "tools", "package_lists": lambda: [],
        "own_filters": lambda *_: "", "tree_hash": hashed("tree"),
    }.items():  # fmt: skip
        monkeypatch.setattr(any_build, name, answer)
    key = RECIPE.key(Path(), "c", 9)
    assert (key["scope"], key["tree"]) == ("a t", "tree all")
    assert replace(RECIPE, app="a.x", group="a").key(Path(), "c", 9) == key
    ruled = replace(RECIPE, steps=replace(STEPS, rules="a: b")).key(Path(), "c", 9)
    assert ruled == {**key, "rules": "a: b"}
    assert replace(RECIPE, with_links=False).key(Path(), "c", 9) == {**key, "links": "none"}


def test_a_commit_with_other_commands_has_reads_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    steps, apart = [STEPS], [tuple[str, ...]()]
    monkeypatch.setattr(any_build, "steps_of_commit", lambda *_: steps[-1])
    monkeypatch.setattr(any_build, "images_apart", lambda *_: apart[-1])
    twin = replace(RECIPE, app="b")
    recipe = replace(RECIPE, store=tmp_path, twins=(twin,), reads=Reads(frozenset()))
    assert recipe.at(Path(), "c") is recipe
    apart.append(("b",))
    other = recipe.at(Path(), "c")
    assert (other.apart, other.twins, other.reads) == (("b",), (), recipe.reads)
    steps.append(replace(STEPS, build="make all"))
    own = recipe.at(Path(), "c")
    assert (own.steps, own.twins, own.reads, own.is_fixed) == (steps[-1], (), None, False)
    fixed = replace(recipe, is_fixed=True).at(Path(), "c")
    assert (fixed.is_fixed, fixed.by_all_files, fixed.reads) == (True, True, None)


@pytest.mark.parametrize(
    ("asked", "used", "timeout", "option"),
    [
        (None, 0, 60, "timeout in sizeguard.yaml"),
        (90, 0, 60, "timeout in sizeguard.yaml"),
        (60, 0, 60, "--timeout"),
        (30, 0, 30, "--timeout"),
        (30, 40, 60, "timeout in sizeguard.yaml"),  # 20 s are left
    ],
)
def test_the_shorter_of_two_limits_ends_a_command(
    monkeypatch: pytest.MonkeyPatch, asked: float | None, used: float, timeout: float, option: str
) -> None:
    given: list[Limits] = []
    for name in ("ccache_path", "own_command", "other_inputs"):
        monkeypatch.setattr(any_build, name, lambda *_: {})
    monkeypatch.setattr(any_build, "run_logged", lambda *told: given.append(told[3]))
    monkeypatch.setattr(time, "monotonic", lambda: 100 + used)
    recipe = replace(RECIPE, steps=replace(STEPS, timeout=60))
    tree: Any = None
    for command in ("", "make"):
        recipe._run(command, tree, Limits(timeout=asked), 100)
    (limits,) = given
    assert (limits.timeout, limits.timeout_option) == (timeout, option)
    assert limits.used == (used if timeout == 60 and option != "--timeout" else 0)


def test_commands_get_jobs_variables_and_the_watch_of_git(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given: list[dict[str, str]] = []
    for name, answer in {
        "ccache_path": {"CCACHE": "1"}, "own_command": {}, "other_inputs": {"OTHER": "1"},
        "git_watch": {"GIT": "1"}, "build_environment": {"PATH": "/bin"},
    }.items():  # fmt: skip
        monkeypatch.setattr(any_build, name, lambda *_, answer=answer: answer)
    monkeypatch.setattr(any_build, "run_logged", lambda *told: given.append(told[2]))
    tree: Any = SimpleNamespace(repository=tmp_path, path=tmp_path)

    def run(recipe: AnyBuildRecipe, command: str, recording: Any = None) -> dict[str, str]:
        recipe._run(command, tree, Limits(jobs=3), 0, recording)
        return given.pop()

    steps = replace(STEPS, setup="configure", clean="clean", env={"MINE": "mine"})
    kept, stored = replace(RECIPE, steps=steps), replace(RECIPE, store=tmp_path)
    found = run(kept, "make")
    names = ("CCACHE", "OTHER", "MINE", "CMAKE_BUILD_PARALLEL_LEVEL", "GIT")
    assert [found.get(name) for name in names] == ["1", "1", "mine", "3", None]
    # Those of a setup are watched, since it is kept, and those that decide between commits
    assert [run(recipe, command).get("GIT") for recipe, command in (
        (kept, "configure"), (kept, "clean"), (stored, "make"), (RECIPE, "make"),
    )] == ["1", None, "1", None]  # fmt: skip
    own = replace(STEPS, env={"CMAKE_BUILD_PARALLEL_LEVEL": "1"})
    assert run(replace(RECIPE, steps=own), "make")["CMAKE_BUILD_PARALLEL_LEVEL"] == "1"
    recording = SimpleNamespace(environment=lambda told: {"RECORDED": told["CCACHE"]})
    assert run(RECIPE, "make", recording) == {"RECORDED": "1"}


def test_a_scope_without_files_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    scopes: list[Scope] = []
    monkeypatch.setattr(any_build, "check_scope", lambda *told: scopes.append(told[2]))
    replace(RECIPE, steps=replace(STEPS, inputs=("a",), ignore=("b",))).check(Path(), "c")
    ((paths, ignore, unnamed),) = ((each.paths, each.ignore, each.unnamed) for each in scopes)
    assert (paths, ignore) == (("a",), ("b",))
    assert "sizeguard.yaml" in unnamed


def test_a_worktree_is_kept_if_a_command_cleans_it() -> None:
    assert RECIPE.kept_folders == ()
    assert replace(RECIPE, steps=replace(STEPS, clean="clean")).kept_folders == EVERYTHING
