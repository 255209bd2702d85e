"""Hashes of named inputs, of files, and of this package's own code."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sizeguard import __version__
from sizeguard.base.digest import content_digest, digest
from sizeguard.base.files import cannot_read, check_no_output
from sizeguard.base.input_files import has_stand_in, readable
from sizeguard.base.kept.hash_cache import state_of
from sizeguard.base.kept.stored_facts import stored_fact

PACKAGE = Path(__file__).resolve().parents[1]
# Libraries whose versions affect the analysis of a binary.
_LIBRARIES = ("numpy", "pycxxfilt", "PyYAML", "pyelftools", "lief")
_INSTALLED = ".dist-info"
# Data folders that are inputs; their readers hash them.
_READ_AS_INPUT = ("libraries",)
# Folders of this package that do not affect a size: they print, judge or request results.
_NOT_MEASURING = ("cli", "report", "gate", "bisect", "history", "verify")


def file_hash(path: Path) -> str:
    """Hash a file's bytes; a process reads a file once unless it changes.

    Raises InputError if the file cannot be read.
    """
    if has_stand_in(path):
        return _read_hash(str(path))
    return stored_fact("contents", str(path), _read_hash)


def _read_hash(name: str) -> str:
    path = Path(name)
    try:
        stat = path.stat()
        check_no_output(stat)
        return _hash(path, stat.st_size, (stat.st_mtime_ns, stat.st_ctime_ns), stat.st_ino)
    except OSError as error:
        raise cannot_read(path, error) from error


def files_key(paths: Iterable[Path]) -> list[str]:
    """Return the hashes of files, in the given order; "missing" for a missing file."""
    return [file_hash(path) if path.is_file() else "missing" for path in paths]


@functools.cache
def code_hash() -> str:
    """Hash this package's code, its data and the versions of the libraries that read binaries.

    Another version may find something else in the same binary. Takes 15 ms.
    """
    return fingerprint({**reading_versions(), "code": _hash_of_code(_rooms())})


def reading_versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that read binaries, by name."""
    return {"python": sys.version, **{name: version_of(name) for name in _LIBRARIES}}


@functools.lru_cache(maxsize=4096)
def _hash(path: Path, size: int, changed: tuple[int, int], inode: int) -> str:
    """Hash a file; the size, the times of changes and the inode make a changed file another key."""
    # 750 MB a second; 9 builds with their archives have 63 MB.
    with readable(path).open("rb") as file:
        return content_digest(file)


def fingerprint(inputs: Mapping[str, object]) -> str:
    """Hash named inputs, as hexadecimal digits."""
    return digest([json.dumps(inputs, sort_keys=True).encode()])


def files_hash(root: Path, files: Iterable[Path]) -> str:
    """Hash files' paths, relative to root, and contents; the order of `files` does not matter."""
    return digest(
        f"{path.relative_to(root).as_posix()} {file_hash(path)}\n".encode()
        for path in sorted(files)
    )


@functools.cache
def package_hash() -> str:
    """Return a hash of the version and of the package's code that builds and measures.

    Keys of commits' measurements use it instead of code_hash, so that changes to reports and
    another Python do not invalidate them.
    """
    rooms = [room for room in _rooms() if room not in _NOT_MEASURING]
    return f"{__version__} {_hash_of_code(rooms)}"


def _rooms() -> list[str]:
    """List the folders of this package."""
    return sorted(entry.name for entry in os.scandir(PACKAGE) if entry.is_dir())


def _hash_of_code(rooms: Iterable[str]) -> str:
    """Hash the files of this package that affect the results: code, rules and names.

    rooms: folders of the package; the files beside them are hashed, too
    """
    return digest(
        f"{path} {content}\n".encode()
        for room in ("", *rooms)
        for path, content in _code_files(room)
    )


@functools.cache
def _code_files(room: str) -> Sequence[tuple[str, str]]:
    """List the files of a room by their paths from the package's folder, with hashes.

    room: a folder of the package; empty for the files beside these folders
    """
    found = []
    for path in _code_paths(room):
        with open(path, "rb") as file:  # noqa: PTH123  (a Path takes 10 µs)
            found.append((path[len(str(PACKAGE)) + 1 :], digest([file.read()])))
    return sorted(found, key=lambda row: row[0].split("/"))


def code_state(rooms: tuple[str, ...]) -> list[str]:
    """Return the states on disk of the files that code_hash hashes. Takes 2 ms.

    rooms: folders of the package; all of them if empty
    """
    return [_room_state(room) for room in ("", *(rooms or _rooms()))]


@functools.cache
def _room_state(room: str) -> str:
    return json.dumps([[path, state_of(path)] for path in sorted(_code_paths(room))])


def _code_paths(room: str) -> list[str]:
    """List the files of a room of this package that affect the results.

    room: a folder of the package; empty for the files beside these folders
    """
    # PACKAGE again: test_one_of_each finds a second list of own files by __file__.
    package = str(Path(__file__).resolve().parents[1])
    found: list[str] = []
    for folder, inner, names in os.walk(f"{package}/{room}" if room else package):
        if not room:
            inner.clear()
        if folder.rpartition("/")[2] not in _READ_AS_INPUT:
            found += (f"{folder}/{n}" for n in names if n.endswith((".py", ".yaml", ".txt")))
    return found


def version_of(library: str) -> str:
    """Return the version of an installed library.

    The installer's folder name contains it; reading its file takes 20 ms with the imports.
    """
    beginning = f"{library.lower()}-"
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")  # noqa: PTH208
        except OSError:
            continue
        found = [
            name[len(beginning) : -len(_INSTALLED)]
            for name in names
            if name.lower().startswith(beginning)
            and name.endswith(_INSTALLED)
            and name.count("-") == 2
        ]
        if len(found) == 1:
            return found[0]
        if found:
            break
    import importlib.metadata

    return importlib.metadata.version(library)
