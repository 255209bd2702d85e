"""Attribute the creep of a metric since a release to commits.

The shares sum to the metric's creep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sizeguard.base.errors import BuildError
from sizeguard.base.progress import Progress
from sizeguard.gate.causes.growth_result import Share
from sizeguard.gate.reference.history import History
from sizeguard.git.commits import CommitLine
from sizeguard.measurement.measured_analysis import measurement_of
from sizeguard.projects.any_build import AnyBuildRecipe
from sizeguard.toolchains.recipe import Recipe

# Limit of commits that are not measured yet; a commit that changes one file takes about 3 s
MOST_BUILDS = 40
UNCOMMITTED = "uncommitted"


def creep_shares(
    history: History, recipe: Recipe, since: str, metric: str, base: int, actual: int
) -> tuple[Share, ...]:
    """Measure the share of each commit of the main line; uncommitted changes come last.

    Commits without a share are left out. Empty if too many commits would have to be built.

    The share of a commit that does not build, or that has the same inputs as its parent, is in the
    share of the next commit that builds.
    """
    if isinstance(recipe, AnyBuildRecipe):
        recipe = recipe.as_known  # keys of commits that are compared with each other
    commits = _distinct(history, recipe, since)
    store = history.place.store
    if sum(store.facts(history.key(commit.id, recipe)) is None for commit in commits) > MOST_BUILDS:
        return ()
    value = _values(history, recipe, metric)
    shares: list[Share] = []
    at = base
    with Progress(f"measuring {recipe.text}", f"{metric} since {since}") as progress:
        for i, commit in enumerate(commits):
            now = value(commit)
            progress.step(i + 1, len(commits), commit.short)
            if now is not None and now != at:
                shares.append(Share(commit.short, commit.subject, now - at, commit.date))
                at = now
    if at != actual:
        shares.append(Share(UNCOMMITTED, "uncommitted changes", actual - at))
    return tuple(shares)


def _distinct(history: History, recipe: Recipe, since: str) -> list[CommitLine]:
    """List the commits that have other inputs than the commit before."""
    found = []
    last = history.key(since, recipe)
    for commit in _line(history, since):
        key = history.key(commit.id, recipe)
        if key != last:
            found.append(commit)
        last = key
    return found


def _line(history: History, since: str) -> Sequence[CommitLine]:
    """List the main line after a release; of a release on a branch, also where the branch began.

    The first commit of the main line would seem to undo what the branch changed.
    """
    lines = history.commits(since)
    fork = history.first_parent(lines[0].id) if lines else ""
    if fork in ("", history.commit(since).id):
        return lines
    return [replace(history.commit(fork), subject=f"where the branch of {since} began"), *lines]


def _values(history: History, recipe: Recipe, metric: str) -> Callable[[CommitLine], int | None]:
    def value(commit: CommitLine) -> int | None:
        try:
            measured = history.try_measure(commit.id, recipe)
        except BuildError:
            return None  # the machine failed; its share is in the next commit's
        if measured.analysis is None:
            return None
        return measurement_of(measured.analysis, [metric]).value(metric)

    return value
