"""Read unwind tables as rows: the bytes of the tables that describe each function."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.columns.texts import Int
from sizeguard.formats.elf.cie import OMIT, pointer_forms
from sizeguard.formats.macho.image import MachO, Section
from sizeguard.formats.macho.relocations import relocations

REGULAR, COMPRESSED = 2, 3
COMPACT_ENTRY = 32  # bytes: function, length, encoding, personality, exception table
_NOWHERE = (1 << 63) - 1  # above all addresses


@dataclass(frozen=True, slots=True)
class UnwindRows:
    """Bytes [offset, offset + size) of a section that describe the function at an address."""

    offset: Int
    size: Int
    function: Int

    @staticmethod
    def of(rows: Sequence[tuple[int, int, int]]) -> UnwindRows:
        """Make columns from rows."""
        columns = np.array(rows, np.int64).reshape(-1, 3)
        return UnwindRows(*(columns[:, i].copy() for i in range(3)))


@dataclass(frozen=True, slots=True)
class UnwindInfo:
    """The content of __unwind_info.

    tables: rows of (function, address of its exception table).
    """

    rows: UnwindRows
    tables: Int


def unwind_info(image: MachO, section: Section) -> UnwindInfo:
    """Read __TEXT,__unwind_info. Raises InputError if it is damaged."""
    data = image.content(section).tobytes()
    try:
        return _unwind_info(image, data)
    except struct.error as error:
        raise InputError(f"{image.path}: damaged {section.full_name}: {error}") from error


def _unwind_info(image: MachO, data: bytes) -> UnwindInfo:
    """Read rows and exception tables. Raises struct.error for damaged data."""
    order, base = image.order, image.base
    none = np.zeros(0, np.int64)
    rows, tables, count_of_rows = [(none, 0, none)], [np.zeros((0, 2), np.int64)], 0
    _, _, _, _, _, index, count = struct.unpack_from(order + "7I", data, 0)
    if count > len(data) // 12:
        raise struct.error(f"{count} pages in {len(data)} bytes")
    pages = [struct.unpack_from(order + "3I", data, index + 12 * i) for i in range(count)]
    # The last row gives the end of the previous page's tables.
    for i, (first, page, lsda) in enumerate(pages):
        if not page or i + 1 == count:
            continue
        offset = np.arange(lsda, min(pages[i + 1][2], len(data) - 7), 8)
        table = _words(order, data, lsda, 2 * len(offset)).reshape(-1, 2) + base
        rows.append((offset, 8, table[:, 0]))
        tables.append(table)
        kind, start, number = struct.unpack_from(order + "IHH", data, page)
        width = {REGULAR: 8, COMPRESSED: 4}.get(kind, 0)
        number = number if width else 0
        if page + start + number * width > len(data):
            raise struct.error(f"{number} entries of the page at {page} in {len(data)} bytes")
        words = _words(order, data, page + start, number * width // 4)
        function = words[::2] if kind == REGULAR else first + (words & 0xFFFFFF)
        rows.append((page + start + width * np.arange(number), width, base + function))
        count_of_rows += len(offset) + number
        # A row takes at least four bytes, unless pages overlap; many of them could take all memory.
        if count_of_rows * 4 > 2 * len(data) + 64:
            raise struct.error("pages that overlap")
    widths = np.repeat([width for _, width, _ in rows], [len(offset) for offset, _, _ in rows])
    offset, function = (np.concatenate([row[i] for row in rows]) for i in (0, 2))
    return UnwindInfo(UnwindRows(offset, widths, function), np.concatenate(tables))


def _words(order: str, data: bytes, offset: int, count: int) -> Int:
    """Read numbers of four bytes."""
    return np.frombuffer(data, order + "u4", count, min(offset, len(data))).astype(np.int64)


def compact_unwind(image: MachO, section: Section) -> UnwindRows:
    """Read the entries of __LD,__compact_unwind in a 64-bit object, one for each function.

    A relocation to a symbol gives the function's address.
    """
    data = image.content(section).tobytes()
    if not image.is_64:
        return UnwindRows.of(())
    external = _external(image, section)
    rows = []
    for offset in range(0, len(data) // COMPACT_ENTRY * COMPACT_ENTRY, COMPACT_ENTRY):
        (address,) = struct.unpack_from(image.order + "Q", data, offset)
        # An address that does not fit a column is not in the image.
        function = min(external.get(offset, 0) + address, _NOWHERE)
        rows.append((offset, COMPACT_ENTRY, function))
    return UnwindRows.of(rows)


def _external(image: MachO, section: Section) -> dict[int, int]:
    """Return the address of the symbol that each place of the section is relocated to.

    Relocations of type 0 are plain pointers in both architectures.
    """
    table = relocations(image, section)
    fits = np.flatnonzero(table.external & (table.type == 0) & (table.symbol < len(image.symbols)))
    return dict(
        zip(
            table.address[fits].tolist(),
            image.symbols.value[table.symbol[fits]].tolist(),
            strict=True,
        )
    )


def eh_frame(image: MachO, section: Section) -> UnwindRows:
    """Read the FDEs of __TEXT,__eh_frame.

    CIEs are shared and have no rows. Unreadable records have no rows either.
    """
    data = image.content(section).tobytes()
    order = image.order
    encodings: dict[int, int] = {}
    rows = []
    external = _external(image, section)
    position = 0
    while position + 8 <= len(data):
        length, cie = struct.unpack_from(order + "II", data, position)
        # The end, or a damaged record. No tool writes 64-bit records, which begin with ff ff ff ff.
        if length < 4 or position + 4 + length > len(data):
            break
        if cie == 0:
            record = data[position + 8 : position + 4 + length]
            encodings[position], _ = pointer_forms(record, image.pointer_size)
        else:
            encoding = encodings.get(position + 4 - cie, OMIT)
            function = external.get(position + 8)
            if function is None:
                function = _function(image, data, section.address, position + 8, encoding)
            if function is not None and abs(function) <= _NOWHERE:
                rows.append((position, 4 + length, function))
        position += 4 + length
    return UnwindRows.of(rows)


def _function(image: MachO, data: bytes, address: int, position: int, encoding: int) -> int | None:
    """Read the address of a function; None for an unknown encoding.

    address: of the section; position: of the pointer in it; encoding: DW_EH_PE_*.
    """
    layout = {0x0: "q" if image.is_64 else "i", 0x3: "I", 0x4: "Q", 0xB: "i", 0xC: "q"}.get(
        encoding & 0x0F
    )
    if (
        layout is None
        or encoding & 0x60  # neither absolute nor relative to its own place
        or position + struct.calcsize(image.order + layout) > len(data)
    ):
        return None
    value: int = struct.unpack_from(image.order + layout, data, position)[0]
    return value + address + position if encoding & 0x10 else value
