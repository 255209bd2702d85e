"""Search a range of commits: measure the commits that the search chooses, and diff the culprits."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.group import group
from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.base.fingerprint import fingerprint
from sizeguard.bisect.bisect_result import (
    BESIDE,
    BETWEEN_EQUALS,
    BUILT,
    DOES_NOT_BUILD,
    EQUAL_INPUTS,
    LEVELS,
    BisectResult,
    Branch,
    Builds,
    Culprit,
    Failure,
    News,
    Point,
    Skipped,
    Smaller,
)
from sizeguard.bisect.search import Built, Failed, Interval, Outcome, Search
from sizeguard.diff.compare import diff
from sizeguard.diff.diff_result import DiffRow
from sizeguard.git.commits import Commit, CommitRange, branch_of, read_history, undone_pairs
from sizeguard.measurement.measured_commits import MeasuredCommit, MeasurementPlace, measurement_key
from sizeguard.measurement.measurers import Measurer, Wish, measured_by
from sizeguard.measurement.metric import (
    Metric,
    beside_rows,
    bucket_vector,
    has_name,
    has_rows,
    known_metrics,
    metric_value,
    nearest_metric,
)
from sizeguard.toolchains.recipe import DoesNotBuildError, Recipe


@dataclass(frozen=True, slots=True)
class Question:
    """The question about a range of commits.

    names, ends: GOOD and BAD, as given and as full ids
    threshold:   culprits with fewer bytes are summed in one row
    exhaustive:  every commit is built
    narrow:      a range is entered only if the metric's own buckets differ
    into_merges: the branch of a merge that is a culprit is also searched
    """

    names: tuple[str, str]
    ends: tuple[str, str]
    metric: Metric
    threshold: int = 0
    exhaustive: bool = False
    narrow: bool = False
    into_merges: bool = False


# More than 40 lines: a line for each field of the result.
def bisect(
    place: MeasurementPlace,
    recipe: Recipe,
    question: Question,
    measurer: Measurer,
    tell: Callable[[News], None],
) -> BisectResult:
    """Find the culprits of a range.

    Raises InputError if BAD does not descend from GOOD, DoesNotBuildError if an end does not build.
    """
    history = read_history(place.repository, question.names, question.ends)
    for commit in (history.commits[0], history.commits[-1]):
        recipe.check(place.repository, commit.id)
    run = _Run(place, recipe, question, measurer, tell)
    points, found = run.series(history)
    for name, end in zip(question.names, (0, -1), strict=True):
        _require_built(name, points[end].commit, found.search.outcomes[found.search.keys[end]])
    culprits, smaller = run.culprits(history, found)
    return BisectResult(
        metric=question.metric,
        what=recipe.text,
        good=question.names[0],
        bad=question.names[1],
        points=points,
        culprits=culprits,
        smaller=smaller,
        neutral=tuple(
            history.commits[found.search.states[step.end].first]
            for step in found.moved
            if not found.delta(step)
        ),
        builds=run.builds,
        equal_inputs=len(history) + 1 - len({*found.search.keys}),
        skipped=_skipped(history, found.search),
        threshold=question.threshold,
        exhaustive=question.exhaustive,
        narrow=question.narrow,
        nearest="" if points[0].value or points[-1].value else run.nearest(),
        is_unknown=not run.has_name,
    )


def _require_built(name: str, commit: Commit, outcome: Outcome) -> None:
    if isinstance(outcome, Failed):
        raise DoesNotBuildError(
            f"{name} ({commit.id[:12]}) does not build, but both ends must: {outcome.message}"
        )


@dataclass(frozen=True, slots=True)
class _EndedSearch:
    """A finished search.

    moved: the intervals with different ends
    """

    search: Search
    moved: tuple[Interval, ...]

    def delta(self, step: Interval) -> int:
        """Return the change of the metric over an interval, in bytes."""
        old, new = self.search.outcome(step.start), self.search.outcome(step.end)
        if not isinstance(old, Built) or not isinstance(new, Built):
            raise ValueError("a step is between measured commits")
        return new.value - old.value


class _Run:
    """One run, with its measurements and counts."""

    def __init__(
        self,
        place: MeasurementPlace,
        recipe: Recipe,
        question: Question,
        measurer: Measurer,
        tell: Callable[[News], None],
    ) -> None:
        """Start a run; `tell` is called after each measurement."""
        self._place = place
        self._recipe = recipe
        self._question = question
        self._measurer = measurer
        self._tell = tell
        self._outcomes: dict[str, Outcome] = {}
        self._measured: set[str] = set()
        self.builds = Builds(0, 0, 0)
        # metrics of an image in which the metric has 0 bytes
        self.known: list[str] = []
        self.has_name = False

    def series(self, history: CommitRange) -> tuple[tuple[Point, ...], _EndedSearch]:
        """Measure the commits of a line that the search chooses."""
        repository = self._place.repository
        recipes = [self._recipe.at(repository, commit.id) for commit in history.commits]
        keys = [
            measurement_key(self._place, commit.id, recipe)
            for commit, recipe in zip(history.commits, recipes, strict=True)
        ]
        undone = [] if self._question.exhaustive else undone_pairs(repository, history)
        search = Search(keys, undone, self._question.exhaustive)
        of_key = {key: history.commits[i] for i, key in reversed(list(enumerate(keys)))}
        while wave := search.wave():
            fresh = [i for i in wave if keys[i] not in self._outcomes]
            for i in wave:
                if keys[i] in self._outcomes:
                    search.tell(keys[i], self._outcomes[keys[i]])
            wishes = [Wish(history.commits[i].id, keys[i], recipes[i]) for i in fresh]
            for measured in measured_by(self._measurer, wishes):
                outcome = self._outcome(measured)
                self._outcomes[measured.key] = outcome
                search.tell(measured.key, outcome)
                self._measured.add(measured.commit)
                self._count(measured)
                value = outcome.value if isinstance(outcome, Built) else None
                self._tell(
                    News(of_key[measured.key], measured.was_built, value, search.remaining())
                )
        moved = tuple(step for step in search.steps() if search.differs(step))
        return _points(history, search, self._measured), _EndedSearch(search, moved)

    def nearest(self) -> str:
        """Return the nearest metric; empty if an image has the metric's name, even with 0 bytes."""
        metric = self._question.metric
        return "" if str(metric) in self.known else nearest_metric(metric, self.known)

    def _count(self, measured: MeasuredCommit) -> None:
        builds = self.builds
        if measured.was_built:
            self.builds = replace(
                builds, done=builds.done + 1, failed=builds.failed + (measured.analysis is None)
            )
        else:
            self.builds = replace(builds, reused=builds.reused + 1)

    def _outcome(self, measured: MeasuredCommit) -> Outcome:
        if measured.analysis is None:
            return Failed(measured.failure)
        value = metric_value(measured.analysis, self._question.metric)
        if not self.has_name:
            self.has_name = has_name(measured.analysis, self._question.metric)
        if not value and not self.known:
            self.known = known_metrics(measured.analysis)
        return Built(value, buckets_hash(measured.analysis, self._question))

    def culprits(
        self, history: CommitRange, found: _EndedSearch
    ) -> tuple[tuple[Culprit, ...], Smaller]:
        """List the culprits in order of time, with the running sum of all."""
        kept: list[Culprit] = []
        small: list[int] = []
        total = 0
        for step in found.moved:
            delta = found.delta(step)
            total += delta
            if not delta:
                continue
            if abs(delta) < self._question.threshold:
                small.append(delta)
                continue
            kept.append(self._culprit(history, found.search, step, delta, total))
        return tuple(kept), Smaller(len(small), sum(small))

    def _culprit(
        self, history: CommitRange, search: Search, step: Interval, delta: int, total: int
    ) -> Culprit:
        numbers = range(step.start + 1, step.end + 1)
        commits = tuple(history.commits[search.states[i].first] for i in numbers)
        failures = []
        for i in step.unbuilt:
            outcome = search.outcome(i)
            if isinstance(outcome, Failed):
                failures.append(Failure(history.commits[search.states[i].first], outcome.message))
        old, new = (self._analysis(search.states[i].key) for i in (step.start, step.end))
        branch = None
        if self._question.into_merges and len(commits) == 1 and commits[0].is_merge:
            branch = self._branch(commits[0], delta)
        sizes = (
            new.image.load - old.image.load,
            new.image.ram - old.image.ram,
            new.image.file - old.image.file,
        )
        return Culprit(
            commits,
            delta,
            total,
            sizes,
            rows_of(old, new, self._question.metric),
            tuple(failures),
            branch,
        )

    def _analysis(self, key: str) -> Analysis:
        stored = self._place.store.get(key)
        if stored is None or stored.analysis is None:
            raise InconclusiveError(
                f"{self._place.store.folder}: a measurement of this run was removed; run again "
                f"with --resume"
            )
        return stored.analysis

    def _branch(self, merge: Commit, delta: int) -> Branch | None:
        history = branch_of(self._place.repository, merge)
        if history is None:
            return None
        points, found = self.series(history)
        if points[0].value is None or points[-1].value is None:
            return None  # an end of the branch does not build, so its sum is not known
        culprits, smaller = self.culprits(history, found)
        return Branch(
            len(history),
            culprits,
            smaller,
            delta - smaller.delta - sum(each.delta for each in culprits),
        )


