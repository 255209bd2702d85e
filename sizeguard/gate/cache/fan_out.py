"""Build heads and bases in parallel, before the gate judges them one by one.

Results are where the gate looks for them: heads in their folders, other commits in the store.
Nothing is judged here, and errors are ignored: the gate meets them again and reports them. So a run
with many workers has the same result as a run with none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from sizeguard.base.errors import BuildError, InputError, SizeguardError
from sizeguard.base.progress import Progress, announce
from sizeguard.gate.gate_result import CREEP, Base
from sizeguard.gate.reference.history import counts_from_parent
from sizeguard.gate.request import Request
from sizeguard.measurement.measured_commits import find_measured
from sizeguard.measurement.measurers import HeadWish, Wish, attempts_in_waves
from sizeguard.projects.pairs import recipe_of_commits
from sizeguard.projects.project import App, Target
from sizeguard.toolchains.recipe import Recipe
from sizeguard.toolchains.toolchain import find_toolchain


def build_at_once(request: Request, base: Base | None) -> None:
    """Build everything that the gate will need, on the request's workers."""
    if request.measurer is None or request.history.head is None:
        return
    place = request.history.place
    heads = list(_heads(request))
    wishes = {wish.key: wish for wish in _commits(request, base)}
    missing = [w for w in wishes.values() if find_measured(place, w.commit, w.key) is None]
    total = len(heads) + len(missing)
    if not total:
        return
    errors: list[SizeguardError] = []
    what = f"{len(heads)} heads, {len(missing)} other commits"
    with request.measurer(place) as measurer:
        announce(f"building in parallel: {what}")
        with Progress("building in parallel", what) as progress:
            for done, attempt in enumerate(attempts_in_waves(place, measurer, missing, heads)):
                progress.step(done + 1, total, attempt.wish.commit[:7] if attempt.wish else "head")
                if attempt.error is not None:
                    errors.append(attempt.error)
    if errors:
        text = f"note: {len(errors)} of {total} builds are left to this machine: {errors[0]}"
        print(text, file=sys.stderr)


def _heads(request: Request) -> Iterator[HeadWish]:
    """List the missing builds of the checked-out files; several images may come from one build."""
    seen = set()
    for app, target in request.pairs():
        if app.is_selective:
            continue
        recipe = request.heads.to_build(app, target.name)
        if recipe is not None and recipe.build_name not in seen:
            seen.add(recipe.build_name)
            yield HeadWish(request.heads, recipe, target.name)


def _commits(request: Request, base: Base | None) -> Iterator[Wish]:
    """List the commits that growth and creep are counted from, for each app and target."""
    for app, target in request.pairs():
        try:
            recipe = _recipe(request, app, target)
            if recipe is None:
                continue
            head = request.history.key(request.heads.commit, recipe)
            for commit in _references(request, app, target, base):
                key = request.history.key(commit, recipe)
                is_base = base is not None and commit == base.commit
                # On the base's own branch, growth is counted from the parent.
                if is_base and counts_from_parent(request.history, base, is_equal=key == head):
                    commit = request.history.first_parent(commit) or commit
                    key = request.history.key(commit, recipe)
                # Equal inputs make equal images: the gate would not build the base either.
                if key != head:
                    yield Wish(commit, key, request.history.recipe_at(commit, recipe))
        except (BuildError, InputError):
            continue  # the gate reports it


def _recipe(request: Request, app: App, target: Target) -> Recipe | None:
    if not app.is_selective:
        watched = request.heads.recipe(app, target.name)
        return watched.as_known if watched is not None else None
    if not request.has_own_sources:
        return None
    toolchain = find_toolchain(target.compiler, target.linker, target.machine)
    return recipe_of_commits(request.runtime, toolchain, app, target)


def _references(request: Request, app: App, target: Target, base: Base | None) -> Iterable[str]:
    """Return the ids of the base and of the releases from which creep is counted."""
    if base is not None and base.commit and request.snapshot_of(app, target.name) is None:
        yield base.commit
    for limit in request.limits:
        if limit.kind == CREEP and limit.applies_to(app.name, target.name):
            yield request.history.commit(limit.since).id
