"""The result of a bisect as plain data: culprits whose bytes sum to the whole change."""

from __future__ import annotations

from collections.abc import Sequence

from sizeguard.base.dataclass import dataclass
from sizeguard.diff.diff_result import DiffRow
from sizeguard.git.commits import Commit
from sizeguard.measurement.metric import Metric

LEVELS = ("operator", "dtype", "symbol")  # levels of a culprit's rows
# Stands for the operator in the row of a memory region's bytes that no operator's row contains.
BESIDE = "(data of another region, alignment)"

# Sources of a commit's size. Between equals: the commit was not measured, because the measured
# commits on both sides are equal.
BUILT = "built"
EQUAL_INPUTS = "equal inputs"
BETWEEN_EQUALS = "between equals"
DOES_NOT_BUILD = "does not build"


@dataclass(frozen=True, slots=True)
class Failure:
    """A commit that does not build, and its first error."""

    commit: Commit
    message: str


@dataclass(frozen=True, slots=True)
class Culprit:
    """Commits that changed the metric.

    This is one commit, or a range in which only the last commit builds, so the cause may be any of
    them.

    delta:    bytes
    total:    running sum of all culprits up to this one, including smaller ones
    sizes:    change of load, ram and file
    rows:     the largest first; they sum to delta
    failures: the commits of the range that do not build
    branch:   the culprits on a merge's branch, if it was searched
    """

    commits: tuple[Commit, ...]
    delta: int
    total: int
    sizes: tuple[int, int, int]
    rows: tuple[DiffRow, ...]
    failures: tuple[Failure, ...] = ()
    branch: Branch | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """The commits of a merge.

    culprits, smaller: on the branch
    merge_itself: bytes from joining both lines; all three sum to the merge's delta
    """

    commits: int
    culprits: tuple[Culprit, ...]
    smaller: Smaller
    merge_itself: int


@dataclass(frozen=True, slots=True)
class Point:
    """A commit of the series.

    value: None if it does not build
    how:   BUILT, EQUAL_INPUTS, BETWEEN_EQUALS or DOES_NOT_BUILD
    """

    commit: Commit
    value: int | None
    how: str


@dataclass(frozen=True, slots=True)
class Smaller:
    """Number and sum of the culprits below the threshold."""

    count: int
    delta: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """Commits that were not measured because the measured commits on both sides are equal.

    None of `commits` was measured.
    """

    first: Commit
    last: Commit
    commits: int


@dataclass(frozen=True, slots=True)
class Builds:
    """Build counts of a run.

    done: number of builds, including failed ones
    failed: number of failed builds
    reused: measurements from the store
    """

    done: int
    failed: int
    reused: int


@dataclass(frozen=True, slots=True)
class BisectResult:
    """The result of one bisect.

    culprits:     in order of time; their deltas and `smaller` sum to bad minus good
    good, bad:    as given
    points:       the series, from good's commit to bad's
    what:         what was built
    equal_inputs: commits that were not built because a commit with equal inputs was
    neutral:      commits that moved bytes between buckets but did not change the metric
    skipped:      ranges that may hide culprits that cancel each other to the byte in every bucket
    nearest:      the most similar name in an end, if neither end has the metric's name
    is_unknown:   neither end has the metric's name, so 0 bytes do not mean that it is unchanged
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
    is_unknown: bool = False

    @property
    def old(self) -> int:
        """The metric at the good end, in bytes."""
        return self.points[0].value or 0

    @property
    def new(self) -> int:
        """The metric at the bad end, in bytes."""
        return self.points[-1].value or 0

    @property
    def delta(self) -> int:
        """Bytes from good to bad."""
        return self.new - self.old

    @property
    def failures(self) -> int:
        """Commits of the series that failed to build."""
        return sum(point.how == DOES_NOT_BUILD for point in self.points)

    @property
    def not_measured(self) -> int:
        """Commits that needed no build of their own, in this run or before."""
        return sum(point.how in (EQUAL_INPUTS, BETWEEN_EQUALS) for point in self.points[1:])

    @property
    def blind_spot(self) -> str:
        """A note on changes that skipped ranges could hide; empty without such ranges."""
        hidden = sum(each.commits for each in self.skipped)
        if not hidden:
            return ""
        alike = f"the buckets of {self.metric} are" if self.narrow else "every bucket is"
        ranges = "range" if len(self.skipped) == 1 else "ranges"
        return (
            f"{hidden} commits in {len(self.skipped)} {ranges} were not measured: {alike} equal at"
            " both ends. Changes there that cancel each other to the byte are not found; "
            "--exhaustive builds all commits"
        )


@dataclass(frozen=True, slots=True)
class News:
    """A commit was measured: built, or found in the store.

    remaining: estimate of the remaining builds
    """

    commit: Commit
    was_built: bool
    value: int | None
    remaining: int


def commits_text(commits: Sequence[Commit]) -> str:
    """Write the commit as a91c2f4, or a range as c0ffee1..d15ea5e."""
    first, last = commits[0].id[:7], commits[-1].id[:7]
    return first if len(commits) == 1 else f"{first}..{last}"
