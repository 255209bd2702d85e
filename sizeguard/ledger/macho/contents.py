"""Claims on the contents of a Mach-O image's sections.

These are functions and objects, strings, slots of imports, and unwind entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.sort import packed_order
from sizeguard.columns.texts import Int, Int8, Texts
from sizeguard.formats.linkmap.link_map import InputSection
from sizeguard.formats.macho import constants as c
from sizeguard.formats.macho.fixups import Fixups
from sizeguard.formats.macho.image import MachO, Section
from sizeguard.formats.macho.linkedit import Slots, slots
from sizeguard.ledger.kinds import CONTENT
from sizeguard.ledger.ledger import NONE
from sizeguard.ledger.macho.claim_columns import (
    FILLER,
    PART,
    SECTION,
    SYMBOL,
    Claimed,
    ClaimTable,
    one,
)
from sizeguard.ledger.macho.named_ranges import MAP, SOURCES, UNWIND_SECTIONS, NamedRanges
from sizeguard.ledger.macho.unwind_claims import exception_claims, unwind_claims

_KINDS_BY_TYPE = {
    c.S_CSTRING_LITERALS: "string",
    c.S_SYMBOL_STUBS: "import",
    c.S_NON_LAZY_SYMBOL_POINTERS: "import",
    c.S_LAZY_SYMBOL_POINTERS: "import",
    c.S_LAZY_DYLIB_SYMBOL_POINTERS: "import",
    c.S_MOD_INIT_FUNC_POINTERS: "initializer",
    c.S_MOD_TERM_FUNC_POINTERS: "initializer",
    c.S_INIT_FUNC_OFFSETS: "initializer",
}
_KINDS_BY_NAME = {
    "__unwind_info": "unwind",
    "__eh_frame": "unwind",
    "__compact_unwind": "unwind",
    "__gcc_except_tab": "exception table",
    "__stub_helper": "import",
    "__objc_methname": "string",
}
_LITERALS = frozenset(
    {c.S_4BYTE_LITERALS, c.S_8BYTE_LITERALS, c.S_16BYTE_LITERALS, c.S_LITERAL_POINTERS}
)
# Kinds that the letter after a symbol's prefix determines.
_PREFIX = b"__ZT"
_LETTERS = len(_PREFIX) + 1
_SPECIAL = {"vtable": b"VTC", "typeinfo": b"IS"}


def kind_of(image: MachO, section: Section) -> str:
    """Return the kind of a section's bytes: by its type, its name, then its flags."""
    if section.is_debug and section.name not in _KINDS_BY_NAME:
        return "debug"
    named = _KINDS_BY_TYPE.get(section.type) or _KINDS_BY_NAME.get(section.name)
    if named:
        return named
    if section.is_zerofill:
        return "zero"
    if section.is_code:
        return "code"
    is_constant = section.name in ("__const", "__literals") or not image.section_is_writable(
        section
    )
    return "rodata" if is_constant else "data"


@dataclass(frozen=True, slots=True)
class Contents:
    """The data from which claims on sections are made.

    inputs: rows of the linker map
    """

    image: MachO
    table: ClaimTable
    ranges: NamedRanges
    inputs: Sequence[InputSection]
    pointers: Fixups

    def context(self, section: Section, kind: str, analyzer: str) -> int:
        """Return the context of claims on a section."""
        # An object has one segment without a name; there, the section names its later segment.
        segment = self.image.segments[section.segment].name or section.segment_name
        return self.table.context(section.full_name, segment, kind, analyzer)


