"""Make a commit from the checked-out files, tracked and unignored."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sizeguard.base.kept.moment import kept_now
from sizeguard.git.git import git, git_bytes, head_id
from sizeguard.git.submodules import GITLINK

# Equal files give the same commit, whoever makes it and whenever.
_NOBODY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (
        ("NAME", "sizeguard"),
        ("EMAIL", "sizeguard@localhost"),
        ("DATE", "2000-01-01T00:00:00Z"),
    )
}


def checked_out_commit(repository: Path) -> str:
    """Return the checked-out commit, or one made from the files if they differ from it.

    The user's index, branches and files do not change: no ref points to the commit, so git's
    maintenance removes it. A submodule is included with its own files.

    In a repository without commits it has no parent.

    Takes 40 ms, once a moment. Raises InputError if a file cannot be read.
    """
    return kept_now(("checked out", repository), lambda: _commit_of(repository))


def _commit_of(repository: Path) -> str:
    head = head_id(repository)
    with tempfile.TemporaryDirectory() as folder:
        index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        # A new index, because git ignores changes of files that the user's index marks
        # assume-unchanged.
        if head:
            git_bytes(repository, "read-tree", head, more=index)
        git_bytes(repository, "-c", "advice.addEmbeddedRepo=false", "add", "--all", more=index)
        if left_out := _left_out(repository):
            git_bytes(repository, "update-index", "-z", "--index-info", stdin=left_out, more=index)
        for path in _submodules(repository, index):
            commit = _commit_of(repository / path)
            entry = f"{GITLINK},{commit},{path}"
            git_bytes(repository, "update-index", "--cacheinfo", entry, more=index)
        tree = git_bytes(repository, "write-tree", more=index).decode().strip()
    if head and tree == git(repository, "rev-parse", f"{head}^{{tree}}"):
        return head
    text = "Files that are checked out"
    parents = ["-p", head] if head else []
    made = git_bytes(repository, "commit-tree", tree, *parents, "-m", text, more=_NOBODY)
    return made.decode().strip()


def _left_out(repository: Path) -> bytes:
    """List HEAD's entries of the files that a sparse checkout leaves out, as git ls-tree does.

    They are missing on disk, but nobody removed them.
    """
    rows = git_bytes(repository, "ls-files", "-t", "-z").split(b"\0")
    sparse = {row[2:] for row in rows if row.startswith(b"S ")}
    missing = {path for path in sparse if not os.path.lexists(repository / os.fsdecode(path))}
    if not missing:
        return b""
    listed = git_bytes(repository, "ls-tree", "-r", "-z", "--full-tree", "HEAD").split(b"\0")
    kept = [row + b"\0" for row in listed if row.partition(b"\t")[2] in missing]
    return b"".join(kept)


def _submodules(repository: Path, index: dict[str, str]) -> Iterator[str]:
    """List the submodules that are checked out."""
    listed = git_bytes(repository, "ls-files", "--stage", "-z", more=index)
    for row in listed.decode("utf-8", "surrogateescape").split("\0"):
        about, _, path = row.partition("\t")
        if about.startswith(f"{GITLINK} ") and (repository / path / ".git").exists():
            yield path
