"""Hash the files of a commit that its build reads, so that equal commits are built once.

The hashes are git's own ids of files and folders, so nothing is checked out. A file may be left out
of a hash only if it cannot change the binary; a needless file in it only costs a build.
"""

from __future__ import annotations

import fnmatch
import functools
import os
import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.fingerprint import fingerprint
from sizeguard.git.git import git, git_bytes, is_id

LINK = "120000"  # git's mode of a symbolic link
FILE_MODES = "100"  # how git's file modes begin
_FOLDER = "040000 "


@dataclass(frozen=True, slots=True)
class Scope:
    """The files of a commit that count: all below `paths` except those that match `ignore`.

    Empty paths mean all files. Examples of globs are *.md and docs/*.

    unnamed: globs of files that do not count, and whose names count only for `names` of reads_hash;
        * and ? match no slash, so a file in a folder below counts
    """

    paths: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    unnamed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reads:
    """Files that builds read.

    asks_git: a build asked git, too, which knows all files and the commit
    takes_files: a build may have taken any file of any commit out of git's objects
    unwatchable: the file system does not record reads, so only the scope decides
    """

    files: frozenset[str]
    asks_git: bool = False
    takes_files: bool = False
    unwatchable: bool = False


def reads_hash(
    repository: Path, commit: str, scope: Scope, reads: Reads, *, names: bool = True
) -> str:
    """Hash the files of a commit that builds read, and the names and modes of all others.

    names: whether those of unnamed files count, too

    A build may ask whether a file exists. For an unread file in scope, the content counts, too, if
    builds ask git. Links, submodules and attributes, which change what git checks out, count in
    full. If builds take files out of git's objects, the commit decides, with its history.
    """
    return _hash(repository, commit, scope, reads, is_full=reads.asks_git, names=names)


def opened_hash(repository: Path, commit: str, scope: Scope, reads: Reads) -> str:
    """Hash as reads_hash does, but all files in scope in full."""
    return _hash(repository, commit, scope, reads, is_full=True)


def _hash(
    repository: Path,
    commit: str,
    scope: Scope,
    reads: Reads,
    *,
    is_full: bool,
    names: bool = True,
) -> str:
    """Hash a commit; is_full: whether unread files in scope count in full; names: of reads_hash."""
    if reads.unwatchable:
        return tree_hash(repository, commit, scope)
    if reads.takes_files:
        id_ = commit if is_id(commit) else git(repository, "rev-parse", "--verify", commit)
        return fingerprint({"commit": id_})
    hashed = _read_hash_of_id if is_id(commit) else _read_hash_of_id.__wrapped__
    return hashed(repository, commit, scope, reads.files, is_full, names)


# A gate of 100 apps for 3 targets asks for each pair and commit about six times.
@functools.lru_cache(8192)
def _read_hash_of_id(
    repository: Path, commit: str, scope: Scope, read: frozenset[str], is_full: bool, names: bool
) -> str:
    listed = _scoped_rows if is_id(commit) else _scoped_rows.__wrapped__
    rows = []
    for row in listed(repository, commit, scope):
        if row.always or row.path in read or (is_full and row.is_in):
            rows.append(row.entry)
        elif names or row.is_named:
            rows.append(row.name)
    return fingerprint({"read": rows})


class _TreeRow(NamedTuple):
    """A file of a commit, as a hash takes it. As a dataclass, 3,800 rows would take 10 ms more.

    always: its content counts, read or not
    is_in: it is in scope
    is_named: its name counts in any case
    entry: its mode, type, id and path; name: its mode and path
    """

    path: str
    always: bool
    is_in: bool
    is_named: bool
    entry: str
    name: str


# Matching the globs takes 5 µs a file; apps share their scope, and each has its own reads.
@functools.lru_cache(32)
def _scoped_rows(repository: Path, commit: str, scope: Scope) -> Sequence[_TreeRow]:
    """List a commit's files in order."""
    return [
        _TreeRow(
            path,
            not entry.startswith(FILE_MODES) or _is_attributes(path),
            _is_in(path, scope),
            not _is_unnamed(path, scope.unnamed),
            f"{entry}\t{path}",
            f"{entry.split()[0]}\t{path}",
        )
        for path, entry in sorted(tree_entries(repository, commit, "-r", "--full-tree").items())
    ]


def attributes_of(repository: Path, commit: str) -> Mapping[str, str]:
    """List the files of a commit that say how git checks out others: path → mode, type and id."""
    entries = tree_entries(repository, commit, "-r", "--full-tree")
    return {path: entry for path, entry in entries.items() if _is_attributes(path)}


def _is_attributes(path: str) -> bool:
    return path.rpartition("/")[2] == ".gitattributes"


def _matches(path: str, globs: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(path, glob) for glob in globs)


def _is_unnamed(path: str, globs: Iterable[str]) -> bool:
    slashes = path.count("/")
    return _matches(path, (glob for glob in globs if glob.count("/") == slashes))


