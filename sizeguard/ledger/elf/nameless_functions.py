"""Find functions without symbols: from Go's table, with names, else from unwind records.

`strip` leaves none with a symbol, `strip -x` and `objcopy --strip-symbol` some.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sizeguard.columns.texts import Int, Texts
from sizeguard.formats.elf import Elf, signed
from sizeguard.ledger.elf.content import RowRanges
from sizeguard.ledger.elf.disjoint_symbols import DisjointSymbols
from sizeguard.ledger.elf.owner_table import Line
from sizeguard.ledger.kinds import ANALYZER

# A section of Go's linker; the second name is used in position-independent files.
_GO_TABLES = (".gopclntab", ".data.rel.ro.gopclntab")
_MOST = 1 << 21  # functions; images with more have names


class NamelessFunctions(NamedTuple):
    """Functions without symbols.

    rows:      their ranges on the line
    names:     from Go's table, or made of addresses
    analyzers: of the names
    """

    rows: RowRanges
    names: Texts
    analyzers: npt.NDArray[np.int8]


def nameless_functions(
    image: Elf, line: Line, symbols: DisjointSymbols, described: tuple[Int, Int]
) -> NamelessFunctions:
    """Find functions in code without symbols; described: as described_code returns it."""
    start, end = described
    if not image.is_stripped:
        start, end = _without_symbols(start, end, line, symbols)
    names: list[bytes] = []
    named = _go_functions(image, line) if image.is_stripped else None
    if named is not None and len(named[0]):
        first, last, names = named
        # Go's table does not list the functions of C, which its linker puts before or after.
        others = (start < first[0]) | (start >= last[-1])
        start, end = np.append(first, start[others]), np.append(last, end[others])
    which, start, end = _outside(start, end, symbols)
    home = np.searchsorted(line.at, start, side="right") - 1
    address = start - line.at[home] + line.address[home] if len(start) else start
    texts = [
        names[i] if i < len(names) else b"function at %#x" % (place & (1 << 64) - 1)
        for i, place in zip(which.tolist(), address.tolist(), strict=True)
    ]
    by_go = which < len(names)
    said = np.where(by_go, ANALYZER["function table"], ANALYZER["function starts"])
    rows = RowRanges(start, end, np.arange(len(start)))
    return NamelessFunctions(rows, Texts.of(texts), said.astype(np.int8))


def _without_symbols(start: Int, end: Int, line: Line, symbols: DisjointSymbols) -> tuple[Int, Int]:
    """Leave out functions that have a symbol, and sections without any, such as .plt.

    A signal handler's record begins before its symbol.
    """
    following = np.append(symbols.start, np.iinfo(np.int64).max)
    free = np.flatnonzero(following[np.searchsorted(symbols.start, start)] >= end)
    bounds = np.searchsorted(symbols.start, np.append(line.at, np.iinfo(np.int64).max))
    home = np.searchsorted(line.at, start[free], side="right") - 1
    kept = free[np.diff(bounds)[home] > 0]
    return start[kept], end[kept]


def _outside(start: Int, end: Int, symbols: DisjointSymbols) -> tuple[Int, Int, Int]:
    """Cut functions at the next function or symbol, and leave out those inside a symbol."""
    start, first = np.unique(start, return_index=True)
    end = end[first]
    if len(start) > 1:
        end[:-1] = np.minimum(end[:-1], start[1:])
    if len(symbols.start):
        at = np.searchsorted(symbols.start, start, side="right")
        inside = (at > 0) & (start < symbols.end[np.maximum(at - 1, 0)])
        following = np.append(symbols.start, np.iinfo(np.int64).max)[at]
        end = np.where(inside, start, np.minimum(end, following))
    kept = np.flatnonzero(start < end)[:_MOST]
    return first[kept], start[kept], end[kept]


def _go_functions(image: Elf, line: Line) -> tuple[Int, Int, list[bytes]] | None:
    section = next((s for s in image.sections if s.name in _GO_TABLES and s.load_size), None)
    text = image.section(".text")
    if section is None or text is None:
        return None
    from sizeguard.formats.gopclntab import go_functions  # takes 1 ms; only Go needs it

    found = go_functions(image.content(section), signed(text.address))
    if found is None:
        return None
    offset = found.start - signed(text.address)
    kept = np.flatnonzero((offset >= 0) & (offset < text.size))
    at = int(line.at[text.index])
    end = np.minimum(found.end[kept] - signed(text.address), text.size)
    names = [found.names[i] or b"(no name)" for i in kept.tolist()]
    return offset[kept] + at, end + at, names
