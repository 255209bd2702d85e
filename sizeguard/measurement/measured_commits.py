"""Measure a commit: read it from the store, else build it in a worktree and store the result.

The gate's merge base and bisect's commits are measured by the same code, so each finds the
measurements of the other.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import BuildError, InputError
from sizeguard.base.progress import announce
from sizeguard.builds.build_record import RECORD, read_build
from sizeguard.git.git import commit_id
from sizeguard.git.worktrees import Worktree, path_length, worktree
from sizeguard.measurement.build_times import announcement, remember
from sizeguard.measurement.metric_kinds import TOTALS
from sizeguard.projects.any_build import AnyBuildRecipe
from sizeguard.snapshots.store import Store, Stored, content_key
from sizeguard.toolchains.recipe import DoesNotBuildError, Limits, Recipe

if TYPE_CHECKING:
    from sizeguard.attribution.analysis import Analysis

_NO_LIMITS = Limits()
DOES_NOT_BUILD = "does_not_build"  # the fact of a commit without a snapshot: its first error
TOOLS = "tools"  # the fact of a commit with a snapshot: the tools that its image names


@dataclass(frozen=True, slots=True)
class MeasurementPlace:
    """The folders of builds and measurements.

    worktrees: the folder of worktrees
    limits: limits of each build
    build_failed_again: retry commits that failed to build according to the store
    """

    repository: Path
    worktrees: Path
    store: Store
    limits: Limits = _NO_LIMITS
    build_failed_again: bool = False

    @property
    def path_length(self) -> int:
        """The length of each worktree's path, in bytes."""
        return path_length(self.worktrees)


@dataclass(frozen=True, slots=True)
class MeasuredCommit:
    """The measurement of a commit.

    analysis:  analysis of the image; None if the commit does not build
    failure:   the reason in that case
    was_built: built now, not found in the store
    tools:     names of the tools that made the image, if it has them
    """

    commit: str
    key: str
    analysis: Analysis | None
    failure: str
    was_built: bool
    tools: str = ""


def measurement_key(place: MeasurementPlace, commit: str, recipe: Recipe) -> str:
    """Return the key of a commit's measurement, which is equal for equal build inputs."""
    return content_key(recipe.key(place.repository, commit, place.path_length))


def find_known(
    place: MeasurementPlace, commit: str, key: str, recipe: Recipe
) -> MeasuredCommit | None:
    """Find a commit in the store, even if it was measured before the reads of its build were known.

    Then the result has the key of the earlier measurement, if `key` is that of the recipe.
    """
    return find_measured(place, commit, key) or _find_by_all_files(place, commit, key, recipe)


def _find_by_all_files(
    place: MeasurementPlace, commit: str, key: str, recipe: Recipe
) -> MeasuredCommit | None:
    """Find a commit that was measured before the reads of its build were known."""
    if not isinstance(recipe, AnyBuildRecipe) or recipe.store is None:
        return None
    if measurement_key(place, commit, recipe) != key:
        return None
    for each in (recipe.unwatched, recipe.without_store):
        earlier = measurement_key(place, commit, each)
        found = find_measured(place, commit, earlier)
        if found is not None:
            return found
    return None


def keep_measured(
    place: MeasurementPlace,
    commit: str,
    recipe: Recipe,
    facts: Mapping[str, object],
    analysis: Analysis | None,
) -> Stored:
    """Store the result of a commit's build under the present keys.

    The build may have shown more inputs than were known before. The key of all files is always
    valid.
    """
    if isinstance(recipe, AnyBuildRecipe) and recipe.store is not None:
        place.store.put(measurement_key(place, commit, recipe.unwatched), facts, analysis)
    return place.store.put(measurement_key(place, commit, recipe), facts, analysis)


def measure_commit(
    place: MeasurementPlace, revision: str, recipe: Recipe, *, anew: bool = False
) -> MeasuredCommit:
    """Measure a commit as its own sizeguard.yaml builds it; the result has an analysis.

    anew: even if it is in the store

    Raises DoesNotBuildError if the commit does not build.
    """
    commit = commit_id(place.repository, revision)
    recipe = recipe.at(place.repository, commit)
    key = measurement_key(place, commit, recipe)
    measured = try_commit(place, commit, key, recipe, anew=anew)
    if measured.analysis is None:
        shown = commit[:10] if revision == commit else revision
        raise DoesNotBuildError(f"{shown} does not build: {measured.failure}")
    return measured