def buckets_hash(analysis: Analysis, question: Question) -> str:
    """Hash the sizes of all buckets.

    The file's size is left out, because build ids and names change it. narrow: only the metric's
    buckets.
    """
    if question.narrow and question.metric.kind == "region":
        return fingerprint({"used": metric_value(analysis, question.metric)})
    if question.narrow:
        report = group(analysis, ("operator", "dtype", "section"), question.metric.filters)
        column = getattr(report, question.metric.column(analysis)).tolist()
        return fingerprint(
            {"rows": sorted([*report.keys(i), size] for i, size in enumerate(column) if size)}
        )
    vector = {
        json.dumps(key): size for key, size in bucket_vector(analysis).items() if key != ("file",)
    }
    return fingerprint({"buckets": vector})


def rows_of(old: Analysis, new: Analysis, metric: Metric) -> tuple[DiffRow, ...]:
    """Diff the metric by operator, dtype and symbol; the rows sum to its change."""
    column = metric.column(old, new)

    def diffed() -> tuple[DiffRow, ...]:
        return diff(old, new, LEVELS, metric.filters, column).rows()

    if metric.kind != "region":
        return diffed()
    before, after = (beside_rows(each, metric, column) for each in (old, new))
    beside: tuple[DiffRow, ...] = ()
    if before != after:
        cause = "grew" if after > before else "shrank"
        beside = (DiffRow((BESIDE, "", ""), before, after, cause),)
    has_any = any(has_rows(each, metric) for each in (old, new))
    rows = (*beside, *(diffed() if has_any else ()))
    return tuple(sorted(rows, key=lambda row: -abs(row.delta)))


