"""Cut symbol tables, their strings, hash tables and versions into pieces owned by symbols."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sizeguard.columns.compiled_code import compiled_beside
from sizeguard.columns.sort import packed_order
from sizeguard.columns.texts import Int, Int32
from sizeguard.formats.elf import (
    SHT_GNU_HASH,
    SHT_GNU_VERSYM,
    SHT_HASH,
    SHT_STRTAB,
    SHT_SYMTAB_SHNDX,
    Elf,
    Section,
    SymbolTable,
)
from sizeguard.ledger.elf.distinct_names import DistinctNames
from sizeguard.ledger.elf.owner_table import Line, Pieces
from sizeguard.ledger.kinds import ANALYZER, KIND
from sizeguard.ledger.ledger import NONE

_CODE = compiled_beside(__file__)


def table_pieces(
    image: Elf, known: DistinctNames, line: Line, *, loaded_only: bool
) -> Iterator[Pieces]:
    """Yield the pieces of all sections of these kinds with valid sizes.

    Other sections stay one piece, and with `loaded_only` those that are not loaded, too.
    """
    tables = [*image.static_symbols, *image.dynamic_symbols]
    for table in tables:
        section = image.sections[table.section_index]
        if len(table) and (section.is_allocated or not loaded_only):
            yield _entries(section, line, table.entry_size, known.of(image, table), "symbol table")
    for section in image.sections:
        if not section.file_size or (loaded_only and not section.is_allocated):
            continue
        if section.type == SHT_STRTAB:
            users = [t for t in tables if image.sections[t.section_index].link == section.index]
            if users:
                yield _strings(image, section, line, users, known)
            continue
        users = [t for t in tables if t.section_index == section.link]
        if not users:
            continue
        ids = known.of(image, users[0])
        width = {SHT_GNU_VERSYM: 2, SHT_SYMTAB_SHNDX: 4}.get(section.type, 0)
        if width and section.size == width * len(ids):
            yield _entries(
                section, line, width, ids, "version table" if width == 2 else "symbol table"
            )
        elif section.type in (SHT_HASH, SHT_GNU_HASH):
            chain = _chain(image, section, len(ids))
            if chain is not None:
                yield _chained(section, line, *chain, ids)


def _entries(section: Section, line: Line, width: int, ids: Int32, analyzer: str) -> Pieces:
    """Cut a table with entries of `width` bytes, one for each symbol."""
    start = int(line.at[section.index]) + width * np.arange(len(ids), dtype=np.int64)
    # Entries without a name (the first one, and section symbols) belong to the table.
    said = np.where(ids >= 0, ANALYZER[analyzer], ANALYZER["section"]).astype(np.int8)
    return Pieces(start, section.index, KIND["symbol table"], said, symbol=ids)


def _strings(
    image: Elf, section: Section, line: Line, users: list[SymbolTable], known: DistinctNames
) -> Pieces:
    """Cut a string table: a string belongs to the symbol that it names.

    A string that ends a longer one belongs to the symbol of the longer one.
    """
    at = int(line.at[section.index])
    shift = at - section.offset
    start = np.concatenate([table.distinct_names.start for table in users])
    end = np.concatenate([table.distinct_names.end for table in users])
    ids = np.concatenate([known.of_strings(image, table) for table in users])
    if len(users) > 1:
        order = packed_order(start)
        start, end, ids = start[order], end[order], ids[order]
    room = 2 * len(start) + 1
    edges, symbol = np.empty(room, np.int64), np.empty(room, np.int32)
    strings = (start, end, ids, len(start))
    count = _CODE.call("cut_strings", *strings, shift, at, at + section.size, edges, symbol)
    edges, symbol = edges[:count], symbol[:count]
    said = np.full(len(edges), ANALYZER["string table"], np.int8)
    said[symbol < 0] = ANALYZER["section"]
    return Pieces(edges, section.index, KIND["string table"], said, symbol=symbol)


def _chain(image: Elf, section: Section, symbols: int) -> tuple[int, int] | None:
    """Find the entries of a hash table that have one symbol each and four bytes.

    Returns the offset of the first entry and its symbol's index; None for a table with other sizes.
    """
    wanted = 16 if section.type == SHT_GNU_HASH else 8
    if section.size % 4 or section.size < wanted:
        return None
    numbers = [int(word) for word in image.view(section)[:wanted].view(image.layout.half)]
    if section.type == SHT_HASH:
        begin, first = 4 * (2 + numbers[0]), 0
    else:
        begin, first = 16 + image.layout.word_size * numbers[2] + 4 * numbers[0], numbers[1]
    return (
        (begin, first)
        if begin + 4 * (symbols - first) == section.size and 0 <= first < symbols
        else None
    )


def _chained(section: Section, line: Line, begin: int, first: int, ids: Int32) -> Pieces:
    """Cut a hash table into its head and the entries of symbols; the head has no symbol."""
    at = int(line.at[section.index])
    start: Int = np.concatenate(
        [[at], at + begin + 4 * np.arange(len(ids) - first, dtype=np.int64)]
    )
    symbol = np.concatenate([[NONE], ids[first:]]).astype(np.int32)
    said = np.where(symbol >= 0, ANALYZER["hash table"], ANALYZER["section"]).astype(np.int8)
    return Pieces(start, section.index, KIND["symbol table"], said, symbol=symbol)
