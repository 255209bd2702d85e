"""Keep the code ranges of a full build's dtype branches next to it.

Each prediction needs them, and reading the debug information takes a third of its time.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

from sizeguard.base.kept.beside import KeptInputs, kept_beside
from sizeguard.builds.build_record import Build
from sizeguard.predict.savings.case_range_types import CaseRange, CaseRanges, InlinedRange
from sizeguard.runtimes.runtime import Runtime

FILE = ".case_ranges.json"  # next to build.json
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


def case_ranges(build: Build, runtime: Runtime, functions: Collection[str]) -> CaseRanges:
    """Read the ranges of a full build, or the ranges stored for the same files.

    runtime:   the one of the build, whose rules tell how names are read
    functions: bare names of functions with switches

    Raises InconclusiveError for a build without debug information.
    """
    # A runtime's rules are data of this package, which counts; reading them takes 25 ms.
    said = {"runtime": runtime.name, "functions": sorted(functions)}

    def read() -> tuple[str, tuple[Path, ...]]:
        from sizeguard.predict.savings.case_ranges import read_case_ranges  # 40 ms

        found = read_case_ranges(build.image, build.debug, runtime.rules, functions)
        return _text(found), ()

    files = (build.image,) if build.debug is None else (build.image, build.debug)
    return _parsed(kept_beside(build.image.parent / FILE, KeptInputs(said, files, ROOMS), read))


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


def _parsed(text: str) -> CaseRanges:
    """Read what _text wrote."""
    stored = json.loads(text)
    names: list[str] = stored["names"]
    return CaseRanges(
        tuple(CaseRange(a, b, names[f], names[d]) for a, b, f, d in stored["cases"]),
        tuple(InlinedRange(a, b, names[f]) for a, b, f in stored["inlined"]),
    )
