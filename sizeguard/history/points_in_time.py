"""Choose the commits of a history: tagged ones, or all of the main line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.git.commits import last_of_line, line_of, read_commit, tagged_commits
from sizeguard.git.git import commit_id, git
from sizeguard.history.history_result import COMMITS, RELEASES, Release


def releases(root: Path, since: str, last: int) -> tuple[tuple[Release, ...], bool]:
    """List the tagged commits of HEAD's history, the oldest first, and HEAD.

    since: the first of them; last: the maximum number, 0 for all

    The second value is whether older ones were left out.
    """
    tags = tags_of(root, since)
    start = commit_id(root, since) if since else ""
    head = commit_id(root, "HEAD")
    inner = [each for each in tagged_commits(root) if each.id in tags and each.id != start]
    found = [each for each in inner if each.id != head] + [read_commit(root, head)]
    if start and start != head:
        found.insert(0, read_commit(root, start))
    return _last(tuple(Release(each, tags.get(each.id, ())) for each in found), last)


def commits(root: Path, since: str, last: int) -> tuple[tuple[Release, ...], bool]:
    """List the first parents from `since` to HEAD; without `since`, the last ones.

    If `since` is on a merged branch, the commit where it began follows: the next one would seem to
    undo the branch.
    """
    tags = tags_of(root, since)
    if since:
        found = line_of(root, _ancestor(root, since), "HEAD").commits
        began = found[1].parents[:1] if len(found) > 1 else ()
        if began not in ((), (found[0].id,)):
            found = (found[0], read_commit(root, began[0]), *found[1:])
    else:
        found = last_of_line(root, last + 1 if last else 0)
    return _last(tuple(Release(each, tags.get(each.id, ())) for each in found), last)


def kind_of(root: Path, since: str) -> str:
    """Return RELEASES if there are tags besides `since`, else COMMITS."""
    start = commit_id(root, since) if since else ""
    return RELEASES if any(commit != start for commit in tags_of(root, since)) else COMMITS


def tags_of(root: Path, since: str) -> Mapping[str, tuple[str, ...]]:
    """Return the tags in HEAD's history that contain `since`, by commit."""
    contains = ("--contains", _ancestor(root, since)) if since else ()
    form = "--format=%(objecttype) %(*objecttype) %(objectname) %(*objectname) %(refname:short)"
    listing = git(root, "for-each-ref", "--merged", "HEAD", *contains, form, "refs/tags/")
    found: dict[str, tuple[str, ...]] = {}
    for line in filter(None, listing.split("\n")):
        type_, peeled_type, id_, peeled, name = line.split(" ", 4)
        if "commit" in (type_, peeled_type):
            commit = peeled if peeled_type == "commit" else id_
            found[commit] = (*found.get(commit, ()), name.removeprefix("tags/"))
    return found


def _ancestor(root: Path, since: str) -> str:
    """Return the id of `since`. Raises InputError if HEAD does not descend from it."""
    start = commit_id(root, since)
    if git(root, "rev-list", "--max-count=1", start, "^HEAD"):
        raise InputError(f"--since {since}: not an ancestor of HEAD")
    return start


def _last(points: tuple[Release, ...], last: int) -> tuple[tuple[Release, ...], bool]:
    return (points[-last:], len(points) > last) if last else (points, False)
