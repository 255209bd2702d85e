"""Read the sizes of commits from the store and baselines, and build missing ones on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.group import group
from sizeguard.attribution.size_report import UNATTRIBUTED
from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import BuildError, InconclusiveError, InputError
from sizeguard.builds.sizes import Sizes
from sizeguard.diff.compare import diff
from sizeguard.diff.diff_result import DiffRow
from sizeguard.gate.request import Request
from sizeguard.gate.review_result import Baseline
from sizeguard.history.history_result import (
    COMMITS,
    DOES_NOT_BUILD,
    MEASURED,
    NO_NAME,
    NOT_KNOWN,
    RELEASES,
    REVIEWED,
    HistoryLine,
    HistoryPoint,
    Release,
    SizeChange,
    SizeHistory,
)
from sizeguard.history.points_in_time import commits, kind_of, releases
from sizeguard.history.reviewed_sizes import CommitBaselines, level_of, parts_of, sizes_of
from sizeguard.measurement.measured_commits import MeasuredCommit, find_known
from sizeguard.measurement.measurers import Measurer, Wish, attempts_in_waves
from sizeguard.measurement.metric import Metric, metric_value
from sizeguard.projects.any_build import recipe_of_app
from sizeguard.projects.head_builds import ignore_own_folder
from sizeguard.projects.pairs import recipe_of_commits
from sizeguard.projects.project import App, Target
from sizeguard.toolchains.recipe import Recipe
from sizeguard.toolchains.toolchain import find_toolchain

_LEVELS = ("operator", "namespace")  # preferred levels, the best first; else sections
Tell = Callable[[int, int, str], None]  # builds done, builds in all, what was built last


@dataclass(frozen=True, slots=True)
class HistoryQuestion:
    """Request for a history.

    request: apps, targets and the project
    since:   the first point; empty for all
    kind:    RELEASES or COMMITS; empty to choose releases if there are tags
    last:    maximum number of points of a line, 0 for all
    by:      the level of the parts; empty to choose one for each app
    """

    request: Request
    since: str = ""
    kind: str = ""
    last: int = 0
    by: str = ""


@dataclass(slots=True)
class _SizeLine:
    """One app for one target, with the keys of its commits.

    recipe: None if commits cannot be built, for the reason in `why`
    wishes: by commit, for commits that can be measured
    errors: by commit, for commits without a computable key or with a failed build
    """

    app: App
    target: Target
    toolchain: str
    recipe: Recipe | None
    why: str
    wishes: dict[str, Wish] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)


def size_history(
    question: HistoryQuestion, measurer: Measurer | None, tell: Tell | None
) -> SizeHistory:
    """Collect the sizes of a project's apps over its releases or commits.

    measurer: builds missing commits; None to build nothing

    Raises InputError if `since` is not an ancestor of HEAD, InconclusiveError outside git.
    """
    request = question.request
    if request.history.head is None:
        raise InconclusiveError(f"{request.root}: {request.history.why_no_head}: it has no history")
    kind = question.kind or kind_of(request.root, question.since)
    choose = releases if kind == RELEASES else commits
    points, older = choose(request.root, question.since, question.last)
    lines = [_line(request, app, target, points) for app, target in request.pairs()]
    built = _build(request, lines, measurer, tell) if measurer is not None else 0
    return SizeHistory(
        RELEASES if kind == RELEASES else COMMITS,
        question.since,
        tuple(_read(request, line, points, question.by) for line in lines),
        built,
        older,
    )


def _line(request: Request, app: App, target: Target, points: Sequence[Release]) -> _SizeLine:
    line = _SizeLine(app, target, "", None, "")
    try:
        if app.is_selective:
            toolchain = find_toolchain(target.compiler, target.linker, target.machine)
            line.toolchain = f"{toolchain.name}-O{target.optimize}"
            if request.has_own_sources:
                line.recipe = recipe_of_commits(request.runtime, toolchain, app, target)
        else:
            watched = recipe_of_app(app, target.name, request.history.place.store.folder)
            line.recipe = watched.as_known if watched is not None else None
    except (BuildError, InputError) as error:
        line.why = str(error)
    if line.recipe is None:
        line.why = line.why or "its commits cannot be built"
        return line
    for point in points:
        commit = point.commit.id
        try:
            key = request.history.key(commit, line.recipe)
            recipe = request.history.recipe_at(commit, line.recipe)
        except (BuildError, InputError) as error:
            line.errors[commit] = str(error)
            continue
        line.wishes[commit] = Wish(commit, key, recipe)
    return line


def _build(
    request: Request, lines: Sequence[_SizeLine], measurer: Measurer, tell: Tell | None
) -> int:
    """Build the commits that the store does not have; return the number of builds."""
    place = request.history.place
    ignore_own_folder(request.root, is_git=True)
    wishes = [wish for line in lines for wish in line.wishes.values()]
    missing = [w for w in wishes if find_known(place, w.commit, w.key, w.recipe) is None]
    total = len({wish.key for wish in missing})
    failed: dict[str, str] = {}
    built = 0
    with measurer:
        for done, attempt in enumerate(attempts_in_waves(place, measurer, missing)):
            wish = attempt.wish
            if wish is None:
                continue
            if attempt.error is not None:
                failed[wish.key] = str(attempt.error)
            elif attempt.measured is not None:
                built += attempt.measured.was_built
            if tell is not None:
                tell(done + 1, total, wish.commit[:7])
    for line in lines:
        for commit, wish in line.wishes.items():
            if wish.key in failed:
                line.errors[commit] = failed[wish.key]
    return built


def _read(request: Request, line: _SizeLine, points: Sequence[Release], by: str) -> HistoryLine:
    """Read the points of a line, the oldest first; two analyses at a time are in memory."""
    found: list[HistoryPoint] = []
    before: _KnownSize | None = None
    level = by or _level(request, line, points)
    for known in _known_points(request, line, points, level):
        point = known.point
        if point.sizes is None:
            found.append(point)
            continue
        if before is not None:
            point = replace(point, change=_change(before, known, level))
        found.append(point)
        before = known
    return HistoryLine(line.app.name, line.target.name, level, tuple(found))


@dataclass(frozen=True, slots=True)
class _KnownSize:
    """A point with the key and the analysis of its measurement, if it was measured."""

    point: HistoryPoint
    key: str
    analysis: Analysis | None


def _level(request: Request, line: _SizeLine, points: Sequence[Release]) -> str:
    """Choose the best level for the newest measurement, else for the newest baseline."""
    for point in reversed(points):
        analysis = _analysis(request, line, point)
        if analysis is not None:
            return next((level for level in _LEVELS if _has_names(analysis, level)), "section")
    for point in reversed(points):
        baseline, _ = _baseline(request, line, point)
        if baseline is not None:
            return level_of(baseline)
    return "section"


def _has_names(analysis: Analysis, level: str) -> bool:
    """Return whether a level has any named bytes."""
    return any(
        not name.startswith("(") and name != UNATTRIBUTED for name in _parts(analysis, level)
    )


def _measured(request: Request, line: _SizeLine, point: Release) -> MeasuredCommit | None:
    wish = line.wishes.get(point.commit.id)
    if wish is None:
        return None
    return find_known(request.history.place, wish.commit, wish.key, wish.recipe)


def _analysis(request: Request, line: _SizeLine, point: Release) -> Analysis | None:
    measured = _measured(request, line, point)
    return None if measured is None else measured.analysis


def _known_points(
    request: Request, line: _SizeLine, points: Sequence[Release], level: str
) -> Iterator[_KnownSize]:
    for release in points:
        commit = release.commit.id
        measured = _measured(request, line, release)
        analysis = None if measured is None else measured.analysis
        if measured is not None and analysis is not None:
            image = analysis.image
            slack = metric_value(analysis, Metric("page_slack"))
            sizes = Sizes(image.load, image.ram, image.file, slack)
            parts = _parts(analysis, level)
            yield _KnownSize(
                HistoryPoint(release, MEASURED, sizes, parts=parts), measured.key, analysis
            )
            continue
        if measured is not None:
            yield _KnownSize(HistoryPoint(release, DOES_NOT_BUILD, why=measured.failure), "", None)
            continue
        baseline, why = _baseline(request, line, release)
        if baseline is not None:
            parts = parts_of(baseline, level)
            why = line.errors.get(commit, "")
            point = HistoryPoint(release, REVIEWED, sizes_of(baseline), why, parts)
            yield _KnownSize(point, "", None)
        else:
            reason = line.errors.get(commit) or (f"{why}; {line.why}" if line.why else why)
            yield _KnownSize(HistoryPoint(release, NOT_KNOWN, why=reason), "", None)


def _baseline(request: Request, line: _SizeLine, point: Release) -> tuple[Baseline | None, str]:
    baselines = CommitBaselines(request.root, point.commit.id)
    return baselines.of(line.app.name, line.target.name, line.toolchain)


def _parts(analysis: Analysis, level: str) -> Mapping[str, int]:
    """Sum the loaded bytes by a level; they sum to the load."""
    rows = group(analysis, (level,)).rows
    return {row.keys[0] or NO_NAME: row.load for row in rows if row.load}


def _change(old: _KnownSize, new: _KnownSize, level: str) -> SizeChange:
    before, after = old.point.sizes, new.point.sizes
    if before is None or after is None:
        raise ValueError("a change needs two known points")
    by: tuple[str, ...] = (level,)
    rows: tuple[DiffRow, ...] | None
    if old.key and old.key == new.key:
        rows = ()
    elif old.analysis is not None and new.analysis is not None:
        by = (level, "symbol") if level != "symbol" else by
        rows = diff(old.analysis, new.analysis, by).rows()
    else:
        rows = _rows_of_parts(old.point.parts, new.point.parts)
    return SizeChange(
        old.point.release,
        after.load - before.load,
        after.ram - before.ram,
        after.file - before.file,
        by,
        rows,
    )


def _rows_of_parts(old: Mapping[str, int], new: Mapping[str, int]) -> tuple[DiffRow, ...] | None:
    """Compare parts by name; None if one of the two is unknown."""
    if not old or not new:
        return None
    rows = [
        DiffRow((name,), old.get(name, 0), new.get(name, 0))
        for name in sorted({*old, *new})
        if old.get(name, 0) != new.get(name, 0)
    ]
    return tuple(sorted(rows, key=lambda row: -abs(row.delta)))
