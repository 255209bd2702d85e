"""Turns what sections of a Mach-O image hold into claims: functions and objects, strings, slots of imports, unwind entries."""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sizeguard.formats.linkmap.row import InputSection
from sizeguard.formats.macho import constants as c
from sizeguard.formats.macho.fixups import Fixups
from sizeguard.formats.macho.image import MachO, Section
from sizeguard.formats.macho.linkedit import slots
from sizeguard.formats.macho.unwind import UnwindRow, compact_unwind, eh_frame, unwind_info
from sizeguard.ledger.ledger import NONE
from sizeguard.ledger.macho_ranges import CONFIDENCE, MAP, START, Ranges

# Strength of evidence. A placeholder gives way to whatever is said of the section; a filler only to what is said of entries.
SECTION, FILLER, SYMBOL, PART = 0, 1, 2, 3

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
# What is of these kinds should have a symbol: of other sections their name says enough, such as pools of literals.
_NEEDS_NAME = frozenset({"code", "rodata", "data", "zero"})
_LITERALS = frozenset({c.S_4BYTE_LITERALS, c.S_8BYTE_LITERALS, c.S_16BYTE_LITERALS, c.S_LITERAL_POINTERS})
_KINDS_BY_SYMBOL = {b"__ZTV": "vtable", b"__ZTT": "vtable", b"__ZTC": "vtable", b"__ZTI": "typeinfo", b"__ZTS": "typeinfo"}


@dataclass(frozen=True, slots=True)
class Content:
    """[offset, offset + size) of a section and whose it is."""

    section: Section
    offset: int
    size: int
    rank: int
    kind: str
    analyzer: str
    confidence: int = 100
    names: tuple[bytes, ...] = ()
    part: bytes = b""
    input: int = NONE


def kind_of(image: MachO, section: Section) -> str:
    if section.is_debug and section.name not in _KINDS_BY_NAME:
        return "debug"
    named = _KINDS_BY_TYPE.get(section.type) or _KINDS_BY_NAME.get(section.name)
    if named:
        return named
    if section.is_zerofill:
        return "zero"
    if section.is_code:
        return "code"
    is_constant = section.name in ("__const", "__literals") or not image.section_is_writable(section)
    return "rodata" if is_constant else "data"


def contents(image: MachO, ranges: Ranges, inputs: Sequence[InputSection], pointers: Fixups) -> Iterator[Content]:
    """All that is known below sections; sections themselves first."""
    for section in image.sections:
        if section.size:
            kind = kind_of(image, section)
            is_named = kind not in _NEEDS_NAME or section.type in _LITERALS or section.name == "__literals"
            yield Content(section, 0, section.size, SECTION, kind, "section" if is_named else "unattributed")
    yield from _ranges(image, ranges, inputs)
    by_import = {
        address: pointers.imports[i] for address, i in zip(pointers.address.tolist(), pointers.symbol.tolist(), strict=True) if i >= 0
    }
    targets = {a: t for a, t, i in zip(pointers.address.tolist(), pointers.target.tolist(), pointers.symbol.tolist(), strict=True) if i < 0}
    lazy: dict[int, bytes] = {}
    for table in slots(image):
        for i, symbol in enumerate(table.symbol.tolist()):
            address = table.section.address + i * table.size
            name = image.symbols.names.raw(symbol) if symbol >= 0 else by_import.get(address, "").encode()
            if table.section.type == c.S_LAZY_SYMBOL_POINTERS and address in targets:
                lazy[targets[address]] = name
            # A slot of what the image defines itself has no symbol: what it points at tells.
            target = ranges.at(targets[address]) if not name and address in targets else None
            if name or target is not None:
                names = target.names if target is not None else (name,)
                analyzer = "relocation" if target is not None else "import"
                yield Content(table.section, i * table.size, table.size, PART, "import", analyzer, names=names)
    helpers = sorted(lazy)
    tables = next((s for s in image.sections if s.name == "__gcc_except_tab" and s.file_size), None)
    for section in image.sections:
        if not section.file_size:
            continue
        if section.type == c.S_CSTRING_LITERALS:
            yield from _strings(image, section)
        elif section.type in (c.S_INIT_FUNC_OFFSETS, c.S_MOD_INIT_FUNC_POINTERS, c.S_MOD_TERM_FUNC_POINTERS):
            yield from _initializers(image, section, ranges, targets)
        elif section.name == "__stub_helper":
            yield from _helpers(section, helpers, lazy)
        else:
            yield from _unwind(image, section, ranges, tables)