def contents(of: Contents) -> Iterator[tuple[Section, Claimed]]:
    """Yield all claims inside sections; claims on whole sections come first.

    Places are relative to the start of the section.
    """
    yield from _whole_sections(of)
    yield from _ranges(of)
    fixed = _Fixed.of(of.pointers)
    tables = tuple(slots(of.image))
    for slot_table in tables:
        yield slot_table.section, _slots(of, slot_table, fixed)
    lazy = _lazy_names(of, tables, fixed)
    exceptions = next(
        (s for s in of.image.sections if s.name == "__gcc_except_tab" and s.file_size), None
    )
    for section in of.image.sections:
        if not section.file_size:
            continue
        if section.type == c.S_CSTRING_LITERALS:
            yield section, _strings(of, section)
        elif section.type in (
            c.S_INIT_FUNC_OFFSETS,
            c.S_MOD_INIT_FUNC_POINTERS,
            c.S_MOD_TERM_FUNC_POINTERS,
        ):
            yield section, _initializers(of, section, fixed)
        elif section.name == "__stub_helper":
            yield section, _helpers(of, section, lazy)
        elif section.name in UNWIND_SECTIONS:
            yield from _unwind(of, section, exceptions)


def _unwind(
    of: Contents, section: Section, exceptions: Section | None
) -> Iterator[tuple[Section, Claimed]]:
    """Yield the unwind entries of a section, and the exception tables that they name."""
    context = of.context(section, "unwind", "unwind table")
    found = unwind_claims(of.image, section, of.ranges, of.table, context)
    if exceptions is not None and len(found.tables):
        kind = of.context(exceptions, "exception table", "exception table")
        yield exceptions, exception_claims(exceptions, of.ranges, found.tables, kind)
    if found.filled >= 0:
        padding = of.context(section, "padding", "padding")
        yield section, one(found.filled, section.size, FILLER, padding)
    yield section, found.entries


def _whole_sections(of: Contents) -> Iterator[tuple[Section, Claimed]]:
    """Yield each section as a whole; unattributed if its bytes should have symbols."""
    for section in of.image.sections:
        if section.size:
            kind = kind_of(of.image, section)
            is_named = (
                kind not in CONTENT or section.type in _LITERALS or section.name == "__literals"
            )
            context = of.context(section, kind, "section" if is_named else "unattributed")
            yield section, one(0, section.size, SECTION, context)


@dataclass(frozen=True, slots=True)
class _Fixed:
    """Values that dyld writes, sorted by address.

    target: an address in the image; symbol: an import, NONE for an address
    """

    address: Int
    target: Int
    symbol: Int
    imports: tuple[str, ...]

    @staticmethod
    def of(pointers: Fixups) -> _Fixed:
        """Sort the fixups; the last write to a place wins."""
        # By address, then by whether it is an import.
        key = pointers.address * 2 + (pointers.symbol >= 0)
        order = packed_order(key)
        is_last = np.ones(len(order), np.bool_)
        is_last[:-1] = key[order[1:]] != key[order[:-1]]
        rows = order[is_last]
        return _Fixed(
            pointers.address[rows], pointers.target[rows], pointers.symbol[rows], pointers.imports
        )

    def row(self, address: Int, *, imported: bool) -> Int:
        """Return the row for each address, of imports or of others; NONE if there is none."""
        which = np.flatnonzero((self.symbol >= 0) == imported)
        if not len(which):
            return np.full(len(address), NONE, np.int64)
        known = self.address[which]
        at = np.minimum(np.searchsorted(known, address), len(known) - 1)
        return np.where(known[at] == address, which[at], NONE)

    def targets(self, address: Int) -> tuple[Int, npt.NDArray[np.bool_]]:
        """Return the value at each address, and whether it is an address in the image."""
        row = self.row(address, imported=False)
        return np.append(self.target, 0)[row], row >= 0


def _slot_names(of: Contents, table: Slots, fixed: _Fixed) -> tuple[Int, Int]:
    """Return the address of each slot, and a reference to the import's name, or NONE."""
    address = table.section.address + np.arange(len(table.symbol)) * table.size
    names = of.image.symbols.names
    symbol = table.symbol
    # A damaged image may have no symbols at all; NONE reads the appended 0.
    length = np.append(names.end - names.start, 0)
    name = np.where((symbol >= 0) & (length[symbol] > 0), symbol, NONE)
    unnamed = np.flatnonzero(symbol < 0)
    row = fixed.row(address[unnamed], imported=True)
    for i, import_ in zip(unnamed[row >= 0].tolist(), row[row >= 0].tolist(), strict=True):
        text = fixed.imports[int(fixed.symbol[import_])]
        name[i] = of.table.names.add(text.encode()) if text else NONE
    return address, name


