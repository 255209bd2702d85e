"""The sizes of releases or commits as plain data: a line of points for each app and target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sizeguard.builds.sizes import Sizes
from sizeguard.git.commits import Commit

RELEASES, COMMITS = "releases", "commits"  # the kinds of points

# Sources of a point's sizes.
MEASURED = "measured"  # the commit was built, or one with equal inputs
REVIEWED = "baseline"  # the baseline that the commit holds: it can be older than the commit
NOT_KNOWN = "not known"  # neither: --build builds it
DOES_NOT_BUILD = "does not build"

NO_NAME = "(none)"  # bytes that a level has no name for


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
class ChangedPart:
    """A row that differs between two points, in loaded bytes.

    keys:  a value for each level of the change
    cause: one of diff_result.CAUSES; empty if a baseline is one of the two
    """

    keys: tuple[str, ...]
    old: int
    new: int
    cause: str = ""

    @property
    def delta(self) -> int:
        """Bytes that the row grew."""
        return self.new - self.old


@dataclass(frozen=True, slots=True)
class SizeChange:
    """The difference of a point and the last known one before it.

    since: that one's commit
    by:    the levels of the rows
    rows:  they sum to the change of the load, the largest first; None if a baseline does not tell
    """

    since: Release
    load: int
    ram: int
    file: int
    by: tuple[str, ...]
    rows: tuple[ChangedPart, ...] | None


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """The sizes of one app for one target at one commit.

    sizes:  None if they are not known
    source: MEASURED, REVIEWED, NOT_KNOWN or DOES_NOT_BUILD
    why:    of unknown sizes: the build's first error, or what is missing; of a baseline: why the
            commit could not be built, if that was tried
    parts:  loaded bytes by name of the line's level; they sum to the load; empty if not known
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

    by: the level that the points' parts are of
    """

    app: str
    target: str
    by: str
    points: tuple[HistoryPoint, ...]

    @property
    def known(self) -> tuple[HistoryPoint, ...]:
        """The points whose sizes are known."""
        return tuple(point for point in self.points if point.sizes is not None)


@dataclass(frozen=True, slots=True)
class SizeHistory:
    """The history of a project's apps.

    kind:  RELEASES or COMMITS
    since: as it was requested; empty for the whole history
    built: builds that this run made
    older: whether there are older points that were not asked for
    """

    kind: str
    since: str
    lines: tuple[HistoryLine, ...]
    built: int = 0
    older: bool = False
