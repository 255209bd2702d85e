"""Turns two revisions into the commits from one to the other, in order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sizeguard.build.git import git, git_bytes, git_piped
from sizeguard.errors import InputError

_FIELDS = ("%H", "%P", "%aN", "%aI", "%s", "%b")
_SAYS_REVERT = re.compile(r"This reverts commit ([0-9a-f]{7,64})")


@dataclass(frozen=True, slots=True)
class Commit:
    """id, parents: full; date: ISO 8601; undoes: the commit that its message says it reverts, empty if none."""

    id: str
    parents: tuple[str, ...]
    author: str
    date: str
    subject: str
    undoes: str = ""

    @property
    def is_merge(self) -> bool:
        return len(self.parents) > 1


@dataclass(frozen=True, slots=True)
class History:
    """commits: of a line of first parents, oldest first; the first one is where the line starts, and changed nothing in it."""

    commits: tuple[Commit, ...]

    def __len__(self) -> int:
        """Commits that can have changed something."""
        return len(self.commits) - 1


def read_history(repository: Path, names: tuple[str, str], ends: tuple[str, str]) -> History:
    """The first parents of BAD down to GOOD: a merge stands for all that it brought. Raises InputError if GOOD is no ancestor of BAD.

    names: of GOOD and BAD for people; ends: their ids
    """
    base = git(repository, "rev-list", "--max-count=1", ends[0], f"^{ends[1]}")
    if base:
        common = _merge_base(repository, ends)
        hint = f"begin at their merge base, {common[:12]}" if common else "they have no common history"
        raise InputError(f"{names[0]} is no ancestor of {names[1]}, so no commits lead from one to the other: {hint}")
    return line_of(repository, *ends)


def _merge_base(repository: Path, ends: tuple[str, str]) -> str:
    try:
        return git(repository, "merge-base", *ends)
    except InputError:  # git ends with 1 and says nothing
        return ""


def branch_of(repository: Path, merge: Commit) -> History | None:
    """The line that a merge brought: from where it left its first parent's history. None for merges of several or of unrelated lines."""
    if len(merge.parents) != 2:
        return None
    base = git(repository, "rev-list", "--max-count=1", "--first-parent", merge.parents[1], "--not", merge.parents[0])
    if not base:
        return None
    newer = line_of(repository, merge.parents[0], merge.parents[1]).commits[1:]
    if not newer[0].parents:
        return None  # an unrelated history begins there: there is nothing to compare its first commit with
    return History((_one(repository, newer[0].parents[0]), *newer))


def line_of(repository: Path, start: str, end: str) -> History:
    """start, and the first parents of end that are not in its history, oldest first."""
    newer = _log(repository, "--first-parent", "--reverse", end, f"^{start}")
    return History((_one(repository, start), *newer))


def _one(repository: Path, commit: str) -> Commit:
    return _log(repository, "--max-count=1", commit)[0]


def _log(repository: Path, *arguments: str) -> tuple[Commit, ...]:
    form = "%x00".join(_FIELDS)
    output = git_bytes(repository, "log", "-z", "--no-show-signature", "--encoding=UTF-8", f"--format={form}", *arguments, "--")
    values = output.decode("utf-8", "replace").removesuffix("\0").split("\0") if output else []
    rows = [values[i : i + len(_FIELDS)] for i in range(0, len(values) - len(_FIELDS) + 1, len(_FIELDS))]
    return tuple(Commit(row[0], tuple(row[1].split()), row[2], row[3], row[4], _undone(row[5])) for row in rows)


def _undone(body: str) -> str:
    match = _SAYS_REVERT.search(body)
    return match[1] if match else ""


def undone_pairs(repository: Path, history: History) -> list[tuple[int, int]]:
    """Pairs (i, j), i < j, of commits of which j undoes i: its message says so, or its patch is that of i the other way round.

    Git compares patches without line numbers and white space: commits between them do not matter.
    """
    commits = history.commits
    place = {commit.id: i for i, commit in enumerate(commits)}
    pairs = set()
    for j, commit in enumerate(commits):
        if commit.undoes:
            i = next((place[each.id] for each in commits[1:j] if each.id.startswith(commit.undoes)), None)
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
    """Of each commit against its first parent; those without a difference have none."""
    log = ("log", "-p", "-m", "--first-parent", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-color", "--no-prefix")
    output = git_piped(repository, (*log, *how, commits[-1].id, f"^{commits[0].id}", "--"), ("patch-id", "--stable"))
    lines = output.decode("ascii", "replace").splitlines()
    return {line.split()[1]: line.split()[0] for line in lines if len(line.split()) == 2}