def _slots(of: Contents, table: Slots, fixed: _Fixed) -> Claimed:
    """Make claims of slots and stubs, each owned by its import.

    A slot for a symbol of the image has no name; its target has.
    """
    address, name = _slot_names(of, table, fixed)
    target, has_target = fixed.targets(address)
    holder = np.where(has_target & (name < 0), of.ranges.at(target), NONE)
    start = np.arange(len(name)) * table.size
    import_ = of.context(table.section, "import", "import")
    relocation = of.context(table.section, "import", "relocation")
    context = np.where(holder >= 0, relocation, import_)
    claims = Claimed(start, start + table.size, PART, context, name, holder)
    return claims.take((name >= 0) | (holder >= 0))


@dataclass(frozen=True, slots=True)
class _Lazy:
    """Helpers that bind lazy pointers: their sorted addresses, and the imports' names."""

    address: Int = field(default_factory=lambda: np.zeros(0, np.int64))
    name: Int = field(default_factory=lambda: np.zeros(0, np.int64))


def _lazy_names(of: Contents, tables: Sequence[Slots], fixed: _Fixed) -> _Lazy:
    """Return the import that each helper binds.

    A lazy pointer points to its helper until it is bound.
    """
    lazy: dict[int, int] = {}
    for table in tables:
        if table.section.type == c.S_LAZY_SYMBOL_POINTERS:
            address, name = _slot_names(of, table, fixed)
            target, has_target = fixed.targets(address)
            pairs = zip(target[has_target].tolist(), name[has_target].tolist(), strict=True)
            lazy.update(pairs)
    rows = np.array(sorted(lazy.items()), np.int64).reshape(-1, 2)
    return _Lazy(rows[:, 0].copy(), rows[:, 1].copy())


def _ranges(of: Contents) -> Iterator[tuple[Section, Claimed]]:
    """Yield the named ranges of each section, and the padding after each."""
    ranges = of.ranges
    input_ = _inputs(of)
    special = _special_kinds(of)
    by_map = ranges.source == SOURCES.index(MAP)
    nameless = np.flatnonzero((ranges.first[1:] == ranges.first[:-1]) & ~by_map)
    part = np.full(len(ranges), NONE, np.int64)
    # A function with only a known start is named by its address.
    part[nameless] = [function_part(of.table, a) for a in ranges.address[nameless].tolist()]
    edges = np.flatnonzero(np.diff(ranges.section, prepend=-1, append=-1))
    for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        section = of.image.sections[int(ranges.section[low])]
        rows = np.arange(low, high)
        start = ranges.address[rows] - section.address
        end = start + ranges.size[rows]
        source = ranges.source[rows]
        yield (
            section,
            Claimed(
                start,
                end,
                SYMBOL,
                _contexts(of, section, special[rows], source),
                NONE,
                rows,
                part[rows],
                input_[rows],
            ),
        )
        padded = ranges.padding[rows] > 0
        padding = _contexts(of, section, None, source)
        fill = Claimed(end, end + ranges.padding[rows], FILLER, padding)
        yield section, fill.take(padded)


