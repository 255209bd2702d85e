"""Find the revision that growth is counted from: the requested one, CI's, or the default branch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.gate.reference.ci_event import Candidate, CiEvent, default_branch
from sizeguard.git.git import branch_id, commit_id, git, git_finds, nearest_revision

# Branches that changes are merged into, unless CI names another. A feature branch's own upstream
# would be the change itself.
_USUAL = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


def usual_branches() -> tuple[str, ...]:
    """List the revisions that may be the repository's default branch, the most likely first."""
    return (*filter(None, [default_branch()]), *_USUAL)


def exists(root: Path, revision: str) -> bool:
    """Return whether a branch or commit exists in this clone."""
    try:
        branch_id(root, revision)
    except InputError:
        return False
    return True


def named_base(root: Path, asked: str, event: CiEvent) -> Candidate | None:
    """Find the requested revision, or the one that CI names; None if there is neither.

    Raises InconclusiveError if the clone does not have it, InputError if CI runs for a change but
    does not name its base.
    """
    if event.unknown and not asked:
        raise InputError(f"{event.unknown}; name the base of growth with --base")
    named = (Candidate(asked, asked),) if asked else tuple(_of_event(root, event))
    found = next((each for each in named if exists(root, each.revision)), None)
    if found is not None or not named:
        return found
    if event.pushed and not asked and not is_shallow(root):
        return None  # a forced push: the old commit is unreachable
    name = named[0].name
    hint = nearest_revision(root, name) if asked else ""
    raise InconclusiveError(
        f"unknown base '{name}'{hint or f'; {how_to_fetch(root)}, or name another with --base'}"
    )


def _of_event(root: Path, event: CiEvent) -> Iterable[Candidate]:
    """List the event's revisions; the first parent of a merge that CI made is the target branch."""
    first = event.bases[:1]
    parent = ""
    if event.merge:
        with contextlib.suppress(InputError):
            line = git(root, "rev-list", "--parents", "--max-count=1", commit_id(root, "HEAD"))
            commit, *parents = line.split()
            parent = parents[0] if commit == event.merge and len(parents) == 2 else ""
    yield from first
    if parent and first:
        yield Candidate(parent, first[0].name)
    yield from event.bases[1:]


def check_change(root: Path, event: CiEvent, head: str) -> None:
    """Raise InputError if HEAD, the base itself, does not contain the change that CI runs for.

    Events such as pull_request_target check out the target branch, which would pass unchanged.
    """
    change = event.change
    if not change:
        return
    with contextlib.suppress(InputError):  # the clone may lack it
        if git_finds(root, "merge-base", "--is-ancestor", change, head):
            return
    raise InputError(
        f"HEAD is the base {head[:7]}, not the pull request's commit {change[:7]}; check that out"
        " (actions/checkout: ref: ${{ github.event.pull_request.head.sha }}), or name the base of"
        " growth with --base"
    )


def is_shallow(root: Path) -> bool:
    """Return whether the clone is shallow."""
    try:
        return git(root, "rev-parse", "--is-shallow-repository") == "true"
    except InputError:
        return False


def how_to_fetch(root: Path) -> str:
    """Return the command that fetches the missing commits."""
    if is_shallow(root):
        return (
            "the clone is shallow: git fetch --unshallow origin (actions/checkout: fetch-depth: 0;"
            ' GitLab: GIT_DEPTH: "0")'
        )
    return "git fetch origin"
