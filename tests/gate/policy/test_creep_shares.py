"""Test how creep is shared out over commits: which are measured, and what each one adds.

The sizes of commits are given, so nothing is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.base.errors import BuildError
from sizeguard.gate.reference import creep
from sizeguard.gate.reference.creep import MOST_BUILDS, UNCOMMITTED, creep_shares
from sizeguard.git.commits import CommitLine
from sizeguard.projects.any_build import AnyBuildRecipe
from sizeguard.projects.project import BuildSteps, ImageFiles

RECIPE: Any = SimpleNamespace(text="a")


@dataclass
class Commits:
    """A main line after v1: a size for each commit, or why it has none.

    inputs: of commits whose inputs are those of another one; stored: commits that were measured
    began: the commit before the first one, if v1 is on a branch
    """

    sizes: Mapping[str, int | str | None]
    inputs: Mapping[str, str] = field(default_factory=dict)
    stored: frozenset[str] = frozenset()
    measured: list[str] = field(default_factory=list)
    recipes: list[object] = field(default_factory=list)
    began: str = "v1"

    @property
    def place(self) -> Any:
        facts: dict[str, object] = {f"key of {name}": {} for name in self.stored}
        return SimpleNamespace(store=SimpleNamespace(facts=facts.get))

    def commits(self, since: str) -> list[CommitLine]:
        assert since == "v1"
        return [self.commit(name) for name in self.sizes if name != self.began]

    def commit(self, name: str) -> CommitLine:
        return CommitLine(name, f"Subject of {name}", "2026-01-01")

    def first_parent(self, name: str) -> str:
        assert name == next(iter(self.commits("v1"))).id
        return self.began

    def key(self, commit: str, recipe: object) -> str:
        self.recipes.append(recipe)
        return f"key of {self.inputs.get(commit, commit)}"

    def try_measure(self, commit: str, recipe: object) -> Any:
        self.measured.append(commit)
        self.recipes.append(recipe)
        size = self.sizes[commit]
        if size == "the disk is full":
            raise BuildError(size)
        return SimpleNamespace(analysis=size)


@pytest.fixture(autouse=True)
def metrics(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Let an analysis be the size itself; return the metrics of each measurement."""
    asked: list[list[str]] = []

    def measurement(analysis: int, names: list[str]) -> Any:
        assert isinstance(analysis, int)  # a commit that does not build has none
        asked.append(names)
        return SimpleNamespace(value=lambda metric: analysis)

    monkeypatch.setattr(creep, "measurement_of", measurement)
    return asked


def shares(
    history: Any, base: int, actual: int, metric: str = "load", recipe: Any = RECIPE
) -> list[tuple[str, int]]:
    found = creep_shares(history, recipe, "v1", metric, base, actual)
    assert sum(share.delta for share in found) in (actual - base, 0)
    return [(share.commit, share.delta) for share in found]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({"a": 110, "b": 90, "c": 150}, [("a", 10), ("b", -20), ("c", 60)]),
        ({"a": 100, "b": 150, "c": 150}, [("b", 50)]),
        # The next commit with a size has the share of those without one
        ({"a": None, "b": "the disk is full", "c": 150}, [("c", 50)]),
        ({"a": 120, "b": 150, "c": None}, [("a", 20), ("b", 30)]),
        ({"a": 120}, [("a", 20), (UNCOMMITTED, 30)]),
        ({"a": 170}, [("a", 70), (UNCOMMITTED, -20)]),
        ({"a": None}, [(UNCOMMITTED, 50)]),
        ({}, [(UNCOMMITTED, 50)]),
    ],
)
def test_shares_sum_to_the_creep(
    sizes: dict[str, int | str | None], expected: list[tuple[str, int]]
) -> None:
    assert shares(Commits(sizes), 100, 150) == expected


def test_what_the_branch_of_a_release_changed_is_no_share_of_the_next_commit() -> None:
    """The release grew by 40 on its branch; the main line, which grew by 90, lacks that."""
    history = Commits({"0": 60, "a": 150}, began="0")
    found = creep_shares(history, RECIPE, "v1", "load", 100, 150)
    assert [(share.commit, share.subject, share.delta) for share in found] == [
        ("0", "where the branch of v1 began", -40),
        ("a", "Subject of a", 90),
    ]


def test_a_commit_with_the_inputs_of_its_parent_is_not_measured() -> None:
    history = Commits({"a": 1, "b": 110, "c": 1, "d": 150}, {"a": "v1", "c": "b"})
    assert shares(history, 100, 150) == [("b", 10), ("d", 40)]
    assert history.measured == ["b", "d"]
    # A later return to earlier inputs is a difference
    history = Commits({"a": 150, "b": 100}, {"b": "v1"})
    assert shares(history, 100, 100) == [("a", 50), ("b", -50)]


@pytest.mark.parametrize(("more", "is_measured"), [(0, True), (1, False)])
def test_only_so_many_commits_are_built(more: int, is_measured: bool) -> None:
    """Commits that are measured already, or equal to their parents, do not count."""
    names = [f"{i:03}" for i in range(3 * MOST_BUILDS)]
    stored = frozenset(names[: MOST_BUILDS - more])
    equal = dict.fromkeys(names[2 * MOST_BUILDS :], names[2 * MOST_BUILDS - 1])
    history = Commits(dict.fromkeys(names, 150), equal, stored)
    assert bool(shares(history, 100, 150)) == is_measured
    assert bool(history.measured) == is_measured


def test_only_the_metric_itself_is_measured(metrics: list[list[str]]) -> None:
    asked = ("symbol/f*", "operator/aten::f", "load")
    for metric in asked:
        shares(Commits({"a": 150}), 100, 150, metric)
    assert metrics == [[metric] for metric in asked]


def test_reads_that_a_build_shows_do_not_change_the_keys_of_other_commits() -> None:
    recipe = AnyBuildRecipe("a", "t", BuildSteps({"": ImageFiles("a")}, "make"))
    history = Commits({"a": 150})
    shares(history, 100, 150, recipe=recipe)
    assert recipe.as_known != recipe
    assert all(each == recipe.as_known for each in history.recipes)