def _contexts(of: Contents, section: Section, special: Int | None, source: Int8) -> Int:
    """Return the context of each range of a section.

    special: result of _special_kinds for these ranges; None if they are padding
    source:  index into SOURCES
    """
    usual = "padding" if special is None else kind_of(of.image, section)
    kinds = (usual, *(_SPECIAL if special is not None else ()))
    which = source.astype(np.int64) + (0 if special is None else special * len(SOURCES))
    context = np.zeros(len(kinds) * len(SOURCES), np.int64)
    for i in np.unique(which).tolist():
        kind, said = kinds[i // len(SOURCES)], SOURCES[i % len(SOURCES)]
        analyzer = "padding" if special is None else said
        context[i] = of.context(section, kind, analyzer)
    found: Int = context[which]
    return found


def _special_kinds(of: Contents) -> Int:
    """Return the kind from each range's first name: 0 for none, else 1 + index into _SPECIAL."""
    ranges = of.ranges
    texts = of.table.names.texts()
    kind = np.zeros(len(ranges), np.int64)
    named = np.flatnonzero(ranges.first[1:] > ranges.first[:-1])
    name = ranges.member[ranges.first[named]]
    start = texts.start[name]
    long = np.flatnonzero(texts.end[name] - start >= _LETTERS)
    named, start = named[long], start[long]
    for i, letter in enumerate(_PREFIX):
        fits = texts.buffer[start + i] == letter
        named, start = named[fits], start[fits]
    last = texts.buffer[start + len(_PREFIX)]
    for number, prefixes in enumerate(_SPECIAL.values(), 1):
        kind[named[np.isin(last, np.frombuffer(prefixes, np.uint8))]] = number
    return kind


def function_part(table: ClaimTable, address: int) -> int:
    """Return a reference to the name of a function with only a known start."""
    return table.parts.add(f"function at {address:#x}".encode())


def _inputs(of: Contents) -> Int:
    """Return the map's row in which each range begins; NONE if there is none."""
    if not of.inputs:
        return np.full(len(of.ranges), NONE, np.int64)
    address, size = (
        np.array([getattr(row, name) for row in of.inputs], np.int64)
        for name in ("address", "size")
    )
    order = packed_order(address)
    at = np.searchsorted(address[order], of.ranges.address, side="right") - 1
    row = order[at]
    inside = (at >= 0) & (of.ranges.address < address[row] + size[row])
    return np.where(inside, row, NONE)


def _strings(of: Contents, section: Section) -> Claimed:
    """Make claims of the strings of a section, with their NULs."""
    end = np.flatnonzero(of.image.content(section) == 0)
    start = np.append(np.int64(0), end[:-1] + 1)[: len(end)]
    filled = end > start
    start, end = start[filled], end[filled]
    texts = Texts(of.image.data, start + section.offset, end + section.offset)
    part = of.table.parts.extend(texts)
    context = of.context(section, "string", "strings")
    return Claimed(start, end + 1, PART, context, part=part)


def _initializers(of: Contents, section: Section, fixed: _Fixed) -> Claimed:
    """Claim entries (offsets from the header, or pointers) for the functions that they run."""
    is_offset = section.type == c.S_INIT_FUNC_OFFSETS
    size = 4 if is_offset else of.image.pointer_size
    data = of.image.content(section)
    start = np.arange(len(data) // size) * size
    if is_offset:
        raw = data[: len(data) // 4 * 4].tobytes()
        address = np.frombuffer(raw, of.image.order + "u4").astype(np.int64) + of.image.base
        holder = of.ranges.at(address)
    else:
        address, is_known = fixed.targets(start + section.address)
        holder = np.where(is_known, of.ranges.at(address), NONE)
    context = of.context(section, "initializer", "relocation")
    return Claimed(start, start + size, PART, context, range=holder).take(holder >= 0)


def _helpers(of: Contents, section: Section, lazy: _Lazy) -> Claimed:
    """Make claims of the code that binds lazy pointers on first use, one for each helper.

    A common head before them has no claim.
    """
    low, high = np.searchsorted(lazy.address, [section.address, section.address + section.size])
    start = lazy.address[low:high] - section.address
    end = np.append(start[1:], section.size)[: len(start)]
    name = lazy.name[low:high]
    context = of.context(section, "import", "import")
    return Claimed(start, end, PART, context, name).take(name >= 0)
