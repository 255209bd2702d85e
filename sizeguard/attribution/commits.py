"""Turns a commit into its measurement: out of the store, else built in a work tree and kept there.

The gate's merge base and bisect's commits are measured by the same lines, so that what one measured the other finds.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.sources import analysis_of
from sizeguard.attribution.store import Store, content_key
from sizeguard.build.git import commit_id
from sizeguard.build.recipes import CommandRecipe, DoesNotBuildError, Limits, Recipe
from sizeguard.build.worktree import worktree
from sizeguard.errors import BuildError, InputError

_NO_LIMITS = Limits()
DOES_NOT_BUILD = "does_not_build"  # the fact of a commit that has no snapshot: its first error


@dataclass(frozen=True, slots=True)
class Place:
    """Where commits are built and measurements kept.

    worktrees: the folder of work trees; limits: of each build
    build_failed_again: commits of which the store says that they do not build count as not measured
    """

    repository: Path
    worktrees: Path
    store: Store
    limits: Limits = _NO_LIMITS
    build_failed_again: bool = False

    @property
    def path_length(self) -> int:
        """Bytes of the path of each work tree: the number at its end has two digits."""
        return len(os.fsencode(self.worktrees.resolve() / "tree-00"))


@dataclass(frozen=True, slots=True)
class Measured:
    """analysis: of the image, None if the commit does not build; failure says why then. was_built: now, not found in the store."""

    commit: str
    key: str
    analysis: Analysis | None
    failure: str
    was_built: bool


def measurement_key(place: Place, commit: str, recipe: Recipe) -> str:
    """The key of a commit's measurement in the store: equal for commits whose builds read the same."""
    return content_key(recipe.key(place.repository, commit, place.path_length))


def measure_commit(place: Place, revision: str, recipe: Recipe) -> Measured:
    """A commit's measurement, which has an analysis. Raises DoesNotBuildError if the commit does not build."""
    commit = commit_id(place.repository, revision)
    measured = try_commit(place, commit, measurement_key(place, commit, recipe), recipe)
    if measured.analysis is None:
        raise DoesNotBuildError(f"{revision} does not build: {measured.failure}")
    return measured


def find_measured(place: Place, commit: str, key: str) -> Measured | None:
    """What the store has, commits that do not build included; None if the commit was not measured yet."""
    stored = place.store.get(key)
    if stored is None or (stored.analysis is None and place.build_failed_again):
        return None
    failure = stored.facts.get(DOES_NOT_BUILD)
    if stored.analysis is None and not isinstance(failure, str):
        return None
    return Measured(commit, key, stored.analysis, failure if isinstance(failure, str) else "", was_built=False)


def try_commit(place: Place, commit: str, key: str, recipe: Recipe) -> Measured:
    """The same of a commit's full id, with a failure instead of an error. Raises BuildError if the machine fails, not the commit."""
    found = find_measured(place, commit, key)
    if found is not None:
        return found
    with worktree(place.repository, place.worktrees) as tree:
        # Another process may have measured it while we waited for a work tree.
        found = find_measured(place, commit, key)
        if found is not None:
            return found
        facts: dict[str, object] = {"commit": commit}
        analysis: Analysis | None = None
        with tree.check_out(commit, recipe.kept_folders):
            try:
                built = recipe.build(tree, commit, place.limits)
                analysis = _measure(built, tree.path, recipe)
            except DoesNotBuildError as error:
                facts[DOES_NOT_BUILD] = str(error)
            if analysis is not None:
                facts["sizes"] = _sizes(analysis)
            # The analysis maps files of the tree: it is written while they are there.
            stored = place.store.put(key, facts, analysis)
    return Measured(commit, key, stored.analysis, str(facts.get(DOES_NOT_BUILD, "")), was_built=True)


def _measure(built: Path, folder: Path, recipe: Recipe) -> Analysis:
    map_ = folder / recipe.map if isinstance(recipe, CommandRecipe) and recipe.map else None
    try:
        if map_ is not None and not map_.is_file():
            raise DoesNotBuildError(f"the build command made no {map_.relative_to(folder)}")
        return analysis_of(built, map_=map_)
    except InputError as error:
        # It built something that is no image: the person named another file than they meant, or all commits' builds are broken so.
        raise BuildError(f"what was built cannot be measured: {error}") from error


def _sizes(analysis: Analysis) -> Mapping[str, int]:
    from sizeguard.attribution.metrics import TOTALS, Metric, metric_value

    return {name: metric_value(analysis, Metric(name)) for name in TOTALS}
