"""Store the code ranges of a full build's dtype branches next to it, by the content of its files.

Each prediction needs them, and reading the debug information takes a third of its time. Stored
ranges count only if the same code would read the same bytes: each file is hashed again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from sizeguard.base.errors import SizeguardError
from sizeguard.base.files import write_atomic
from sizeguard.base.fingerprint import code_hash, fingerprint
from sizeguard.builds.build_inputs import content_hash
from sizeguard.builds.build_record import Build
from sizeguard.predict.savings.case_range_types import CaseRange, CaseRanges, InlinedRange
from sizeguard.runtimes.runtime import Runtime

FILE = ".case_ranges.json"  # next to build.json
_VERSION = 1
# Folders of this package whose code and data can change the ranges: those that case_ranges.py
# imports. Hashing all of them takes 15 ms, these 6 ms.
ROOMS = (
    "attribution",
    "base",
    "columns",
    "formats",
    "linkgraph",
    "names",
    "operators",
    "predict",
    "runtimes",
)
_MOST = 64 << 20  # bytes; those of the runtime's own full build have 0.5 MB


def case_ranges(build: Build, runtime: Runtime, functions: Collection[str]) -> CaseRanges:
    """Read the ranges of a full build, or the ranges stored for the same files.

    runtime:   the one of the build, whose rules tell how names are read
    functions: bare names of functions with switches

    Raises InconclusiveError for a build without debug information.
    """
    place = build.image.parent / FILE
    key = _key(build, runtime, functions)
    known = _kept(place, key)
    if known is not None:
        return known
    from sizeguard.predict.savings.case_ranges import read_case_ranges  # 40 ms

    found = read_case_ranges(build.image, build.debug, runtime.rules, functions)
    if key == _key(build, runtime, functions):  # else a file changed while it was read
        text = _text(found)
        entry = {"version": _VERSION, "key": key, "digest": _digest(text), "ranges": text}
        with contextlib.suppress(SizeguardError):  # a read-only folder stores nothing
            write_atomic(place, json.dumps(entry))
    return found


def _kept(place: Path, key: str) -> CaseRanges | None:
    """Return the stored ranges; None if they are missing, damaged or of other files."""
    try:
        with place.open("rb") as file:
            entry = json.loads(file.read(_MOST))
        if (entry["version"], entry["key"]) != (_VERSION, key):
            return None
        if entry["digest"] != _digest(entry["ranges"]):
            return None
        return _parsed(json.loads(entry["ranges"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return None


def _text(ranges: CaseRanges) -> str:
    """Write ranges as JSON, each name once."""
    names: dict[str, int] = {}

    def number(name: str) -> int:
        return names.setdefault(name, len(names))

    cases = [
        (start, end, number(function), number(dtype))
        for start, end, function, dtype in ranges.cases
    ]
    inlined = [(start, end, number(function)) for start, end, function in ranges.inlined]
    return json.dumps({"names": [*names], "cases": cases, "inlined": inlined})


def _parsed(stored: Mapping[str, list[Any]]) -> CaseRanges:
    """Read what _text wrote."""
    names: list[str] = stored["names"]
    return CaseRanges(
        tuple(CaseRange(a, b, names[f], names[d]) for a, b, f, d in stored["cases"]),
        tuple(InlinedRange(a, b, names[f]) for a, b, f in stored["inlined"]),
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _key(build: Build, runtime: Runtime, functions: Collection[str]) -> str:
    """Hash the code that reads the ranges, what it looks for, and each file with its path."""
    debug: list[Path] = []
    if build.debug is not None:
        debug = [build.debug, *sorted(build.debug.rglob("*"))]
    hashes = {str(path): content_hash(str(path)) for path in (build.image, *debug)}
    # A runtime's rules are data of this package, which the hash of the code includes; reading them
    # takes 25 ms.
    said = {"runtime": runtime.name, "functions": sorted(functions)}
    return fingerprint({"code": code_hash(rooms=ROOMS), **said, "files": hashes})
