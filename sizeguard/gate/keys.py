"""Turns all that a result depends on into the key that it is kept under: equal keys, equal results."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import sys
from collections.abc import Iterable
from pathlib import Path

from sizeguard.errors import InputError

# Whose versions change what we find in a binary.
_LIBRARIES = ("numpy", "pyelftools", "PyYAML")


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
