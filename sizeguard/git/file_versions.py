"""Read the same files from a commit and from the worktree, by content.

Identities are git's content ids, after the filters of .gitattributes that lose nothing. So a Git
LFS file or a file with other line ends equals its commit. Git's index is not used: a file that is
marked assume-unchanged is read like any other.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

from sizeguard.base.files import cannot_read
from sizeguard.git.git import git, git_bytes
from sizeguard.git.own_filters import PURE
from sizeguard.git.submodules import GITLINK, submodule_repository
from sizeguard.git.trees import LINK, blob_bytes, tree_entries

_LINKS = 8  # links to follow at most; people make fewer
_ARGUMENTS = 200  # files per git command
# With these attributes, files of other content can have the same id: `ident` drops text.
_LOSING = ("ident", "working-tree-encoding", "filter")
_KEEPING = frozenset({b"unspecified", b"unset", *map(str.encode, PURE)})


class FileVersions(Protocol):
    """Files of one state of a repository, by paths from its root; an empty path is no file."""

    def text(self, path: str) -> bytes | None:
        """Return the bytes of a file; None if it does not exist."""
        ...

    def names(self, folder: str) -> Sequence[str]:
        """List the names of the files in a folder, sorted; empty for a missing folder."""
        ...

    def identities(self, paths: Iterable[str]) -> Mapping[str, str]:
        """Return git's content ids of files, by path; missing files are left out."""
        ...

    def leads_out(self, path: str) -> bool:
        """Return whether links on a path lead out of the repository, or in a circle."""
        ...


class _LeadingStep(NamedTuple):
    """A link or submodule on a path. path: up to it; rest: behind it; mode, id: of its entry."""

    path: str
    rest: str
    mode: str
    id: str


class CommitFiles:
    """The files of a commit, with those of its submodules. Links to folders are followed, too."""

    def __init__(self, repository: Path, commit: str, place: Path | None = None) -> None:
        """Read the commit of a repository; `place`: its worktree, if that is another folder."""
        self._repository = repository
        self._commit = commit
        self._place = place or repository

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
        found = self._find(path)
        blob = found[0]._blob(found[1]) if found else ""
        return blob_bytes(found[0]._repository, blob) if found and blob else None

    def names(self, folder: str) -> Sequence[str]:
        """List the names of the files in a folder, sorted; empty for a missing folder."""
        found = self._find(folder)
        if found is None:
            return []
        there = found[0]._folders.get(found[1], ())
        return sorted(name for name in there if self._id(posixpath.join(folder, name)))

    def identities(self, paths: Iterable[str]) -> Mapping[str, str]:
        """Return git's content ids of files, by path; missing files are left out."""
        blobs = {path: self._id(path) for path in paths}
        return {path: blob for path, blob in blobs.items() if blob}

    def leads_out(self, path: str) -> bool:
        """Return whether links on a path lead out of the repository, or in a circle."""
        return self._find(path) is None

    def _id(self, path: str) -> str:
        """Return the id of a file's content; empty for no file."""
        found = self._find(path)
        return found[0]._blob(found[1]) if found else ""

    def _blob(self, path: str) -> str:
        """Return the id of the content of a file that is no link; empty for no file."""
        _, kind, blob = (self._entries.get(path, "") + "  ").split(" ")[:3]
        return blob if kind == "blob" else ""

    def _find(self, path: str) -> tuple[CommitFiles, str] | None:
        """Follow the links and submodules on a path to the commit that holds it.

        None if they lead out of the repository or in a circle. Raises InputError if the clone lacks
        the commit of a submodule.
        """
        at = posixpath.normpath(path)
        for _ in range(_LINKS):
            if at.startswith(("/", "../")) or at == "..":
                return None
            step, rest, mode, id_ = self._step(at)
            if mode == GITLINK:
                return self._submodule(step, id_)._find(rest or ".")
            if mode != LINK:
                return self, "" if at == "." else at
            link = blob_bytes(self._repository, id_).decode("utf-8", "replace")
            at = posixpath.normpath(posixpath.join(posixpath.dirname(step), link, rest))
        return None

    def _step(self, path: str) -> _LeadingStep:
        """Find the first link or submodule on a path; if there is none, the path itself."""
        parts = path.split("/")
        for count in range(1, len(parts) + 1):
            at = "/".join(parts[:count])
            mode, _, id_ = (self._entries.get(at, "") + "  ").split(" ")[:3]
            if mode in (LINK, GITLINK):
                return _LeadingStep(at, "/".join(parts[count:]), mode, id_)
        return _LeadingStep(path, "", "", "")

    def _submodule(self, path: str, commit: str) -> CommitFiles:
        place = self._place / path
        return CommitFiles(submodule_repository(self._place, path, commit), commit, place)


class WorktreeFiles:
    """The files in the worktree."""

    def __init__(self, root: Path) -> None:
        """Read below the root of a worktree."""
        self._root = root
        self._ids: dict[str, str] = {}  # asked of git already: a process takes 3 ms

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
        new = [path for path in there if path not in self._ids]
        for i in range(0, len(new), _ARGUMENTS):
            some = new[i : i + _ARGUMENTS]
            as_is = self._filtered_with_loss(some)
            self._hash([path for path in some if path not in as_is])
            self._hash([path for path in some if path in as_is], "--no-filters")
        return {path: self._ids[path] for path in there}

    def _hash(self, paths: Sequence[str], *options: str) -> None:
        if paths:
            ids = git(self._root, "hash-object", *options, "--", *paths).split()
            self._ids |= dict(zip(paths, ids, strict=True))

    def _filtered_with_loss(self, paths: Iterable[str]) -> set[str]:
        """Return the files that .gitattributes let git hash without a part of their content."""
        told = git_bytes(self._root, "check-attr", "-z", *_LOSING, "--", *paths).split(b"\0")
        rows = zip(told[::3], told[2::3], strict=False)
        return {os.fsdecode(path) for path, value in rows if value not in _KEEPING}

    def leads_out(self, path: str) -> bool:
        """Return whether links on a path lead out of the worktree, or in a circle."""
        file = self._root / path
        try:
            real = file.resolve(strict=True)
        except FileNotFoundError:
            return False
        except (OSError, RuntimeError):
            return True  # a circle
        return not real.is_relative_to(self._root.resolve())


class FolderFiles:
    """The files of one state below a folder of its repository, by paths from that folder."""

    def __init__(self, files: FileVersions, folder: str) -> None:
        """Read `files` below a folder, given by its path from the root."""
        self._files = files
        self._folder = folder

    def text(self, path: str) -> bytes | None:
        """Return the bytes of a file; None if it does not exist."""
        return self._files.text(self._path(path))

    def names(self, folder: str) -> Sequence[str]:
        """List the names of the files in a folder, sorted; empty for a missing folder."""
        return self._files.names(self._path(folder))

    def identities(self, paths: Iterable[str]) -> Mapping[str, str]:
        """Return git's content ids of files, by path; missing files are left out."""
        whole = {self._path(path): path for path in paths if path}
        return {whole[path]: id_ for path, id_ in self._files.identities(whole).items()}

    def leads_out(self, path: str) -> bool:
        """Return whether links on a path lead out of the repository, or in a circle."""
        return self._files.leads_out(self._path(path))

    def _path(self, path: str) -> str:
        return posixpath.join(self._folder, path)
