"""Read the commits between two revisions, in order."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.git.git import git, git_bytes, git_piped

_FIELDS = ("%H", "%P", "%aN", "%aI", "%s", "%b")
_LINE = "--format=%H%x00%s%x00%cs"
_SAYS_REVERT = re.compile(r"This reverts commit ([0-9a-f]{7,64})")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit; id and parents in full, date as ISO 8601.

    undoes: the commit that it reverts, by its message; empty if none.
    """

    id: str
    parents: tuple[str, ...]
    author: str
    date: str
    subject: str
    undoes: str = ""

    @property
    def is_merge(self) -> bool:
        """Return whether it has several parents."""
        return len(self.parents) > 1


@dataclass(frozen=True, slots=True)
class CommitLine:
    """A commit as one line of a list.

    id: the full id
    date: the committer date, YYYY-MM-DD
    """

    id: str
    subject: str
    date: str

    @property
    def short(self) -> str:
        """The first 7 digits of the id."""
        return self.id[:7]


@dataclass(frozen=True, slots=True)
class CommitRange:
    """A line of first parents, the oldest first.

    The first commit is the start of the line; only later commits are changes.
    """

    commits: tuple[Commit, ...]

    def __len__(self) -> int:
        """Return the number of commits that can have changed something."""
        return len(self.commits) - 1


def read_history(repository: Path, names: tuple[str, str], ends: tuple[str, str]) -> CommitRange:
    """Read the first parents from BAD down to GOOD; a merge represents its whole branch.

    names: of GOOD and BAD, for messages; ends: their ids.

    Raises InputError if GOOD is not an ancestor of BAD, or is on a branch that was merged, which
    the first commit after it would seem to undo.
    """
    base = git(repository, "rev-list", "--max-count=1", ends[0], f"^{ends[1]}")
    if base:
        common = _merge_base(repository, ends)
        hint = (
            f"begin at their merge base, {common[:12]}" if common else "they have no common history"
        )
        raise InputError(
            f"{names[0]} is not an ancestor of {names[1]}; there are no commits between them:"
            f" {hint}"
        )
    line = line_of(repository, *ends)
    before = line.commits[1].parents[:1] if len(line) else (ends[0],)
    if before != (ends[0],):
        where = f"where it began, at {before[0][:12]}" if before else "at a commit of its main line"
        raise InputError(
            f"{names[0]} is on a branch that was merged into {names[1]}: begin {where}"
        )
    return line


def _merge_base(repository: Path, ends: tuple[str, str]) -> str:
    """Return the merge base; empty without one."""
    try:
        return git(repository, "merge-base", *ends)
    except InputError:  # git exits with 1 and prints nothing
        return ""


def branch_of(repository: Path, merge: Commit) -> CommitRange | None:
    """Read the branch that a merge joined, from where it left the first parent's history.

    None for merges of several branches or of unrelated histories.
    """
    if len(merge.parents) != 2:
        return None
    base = git(
        repository,
        "rev-list",
        "--max-count=1",
        "--first-parent",
        merge.parents[1],
        "--not",
        merge.parents[0],
    )
    if not base:
        return None
    newer = line_of(repository, merge.parents[0], merge.parents[1]).commits[1:]
    if not newer[0].parents:
        # An unrelated history begins there, so its first commit has no commit to compare with.
        return None
    return CommitRange((read_commit(repository, newer[0].parents[0]), *newer))


def line_of(repository: Path, start: str, end: str) -> CommitRange:
    """Read `start`, and the first parents of `end` that are not in its history, oldest first."""
    newer = _log(repository, "--first-parent", "--reverse", end, f"^{start}")
    return CommitRange((read_commit(repository, start), *newer))


@functools.lru_cache(16)
def read_line(repository: Path, commit: str) -> CommitLine:
    """Read a commit by its id; cached, because an id never changes its meaning."""
    return CommitLine(*git(repository, "show", "--no-patch", _LINE, commit).split("\0"))


def lines_after(repository: Path, start: str) -> tuple[CommitLine, ...]:
    """List the first parents after `start` up to HEAD, the oldest first."""
    listing = git(repository, "log", "--first-parent", "--reverse", _LINE, f"{start}..HEAD", "--")
    return tuple(CommitLine(*line.split("\0")) for line in listing.split("\n") if line)


def tagged_commits(repository: Path) -> tuple[Commit, ...]:
    """Read the tagged commits in HEAD's history and some others, parents before children."""
    tags = "--decorate-refs=refs/tags/"
    return _log(repository, "--simplify-by-decoration", tags, "--date-order", "--reverse", "HEAD")


def last_of_line(repository: Path, count: int) -> tuple[Commit, ...]:
    """Read the last first parents up to HEAD, the oldest first; all for a count of 0."""
    most = (f"--max-count={count}",) if count else ()
    return _log(repository, "--first-parent", "--reverse", *most, "HEAD")


def read_commit(repository: Path, commit: str) -> Commit:
    """Read one commit by its id."""
    return _log(repository, "--max-count=1", commit)[0]


def _log(repository: Path, *arguments: str) -> tuple[Commit, ...]:
    """Read commits by the arguments of git log."""
    form = "%x00".join(_FIELDS)
    output = git_bytes(
        repository,
        "log",
        "-z",
        f"--format={form}",
        *arguments,
        "--",
    )
    values = output.decode("utf-8", "replace").removesuffix("\0").split("\0") if output else []
    rows = [
        values[i : i + len(_FIELDS)] for i in range(0, len(values) - len(_FIELDS) + 1, len(_FIELDS))
    ]
    return tuple(
        Commit(row[0], tuple(row[1].split()), row[2], row[3], row[4], _undone(row[5]))
        for row in rows
    )


def _undone(body: str) -> str:
    """Return the commit that is reverted according to a message; empty if none."""
    match = _SAYS_REVERT.search(body)
    return match[1] if match else ""


def undone_pairs(repository: Path, history: CommitRange) -> list[tuple[int, int]]:
    """Return pairs (i, j), i < j, where commit j undoes commit i.

    Either j's message says so, or j's patch is the reverse of i's. Git compares patches without
    line numbers and white space, so commits between them do not matter.
    """
    commits = history.commits
    place = {commit.id: i for i, commit in enumerate(commits)}
    pairs = set()
    for j, commit in enumerate(commits):
        if commit.undoes:
            i = next(
                (place[each.id] for each in commits[1:j] if each.id.startswith(commit.undoes)), None
            )
            if i is not None:
                pairs.add((i, j))
    if len(history) < 2:
        return sorted(pairs)
    forward, backward = (_patch_ids(repository, commits, *how) for how in ((), ("-R",)))
    last: dict[str, int] = {}
    for j in range(1, len(commits)):
        i = last.pop(forward.get(commits[j].id, ""), None)
        if i is not None:
            pairs.add((i, j))
        undo = backward.get(commits[j].id)
        if undo is not None:
            last[undo] = j
    return sorted(pairs)


def _patch_ids(repository: Path, commits: Sequence[Commit], *how: str) -> dict[str, str]:
    """Return the patch id of each commit against its first parent.

    A commit without a difference has none.
    """
    log = (
        "log",
        "-p",
        "-m",
        "--first-parent",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--no-prefix",
        "--ignore-submodules=none",
    )
    output = git_piped(
        repository,
        (*log, *how, commits[-1].id, f"^{commits[0].id}", "--"),
        ("patch-id", "--stable"),
    )
    lines = output.decode("ascii", "replace").splitlines()
    return {line.split()[1]: line.split()[0] for line in lines if len(line.split()) == 2}
