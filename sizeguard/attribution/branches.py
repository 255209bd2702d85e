"""Turns dtype branches inside of functions into owners of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sizeguard.attribution.inlined import Branches
from sizeguard.attribution.served import apart, cut
from sizeguard.formats.elf import Elf
from sizeguard.formats.elf.layout import signed
from sizeguard.formats.macho import MachO
from sizeguard.ledger.kinds import ANALYZER, KIND
from sizeguard.ledger.ledger import NONE, Int32, Ledger


@dataclass(frozen=True, slots=True)
class Branched:
    """dtype: for each owner of the ledger the number of its text in `dtypes`, or NONE."""

    ledger: Ledger
    dtype: Int32
    dtypes: tuple[str, ...]


def branch_out(image: Elf | MachO, ledger: Ledger, branches: Branches) -> Branched:
    """Each branch's code becomes an owner with the names of the function that it lies in."""
    code = _code(image)
    spans = ledger.file
    ends = np.append(spans.start[1:], spans.size)
    cuts = []
    for low, high, dtype in zip(branches.start.tolist(), branches.end.tolist(), branches.dtype, strict=True):
        start = next((offset + low - address for address, offset, size in code if address <= low and high <= address + size), None)
        if start is None:
            continue
        stop = start + high - low
        # A branch may go on in the function's next piece: each piece is cut by itself.
        span = int(np.searchsorted(spans.start, start, side="right")) - 1
        while span < len(ends) and spans.start[span] < stop:
            owner = int(spans.owner[span])
            a, b = max(start, int(spans.start[span])), min(stop, int(ends[span]))
            if owner >= 0 and a < b and ledger.owners.kind[owner] == KIND["code"] and ledger.owners.symbol[owner] != NONE:
                cuts.append((a, b, owner, dtype))
            span += 1
    cuts = apart(cuts)
    dtypes = tuple(sorted({dtype for _, _, _, dtype in cuts}))
    number = {dtype: i for i, dtype in enumerate(dtypes)}
    blank = np.full(len(ledger.owners), NONE, np.int32)
    by_frames = cut(ledger, cuts, ANALYZER["inline frames"])
    return Branched(by_frames, np.concatenate([blank, np.array([number[c[3]] for c in cuts], np.int32)]), dtypes)


def _code(image: Elf | MachO) -> list[tuple[int, int, int]]:
    """Address, offset and size of each section of code."""
    if isinstance(image, MachO):
        return [(s.address, s.offset, s.file_size) for s in image.sections if s.is_code and s.file_size]
    return [(signed(s.address), s.offset, s.load_size) for s in image.sections if s.is_executable and s.load_size]
