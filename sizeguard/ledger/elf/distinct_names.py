"""The distinct names of an image's symbols, and the name of each symbol."""

from __future__ import annotations

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.base.parallel import in_threads
from sizeguard.columns.sort import sorted_hashes
from sizeguard.columns.text_hash import Hash, hash_texts
from sizeguard.columns.texts import Int, Int32, Texts
from sizeguard.formats.elf import Elf, SymbolTable
from sizeguard.ledger.ledger import NONE

_PIECE = 1 << 16  # names that a thread hashes at a time


@dataclass(frozen=True, slots=True)
class DistinctNames:
    """All names, without duplicates, from all tables and strings.

    strings: for each table (file, section) the index of each distinct string's name; NONE for the
    empty string, which is not a name.

    hashes: of the names.

    order: their indices in ascending order of the hashes, which does not depend on the order of
    symbols.
    """

    texts: Texts
    hashes: Hash
    order: Int
    strings: dict[tuple[int, int], Int32]

    def of_strings(self, elf: Elf, table: SymbolTable) -> Int32:
        """Return the names of the table's distinct strings."""
        return self.strings[id(elf.data), table.section_index]

    def of(self, elf: Elf, table: SymbolTable) -> Int32:
        """Return the names of the table's symbols."""
        return self.of_strings(elf, table)[table.distinct_names.which]


@dataclass(frozen=True, slots=True)
class Strings:
    """The symbol tables of an image and of its twin with symbols, and all of their strings."""

    tables: list[tuple[Elf, SymbolTable]]
    texts: Texts


def strings_of(image: Elf, names: Elf) -> Strings:
    """Collect the symbol tables and their distinct strings."""
    files = [image] if names is image else [image, names]
    tables = [
        (elf, table) for elf in files for table in (*elf.static_symbols, *elf.dynamic_symbols)
    ]
    return Strings(tables, _joined(tables))


def distinct_names(known: Strings) -> DistinctNames:
    """Find the distinct names; names with equal 64-bit hashes count as equal.

    A string table may contain a string twice; libtensorflow_cc.so.2's has 242,196 such strings.
    """
    tables, texts = known.tables, known.texts
    pieces = (
        Texts(texts.buffer, texts.start[i : i + _PIECE], texts.end[i : i + _PIECE])
        for i in range(0, len(texts), _PIECE)
    )
    hashes = np.concatenate([np.zeros(0, np.uint64), *in_threads(hash_texts, pieces)])
    filled = texts.end > texts.start
    order, ordered = sorted_hashes(hashes)
    again, first = _repeated(order, ordered)
    is_first = filled.copy()
    is_first[again] = False
    ids = np.cumsum(is_first, dtype=np.int32)
    ids -= np.int32(1)
    ids[again] = ids[first]
    ids[~filled] = NONE
    strings: dict[tuple[int, int], Int32] = {}
    at = 0
    for elf, table in tables:
        count = len(table.distinct_names.start)
        strings[id(elf.data), table.section_index] = ids[at : at + count]
        at += count
    if is_first.all():
        return DistinctNames(texts, hashes, order, strings)
    kept = np.flatnonzero(is_first)
    order = ids[order.compress(is_first[order])].astype(np.int64)
    return DistinctNames(texts.take(kept), hashes[kept], order, strings)


def _repeated(order: Int, ordered: Hash) -> tuple[Int, Int]:
    """Return the places of repeated hashes, and the first place of each of them.

    order: places of all hashes, sorted stably; ordered: the hashes in that order
    """
    again = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
    # The first of a run of equal hashes precedes the second.
    begins = np.diff(again, prepend=-1) > 1
    first = np.maximum.accumulate(np.where(begins, again - 1, 0))
    return order[again], order[first]


def _joined(tables: list[tuple[Elf, SymbolTable]]) -> Texts:
    """Concatenate the distinct strings of all tables.

    Tables of one file share its bytes; with two files, the string tables are copied.
    """
    if not tables:
        return Texts.of(())
    strings = [table.distinct_names for _, table in tables]
    if len({id(elf.data) for elf, _ in tables}) == 1:
        return Texts(
            tables[0][0].data,
            np.concatenate([each.start for each in strings]),
            np.concatenate([each.end for each in strings]),
        )
    buffers, starts, ends = [], [], []
    at = 0
    for (elf, table), (start, end, _) in zip(tables, strings, strict=True):
        low, high = table.strings
        buffers.append(elf.data[low:high])
        starts.append(start + (at - low))
        ends.append(end + (at - low))
        at += high - low
    return Texts(np.concatenate(buffers), np.concatenate(starts), np.concatenate(ends))
