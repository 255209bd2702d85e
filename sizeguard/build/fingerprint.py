"""Turns everything that goes into a build into one hash: equal hashes, equal binaries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

# What under native/ can change a binary. Models cannot: they are data.
SUFFIXES = frozenset({".cpp", ".h", ".fbs", ".yaml", ".cmake", ".txt", ".sh", ".tbd"})


def fingerprint(inputs: Mapping[str, object]) -> str:
    """The hash of named inputs, as hexadecimal digits."""
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def sources_hash(root: Path) -> str:
    """The hash of all sources with their paths, the generator's included; samples of apps that are not built left out."""
    native = root / "native"
    folders = [native / name for name in ("runtime", "operators", "selective", "tracing", "prepacked", "cmake")]
    generator = [root / "sizeguard" / name for name in ("codegen", "selection")]
    files = [native / "CMakeLists.txt", *(native / "apps").glob("*.cpp"), *(native / "apps").glob("*.h")]
    for folder in folders:
        files += [path for path in folder.rglob("*") if path.suffix in SUFFIXES]
    for folder in generator:
        files += folder.glob("*.py")
    return files_hash(root, files)


def files_hash(root: Path, files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(root).as_posix()} {content}\n".encode())
    return digest.hexdigest()
