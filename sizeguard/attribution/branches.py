"""Turns dtype branches inside of functions into owners of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sizeguard.attribution.inlined import Branches
from sizeguard.attribution.served import apart, cut
from sizeguard.formats.elf import Elf
from sizeguard.formats.elf.layout import signed
from sizeguard.ledger.kinds import KIND
from sizeguard.ledger.ledger import NONE, Int32, Ledger


@dataclass(frozen=True, slots=True)
class Branched:
    """dtype: for each owner of the ledger the number of its text in `dtypes`, or NONE."""

    ledger: Ledger
    dtype: Int32
    dtypes: tuple[str, ...]


def branch_out(image: Elf, ledger: Ledger, branches: Branches) -> Branched:
    """Each branch's code becomes an owner with the names of the function that it lies in."""
    spans = ledger.file
    ends = np.append(spans.start[1:], spans.size)
    sections = [s for s in image.sections if s.is_executable and s.load_size]
    cuts = []
    for low, high, dtype in zip(branches.start.tolist(), branches.end.tolist(), branches.dtype, strict=True):
        section = next((s for s in sections if signed(s.address) <= low and high <= signed(s.address) + s.load_size), None)
        if section is None:
            continue
        start = section.offset + low - signed(section.address)
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
    return Branched(cut(ledger, cuts), np.concatenate([blank, np.array([number[c[3]] for c in cuts], np.int32)]), dtypes)
