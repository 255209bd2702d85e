"""Owners of dtype branches inside functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from sizeguard.attribution.owners.cuts import Cut, apart, span_end, with_cuts
from sizeguard.attribution.owners.inlined import InlinedCases
from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int32
from sizeguard.formats.elf import Elf
from sizeguard.formats.elf.layout import signed
from sizeguard.ledger.kinds import ANALYZER, KIND
from sizeguard.ledger.ledger import NONE, Ledger

if TYPE_CHECKING:
    from sizeguard.formats.macho import MachO


@dataclass(frozen=True, slots=True)
class Branched:
    """Ledger with a separate owner for each branch.

    dtype: by owner of the ledger, index into `dtypes`, or NONE
    """

    ledger: Ledger
    dtype: Int32
    dtypes: tuple[str, ...]


def branch_out(image: Elf | MachO, ledger: Ledger, branches: InlinedCases) -> Branched:
    """Give each branch's code an owner, with the names of the function around it."""
    code = _code(image)
    found: list[Cut] = []
    for low, high, dtype in zip(
        branches.start.tolist(), branches.end.tolist(), branches.dtype, strict=True
    ):
        start = _offset(code, low, high)
        if start is not None:
            found += _pieces(ledger, start, start + high - low, dtype)
    cuts = apart(found)
    dtypes = tuple(sorted({cut.label for cut in cuts}))
    number = {dtype: i for i, dtype in enumerate(dtypes)}
    none = np.full(len(ledger.owners), NONE, np.int32)
    of_cuts = np.array([number[cut.label] for cut in cuts], np.int32)
    by_frames = with_cuts(ledger, cuts, ANALYZER["inline frames"])
    return Branched(by_frames, np.concatenate([none, of_cuts]), dtypes)


def _pieces(ledger: Ledger, start: int, stop: int, dtype: str) -> Iterator[Cut]:
    """Yield the parts of [start, stop) of the file that are code of a named function.

    A branch may continue in the function's next span; each span's part becomes a separate cut.
    """
    file, owners = ledger.file, ledger.owners
    span = int(np.searchsorted(file.start, start, side="right")) - 1
    while span < len(file.start) and file.start[span] < stop:
        owner = int(file.owner[span])
        low, high = max(start, int(file.start[span])), min(stop, span_end(file, span))
        is_code = owner >= 0 and owners.kind[owner] == KIND["code"]
        if is_code and low < high and owners.symbol[owner] != NONE:
            yield Cut(low, high, owner, dtype)
        span += 1


def _offset(code: list[tuple[int, int, int]], low: int, high: int) -> int | None:
    """Return the file offset of the code [low, high); None if it is not in one section."""
    for address, offset, size in code:
        if address <= low and high <= address + size:
            return offset + low - address
    return None


def _code(image: Elf | MachO) -> list[tuple[int, int, int]]:
    """List address, offset and size of each section of code."""
    if isinstance(image, Elf):
        return [
            (signed(s.address), s.offset, s.load_size)
            for s in image.sections
            if s.is_executable and s.load_size
        ]
    return [(s.address, s.offset, s.file_size) for s in image.sections if s.is_code and s.file_size]
