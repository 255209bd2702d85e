"""The sizes of releases or commits as plain data: a line of points for each app and target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from sizeguard.base.dataclass import dataclass
from sizeguard.builds.sizes import Sizes
from sizeguard.diff.diff_result import DiffRow
from sizeguard.git.commits import Commit

RELEASES, COMMITS = "releases", "commits"  # the kinds of points

# Sources of a point's sizes.
MEASURED = "measured"  # the commit, or one with equal inputs, was built
REVIEWED = "baseline"  # the baseline in the commit; it can be older than the commit
NOT_KNOWN = "not known"  # neither; --build builds it
DOES_NOT_BUILD = "does not build"

NO_NAME = "(none)"  # bytes without a name on a level


@dataclass(frozen=True, slots=True)
class Release:
    """A commit with the tags that name it."""

    commit: Commit
    tags: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The tags, else the first digits of the id."""
        return ", ".join(self.tags) or self.commit.id[:7]


@dataclass(frozen=True, slots=True)
class SizeChange:
    """The difference between a point and the last known point before it.

    since: the commit of the earlier point
    by:    the levels of the rows
    rows:  the largest first; they sum to the change of the load; None if a baseline lacks them
    """

    since: Release
    load: int
    ram: int
    file: int
    by: tuple[str, ...]
    rows: tuple[DiffRow, ...] | None


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """The sizes of one app for one target at one commit.

    sizes: None if unknown
    source: MEASURED, REVIEWED, NOT_KNOWN or DOES_NOT_BUILD
    why: for unknown sizes, the build's first error or the missing part; for a baseline, the error
            of a failed build of the commit
    parts: loaded bytes by name of the line's level; they sum to the load; empty if unknown
    change: None for the first known point
    """

    release: Release
    source: str
    sizes: Sizes | None = None
    why: str = ""
    parts: Mapping[str, int] = field(default_factory=dict)
    change: SizeChange | None = None


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """The points of one app for one target, the oldest first.

    by: the level of the points' parts
    """

    app: str
    target: str
    by: str
    points: tuple[HistoryPoint, ...]

    @property
    def known(self) -> tuple[HistoryPoint, ...]:
        """The points with known sizes."""
        return tuple(point for point in self.points if point.sizes is not None)


@dataclass(frozen=True, slots=True)
class SizeHistory:
    """The history of a project's apps.

    kind:  RELEASES or COMMITS
    since: as requested; empty for the whole history
    built: number of builds in this run
    older: whether there are older points that were not requested
    """

    kind: str
    since: str
    lines: tuple[HistoryLine, ...]
    built: int = 0
    older: bool = False
