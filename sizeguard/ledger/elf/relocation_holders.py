"""Find the owner of each entry of relocation tables, and the values that the loader writes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.compiled_code import compiled_beside
from sizeguard.columns.sort import packed_order
from sizeguard.columns.texts import Int, Int32
from sizeguard.formats.elf import RELOCATION_TYPES, Elf, Relocations, Section, SymbolTable
from sizeguard.ledger.elf.distinct_names import DistinctNames
from sizeguard.ledger.elf.owner_table import Holders, Line, Pieces, cover
from sizeguard.ledger.kinds import ANALYZER, KIND
from sizeguard.ledger.ledger import NONE

_CODE = compiled_beside(__file__)


@dataclass(frozen=True, slots=True)
class RelocationTable:
    """A relocation section.

    address: the address that each entry relocates; for a relocatable object, its place on the line.
    """

    section: Section
    entries: Relocations
    address: Int


@dataclass(frozen=True, slots=True)
class Fixed:
    """Pointers that relocations write, sorted by address.

    symbol: the name that each pointer refers to, or NONE; target: the address that it points to.
    """

    address: Int
    symbol: Int32
    target: Int

    def at(self, addresses: Int) -> tuple[Int, Int]:
        """Return the name and the target for each address; each is NONE if there is none."""
        if not len(self.address):
            nothing = np.full(len(addresses), NONE, np.int64)
            return nothing, nothing
        found = np.minimum(np.searchsorted(self.address, addresses), len(self.address) - 1)
        hit = self.address[found] == addresses
        return np.where(hit, self.symbol[found], NONE), np.where(hit, self.target[found], NONE)


def relocation_tables(image: Elf, line: Line) -> list[RelocationTable]:
    """Read all relocation tables of the image."""
    tables = []
    for section in image.sections:
        if section.type in RELOCATION_TYPES and section.file_size:
            entries = image.relocation_table(section)
            base = (
                int(line.at[section.info])
                if image.is_relocatable and section.info < len(image.sections)
                else 0
            )
            address = entries.offset + base if base else entries.offset
            tables.append(RelocationTable(section, entries, address))
    return tables


def fixed_places(
    image: Elf, known: DistinctNames, line: Line, tables: list[RelocationTable]
) -> Fixed:
    """Collect the pointers that relocations write.

    REL and RELR store their addends in the image, which is not read, so targets are right only for
    tables with addends.
    """
    addresses, symbols, targets = (
        [np.zeros(0, np.int64)],
        [np.zeros(0, np.int32)],
        [np.zeros(0, np.int64)],
    )
    for table in tables:
        linked = image.table_of(table.section)
        index = table.entries.symbol
        symbol = np.full(len(index), NONE, np.int32)
        target = table.entries.addend
        if linked is not None and len(linked):
            bases = line.at if image.is_relocatable else line.at[:0]
            symbol, target = _targets(table.entries, linked, known.of(image, linked), bases)
        addresses.append(table.address)
        symbols.append(symbol)
        targets.append(target)
    address = np.concatenate(addresses)
    order = packed_order(address)
    return Fixed(address[order], np.concatenate(symbols)[order], np.concatenate(targets)[order])


def _targets(
    entries: Relocations, linked: SymbolTable, ids: Int32, bases: Int
) -> tuple[Int32, Int]:
    """Return the name that each relocation refers to, or NONE, and the address that it writes.

    ids: the name of each symbol; bases: to add to the addresses of a section's symbols.
    """
    symbol, target = np.empty(len(entries), np.int32), np.empty(len(entries), np.int64)
    _CODE.call(
        "pointer_targets",
        np.ascontiguousarray(entries.symbol, np.int64),
        np.ascontiguousarray(entries.addend, np.int64),
        len(entries),
        ids,
        linked.address,
        np.ascontiguousarray(linked.section, np.int32),
        len(linked),
        bases,
        len(bases),
        symbol,
        target,
    )
    return symbol, target


def relocation_pieces(
    line: Line, holders: Holders, tables: list[RelocationTable]
) -> Iterator[Pieces]:
    """Yield the pieces of relocation tables: an entry belongs to the bytes that it relocates."""
    return (_entries(line, holders, table) for table in tables)


def _entries(line: Line, holders: Holders, table: RelocationTable) -> Pieces:
    """Cut one table into its entries."""
    at = int(line.at[table.section.index])
    shift = at - table.section.offset
    some = np.flatnonzero(table.entries.end > table.entries.start)
    start, end = table.entries.start[some] + shift, table.entries.end[some] + shift
    edges, which = cover(at, at + table.section.size, start, end)
    # NONE is -1, so it finds the last entry.
    found = np.append(holders.rows_at(table.address[some]), NONE)[which]
    held = holders.columns(found)
    said = np.full(len(edges), ANALYZER["relocation"], np.int8)
    said[found < 0] = ANALYZER["section"]
    return Pieces(edges, table.section.index, KIND["relocation"], said, **held)