def _is_in(path: str, scope: Scope) -> bool:
    """Return whether a path is in scope."""
    below = not scope.paths or any(
        path == each.rstrip("/") or path.startswith(f"{each.rstrip('/')}/") or each == "."
        for each in scope.paths
    )
    is_out = _matches(path, scope.ignore) or _is_unnamed(path, scope.unnamed)
    return below and not is_out


def tree_hash(repository: Path, commit: str, scope: Scope) -> str:
    """Hash the files of a commit that are in scope.

    Raises InputError for a path that leaves the repository.
    """
    return (_tree_hash_of_id if is_id(commit) else _tree_hash)(repository, commit, scope)


def _tree_hash(repository: Path, commit: str, scope: Scope) -> str:
    for path in scope.paths:
        if path.startswith("/") or ".." in PurePosixPath(path).parts:
            raise InputError(
                f"--inputs {path}: name a file or folder of the repository, from its root"
            )
    if not (scope.paths or scope.ignore or scope.unnamed):
        return git(repository, "rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}")
    return _files(
        repository,
        commit,
        scope.paths,
        lambda path: (
            _is_attributes(path)
            or not (_matches(path, scope.ignore) or _is_unnamed(path, scope.unnamed))
        ),
    )


@functools.lru_cache(4096)
def _tree_hash_of_id(repository: Path, commit: str, scope: Scope) -> str:
    return _tree_hash(repository, commit, scope)


def check_scope(repository: Path, commit: str, scope: Scope) -> None:
    """Raise InputError if no file of a commit is in scope, because all commits would look equal."""
    tree_hash(repository, commit, scope)  # checks the paths
    files = tree_entries(repository, commit, "-r", "--full-tree")
    if not any(_is_in(path, scope) for path in files):
        raise InputError(
            f"`inputs` and `ignore` leave no file of {commit[:12]}: every commit would look the"
            " same; name the files that the commands read"
        )


def _files(
    repository: Path, commit: str, paths: Iterable[str], is_in: Callable[[str], bool]
) -> str:
    """Hash the paths and entries of some files of a commit."""
    entries = {**tree_entries(repository, commit, "-r", "--full-tree", "--", *dict.fromkeys(paths))}
    entries |= attributes_of(repository, commit)
    return fingerprint(
        {"files": [f"{entry}\t{path}" for path, entry in sorted(entries.items()) if is_in(path)]}
    )


def tree_entries(repository: Path, tree: str, *arguments: str) -> Mapping[str, str]:
    """List a tree: path → mode, type and id, as git ls-tree prints them."""
    return (_entries_of_id if is_id(tree) else _entries)(repository, tree, arguments)


# An id's content never changes. A gate lists its base for each app and target, which takes 3 ms.
@functools.lru_cache(64)
def _entries_of_id(repository: Path, tree: str, arguments: tuple[str, ...]) -> Mapping[str, str]:
    """Answer from one listing of the whole tree if possible."""
    match arguments:
        case ("-r", "--full-tree"):
            whole = _whole(repository, tree)
            return {path: entry for path, entry in whole.items() if not entry.startswith(_FOLDER)}
        case ("--full-tree",):
            whole = _whole(repository, tree)
            return {path: entry for path, entry in whole.items() if "/" not in path}
        case ("--full-tree", "--", path) if _is_plain(path):
            entry = _whole(repository, tree).get(path)
            return {} if entry is None else {path: entry}
    return _entries(repository, tree, arguments)


@functools.lru_cache(16)
def _whole(repository: Path, tree: str) -> Mapping[str, str]:
    """List all files and folders of the tree of an id."""
    return _entries(repository, tree, ("-r", "-t", "--full-tree"))


def _is_plain(path: str) -> bool:
    """Return whether git takes a path as it is written."""
    is_name = path.isascii() and "\\" not in path and not path.startswith((":", "/", "."))
    return is_name and posixpath.normpath(path) == path


def _entries(repository: Path, tree: str, arguments: tuple[str, ...]) -> Mapping[str, str]:
    options = [word for word in arguments if word.startswith("-") and word != "--"]
    paths = arguments[arguments.index("--") :] if "--" in arguments else ()
    listing = os.fsdecode(git_bytes(repository, "ls-tree", "-z", *options, tree, *paths))
    rows = [line.partition("\t") for line in listing.split("\0") if line]
    found = {path.encode("utf-8", "backslashreplace").decode(): entry for entry, _, path in rows}
    if len(found) < len(rows):
        raise InputError(
            f"{tree[:12]}: two files differ only in how a byte of their names is written that is"
            " not UTF-8; rename one"
        )
    return found


def file_of(repository: Path, commit: str, path: str) -> str | None:
    """Return the text of a file in a commit; None if the commit has no such file."""
    entry = tree_entries(repository, commit, "--full-tree", "--", path).get(path, "")
    if " blob " not in entry:
        return None
    return blob_bytes(repository, entry.split()[2]).decode("utf-8", "replace")


@functools.lru_cache(256)
def blob_bytes(repository: Path, blob: str) -> bytes:
    """Return the content of a blob, given by its id."""
    return git_bytes(repository, "cat-file", "blob", blob)
