"""Turns a metric that crept since a release into what each commit did to it; the shares sum to the whole."""

from __future__ import annotations

from collections.abc import Callable

from sizeguard.build.recipes import RuntimeRecipe
from sizeguard.errors import BuildError
from sizeguard.gate.history import Commit, History
from sizeguard.gate.measure import measurement_of
from sizeguard.gate.metric_names import split_metric
from sizeguard.gate.result import Share
from sizeguard.progress import Progress

MOST_BUILDS = 40  # of commits that nobody has measured yet; a commit that changes one file takes about 3 s
UNCOMMITTED = "uncommitted"


def creep_shares(history: History, recipe: RuntimeRecipe, since: str, metric: str, base: int, actual: int) -> tuple[Share, ...]:
    """What each commit of the main line did since then, zeros left out; what is not committed last. None if there are too many to build.

    A commit that does not build, or that reads what its parent reads, has its share in the next one that does.
    """
    commits = _distinct(history, recipe, since)
    store = history.place.store
    if sum(store.facts(history.key(commit.id, recipe)) is None for commit in commits) > MOST_BUILDS:
        return ()
    value = _values(history, recipe, metric)
    shares: list[Share] = []
    at = base
    with Progress(f"measuring {recipe.app}", f"{metric} since {since}") as progress:
        for i, commit in enumerate(commits):
            now = value(commit)
            progress.step(i + 1, len(commits), commit.short)
            if now is not None and now != at:
                shares.append(Share(commit.short, commit.subject, now - at, commit.date))
                at = now
    if at != actual:
        shares.append(Share(UNCOMMITTED, "what is not committed yet", actual - at))
    return tuple(shares)


def _distinct(history: History, recipe: RuntimeRecipe, since: str) -> list[Commit]:
    """Commits that read something else than the one before."""
    found = []
    last = history.key(since, recipe)
    for commit in history.commits(since):
        key = history.key(commit.id, recipe)
        if key != last:
            found.append(commit)
        last = key
    return found


def _values(history: History, recipe: RuntimeRecipe, metric: str) -> Callable[[Commit], int | None]:
    level, name = split_metric(metric)

    def value(commit: Commit) -> int | None:
        try:
            measured = history.try_measure(commit.id, recipe)
        except BuildError:
            return None  # the machine failed; its share is in the next one's
        if measured.analysis is None:
            return None
        return measurement_of(measured.analysis, [name] if level == "symbol" else []).value(metric)

    return value
