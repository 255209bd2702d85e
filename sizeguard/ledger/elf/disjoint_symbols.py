"""Disjoint ranges of symbols, and groups of aliases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.compiled_code import compiled_beside
from sizeguard.columns.sort import hash_order, lexical_order, packed_order
from sizeguard.columns.texts import Int, Int8, Int32
from sizeguard.formats.elf import (
    PT_TLS,
    SHF_TLS,
    Elf,
    SymbolTable,
    signed,
)
from sizeguard.ledger.elf.distinct_names import DistinctNames
from sizeguard.ledger.elf.owner_table import DisjointPieces, Line, disjoint
from sizeguard.ledger.kinds import ANALYZER
from sizeguard.ledger.ledger import NONE, AliasGroups

Flags = npt.NDArray[np.bool_]

_CODE = compiled_beside(__file__)


@dataclass(frozen=True, slots=True)
class DisjointSymbols:
    """Ranges [start, end) on the line, sorted and disjoint; group is NONE without aliases."""

    start: Int
    end: Int
    symbol: Int32
    group: Int32
    analyzer: Int8


@dataclass(frozen=True, slots=True)
class Defined:
    """Symbols of an image as columns; values of symbols outside its sections have no meaning.

    place:    on the line
    room:     bytes from place to the end of the section
    size:     bytes, as stated by the symbol
    strength: 0 global, 1 weak, 2 local
    section:  index
    claims:   rows of symbols with a size, in order of place
    labels:   rows of symbols without a size, in order of place
    """

    place: Int
    room: Int
    size: Int
    strength: Int8
    section: Int
    claims: Int
    labels: Int


@dataclass(frozen=True, slots=True)
class PlacedSymbols:
    """Symbols with distinct places and sizes, in order of place.

    row: the row in Defined of the best alias; at one place, the larger symbol comes first.
    group: index into groups of its aliases; NONE for a symbol without aliases.
    """

    row: Int
    group: Int
    groups: AliasGroups


def symbol_ranges(
    image: Elf,
    names: Elf,
    known: DistinctNames,
    defined: Defined,
    starts: Int,
    described: Callable[[], tuple[Int, Int]],
) -> tuple[DisjointSymbols, AliasGroups]:
    """Cut the symbols into disjoint ranges.

    defined:   the symbols of `names`, see defined_symbols
    starts:    starts of input sections on the line, where a label ends at the latest
    described: returns starts and ends of the code with unwind records; called only for labels

    Where symbols overlap, the smaller one owns the bytes. A label is a symbol without a size,
    usually from assembly. It extends to the end of the code that its unwind record describes, or at
    most to the next symbol, label, described function or input section.
    """
    ids = _joined([known.of(names, table) for table in _tables(names)], np.int32)
    claims = merge_aliases(defined, ids, defined.claims, known)
    symbol = ids[claims.row]
    start, stop, which = _claimed(defined, symbol, claims.row, known)

    labels = _labels(image, known, defined, ids)
    labels = labels[~_is_inside(defined.place[labels], start, stop)]
    free = merge_aliases(defined, ids, labels, known)
    label_start = defined.place[free.row]
    label_stop = _label_ends(defined, free.row, [start, label_start, starts], described)
    # Groups of labels are numbered after those of symbols with a size.
    label_group = np.where(free.group >= 0, free.group + len(claims.groups.first) - 1, NONE)
    ranges = _merged(
        (start, stop, symbol[which], claims.group[which].astype(np.int32)),
        (label_start, label_stop, ids[free.row], label_group.astype(np.int32)),
    )
    return ranges, _both(claims.groups, free.groups)


def _merged(
    symbols: tuple[Int, Int, Int32, Int32], labels: tuple[Int, Int, Int32, Int32]
) -> DisjointSymbols:
    """Merge symbols and labels, given as start, end, symbol and group."""
    count, more = len(symbols[0]), len(labels[0])
    found = DisjointSymbols(
        np.empty(count + more, np.int64),
        np.empty(count + more, np.int64),
        np.empty(count + more, np.int32),
        np.empty(count + more, np.int32),
        np.empty(count + more, np.int8),
    )
    _CODE.call(
        "merge_ranges",
        *(*symbols, count, ANALYZER["symbol table"]),
        *(*labels, more, ANALYZER["label"]),
        *(found.start, found.end, found.symbol, found.group, found.analyzer),
    )
    return found


def _label_ends(
    defined: Defined,
    labels: Int,
    others: Sequence[Int],
    described: Callable[[], tuple[Int, Int]],
) -> Int:
    """Return where labels end: with their code or section, or before the next of other starts."""
    start = defined.place[labels]
    stop: Int = np.minimum(_next_above(start, others), start + defined.room[labels])
    if len(start):
        stop = np.minimum(stop, _ends(start, *described()))
    return stop


def _claimed(defined: Defined, symbol: Int32, rows: Int, known: DistinctNames) -> DisjointPieces:
    """Cut symbols with a size where they overlap; the smaller one wins, then the lower hash."""
    place, size = defined.place[rows], defined.size[rows]
    end = place + np.minimum(size, defined.room[rows])
    return disjoint(place, end, lambda: (size, known.hashes[symbol].view(np.int64)))


def _is_inside(places: Int, start: Int, stop: Int) -> Flags:
    """Check which places are in one of the ranges [start, stop), which are sorted and disjoint."""
    if not len(start):
        return np.zeros(len(places), np.bool_)
    at = np.searchsorted(start, places, side="right") - 1
    return (at >= 0) & (places < stop[np.maximum(at, 0)])


def _ends(places: Int, start: Int, stop: Int) -> Int:
    """Return the end of the last range that contains each place, else the start of the next one.

    Behind all ranges it is the largest int64.
    """
    nowhere = np.iinfo(np.int64).max
    if not len(start):
        return np.full(len(places), nowhere, np.int64)
    at = np.searchsorted(start, places, side="right") - 1
    is_in = (at >= 0) & (places < stop[np.maximum(at, 0)])
    return np.where(is_in, stop[np.maximum(at, 0)], np.append(start, nowhere)[at + 1])


def _next_above(places: Int, columns: Sequence[Int]) -> Int:
    """Return the next larger number in the columns for each place."""
    numbers = np.sort(np.concatenate(columns), kind="stable")
    nowhere = np.iinfo(np.int64).max
    return np.append(numbers, nowhere)[np.searchsorted(numbers, places, side="right")]


def _both(some: AliasGroups, more: AliasGroups) -> AliasGroups:
    """Concatenate groups."""
    first = np.concatenate([some.first, some.first[-1] + more.first[1:]])
    return AliasGroups(first.astype(np.int32), np.concatenate([some.member, more.member]))


def defined_symbols(image: Elf, names: Elf, line: Line) -> Defined:
    """Find the places of symbols on the image's line.

    names: the same build with symbols, or the image itself. Names are not compared here.
    """
    homes = _homes(image, names, line)
    tables = _tables(names)
    count = sum(map(len, tables))
    place, room, home, rows, keys = (np.empty(count, np.int64) for _ in range(5))
    strength = np.empty(count, np.int8)
    base = found = 0
    for table in tables:
        here = slice(base, base + len(table))
        found += _CODE.call(
            "place_symbols",
            *_symbol_columns(table),
            *(homes.address, homes.thread_local, homes.section, homes.at, homes.size),
            len(names.sections),
            image.machine in ("arm", "armeb"),
            *(base, place[here], room[here], strength[here], home[here]),
            *(rows[found:], keys[found:]),
        )
        base += len(table)
    size = _joined([table.size for table in tables], np.int64)
    order = packed_order(keys[:found])
    claims, labels = np.empty(found, np.int64), np.empty(found, np.int64)
    many = _CODE.call("split_by_size", rows, order, found, size, claims, labels)
    return Defined(place, room, size, strength, home, claims[:many], labels[: found - many])


def _symbol_columns(table: SymbolTable) -> tuple[npt.NDArray[Any] | int, ...]:
    """Return the columns of a table that place_symbols reads, and its length."""
    strings = table.distinct_names
    return (
        table.address,
        table.type,
        table.binding,
        np.ascontiguousarray(table.section, np.int32),
        strings.which,
        len(table),
        strings.start,
        strings.end,
    )


@dataclass(frozen=True, slots=True)
class _Homes:
    """Sections of the file with symbols, and one more entry at the end for symbols in no section.

    address: base of the section's symbols; 0 for relocatable objects
    thread_local: the number to add to thread-local symbols to get an address
    section: the corresponding section of the image, or NONE
    at, size: of that section on the line, in bytes; 0 without a section
    """

    address: Int
    thread_local: Int
    section: Int
    at: Int
    size: Int


def _homes(image: Elf, names: Elf, line: Line) -> _Homes:
    """Find the sections of `names` on the image's line."""
    section = np.append(_section_map(image, names), NONE)
    at, size = np.append(line.at, 0)[section], np.append(line.size, 0)[section]
    if names.is_relocatable:
        nothing = np.zeros(len(names.sections) + 1, np.int64)
        return _Homes(nothing, nothing, section, at, size)
    address = np.array([signed(s.address) for s in names.sections] + [0], np.int64)
    start = next((signed(s.address) for s in names.segments if s.type == PT_TLS), 0)
    is_tls = np.array([bool(s.flags & SHF_TLS) for s in names.sections] + [False])
    return _Homes(address, np.where(is_tls, start, 0), section, at, size)


