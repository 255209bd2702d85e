"""Store a result next to a build, and use it again while the files that it comes from are the same.

Files are the same if none changed its state on disk, or else if their contents have equal hashes,
which takes 15 ms more for this package alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sizeguard.base.digest import content_digest
from sizeguard.base.errors import SizeguardError
from sizeguard.base.files import write_atomic
from sizeguard.base.fingerprint import code_hash, code_state, fingerprint, reading_versions
from sizeguard.base.kept.hash_cache import SETTLED, state_of

_VERSION = 1
_MOST = 64 << 20  # bytes; the names of the runtime's own full build have 0.1 MB
_MISSING = "missing"


class Inputs(NamedTuple):
    """What a result comes from, as far as it is known before it is made.

    said:  values that JSON can write
    files: files, and folders with all files below them
    rooms: folders of this package whose code makes the result; empty for all
    """

    said: object
    files: Sequence[Path]
    rooms: tuple[str, ...] = ()


def kept_beside(
    place: Path, inputs: Inputs, make: Callable[[], tuple[str, Iterable[Path] | None]]
) -> str:
    """Return the text that `place` stores for the inputs; else make it, and store it.

    make: returns the text, and the files that it read besides those of the inputs; None if it read
        others that are unknown, so that nothing is stored
    """
    known = _known(place)
    if known is not None:
        state = _state(inputs, known["read"])
        if state is not None and known["state"] == state:
            return str(known["text"])
        if known["key"] == _key(inputs, known["read"]):
            _store(place, known["key"], state, known["read"], known["text"])
            return str(known["text"])
    given, start = _key(inputs, []), time.time_ns()
    text, more = make()
    if more is None:
        return text
    read = sorted({str(path) for path in more} - {str(path) for path in inputs.files})
    # States first: those of files that change meanwhile are never found again
    state, key = _state(inputs, read), _key(inputs, read)
    if given == _key(inputs, []) and _are_older(read, start):  # else one changed while it was read
        _store(place, key, state, read, text)
    return text


def _known(place: Path) -> dict[str, Any] | None:
    """Read the stored entry; None if it is missing or damaged."""
    try:
        with place.open("rb") as file:
            entry = json.loads(file.read(_MOST))
        parts = {name: entry[name] for name in ("key", "state", "read", "text")}
        if (entry["version"], entry["check"]) != (_VERSION, _check(parts)):
            return None
        return parts
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _store(place: Path, key: str, state: str | None, read: Sequence[str], text: str) -> None:
    parts = {"key": key, "state": state, "read": read, "text": text}
    entry = {"version": _VERSION, "check": _check(parts), **parts}
    with contextlib.suppress(SizeguardError):  # a read-only folder stores nothing
        write_atomic(place, json.dumps(entry))


def _check(parts: object) -> int:
    """Return a number that tells damaged parts; a hash would load hashlib, which takes 4 ms."""
    return zlib.crc32(json.dumps(parts).encode())


def _state(inputs: Inputs, read: Iterable[str]) -> str | None:
    """Describe the inputs by the states of their files.

    Returns None if a file is missing, or so new that a write might not change its times.
    """
    code = code_state(inputs.rooms)
    newest = time.time_ns() - SETTLED
    states: dict[str, object] = {}
    for path in _paths(inputs, read):
        states[path] = state = state_of(path)
        if state is None or max(state[3:]) > newest:
            return None
    return json.dumps([code, reading_versions(), inputs.said, states])


def _key(inputs: Inputs, read: Iterable[str]) -> str:
    """Hash the code that makes the result, what it is told, and each file with its path."""
    hashes = {path: _content_hash(path) for path in _paths(inputs, read)}
    code = code_hash(rooms=inputs.rooms)
    return fingerprint({"code": code, "said": inputs.said, "files": hashes})


def _are_older(paths: Iterable[str], start: int) -> bool:
    """Return whether all files were written before a time, in nanoseconds."""
    states = map(state_of, paths)
    return all(state is not None and max(state[3:]) < start - SETTLED for state in states)


def _content_hash(path: str) -> str:
    if state_of(path) is None:  # reading a pipe would wait for its writer
        return _MISSING
    try:
        with Path(path).open("rb") as file:
            return content_digest(file)
    except OSError:
        return _MISSING


def _paths(inputs: Inputs, read: Iterable[str]) -> Iterator[str]:
    """Yield the paths of all files, those below folders in order."""
    for path in (*map(str, inputs.files), *read):
        if not os.path.isdir(path):  # noqa: PTH112  (a Path takes 10 µs)
            yield path
            continue
        found = (f"{folder}/{name}" for folder, _, names in os.walk(path) for name in names)
        yield from sorted(found)
