"""Read the same files from a commit and from the worktree, by content.

Identities are git's content ids, with the filters of .gitattributes applied, so a Git LFS file or a
file with other line ends equals its commit. Git's index is not used: a file that is marked
assume-unchanged is read like any other.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol

from sizeguard.base.files import cannot_read
from sizeguard.git.git import git
from sizeguard.git.trees import LINK, blob_bytes, tree_entries

_LINKS = 8  # links to follow at most; people make fewer
_ARGUMENTS = 200  # files per git command


class FileVersions(Protocol):
    """Files of one state of a repository, by their paths from its root."""

    def text(self, path: str) -> bytes | None:
        """Return the bytes of a file; None if it does not exist."""
        ...

    def names(self, folder: str) -> Sequence[str]:
        """List the names of the files in a folder, sorted; empty for a missing folder."""
        ...

    def identities(self, paths: Iterable[str]) -> Mapping[str, str]:
        """Return git's content ids of files, by path; missing files are left out."""
        ...


class CommitFiles:
    """The files of a commit."""

    def __init__(self, repository: Path, commit: str) -> None:
        """Read the commit of a repository."""
        self._repository = repository
        self._commit = commit

    @cached_property
    def _entries(self) -> Mapping[str, str]:
        return tree_entries(self._repository, self._commit, "-r", "--full-tree")

    @cached_property
    def _folders(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for path in self._entries:
            folder, _, name = path.rpartition("/")
            found.setdefault(folder, []).append(name)
        return found

    def text(self, path: str) -> bytes | None:
        """Return the bytes of a file; None if it does not exist."""
        blob = self._blob(path)
        return blob_bytes(self._repository, blob) if blob else None

    def names(self, folder: str) -> Sequence[str]:
        """List the names of the files in a folder, sorted; empty for a missing folder."""
        return sorted(self._folders.get(folder, ()))

    def identities(self, paths: Iterable[str]) -> Mapping[str, str]:
        """Return git's content ids of files, by path; missing files are left out."""
        blobs = {path: self._blob(path) for path in paths}
        return {path: blob for path, blob in blobs.items() if blob}

    def _blob(self, path: str) -> str:
        """Return the id of a file's content; empty for no file. Links are followed."""
        at = posixpath.normpath(path)
        for _ in range(_LINKS):
            mode, kind, blob = (self._entries.get(at, "") + "  ").split(" ")[:3]
            if mode != LINK:
                return blob if kind == "blob" else ""
            link = blob_bytes(self._repository, blob).decode("utf-8", "replace")
            at = posixpath.normpath(posixpath.join(posixpath.dirname(at), link))
        return ""


class WorktreeFiles:
    """The files in the worktree."""

    def __init__(self, root: Path) -> None:
        """Read below the root of a worktree."""
        self._root = root

    def text(self, path: str) -> bytes | None:
        """Return the bytes of a file; None if it does not exist.

        Raises InputError if it cannot be read.
        """
        try:
            file = self._root / path
            return file.read_bytes() if file.is_file() else None
        except OSError as error:
            raise cannot_read(path, error) from error

    def names(self, folder: str) -> Sequence[str]:
        """List the names of the files in a folder, sorted; empty for a missing folder."""
        place = self._root / folder
        return (
            sorted(each.name for each in place.iterdir() if each.is_file())
            if (place.is_dir())
            else []
        )

    def identities(self, paths: Iterable[str]) -> Mapping[str, str]:
        """Return git's content ids of files, by path; missing files are left out."""
        there = [path for path in dict.fromkeys(paths) if (self._root / path).is_file()]
        ids: list[str] = []
        for i in range(0, len(there), _ARGUMENTS):
            ids += git(self._root, "hash-object", "--", *there[i : i + _ARGUMENTS]).split()
        return dict(zip(there, ids, strict=True))