def _tables(names: Elf) -> tuple[SymbolTable, ...]:
    """Return the static symbol tables, else the dynamic ones."""
    return names.static_symbols or names.dynamic_symbols


def _joined(columns: Sequence[npt.NDArray[Any]], kind: type[np.generic]) -> npt.NDArray[Any]:
    """Concatenate columns, without copying a single one."""
    return columns[0] if len(columns) == 1 else np.concatenate([np.zeros(0, kind), *columns])


def _section_map(image: Elf, names: Elf) -> Int:
    """Map sections of `names` to the image's, or NONE; stripping renumbers them."""
    if names is image:
        return np.arange(len(image.sections))
    by_place = {
        (section.name, section.address): section.index
        for section in image.sections
        if section.is_allocated
    }
    return np.array(
        [
            by_place.get((s.name, s.address), NONE) if s.is_allocated else NONE
            for s in names.sections
        ]
        or [NONE],
        np.int64,
    )


def merge_aliases(defined: Defined, ids: Int32, rows: Int, known: DistinctNames) -> PlacedSymbols:
    """Merge symbols that have the same place and size.

    ids: the name of each row of `defined`.
    rows: the symbols to merge, as rows of `defined` in order of place.

    The best alias is global before weak before local, then has the shortest name, then the lowest
    hash. It must not depend on the order of symbols.
    """
    place = defined.place[rows]
    is_again = np.zeros(len(rows) + 1, np.bool_)  # the previous row has the same place
    is_again[1:-1] = place[1:] == place[:-1]
    # Nearly every symbol has its own place, so only the others are sorted.
    shared = np.flatnonzero(is_again[1:] | is_again[:-1])
    if not len(shared):
        none = AliasGroups(np.zeros(1, np.int32), np.zeros(0, np.int32))
        return PlacedSymbols(rows, np.full(len(rows), NONE, np.int64), none)

    aliases = _best_first(defined, ids, rows[shared], known)
    rows = rows.copy()
    rows[shared] = aliases
    size = defined.size[aliases]
    is_new = ~is_again[:-1]
    is_new[shared[1:]] |= size[1:] != size[:-1]
    first = np.flatnonzero(is_new)
    merged = np.searchsorted(first, shared, side="right") - 1
    group, groups = _alias_groups(merged, ids[aliases], len(first), len(known.texts))
    return PlacedSymbols(rows[first], group, groups)


