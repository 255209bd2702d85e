"""Claims on the contents of a Mach-O image's sections.

They are functions and objects, strings, slots of imports, and unwind entries.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sizeguard.formats.linkmap.link_map import InputSection
from sizeguard.formats.macho import constants as c
from sizeguard.formats.macho.fixups import Fixups
from sizeguard.formats.macho.image import MachO, Section
from sizeguard.formats.macho.linkedit import Slots, slots
from sizeguard.formats.macho.unwind import UnwindRow, compact_unwind, eh_frame, unwind_info
from sizeguard.ledger.ledger import NONE
from sizeguard.ledger.macho.named_ranges import CONFIDENCE, MAP, START, NamedRanges

# Strength of evidence. A whole section gives way to any claim inside it, a filler only to claims of
# entries.
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
# Bytes of these kinds should have a symbol. The names of other sections, such as pools of literals,
# say enough.
_NEEDS_NAME = frozenset({"code", "rodata", "data", "zero"})
_LITERALS = frozenset(
    {c.S_4BYTE_LITERALS, c.S_8BYTE_LITERALS, c.S_16BYTE_LITERALS, c.S_LITERAL_POINTERS}
)
_KINDS_BY_SYMBOL = {
    b"__ZTV": "vtable",
    b"__ZTT": "vtable",
    b"__ZTC": "vtable",
    b"__ZTI": "typeinfo",
    b"__ZTS": "typeinfo",
}


@dataclass(frozen=True, slots=True)
class Content:
    """A range [offset, offset + size) of a section, and its owner."""

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


def contents(
    image: MachO, ranges: NamedRanges, inputs: Sequence[InputSection], pointers: Fixups
) -> Iterator[Content]:
    """Yield all that is known below sections; sections themselves first."""
    yield from _whole_sections(image)
    yield from _ranges(image, ranges, inputs)
    fixed = _Fixed.of(pointers)
    tables = tuple(slots(image))
    yield from _slots(image, ranges, tables, fixed)
    lazy = _lazy_names(image, tables, fixed)
    helpers = sorted(lazy)
    exceptions = next(
        (s for s in image.sections if s.name == "__gcc_except_tab" and s.file_size), None
    )
    for section in image.sections:
        if not section.file_size:
            continue
        if section.type == c.S_CSTRING_LITERALS:
            yield from _strings(image, section)
        elif section.type in (
            c.S_INIT_FUNC_OFFSETS,
            c.S_MOD_INIT_FUNC_POINTERS,
            c.S_MOD_TERM_FUNC_POINTERS,
        ):
            yield from _initializers(image, section, ranges, fixed.targets)
        elif section.name == "__stub_helper":
            yield from _helpers(section, helpers, lazy)
        else:
            yield from _unwind(image, section, ranges, exceptions)


def _whole_sections(image: MachO) -> Iterator[Content]:
    """Yield each section as a whole; unattributed where symbols should say more."""
    for section in image.sections:
        if section.size:
            kind = kind_of(image, section)
            is_named = (
                kind not in _NEEDS_NAME or section.type in _LITERALS or section.name == "__literals"
            )
            yield Content(
                section, 0, section.size, SECTION, kind, "section" if is_named else "unattributed"
            )


@dataclass(frozen=True, slots=True)
class _Fixed:
    """Values that dyld writes, by address: imports by name, or addresses of the image itself."""

    imports: dict[int, str]
    targets: dict[int, int]

    @staticmethod
    def of(pointers: Fixups) -> _Fixed:
        """Sort the fixups by what they point at."""
        imports: dict[int, str] = {}
        targets: dict[int, int] = {}
        for address, target, symbol in zip(
            pointers.address.tolist(),
            pointers.target.tolist(),
            pointers.symbol.tolist(),
            strict=True,
        ):
            if symbol >= 0:
                imports[address] = pointers.imports[symbol]
            else:
                targets[address] = target
        return _Fixed(imports, targets)


def _slot_name(image: MachO, fixed: _Fixed, address: int, symbol: int) -> bytes:
    """Return the name of the import that a slot serves, empty if it serves none."""
    if symbol >= 0:
        return image.symbols.names.raw(symbol)
    return fixed.imports.get(address, "").encode()


def _slots(
    image: MachO, ranges: NamedRanges, tables: Sequence[Slots], fixed: _Fixed
) -> Iterator[Content]:
    """Yield slots and stubs, each with the import that it serves."""
    for table in tables:
        for i, symbol in enumerate(table.symbol.tolist()):
            address = table.section.address + i * table.size
            name = _slot_name(image, fixed, address, symbol)
            # A slot for a symbol of the image itself has no name; its target has.
            target = None
            if not name and address in fixed.targets:
                target = ranges.at(fixed.targets[address])
            if name or target is not None:
                names = target.names if target is not None else (name,)
                analyzer = "relocation" if target is not None else "import"
                yield Content(
                    table.section, i * table.size, table.size, PART, "import", analyzer, names=names
                )


def _lazy_names(image: MachO, tables: Sequence[Slots], fixed: _Fixed) -> dict[int, bytes]:
    """Return the import that each helper binds, by the helper's address.

    A lazy pointer points at its helper until it is bound.
    """
    lazy: dict[int, bytes] = {}
    for table in tables:
        if table.section.type == c.S_LAZY_SYMBOL_POINTERS:
            for i, symbol in enumerate(table.symbol.tolist()):
                address = table.section.address + i * table.size
                if address in fixed.targets:
                    lazy[fixed.targets[address]] = _slot_name(image, fixed, address, symbol)
    return lazy


def _ranges(image: MachO, ranges: NamedRanges, inputs: Sequence[InputSection]) -> Iterator[Content]:
    """Yield named ranges, and the padding behind each."""
    order = sorted(range(len(inputs)), key=lambda i: inputs[i].address)
    starts = np.array([inputs[i].address for i in order], np.int64)
    for row in ranges.rows:
        section = image.sections[row.section]
        kind = _KINDS_BY_SYMBOL.get(row.names[0][:5], "") if row.names else ""
        at = int(np.searchsorted(starts, row.address, side="right")) - 1
        input_ = (
            order[at]
            if at >= 0 and row.address < inputs[order[at]].address + inputs[order[at]].size
            else NONE
        )
        offset = row.address - section.address
        # A function that is known by its start alone is named by its address.
        part = b"" if row.names or row.source == MAP else f"function at {row.address:#x}".encode()
        yield Content(
            section,
            offset,
            row.size,
            SYMBOL,
            kind or kind_of(image, section),
            row.source,
            CONFIDENCE[row.source],
            row.names,
            part,
            input_,
        )
        yield Content(
            section,
            offset + row.size,
            row.padding,
            FILLER,
            "padding",
            "padding",
            CONFIDENCE[row.source],
        )


def _strings(image: MachO, section: Section) -> Iterator[Content]:
    """Yield the strings of a section, with their NULs."""
    data = image.content(section)
    ends = np.flatnonzero(data == 0)
    start = 0
    raw = data.tobytes()
    for end in ends.tolist():
        if end > start:
            yield Content(
                section, start, end + 1 - start, PART, "string", "strings", part=raw[start:end]
            )
        start = end + 1


def _initializers(
    image: MachO, section: Section, ranges: NamedRanges, targets: dict[int, int]
) -> Iterator[Content]:
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
            yield Content(
                section, offset, size, PART, "initializer", "relocation", names=holder.names
            )


def _helpers(section: Section, helpers: Sequence[int], lazy: dict[int, bytes]) -> Iterator[Content]:
    """Yield the code that binds lazy pointers at their first call, a piece for each.

    A common head, which no piece covers, stands before them.
    """
    here = helpers[
        bisect_left(helpers, section.address) : bisect_left(helpers, section.address + section.size)
    ]
    for address, after in zip(here, [*here[1:], section.address + section.size], strict=bool(here)):
        if lazy[address]:
            yield Content(
                section,
                address - section.address,
                after - address,
                PART,
                "import",
                "import",
                names=(lazy[address],),
            )


def _unwind(
    image: MachO, section: Section, ranges: NamedRanges, tables: Section | None
) -> Iterator[Content]:
    """Yield the unwind entries of a section, and the exception tables that it names."""
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


def _held(
    section: Section, rows: Sequence[UnwindRow], ranges: NamedRanges, kind: str
) -> Iterator[Content]:
    """Yield unwind entries that have a function."""
    for row in rows:
        holder = ranges.at(row.function)
        if holder is None or row.offset + row.size > section.size:
            continue
        part = f"function at {holder.address:#x}".encode() if holder.source == START else b""
        yield Content(
            section, row.offset, row.size, PART, kind, "unwind table", names=holder.names, part=part
        )


def _exception_tables(
    section: Section | None, ranges: NamedRanges, tables: Sequence[tuple[int, int]]
) -> Iterator[Content]:
    """Yield exception tables; each reaches to the next one.

    tables: pairs of function and table addresses.
    """
    if section is None:
        return
    end = section.address + section.size
    order = sorted(
        (table, function) for function, table in tables if section.address <= table < end
    )
    for (table, function), (after, _) in zip(order, [*order[1:], (end, 0)], strict=bool(order)):
        holder = ranges.at(function)
        if holder is not None and holder.names:
            yield Content(
                section,
                table - section.address,
                after - table,
                PART,
                "exception table",
                "exception table",
                names=holder.names,
            )
