"""Store a result next to a build, and use it again while no file that it comes from changes.

A file is unchanged if its state on disk is: device, inode, size and the times of the last changes.
Contents alone would not be safe: a change could commit a false result for them to a build folder,
but it cannot know the inodes and times that its files will have.
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

from sizeguard.base.errors import SizeguardError
from sizeguard.base.files import write_atomic
from sizeguard.base.fingerprint import code_state, reading_versions
from sizeguard.base.kept.hash_cache import SETTLED, state_of

_VERSION = 2
_MOST = 64 << 20  # bytes; the names of the runtime's own full build have 0.1 MB


class KeptInputs(NamedTuple):
    """Inputs of a result that are known before it is made.

    said:  values that JSON can write
    files: files, and folders with all files below them
    rooms: folders of this package whose code makes the result; empty for all
    """

    said: object
    files: Sequence[Path]
    rooms: tuple[str, ...] = ()


def kept_beside(
    place: Path, inputs: KeptInputs, make: Callable[[], tuple[str, Iterable[Path] | None]]
) -> str:
    """Return the text that `place` stores for the inputs; else make it, and store it.

    make: returns the text, and the files that it read besides those of the inputs; None if it read
        others that are unknown, so that nothing is stored
    """
    known = _known(place)
    if known is not None and known["state"] == _state(inputs, known["read"], time.time_ns()):
        return str(known["text"])
    start = time.time_ns()
    before = _state(inputs, (), start)
    text, more = make()
    if more is None or before is None:
        return text
    read = sorted({str(path) for path in more} - {str(path) for path in inputs.files})
    state = _state(inputs, read, start)
    if state is not None and before == _state(inputs, (), start):  # nothing changed while it read
        parts = {"state": state, "read": read, "text": text}
        entry = {"version": _VERSION, "check": _check(parts), **parts}
        with contextlib.suppress(SizeguardError):  # a read-only folder stores nothing
            write_atomic(place, json.dumps(entry))
    return text


def _known(place: Path) -> dict[str, Any] | None:
    """Read the stored entry; None if it is missing or damaged."""
    try:
        with place.open("rb") as file:
            entry = json.loads(file.read(_MOST))
        parts = {name: entry[name] for name in ("state", "read", "text")}
        is_whole = (entry["version"], entry["check"]) == (_VERSION, _check(parts))
        read = parts["read"]
        is_list = isinstance(read, list) and all(isinstance(path, str) for path in read)
        return parts if is_whole and is_list and isinstance(parts["state"], str) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _check(parts: object) -> int:
    """Return a checksum of the parts; a hash would load hashlib, which takes 4 ms."""
    return zlib.crc32(json.dumps(parts).encode())


def _state(inputs: KeptInputs, read: Iterable[str], now: int) -> str | None:
    """Describe the inputs by the states of their files.

    Returns None if a file is missing, or so new at a time, in nanoseconds, that a later write might
    not change its times.
    """
    code = code_state(inputs.rooms)
    states: dict[str, object] = {}
    for path in _paths(inputs, read):
        states[path] = state = state_of(path)
        if state is None or max(state[3:]) > now - SETTLED:
            return None
    return json.dumps([code, reading_versions(), inputs.said, states])


def _paths(inputs: KeptInputs, read: Iterable[str]) -> Iterator[str]:
    """Yield the paths of all files, those below folders in order.

    A link to a folder is not followed; it has no state.
    """
    for path in (*map(str, inputs.files), *read):
        if not os.path.isdir(path):  # noqa: PTH112  (a Path takes 10 µs)
            yield path
            continue
        for folder, inner, names in os.walk(path):
            inner.sort()
            links = (name for name in inner if os.path.islink(f"{folder}/{name}"))  # noqa: PTH114
            yield from (f"{folder}/{name}" for name in (*links, *sorted(names)))