def _ranges(image: MachO, ranges: Ranges, inputs: Sequence[InputSection]) -> Iterator[Content]:
    order = sorted(range(len(inputs)), key=lambda i: inputs[i].address)
    starts = np.array([inputs[i].address for i in order], np.int64)
    for row in ranges.rows:
        section = image.sections[row.section]
        kind = _KINDS_BY_SYMBOL.get(row.names[0][:5], "") if row.names else ""
        at = int(np.searchsorted(starts, row.address, side="right")) - 1
        input_ = order[at] if at >= 0 and row.address < inputs[order[at]].address + inputs[order[at]].size else NONE
        offset = row.address - section.address
        # A function that only its start is known of gets its address for a name.
        part = b"" if row.names or row.source == MAP else f"function at {row.address:#x}".encode()
        yield Content(
            section, offset, row.size, SYMBOL, kind or kind_of(image, section), row.source, CONFIDENCE[row.source], row.names, part, input_
        )
        yield Content(section, offset + row.size, row.padding, FILLER, "padding", "padding", CONFIDENCE[row.source])


def _strings(image: MachO, section: Section) -> Iterator[Content]:
    data = image.content(section)
    ends = np.flatnonzero(data == 0)
    start = 0
    raw = data.tobytes()
    for end in ends.tolist():
        if end > start:
            yield Content(section, start, end + 1 - start, PART, "string", "strings", part=raw[start:end])
        start = end + 1


def _initializers(image: MachO, section: Section, ranges: Ranges, targets: dict[int, int]) -> Iterator[Content]:
    """Each entry belongs to the function that it runs: an offset from the header, or a pointer."""
    is_offset = section.type == c.S_INIT_FUNC_OFFSETS
    size = 4 if is_offset else image.pointer_size
    data = image.content(section).tobytes()
    for offset in range(0, len(data) - size + 1, size):
        address = targets.get(section.address + offset)
        if is_offset:
            address = image.base + struct.unpack_from(image.order + "I", data, offset)[0]
        holder = ranges.at(address) if address is not None else None
        if holder is not None:
            yield Content(section, offset, size, PART, "initializer", "relocation", names=holder.names)


def _helpers(section: Section, helpers: Sequence[int], lazy: dict[int, bytes]) -> Iterator[Content]:
    """The code that binds a lazy pointer at its first call: one piece for each, behind a common head."""
    here = helpers[bisect_left(helpers, section.address) : bisect_left(helpers, section.address + section.size)]
    for address, after in zip(here, [*here[1:], section.address + section.size], strict=bool(here)):
        if lazy[address]:
            yield Content(section, address - section.address, after - address, PART, "import", "import", names=(lazy[address],))


def _unwind(image: MachO, section: Section, ranges: Ranges, tables: Section | None) -> Iterator[Content]:
    rows: Sequence[UnwindRow]
    if section.name == "__unwind_info":
        info = unwind_info(image, section)
        rows = info.rows
        yield from _exception_tables(tables, ranges, info.tables)
        # Pages of 4,096 bytes are filled with zeros.
        content = image.content(section)
        used = np.flatnonzero(content)
        end = (int(used[-1]) // 4 + 1) * 4 if len(used) else 0
        yield Content(section, end, max(section.size - end, 0), FILLER, "padding", "padding")
    elif section.name == "__compact_unwind":
        rows = tuple(compact_unwind(image, section))
    elif section.name == "__eh_frame":
        rows = eh_frame(image, section)
    else:
        return
    yield from _held(section, rows, ranges, "unwind")


def _held(section: Section, rows: Sequence[UnwindRow], ranges: Ranges, kind: str) -> Iterator[Content]:
    for row in rows:
        holder = ranges.at(row.function)
        if holder is None or row.offset + row.size > section.size:
            continue
        part = f"function at {holder.address:#x}".encode() if holder.source == START else b""
        yield Content(section, row.offset, row.size, PART, kind, "unwind table", names=holder.names, part=part)


def _exception_tables(section: Section | None, ranges: Ranges, tables: Sequence[tuple[int, int]]) -> Iterator[Content]:
    """A table reaches to the next one."""
    if section is None:
        return
    end = section.address + section.size
    order = sorted((table, function) for function, table in tables if section.address <= table < end)
    for (table, function), (after, _) in zip(order, [*order[1:], (end, 0)], strict=bool(order)):
        holder = ranges.at(function)
        if holder is not None and holder.names:
            yield Content(section, table - section.address, after - table, PART, "exception table", "exception table", names=holder.names)
