"""Join sections, symbols and relocations of all objects of a link as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.columns.texts import Int
from sizeguard.formats.elf import (
    RELOCATION_TYPES,
    SHF_ALLOC,
    SHF_GROUP,
    SHT_CREL,
    SHT_GROUP,
    SHT_NOTE,
    SHT_RELA,
    STB_LOCAL,
    Section,
)
from sizeguard.formats.elf.relocations import Relocations
from sizeguard.linkgraph.inputs.loaded import Loaded
from sizeguard.linkgraph.inputs.objects import Object

Int32 = npt.NDArray[np.int32]
Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Sections:
    """All sections of all objects, as parallel columns. base[k] is the first row of object k.

    is_input:     whether it is linked: allocated, and not in a discarded group
    is_source:    whether its relocations count; GNU ld also follows those of notes that are not
                  loaded, such as SystemTap's
    is_duplicate: whether it is allocated, but in a group that an earlier object has
    """

    base: Int
    object: Int32
    index: Int32
    names: tuple[str, ...]
    type: Int
    flags: Int
    size: Int
    align: Int
    entry_size: Int
    link: Int
    is_input: Bool
    is_source: Bool
    is_duplicate: Bool


@dataclass(frozen=True, slots=True, eq=False)
class SymbolColumns:
    """All symbols of all objects, as parallel columns. base[k] is the first row of object k.

    number:          index into Loaded.numbers; -1 if local
    own:             row of the section that contains it; -1 if there is none
    node, value:     row of the section that a reference to it reaches (-1: none), and the offset
        there
    start, name_end: byte range of the name in the object's string table
    """

    base: Int
    number: Int32
    own: Int32
    node: Int32
    value: Int
    size: Int
    type: npt.NDArray[np.uint8]
    visibility: npt.NDArray[np.uint8]
    start: Int
    name_end: Int


@dataclass(frozen=True, slots=True, eq=False)
class RelocationColumns:
    """All relocations of input sections, as parallel columns.

    section, symbol: rows
    offset:          in the section, in bytes
    """

    section: Int32
    offset: Int
    type: Int32
    symbol: Int32
    addend: Int


def section_columns(loaded: Loaded) -> Sections:
    """Join the section headers of all objects."""
    counts = [len(found.elf.sections) for found in loaded.objects]
    base = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    columns = _header_columns(loaded)
    kind, flags = columns["type"], columns["flags"]
    is_loaded = (flags & SHF_ALLOC != 0) & (kind != SHT_GROUP) & (kind != 0)
    is_duplicate = is_loaded & _discarded(loaded, base)
    is_input = is_loaded & ~is_duplicate
    is_source = is_input.copy()
    if loaded.inputs.linker.family == "bfd":
        is_source |= (kind == SHT_NOTE) & (flags & (SHF_ALLOC | SHF_GROUP) == 0)
    return Sections(
        base=base,
        object=np.repeat(np.arange(len(counts), dtype=np.int32), counts),
        index=(np.arange(base[-1], dtype=np.int64) - np.repeat(base[:-1], counts)).astype(np.int32),
        names=tuple(section.name for found in loaded.objects for section in found.elf.sections),
        type=kind,
        flags=flags,
        size=columns["size"],
        align=np.maximum(columns["alignment"], 1),
        entry_size=columns["entry_size"],
        link=columns["link"],
        is_input=is_input,
        is_source=is_source,
        is_duplicate=is_duplicate,
    )


def _header_columns(loaded: Loaded) -> dict[str, Int]:
    """Return the columns of all objects' section headers, by name."""
    empty = np.zeros(0, np.int64)
    return {
        name: np.concatenate(
            [empty, *(found.headers[name].astype(np.int64) for found in loaded.objects)]
        )
        for name in ("type", "flags", "size", "alignment", "entry_size", "link")
    }


def _discarded(loaded: Loaded, base: Int) -> Bool:
    """Return which sections belong to a group that an earlier object has."""
    found = np.zeros(base[-1], bool)
    for start, lost in zip(base[:-1].tolist(), loaded.discarded, strict=True):
        if lost:
            found[start + np.fromiter(lost, np.int64, len(lost))] = True
    return found


