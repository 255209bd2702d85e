"""Turns .eh_frame, .eh_frame_hdr and .gcc_except_table into pieces: each record is the function's that it unwinds."""

from __future__ import annotations

import numpy as np

from sizeguard.formats.elf import Elf, Section
from sizeguard.formats.elf.exceptions import table_ends
from sizeguard.formats.elf.unwind import FDE, NOWHERE, Frames, HeaderTable, header_table, read_frames
from sizeguard.formats.texts import Int
from sizeguard.ledger.elf.relocations import Fixed
from sizeguard.ledger.elf.rows import Book, Holders, Pieces
from sizeguard.ledger.kinds import ANALYZER, KIND
from sizeguard.ledger.ledger import NONE

TAIL_CONFIDENCE = 50
_ALIGNMENT = 4


def add_unwind(image: Elf, book: Book, holders: Holders, fixed: Fixed) -> None:
    """All three; what they name is found by address, in a relocatable object through its relocations."""
    header = next((s for s in image.sections if s.name == ".eh_frame_hdr" and s.load_size), None)
    table = header_table(image, header) if header is not None else None
    if header is not None and table is not None and header.index not in book.rows_of:
        book.add(_header(header, book, holders, table))
    functions, tables = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for section in image.sections:
        if section.name.startswith(".eh_frame") and section is not header and section.load_size and section.index not in book.rows_of:
            frames = read_frames(image, section, table)
            address = int(book.line.address[section.index])
            function, lsda = frames.function, frames.lsda
            if image.is_relocatable:
                function = np.where(frames.function_at >= 0, fixed.at(frames.function_at + address)[1], NOWHERE)
                lsda = np.where(frames.lsda_at >= 0, fixed.at(frames.lsda_at + address)[1], NOWHERE)
            book.add(_frames(section, book, holders, frames, function))
            has = lsda >= 0
            functions.append(function[has])
            tables.append(lsda[has])
    function, lsda = np.concatenate(functions), np.concatenate(tables)
    for section in image.sections:
        if section.name.startswith(".gcc_except_table") and section.load_size and section.index not in book.rows_of:
            start = lsda - int(book.line.address[section.index])
            inside = (start >= 0) & (start < section.size)
            if inside.any():
                book.add(_exceptions(image, section, book, holders, start[inside], function[inside]))


def _header(section: Section, book: Book, holders: Holders, table: HeaderTable) -> Pieces:
    """The sorted table for binary search; what stands before it is everybody's."""
    at = int(book.line.at[section.index])
    entries = at + 12 + 8 * np.arange(len(table.function), dtype=np.int64)
    rest = at + 12 + 8 * len(entries)
    start = np.concatenate([[at], entries, [rest] if rest < at + section.size else []]).astype(np.int64)
    found = np.full(len(start), NONE, np.int64)
    found[1 : 1 + len(entries)] = holders.at(table.function)
    held = holders.columns(found)
    return Pieces(start, section.index, KIND["unwind"], ANALYZER["unwind index"], **held)


def _frames(section: Section, book: Book, holders: Holders, frames: Frames, function: Int) -> Pieces:
    """CIEs are everybody's. What stands before the first record and after the last is not understood."""
    at = int(book.line.at[section.index])
    end = int(frames.start[-1] + frames.size[-1]) if len(frames.start) else 0
    head = 1 if len(frames.start) and frames.start[0] > 0 else 0
    tail = 1 if end < section.size else 0
    # Records that are not understood lie between those that are: each reaches to the next.
    start = np.concatenate([[0] * head, frames.start, [end] * tail]).astype(np.int64) + at
    found = np.full(len(start), NONE, np.int64)
    records = np.flatnonzero(frames.kind == FDE)
    found[records + head] = holders.at(function[records])
    said = np.full(len(start), ANALYZER["unwind table"], np.int8)
    said[:head] = ANALYZER["unattributed"]
    said[len(said) - tail :] = ANALYZER["unattributed"]
    return Pieces(start, section.index, KIND["unwind"], said, **holders.columns(found))


def _exceptions(image: Elf, section: Section, book: Book, holders: Holders, start: Int, function: Int) -> Pieces:
    """From a table's beginning to its end; between it and the next lie tables of functions that are gone, or up to three zeros."""
    at = int(book.line.at[section.index])
    content = image.view(section)
    order = np.argsort(start, kind="stable")
    start, function = start[order], function[order]
    first = np.diff(start, prepend=-1) > 0
    start, function = start[first], function[first]
    limit = np.append(start[1:], section.size)
    end = table_ends(content, start, limit)
    # What stands before the first table is a tail as well.
    head = np.array([0] if start[0] else [], np.int64)
    edges = np.concatenate([head, np.column_stack([start, end]).ravel()])
    owner = np.concatenate([np.full(len(head), NONE), np.column_stack([np.arange(len(start)), np.full(len(start), NONE)]).ravel()])
    size = np.diff(edges, append=section.size)
    edges, owner, size = edges[size > 0], owner[size > 0], size[size > 0]
    found = np.where(owner >= 0, holders.at(function)[owner], NONE)
    is_tail = owner < 0
    short = is_tail & (size < _ALIGNMENT) & ((edges + size) % _ALIGNMENT == 0)
    zero = short.copy()
    for i in range(_ALIGNMENT - 1):
        zero &= (content[np.minimum(edges + i, section.size - 1)] == 0) | (i >= size)
    kind = np.where(zero, KIND["padding"], KIND["exception table"]).astype(np.int8)
    said = np.where(is_tail, ANALYZER["exception tail"], ANALYZER["exception table"]).astype(np.int8)
    said[zero] = ANALYZER["padding"]
    confidence = np.where(is_tail, TAIL_CONFIDENCE, 100).astype(np.int8)
    return Pieces(edges + at, section.index, kind, said, confidence, **holders.columns(found))