def find_measured(place: MeasurementPlace, commit: str, key: str) -> MeasuredCommit | None:
    """Find the commit in the store, which also has commits that do not build.

    None if the commit was not measured yet.
    """
    stored = place.store.get(key)
    if stored is None or (stored.analysis is None and place.build_failed_again):
        return None
    failure = stored.facts.get(DOES_NOT_BUILD)
    if stored.analysis is None and not isinstance(failure, str):
        return None
    return MeasuredCommit(
        commit,
        key,
        stored.analysis,
        failure if isinstance(failure, str) else "",
        was_built=False,
        tools=str(stored.facts.get(TOOLS, "")),
    )


def try_commit(
    place: MeasurementPlace, commit: str, key: str, recipe: Recipe, *, anew: bool = False
) -> MeasuredCommit:
    """Measure a commit by its full id; a commit that does not build is not an error.

    anew: even if it is in the store

    Raises BuildError if the machine fails, not the commit.
    """
    found = find_known(place, commit, key, recipe)
    if found is not None and not anew:
        if found.key != key:
            place.store.copy(found.key, key)
        return replace(found, key=key)
    with worktree(place.repository, place.worktrees) as tree:
        # Another process may have measured it while we waited for a worktree.
        found = find_measured(place, commit, key)
        if found is not None and not anew:
            return found
        facts: dict[str, object] = {"commit": commit}
        analysis: Analysis | None = None
        with tree.check_out(commit, recipe.kept_folders):
            announce(announcement(place.worktrees.parent, commit, recipe.text))
            start = time.monotonic()
            try:
                built = recipe.build(tree, commit, place.limits)
                remember(place.worktrees.parent, recipe.text, time.monotonic() - start)
                analysis = _measure(built, tree.path, recipe)
                facts[TOOLS] = _tools(built)
            except DoesNotBuildError as error:
                facts[DOES_NOT_BUILD] = str(error)
            if analysis is not None:
                facts["sizes"] = _sizes(analysis)
            # The analysis maps files of the worktree, so it is written while they exist.
            stored = keep_measured(place, commit, recipe, facts, analysis)
            if analysis is not None:
                _store_others(place, commit, tree, recipe)
    failure = str(facts.get(DOES_NOT_BUILD, ""))
    tools = str(facts.get(TOOLS, ""))
    return MeasuredCommit(commit, key, stored.analysis, failure, was_built=True, tools=tools)


def _store_others(place: MeasurementPlace, commit: str, tree: Worktree, recipe: Recipe) -> None:
    """Measure the other images of a build, so that they need no separate build."""
    with contextlib.suppress(DoesNotBuildError):
        for other, built in recipe.also_built(tree, commit):
            analysis = _measure(built, tree.path, other)
            facts = {"commit": commit, "sizes": _sizes(analysis), TOOLS: _tools(built)}
            keep_measured(place, commit, other, facts, analysis)


def _tools(built: Path) -> str:
    """Return the names of the tools that made an image, from its record; empty without one."""
    return read_build(built).tools if built.name == RECORD else ""


def _measure(built: Path, folder: Path, recipe: Recipe) -> Analysis:
    # Attribution takes 40 ms to import; a run that measures nothing does without it.
    from sizeguard.attribution.open_analysis import analysis_of

    map_ = folder / recipe.map if recipe.map else None
    try:
        if map_ is not None and not map_.is_file():
            raise DoesNotBuildError(f"the build command made no {map_.relative_to(folder)}")
        return analysis_of(built, map_=map_)
    except InputError as error:
        # The build made a file that is not an image: --image may name the wrong one.
        raise BuildError(f"the image cannot be measured: {error}") from error


def _sizes(analysis: Analysis) -> Mapping[str, int]:
    from sizeguard.measurement.metric import Metric, metric_value

    return {name: metric_value(analysis, Metric(name)) for name in TOTALS}