def symbol_columns(loaded: Loaded, sections: Sections) -> SymbolColumns:
    """Join the symbol tables of all objects and resolve the global symbols."""
    tables = [found.symbols for found in loaded.objects]
    counts = [0 if table is None else len(table) for table in tables]
    base = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    number = np.full(base[-1], -1, np.int32)
    own = np.full(base[-1], -1, np.int32)
    value = np.zeros(base[-1], np.int64)
    size = np.zeros(base[-1], np.int64)
    kind = np.zeros(base[-1], np.uint8)
    visibility = np.zeros(base[-1], np.uint8)
    start = np.zeros(base[-1], np.int64)
    end = np.zeros(base[-1], np.int64)
    for k, (found, table) in enumerate(zip(loaded.objects, tables, strict=True)):
        if table is None:
            continue
        rows = slice(int(base[k]), int(base[k + 1]))
        number[rows][table.binding != STB_LOCAL] = loaded.global_ids[k]
        inside = (table.section > 0) & (table.section < len(found.elf.sections))
        own[rows] = np.where(inside, table.section + int(sections.base[k]), -1)
        value[rows], size[rows], kind[rows] = table.address, table.size, table.type
        visibility[rows] = table.visibility
        start[rows], end[rows] = table.names.start, table.names.end
    # References to a global symbol reach its definition, in any object.
    node = np.where((own >= 0) & sections.is_input[own], own, -1).astype(np.int32)
    target = value.copy()
    is_global = number >= 0
    where = loaded.definition[number[is_global]]
    row = np.where(where[:, 0] >= 0, base[where[:, 0]] + where[:, 1], -1)
    node[is_global] = np.where(row >= 0, np.where(own[row] >= 0, own[row], -1), -1)
    target[is_global] = np.where(row >= 0, value[row], 0)
    return SymbolColumns(base, number, own, node, target, size, kind, visibility, start, end)


def relocation_columns(
    loaded: Loaded, sections: Sections, symbols: SymbolColumns
) -> RelocationColumns:
    """Join the relocations of all input sections.

    Raises InputError for a relocation with a symbol beyond its object's table.
    """
    parts = [_relocations_of(k, found, sections, symbols) for k, found in enumerate(loaded.objects)]
    empty = np.zeros(0, np.int64)
    row, offset, type_, symbol, addend = (
        np.concatenate([empty, *(part[i] for part in parts if part is not None)]) for i in range(5)
    )
    return RelocationColumns(
        row.astype(np.int32), offset, type_.astype(np.int32), symbol.astype(np.int32), addend
    )


class _ObjectRelocations(NamedTuple):
    """The columns of RelocationColumns for one object."""

    row: Int
    offset: Int
    type: Int
    symbol: Int
    addend: Int


def _relocations_of(
    k: int, found: Object, sections: Sections, symbols: SymbolColumns
) -> _ObjectRelocations | None:
    """Read the relocations of object k; None if it has none."""
    start, count = int(sections.base[k]), len(found.elf.sections)
    is_source = sections.is_source[start : start + count].tolist()
    chosen = [
        s
        for s in found.elf.sections
        if s.type in RELOCATION_TYPES and 0 < s.info < count and is_source[s.info]
    ]
    if not chosen:
        return None
    table, lengths = _table_of(found, chosen)
    limit = int(symbols.base[k + 1] - symbols.base[k])
    if len(table) and int(table.symbol.max()) >= limit:
        raise InputError(
            f"{found.label}: a relocation names symbol {int(table.symbol.max())} of {limit}"
        )
    rows = np.array([start + s.info for s in chosen], np.int64)
    return _ObjectRelocations(
        np.repeat(rows, lengths),
        table.offset,
        table.type.astype(np.int64),
        table.symbol + int(symbols.base[k]),
        table.addend,
    )


def _table_of(found: Object, chosen: Sequence[Section]) -> tuple[Relocations, list[int]]:
    """Join the relocations of some sections, and return the number of each.

    Raises InconclusiveError for an encoding that has no addends.
    """
    other = next((s for s in chosen if s.type not in (SHT_RELA, SHT_CREL)), None)
    if other is not None:
        raise InconclusiveError(f"{found.label}: relocations without addends ({other.name})")
    return found.elf.relocation_tables(chosen)
