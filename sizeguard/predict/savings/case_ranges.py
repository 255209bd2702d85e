"""Find the addresses of a switch's code for one dtype by the debug information of an image."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from sizeguard.attribution.owners.inlined import case_dtypes
from sizeguard.formats.dwarf import InlineFrames, inline_frames
from sizeguard.names.rules import Rules
from sizeguard.predict.savings.case_range_types import CaseRange, CaseRanges, InlinedRange
from sizeguard.predict.switch_edges import bare_of


def read_case_ranges(
    image: Path, debug: Path | None, rules: Rules, functions: Collection[str]
) -> CaseRanges:
    """Read the ranges of an image, whose debug information may be in a file of its own.

    functions: bare names of functions with switches

    Raises InconclusiveError for an image without debug information.
    """
    frames = inline_frames(image, debug)
    dtypes = case_dtypes(frames.names, rules)
    bare = {i: bare_of(frames.names[i]) for i in set(frames.frame.tolist())}
    cases: list[CaseRange] = []
    inlined: list[InlinedRange] = []
    for start, end, over in _ranges(frames):
        for i in set(over[:-1]):
            if bare[i] in functions:
                inlined.append(InlinedRange(start, end, frames.names[i]))
        case = next((k for k, i in enumerate(over[:-1]) if dtypes[i]), None)
        if case is not None:
            cases.append(CaseRange(start, end, bare[over[case + 1]], dtypes[over[case]]))
    return CaseRanges(tuple(cases), tuple(inlined))


def _ranges(frames: InlineFrames) -> Iterable[tuple[int, int, list[int]]]:
    """Yield each range with the names over it, the innermost first."""
    first, frame = frames.first.tolist(), frames.frame.tolist()
    for row, (start, end) in enumerate(
        zip(frames.start.tolist(), frames.end.tolist(), strict=True)
    ):
        yield start, end, frame[first[row] : first[row + 1]]
