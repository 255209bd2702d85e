"""Compare files on disk with those of a commit, by content.

The index is not used, because git treats a file that is marked assume-unchanged or skip-worktree as
unchanged, and skips ignored files.
"""

from __future__ import annotations

import bisect
import functools
import hashlib
import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.git.trees import LINK, tree_entries

_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class CommitTree:
    """The files of a commit.

    entries: path → mode and id; folders: all folders with entries; paths: of entries, sorted
    """

    entries: Mapping[str, tuple[str, str]]
    folders: frozenset[str]
    paths: Sequence[str]

    def has(self, path: str) -> bool:
        """Return whether a file or folder of that path exists."""
        return path in self.entries or path in self.folders

    def below(self, beginning: str) -> Iterator[str]:
        """List the files whose paths begin with a text."""
        start = bisect.bisect_left(self.paths, beginning)
        for path in itertools.islice(self.paths, start, None):
            if not path.startswith(beginning):
                return
            yield path


@functools.lru_cache(16)
def commit_files(repository: Path, commit: str) -> CommitTree:
    """List the files of a commit, given by its id."""
    entries = {
        path: (entry.split()[0], entry.split()[2])
        for path, entry in tree_entries(repository, commit, "-r", "--full-tree").items()
    }
    folders: set[str] = set()
    for path in entries:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return CommitTree(entries, frozenset(folders), sorted(entries))


def blob_id(data: bytes, like: str) -> str:
    """Return git's id of a file's content, with the hash function of another id."""
    digest = hashlib.sha256 if len(like) == 64 else hashlib.sha1
    return digest(b"blob %d\0%b" % (len(data), data)).hexdigest()


def differing(root: Path, files: CommitTree, paths: Iterable[str]) -> frozenset[str]:
    """List the given files that a commit lacks or has with other content, relative to the root.

    A file that is read through a symbolic link differs unless the link and its target equal the
    commit's.

    paths: absolute; those outside the root are left out
    """
    top = os.path.realpath(root)
    found = set()
    for path in paths:
        inside = relative_to(root, path)
        if inside is None:
            continue
        real = os.path.realpath(path)
        if real != os.path.join(top, inside):  # noqa: PTH118
            target = relative_to(Path(top), real)
            if target is None or not _is_link(root, files, inside) or _differs(top, files, target):
                found.add(inside)
        elif _differs(top, files, inside):
            found.add(inside)
    return frozenset(found)


# A gate needs this for the 3,000 files of its builds, for the base and its parent: 12,800 calls.
@functools.lru_cache(1 << 14)
def relative_to(root: Path, path: str) -> str | None:
    """Return an absolute path relative to a root, normalized; None for a path outside."""
    top = f"{root}/"
    if "/." in path or "//" in path:  # normpath takes 2 µs, and builds read 1,000 files
        path = os.path.normpath(path)
        path = path[1:] if path.startswith("//") else path  # normpath keeps two slashes, not three
    if not path.startswith(top):
        return None
    inside = path[len(top) :]
    return inside if inside.isascii() else inside.encode("utf-8", "backslashreplace").decode()


def may_be_inside(root: Path, paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths that relative_to() may find inside; most files of a build are not."""
    top = f"{root}/"
    return (path for path in paths if path.startswith(top) or "/." in path or "//" in path)


def _is_link(root: Path, files: CommitTree, inside: str) -> bool:
    """Return whether a commit has the same link at a path, or at a parent folder."""
    parts = Path(inside).parts
    for count in range(1, len(parts) + 1):
        at = "/".join(parts[:count])
        mode, id_ = files.entries.get(at, ("", ""))
        here = root / at
        if here.is_symlink():
            return mode == LINK and blob_id(os.fsencode(here.readlink()), id_) == id_
    return False


def _differs(top: str, files: CommitTree, inside: str) -> bool:
    entry = files.entries.get(inside)
    if entry is None or entry[0] == LINK:
        return True
    try:
        data = Path(top, inside).read_bytes()
    except OSError:
        return True
    return blob_id(data, entry[1]) != entry[1]


def appeared(root: Path, files: CommitTree, absent: Iterable[str]) -> frozenset[str]:
    """List the paths that a build looked for and did not find, but that a commit has."""
    inside = (relative_to(root, path) for path in may_be_inside(root, absent))
    return frozenset(path for path in inside if path is not None and files.has(path))


def globbed(
    root: Path,
    files: CommitTree,
    patterns: Iterable[str],
    find: Callable[[str], Iterable[str]],
    matches: Callable[[str, str], bool],
) -> frozenset[str]:
    """List the files that match a pattern only on disk or only in a commit."""
    found: set[str] = set()
    for pattern in patterns:
        inside = relative_to(root, pattern)
        if inside is None:
            continue
        here = {relative_to(root, path) for path in find(pattern) if Path(path).is_file()}
        fixed = _WILD.split(inside, maxsplit=1)[0]
        then = {path for path in files.below(fixed) if matches(inside, path)}
        found |= {path for path in here ^ then if path is not None}
    return frozenset(found)