def _points(history: CommitRange, search: Search, measured: set[str]) -> tuple[Point, ...]:
    points = []
    before: int | None = None
    for state in search.states:
        outcome = search.outcomes.get(state.key)
        if isinstance(outcome, Built):
            before = outcome.value
        for i in range(state.first, state.last + 1):
            commit = history.commits[i]
            if isinstance(outcome, Failed):
                points.append(Point(commit, None, DOES_NOT_BUILD))
            elif outcome is None:
                points.append(Point(commit, before, BETWEEN_EQUALS))
            else:
                points.append(
                    Point(commit, outcome.value, BUILT if commit.id in measured else EQUAL_INPUTS)
                )
    return tuple(points)


def _skipped(history: CommitRange, search: Search) -> tuple[Skipped, ...]:
    skipped = []
    for step in search.steps():
        if step.unknown:
            first, last = search.states[step.unknown[0]], search.states[step.unknown[-1]]
            count = sum(search.states[i].last - search.states[i].first + 1 for i in step.unknown)
            skipped.append(Skipped(history.commits[first.first], history.commits[last.last], count))
    return tuple(skipped)


def check_question(question: Question) -> None:
    """Check the options of a question.

    Raises InputError for contradicting options.
    """
    if question.threshold < 0:
        raise InputError(f"--threshold {question.threshold}: expected a number of bytes")
    if question.exhaustive and question.narrow:
        raise InputError("--exhaustive builds every commit, so --narrow has no effect")
