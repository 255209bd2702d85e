"""What a bisect finds: culprits whose bytes sum to the whole change. How it is found and how it is shown is elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sizeguard.attribution.metrics import Metric
from sizeguard.bisect.history import Commit

LEVELS = ("operator", "dtype", "symbol")  # of the rows of a culprit

# How the size of a commit is known.
BUILT = "built"
EQUAL_INPUTS = "equal inputs"
BETWEEN_EQUALS = "between equals"  # the measured commits on both sides are alike; it was not measured
DOES_NOT_BUILD = "does not build"


@dataclass(frozen=True, slots=True)
class Row:
    """What changed in a culprit: bytes of the metric. keys: a value for each of LEVELS; cause: one of diff_result.CAUSES."""

    keys: tuple[str, ...]
    old: int
    new: int
    cause: str

    @property
    def delta(self) -> int:
        return self.new - self.old


@dataclass(frozen=True, slots=True)
class Failure:
    commit: Commit
    message: str


@dataclass(frozen=True, slots=True)
class Culprit:
    """Commits that moved the metric: one, or a range that cannot be told apart since all but its last do not build.

    delta:   bytes; total: the running sum of all culprits up to this one, smaller ones included
    sizes:   what load, ram and file changed by
    rows:    they sum to delta; the largest first
    failures: the commits of the range that do not build
    branch:  what is known of the commits that a merge brought, if that was asked for
    """

    commits: tuple[Commit, ...]
    delta: int
    total: int
    sizes: tuple[int, int, int]
    rows: tuple[Row, ...]
    failures: tuple[Failure, ...] = ()
    branch: Branch | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """The commits of a merge. With what the merge itself adds, where both lines meet, they sum to the merge's delta."""

    commits: int
    culprits: tuple[Culprit, ...]
    smaller: Smaller
    merge_itself: int


@dataclass(frozen=True, slots=True)
class Point:
    """A commit of the series. value: None if it does not build; how: BUILT, EQUAL_INPUTS, BETWEEN_EQUALS or DOES_NOT_BUILD."""

    commit: Commit
    value: int | None
    how: str


@dataclass(frozen=True, slots=True)
class Smaller:
    """Culprits below the threshold, in sum."""

    count: int
    delta: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """Commits that were not measured because the measured ones on both sides are alike: none of `commits` was looked into."""

    first: Commit
    last: Commit
    commits: int


@dataclass(frozen=True, slots=True)
class Builds:
    """done: in this run, failed ones included; failed: how many of them; reused: measurements out of the store."""

    done: int
    failed: int
    reused: int


@dataclass(frozen=True, slots=True)
class BisectResult:
    """culprits in order of time; with `smaller` their deltas sum to bad less good.

    good, bad:    as they were named; points: the series, the first one is good's commit and the last one bad's
    what:         what was built
    equal_inputs: commits that were not built since their inputs equal those of one that was
    neutral:      commits that moved bytes between buckets, and the metric by nothing
    skipped:      where culprits that cancel each other to the byte, in every bucket, would not have been seen
    nearest:      of a metric of a name that neither end has the one most like it that an end has; else empty
    """

    metric: Metric
    what: str
    good: str
    bad: str
    points: tuple[Point, ...]
    culprits: tuple[Culprit, ...]
    smaller: Smaller
    neutral: tuple[Commit, ...]
    builds: Builds
    equal_inputs: int
    skipped: tuple[Skipped, ...]
    threshold: int = 0
    exhaustive: bool = False
    narrow: bool = False
    nearest: str = ""

    @property
    def old(self) -> int:
        return self.points[0].value or 0

    @property
    def new(self) -> int:
        return self.points[-1].value or 0

    @property
    def delta(self) -> int:
        return self.new - self.old

    @property
    def failures(self) -> int:
        """Commits of the series that do not build, as far as they were tried."""
        return sum(point.how == DOES_NOT_BUILD for point in self.points)

    @property
    def not_measured(self) -> int:
        """Commits that were not built, then or now, one for one."""
        return sum(point.how in (EQUAL_INPUTS, BETWEEN_EQUALS) for point in self.points[1:])

    @property
    def blind_spot(self) -> str:
        """What the ranges that were not entered could hide; empty if there are none."""
        hidden = sum(each.commits for each in self.skipped)
        if not hidden:
            return ""
        alike = f"the buckets of {self.metric} are" if self.narrow else "every bucket is"
        ranges = "range" if len(self.skipped) == 1 else "ranges"
        return (
            f"{hidden} commits in {len(self.skipped)} {ranges} were not measured: {alike} equal at both ends. Commits there that "
            "cancel each other to the byte would not be seen; --exhaustive builds them all"
        )


@dataclass(frozen=True, slots=True)
class News:
    """For who waits: a commit was measured, built or out of the store. remaining: about how many builds are left."""

    commit: Commit
    was_built: bool
    value: int | None
    remaining: int


def commits_text(commits: Sequence[Commit]) -> str:
    """a91c2f4, or c0ffee1..d15ea5e of a range."""
    first, last = commits[0].id[:7], commits[-1].id[:7]
    return first if len(commits) == 1 else f"{first}..{last}"
