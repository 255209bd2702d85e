"""Turns all that a result depends on into the key that it is kept under: equal keys, equal results."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from sizeguard.attribution.store import Facts, Store, content_key
from sizeguard.errors import InputError

T = TypeVar("T")

# Whose versions change what we find in a binary.
_LIBRARIES = ("lief", "numpy", "pycxxfilt", "pyelftools", "PyYAML")


def kept(
    store: Store | None,
    key: Callable[[], Mapping[str, object]],
    make: Callable[[], T],
    write: Callable[[T], Facts],
    read: Callable[[Facts], T],
) -> T:
    """What was made before from the same inputs, else what is made now, which is kept. Without a store it is made.

    What was kept by another version, or by somebody else, and cannot be read is made again.
    """
    if store is None:
        return make()
    name = content_key(key())
    known = store.facts(name)
    if known is not None:
        try:
            return read(known)
        except (KeyError, TypeError, ValueError, AttributeError):
            pass
    found = make()
    store.put(name, write(found))
    return found


def file_hash(path: Path) -> str:
    """The hash of a file's bytes, read once in a process unless the file changes."""
    try:
        stat = path.stat()
        return _hash(path, stat.st_size, stat.st_mtime_ns, stat.st_ino)
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror}") from error


def files_key(paths: Iterable[Path]) -> list[str]:
    """The hashes of files, in the order given; a missing file has its own."""
    return [file_hash(path) if path.is_file() else "missing" for path in paths]


@functools.cache
def code_hash() -> str:
    """Of our own code, its data and the libraries that it reads binaries with: another version may find something else. 15 ms."""
    package = Path(__file__).resolve().parents[1]
    files = sorted(path for path in package.rglob("*") if path.suffix in (".py", ".yaml", ".txt") and path.is_file())
    parts = [f"{path.relative_to(package).as_posix()} {file_hash(path)}" for path in files]
    versions = [f"{name} {importlib.metadata.version(name)}" for name in _LIBRARIES]
    return hashlib.sha256("\n".join([sys.version, *versions, *parts]).encode()).hexdigest()


@functools.lru_cache(maxsize=4096)
def _hash(path: Path, size: int, modified: int, inode: int) -> str:
    # 750 MB a second: 9 builds with their archives are 63 MB.
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
