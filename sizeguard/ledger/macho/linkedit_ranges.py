"""Claims on bytes outside a Mach-O image's sections.

These are load commands, symbol and string tables, relocations, and dyld's tables.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int
from sizeguard.formats.macho import constants as c
from sizeguard.formats.macho.image import MachO, Segment
from sizeguard.formats.macho.relocations import relocations
from sizeguard.ledger.ledger import NONE
from sizeguard.ledger.macho.claim_columns import PART, SECTION, Claimed, ClaimTable, one
from sizeguard.ledger.macho.named_ranges import Bool, NamedRanges

_KINDS = {
    "symbol table": "symbol table",
    "string table": "string table",
    "indirect symbols": "symbol table",
    "external references": "symbol table",
    "exports trie": "exports",
    "function starts": "function starts",
    "code signature": "code signature",
    "code signing requirements": "code signature",
    "chained fixups": "relocation",
    "rebase opcodes": "relocation",
    "bind opcodes": "relocation",
    "weak bind opcodes": "relocation",
    "lazy bind opcodes": "relocation",
    "external relocations": "relocation",
    "local relocations": "relocation",
    "relocations": "relocation",
}


@dataclass(frozen=True, slots=True)
class Linkedit:
    """The data from which claims outside sections are made.

    segments: those with bytes in the file, in order
    """

    image: MachO
    table: ClaimTable
    ranges: NamedRanges
    segments: tuple[Segment, ...]

    def segment_of(self, offset: Int) -> Int:
        """Return the segment of each byte of the file; NONE if there is none."""
        start = np.array([s.offset for s in self.segments], np.int64)
        end = np.array([s.offset + s.file_size for s in self.segments], np.int64)
        at = np.searchsorted(end, offset, side="right")
        inside = at < len(start)
        inside[inside] = start[at[inside]] <= offset[inside]
        return np.where(inside, at, NONE)

    def contexts(self, start: Int, section: str, kind: str, analyzer: str) -> Int:
        """Return the contexts of claims that begin at these places.

        section: a name in parentheses, which is not a real section.
        """
        which = self.segment_of(start)
        found = np.zeros(len(self.segments) + 1, np.int64)
        for i in np.unique(which).tolist():
            name = self.segments[i].name if i >= 0 else ""
            found[i] = self.table.context(section, name, kind, analyzer)
        return found[which]


def linkedit_claims(of: Linkedit) -> Iterator[Claimed]:
    """Yield all claims, weaker ones first; a symbol's reference is its index."""
    image = of.image
    yield _one(of, 0, image.header_size, ("(header)", "header", "header"))
    for command in image.commands:
        part = of.table.parts.add(command.name.encode())
        what = ("(load commands)", "load commands", "header")
        yield _one(of, command.offset, command.size, what, part)
    for extent in image.linkedit:
        what = (f"({extent.name})", _KINDS.get(extent.name, "other"), "section")
        yield _one(of, extent.offset, extent.size, what)
    if len(image.symbols):
        yield from _symbols(of)
    yield from _indirect(of)
    if image.is_object:
        yield from _relocations(of)


def _one(
    of: Linkedit, offset: int, size: int, what: tuple[str, str, str], part: int = NONE
) -> Claimed:
    context = int(of.contexts(np.array([offset]), *what)[0])
    return one(offset, offset + size, SECTION, context, part)


def _symbols(of: Linkedit) -> Iterator[Claimed]:
    """Yield entries of the symbol table, and their names.

    Both belong to the symbol; those of STABs to the function or variable that they describe, else
    to debug information.
    """
    table = of.image.symbols
    extent = of.image.extent("symbol table")
    strings = of.image.extent("string table")
    if extent is None or strings is None:
        return
    width = extent.size // len(table)
    is_stab = (table.type & c.N_STAB) != 0
    named = table.names.end > table.names.start
    owner = np.where(named & ~is_stab, np.arange(len(table)), NONE)
    stabs = np.flatnonzero(is_stab)
    if len(stabs):
        owner[stabs] = _owners_of_stabs(of, stabs, named)
    # Including the zero after a name; the last name may lack it.
    ends = np.minimum(table.names.end + 1, strings.offset + strings.size)
    start = extent.offset + np.arange(len(table)) * width
    names = []
    # Most STABs share their name with the symbol, which was there first.
    for rows, kinds in (
        (np.flatnonzero(~is_stab), ("symbol table", "string table")),
        (stabs, ("debug", "debug")),
    ):
        context = of.contexts(start[rows], "(symbol table)", kinds[0], "symbol table")
        yield Claimed(start[rows], start[rows] + width, PART, context, owner[rows])
        rows = rows[named[rows]]
        begin = table.names.start[rows]
        context = of.contexts(begin, "(string table)", kinds[1], "string table")
        names.append(Claimed(begin, ends[rows], PART, context, owner[rows]))
    yield from names


def _owners_of_stabs(of: Linkedit, stabs: Int, named: Bool) -> Int:
    """Return a reference to the name of each STAB's owner; NONE if it has none.

    A function's STABs are BNSYM with its address, FUN with its name, …, ENSYM.
    """
    symbols, ranges = of.image.symbols, of.ranges
    begins = stabs[symbols.type[stabs] == c.N_BNSYM]
    holder = ranges.at(symbols.value[begins])
    # Names of the ranges are references, too.
    first = np.append(ranges.member, NONE)[ranges.first[holder]]
    first[~ranges.has_name(holder)] = NONE
    of_begin = dict(zip(begins.tolist(), first.tolist(), strict=True))
    owners = np.full(len(stabs), NONE, np.int64)
    function = NONE
    for row, (i, kind, has_name) in enumerate(
        zip(stabs.tolist(), symbols.type[stabs].tolist(), named[stabs].tolist(), strict=True)
    ):
        if kind == c.N_BNSYM:
            function = of_begin[i]
        elif kind == c.N_FUN and has_name:
            function = i
        if kind in (c.N_GSYM, c.N_STSYM):
            owners[row] = i if has_name else NONE
        elif kind in (c.N_BNSYM, c.N_FUN, c.N_ENSYM):
            owners[row] = function
        if kind == c.N_ENSYM:
            function = NONE
    return owners


def _indirect(of: Linkedit) -> Iterator[Claimed]:
    """Yield the entries of the indirect symbol table."""
    image = of.image
    extent = image.extent("indirect symbols")
    if extent is None:
        return
    symbol = image.indirect.astype(np.int64)
    known = np.flatnonzero(symbol < len(image.symbols))
    symbol = symbol[known]
    names = image.symbols.names
    owner = np.where(names.end[symbol] > names.start[symbol], symbol, NONE)
    start = extent.offset + 4 * known
    context = of.contexts(start, "(indirect symbols)", "symbol table", "import")
    yield Claimed(start, start + 4, PART, context, owner)


def _relocations(of: Linkedit) -> Iterator[Claimed]:
    """Yield the relocations of an object, each owned by the symbol that it relocates."""
    for section in of.image.sections:
        if not section.relocation_count:
            continue
        holder = of.ranges.at(section.address + relocations(of.image, section).address)
        held = np.flatnonzero(of.ranges.has_name(holder))
        start = section.relocation_offset + 8 * held
        context = of.contexts(start, "(relocations)", "relocation", "relocation")
        yield Claimed(start, start + 8, PART, context, range=holder[held])
