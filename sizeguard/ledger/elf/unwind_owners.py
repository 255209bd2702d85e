"""Split .eh_frame, .eh_frame_hdr and .gcc_except_table into pieces, each owned by its function."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.compiled_code import compiled_beside
from sizeguard.columns.sort import packed_order
from sizeguard.columns.texts import Int
from sizeguard.formats.elf import Elf, Section
from sizeguard.formats.elf.exception_tables import table_ends
from sizeguard.formats.elf.unwind import (
    FDE,
    NOWHERE,
    HeaderTable,
    UnwindRecords,
    header_table,
    read_frames,
)
from sizeguard.ledger.elf.owner_table import Holders, Line, Pieces
from sizeguard.ledger.elf.relocation_holders import Fixed
from sizeguard.ledger.kinds import ANALYZER, KIND
from sizeguard.ledger.ledger import NONE

_CODE = compiled_beside(__file__)
_LAST = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class _Exceptions:
    """Pieces of a section of exception tables.

    start: on the line; function: index of a function with a record, or NONE; is_zero: only zeros.
    """

    section: int
    start: Int
    function: Int
    is_zero: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Unwinding:
    """Unwind data that the sections themselves contain.

    header:     None if it is absent or cannot be read
    frames:     for each .eh_frame section; the last value has the rows of its FDEs, by function
    exceptions: of a linked image; those of a relocatable object need its relocations
    """

    header: tuple[Section, HeaderTable] | None
    frames: list[tuple[Section, UnwindRecords, Int]]
    exceptions: list[_Exceptions]


def read_unwinding(image: Elf, line: Line) -> Unwinding:
    """Read the unwind sections of an image."""
    section = next((s for s in image.sections if s.name == ".eh_frame_hdr" and s.load_size), None)
    table = header_table(image, section) if section is not None else None
    header = (section, table) if section is not None and table is not None else None
    others = [
        s
        for s in image.sections
        if s.name.startswith(".eh_frame") and s is not section and s.load_size
    ]
    frames = [(s, *_by_function(read_frames(image, s, table))) for s in others]
    if image.is_relocatable:
        return Unwinding(header, frames, [])
    return Unwinding(
        header,
        frames,
        _exceptions(
            image, line, np.concatenate([_nothing(), *(f.lsda[rows] for _, f, rows in frames)])
        ),
    )


def _by_function(frames: UnwindRecords) -> tuple[UnwindRecords, Int]:
    """Return the records, and the rows of the FDEs in order of their functions."""
    rows = np.flatnonzero(frames.kind == FDE)
    return frames, rows[packed_order(frames.function[rows])]


def described_code(image: Elf, line: Line, read: Unwinding) -> tuple[Int, Int]:
    """Return the code with unwind records: starts, ascending, and ends on the line.

    Empty for a relocatable object, whose records have no addresses yet.
    """
    if image.is_relocatable:
        return _nothing(), _nothing()
    starts, ends = [_nothing()], [_nothing()]
    for _, frames, rows in read.frames:
        for section in image.sections:
            if section.is_executable and section.load_size:
                start, end = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
                i = section.index
                place = (int(line.address[i]), int(line.at[i]), section.size)
                columns = (rows, len(rows), frames.function, frames.extent)
                count = _CODE.call("described", *columns, *place, start, end)
                starts.append(start[:count])
                ends.append(end[:count])
    start, end = np.concatenate(starts), np.concatenate(ends)
    order = packed_order(start)
    return start[order], end[order]


def unwind_pieces(
    image: Elf, line: Line, read: Unwinding, holders: Holders, fixed: Fixed
) -> Iterator[Pieces]:
    """Yield the pieces of all three kinds of sections.

    Functions are found by address; in a relocatable object, through its relocations.
    """
    listed = of_listed = _nothing()
    if read.header is not None:
        listed = read.header[1].function
        of_listed = holders.rows_at(listed)
        yield _header(line, holders, read.header[0], of_listed)
    held, tables = [_nothing()], [_nothing()]
    for section, frames, records in read.frames:
        function = frames.function[records]
        if image.is_relocatable:
            function, lsda = (
                np.where(at >= 0, fixed.at(at + int(line.address[section.index]))[1], NOWHERE)
                for at in (frames.function_at[records], frames.lsda_at[records])
            )
            tables.append(lsda)
        # The table of .eh_frame_hdr has nearly always these functions. Finding those of
        # libtorch_cpu.so again would take 15 ms.
        found = of_listed if np.array_equal(function, listed) else holders.rows_at(function)
        held.append(found)
        yield _frames(section, line, holders, frames, records, found)
    exceptions = (
        _exceptions(image, line, np.concatenate(tables))
        if image.is_relocatable
        else read.exceptions
    )
    whose = np.append(np.concatenate(held), NONE)
    for table in exceptions:
        yield _exception_pieces(table, holders, whose[table.function])


def _nothing() -> Int:
    """Return an empty array."""
    return np.zeros(0, np.int64)


def _header(line: Line, holders: Holders, section: Section, held: Int) -> Pieces:
    """Cut .eh_frame_hdr into the entries of its search table; the bytes before it have no owner.

    held: row of each entry's function.
    """
    at = int(line.at[section.index])
    entries = at + 12 + 8 * np.arange(len(held), dtype=np.int64)
    rest = at + 12 + 8 * len(entries)
    start = np.concatenate([[at], entries, [rest] if rest < at + section.size else []]).astype(
        np.int64
    )
    found = np.full(len(start), NONE, np.int64)
    found[1 : 1 + len(entries)] = held
    return Pieces(
        start, section.index, KIND["unwind"], ANALYZER["unwind index"], **holders.columns(found)
    )


def _frames(
    section: Section, line: Line, holders: Holders, frames: UnwindRecords, records: Int, held: Int
) -> Pieces:
    """Cut .eh_frame into its records; a CIE does not belong to a function.

    records: rows of the FDEs; held: row of each FDE's function. Bytes before the first record
    and after the last are unattributed.
    """
    at = int(line.at[section.index])
    end = int(frames.start[-1] + frames.size[-1]) if len(frames.start) else 0
    head = 1 if len(frames.start) and frames.start[0] > 0 else 0
    tail = 1 if end < section.size else 0
    # A record extends to the next one, so unreadable records belong to the previous one.
    start = np.concatenate([[0] * head, frames.start, [end] * tail]).astype(np.int64) + at
    found = np.full(len(start), NONE, np.int64)
    found[records + head] = held
    said = np.full(len(start), ANALYZER["unwind table"], np.int8)
    said[:head] = ANALYZER["unattributed"]
    said[len(said) - tail :] = ANALYZER["unattributed"]
    return Pieces(start, section.index, KIND["unwind"], said, **holders.columns(found))


def _exceptions(image: Elf, line: Line, lsda: Int) -> list[_Exceptions]:
    """Cut the sections of exception tables.

    lsda: address of each function's table; negative for none.
    """
    order = np.flatnonzero(lsda >= 0)
    order = order[packed_order(lsda[order])]
    places = lsda[order]
    found = []
    for section in image.sections:
        if section.name.startswith(".gcc_except_table") and section.load_size:
            address = int(line.address[section.index])
            bounds = np.array([address, min(address + section.size, _LAST)], np.int64)
            low, high = np.searchsorted(places, bounds).tolist()
            if low < high:
                tables = _tables(lsda, order[low:high], address)
                found.append(_cut(image, section, int(line.at[section.index]), *tables))
    return found


def _tables(lsda: Int, order: Int, address: int) -> tuple[Int, Int]:
    """Return the offsets of tables in a section, ascending, and the function of each.

    order: of the functions with a table in it. Functions that share one count as the first.
    """
    start, function = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    count = _CODE.call("distinct_tables", lsda, order, len(order), address, start, function)
    return start[:count], function[:count]


def _cut(image: Elf, section: Section, at: int, start: Int, function: Int) -> _Exceptions:
    """Cut a section into exception tables and the bytes between them.

    These bytes are tables of removed functions, or up to three zeros.
    """
    content = image.view(section)
    end = table_ends(content, start, np.append(start[1:], section.size))
    room = 2 * len(start) + 1
    edges, owner, is_zero = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, bool)
    tables = (start, end, function, len(start))
    count = _CODE.call("cut_tables", content, section.size, at, *tables, edges, owner, is_zero)
    return _Exceptions(section.index, edges[:count], owner[:count], is_zero[:count])


def _exception_pieces(table: _Exceptions, holders: Holders, held: Int) -> Pieces:
    """Make the pieces of a section of exception tables.

    held: row of each piece's function.
    """
    is_tail = table.function < 0
    kind = np.where(table.is_zero, KIND["padding"], KIND["exception table"]).astype(np.int8)
    said = np.where(is_tail, ANALYZER["exception tail"], ANALYZER["exception table"]).astype(
        np.int8
    )
    said[table.is_zero] = ANALYZER["padding"]
    return Pieces(table.start, table.section, kind, said, **holders.columns(held))