def _best_first(defined: Defined, ids: Int32, rows: Int, known: DistinctNames) -> Int:
    """Sort rows by place, then by size (largest first), then by the order of aliases."""
    name = ids[rows]
    length = known.texts.end[name] - known.texts.start[name]
    by_hash = hash_order(known.hashes[name])
    names = length | (defined.strength[rows].astype(np.int64) << 40)  # no name has a terabyte
    keys = (names, -defined.size[rows], defined.place[rows])  # the last key counts most
    return rows[by_hash[lexical_order([key[by_hash] for key in keys])]]


def _alias_groups(merged: Int, name: Int32, count: int, names: int) -> tuple[Int, AliasGroups]:
    """Group the names of merged symbols that have several.

    merged: the merged symbol of each alias, ascending; there are `count` merged symbols.
    name: index into `names` for each alias; a repeated name is not another alias.

    Returns the group of each merged symbol, or NONE, and the groups.
    """
    is_first = ~_is_repeated(merged * names + name.astype(np.int64))
    merged, name = merged[is_first], name[is_first]
    begin = np.flatnonzero(np.diff(merged, prepend=-1))
    many = np.diff(begin, append=len(merged))
    is_group = many > 1
    group = np.full(count, NONE, np.int64)
    group[merged[begin[is_group]]] = np.arange(np.count_nonzero(is_group))
    first = np.concatenate([[0], np.cumsum(many[is_group])]).astype(np.int32)
    return group, AliasGroups(first, name[np.repeat(is_group, many)].astype(np.int32))


def _is_repeated(keys: Int) -> Flags:
    """Check which keys occurred before."""
    order = packed_order(keys)
    repeated = np.zeros(len(keys), np.bool_)
    repeated[order[1:]] = keys[order[1:]] == keys[order[:-1]]
    return repeated


def _labels(image: Elf, known: DistinctNames, defined: Defined, ids: Int32) -> Int:
    """Return rows of labels in read-only sections, in order, except .L1, $x and the like.

    Writable sections are left out, since linkers put _end and similar labels there.
    """
    read_only = np.array(
        [s.is_allocated and not s.is_writable and not s.is_nobits for s in image.sections]
        or [False]
    )
    rows = defined.labels[read_only[defined.section[defined.labels]]]
    initial = (
        known.texts.buffer[known.texts.start[ids[rows]]] if len(rows) else np.zeros(0, np.uint8)
    )
    found: Int = rows[(initial != ord(".")) & (initial != ord("$"))]
    return found
