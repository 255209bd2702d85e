"""Turns the symbols of an image into ranges on the line that do not overlap, and aliases into groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sizeguard.formats.elf import PT_TLS, SHF_TLS, STB_LOCAL, STB_WEAK, STT_FILE, STT_FUNC, STT_SECTION, STT_TLS, Elf, SymbolTable, signed
from sizeguard.formats.elf.symbols import packed_order
from sizeguard.formats.texts import Int
from sizeguard.ledger.elf.names import Names
from sizeguard.ledger.elf.rows import Line, disjoint
from sizeguard.ledger.kinds import ANALYZER
from sizeguard.ledger.ledger import NONE, AliasGroups, Int8, Int32

LABEL_CONFIDENCE = 60

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class SymbolRanges:
    """[start, end) on the line, sorted and disjoint; group NONE if nothing shares them."""

    start: Int
    end: Int
    symbol: Int32
    group: Int32
    analyzer: Int8
    confidence: Int8


@dataclass(frozen=True, slots=True)
class Defined:
    """Symbols that lie in a section of the image, as columns; the others have whatever values. strength: 0 global, 1 weak, 2 local.

    claims: rows of those with a size, labels: of those without one, by place.
    """

    place: Int
    room: Int
    size: Int
    strength: Int8
    section: Int
    claims: Int
    labels: Int


def symbol_ranges(image: Elf, names: Elf, known: Names, defined: Defined, starts: Int) -> tuple[SymbolRanges, AliasGroups]:
    """defined: by `names`. starts: of input sections on the line, where labels end at the latest.

    Of symbols that overlap the smaller has the bytes. One without a size, as assembly has them, reaches to the next of any kind.
    """
    ids = _joined([known.of(names, table) for table in _tables(names)], np.int32)
    claim, claim_group, members = _grouped(defined, ids, defined.claims, known)
    place, size, symbol = defined.place[claim], defined.size[claim], ids[claim]
    end = place + np.minimum(size, defined.room[claim])
    start, stop, which = disjoint(place, end, lambda: (size, known.hashes[ids[claim]].view(np.int64)))
    symbol, claim_group = symbol[which], claim_group[which]

    labels = _labels(image, known, defined, ids)
    at = np.searchsorted(start, defined.place[labels], side="right") - 1
    outside = (at < 0) | (defined.place[labels] >= stop[np.maximum(at, 0)]) if len(start) else np.ones(len(labels), np.bool_)
    label, label_group, label_members = _grouped(defined, ids, labels[outside], known)
    label_place = defined.place[label]
    bounds = np.sort(np.concatenate([start, label_place, starts]), kind="stable")
    after = np.append(bounds, np.iinfo(np.int64).max)[np.searchsorted(bounds, label_place, side="right")]
    label_end = np.minimum(after, label_place + defined.room[label])

    label_group = np.where(label_group >= 0, label_group + len(members.first) - 1, NONE)
    at = np.searchsorted(start, label_place)
    ranges = SymbolRanges(
        np.insert(start, at, label_place),
        np.insert(stop, at, label_end),
        np.insert(symbol, at, ids[label]),
        np.insert(claim_group, at, label_group).astype(np.int32),
        np.insert(np.full(len(start), ANALYZER["symbol table"], np.int8), at, ANALYZER["label"]),
        np.insert(np.full(len(start), 100, np.int8), at, LABEL_CONFIDENCE),
    )
    firsts = np.concatenate([members.first, members.first[-1] + label_members.first[1:]])
    return ranges, AliasGroups(firsts.astype(np.int32), np.concatenate([members.member, label_members.member]))


def defined_symbols(image: Elf, names: Elf, line: Line) -> Defined:
    """names: the same build with symbols, or the image itself. Who is called what is not asked."""
    to_image = _section_map(image, names)
    thread_local = next((signed(s.address) for s in names.segments if s.type == PT_TLS), 0)
    # One more behind all, for what is in no section.
    sections = len(names.sections)
    base = np.array([0 if names.is_relocatable else signed(s.address) for s in names.sections] + [0], np.int64)
    to_image = np.append(to_image, NONE)
    limits, at = np.append(line.size, 0), np.append(line.at, 0)
    is_tls = np.array([bool(s.flags & SHF_TLS) for s in names.sections] + [False])
    parts = []
    for table in _tables(names):
        start, end, which = table.distinct_names
        # No section and no name, or not a thing with bytes: file names and sections.
        inside = (table.section > 0) & (table.section < sections) & (end > start)[which]
        inside &= (table.type != STT_SECTION) & (table.type != STT_FILE)
        section = np.where(inside, table.section, np.int32(sections))
        offset = table.address - base[section]
        tls = np.flatnonzero(table.type == STT_TLS)
        if not names.is_relocatable and len(tls):
            offset[tls[is_tls[section[tls]]]] += thread_local
        if image.machine == "arm":
            offset -= (offset & 1) * (table.type == STT_FUNC)  # the lowest bit says Thumb
        home = to_image[section]
        limit = limits[home]
        inside &= (offset >= 0) & (offset < limit) & (home >= 0)
        strength = np.int8(2) * (table.binding == STB_LOCAL) + (table.binding == STB_WEAK)
        limit -= offset
        offset += at[home]
        parts.append((inside, offset, limit, table.size, strength.astype(np.int8), home))
    types = (np.bool_, np.int64, np.int64, np.int64, np.int8, np.int64)
    inside, place, room, size, strength, home = (_joined([part[i] for part in parts], kind) for i, kind in enumerate(types))
    rows = np.flatnonzero(inside)
    rows = rows[packed_order(place[rows])]
    is_claim = size[rows] > 0
    return Defined(place, room, size, strength, home, rows[is_claim], rows[~is_claim])


def _tables(names: Elf) -> tuple[SymbolTable, ...]:
    return names.static_symbols or names.dynamic_symbols


def _joined(columns: Sequence[npt.NDArray[Any]], kind: type[np.generic]) -> npt.NDArray[Any]:
    return columns[0] if len(columns) == 1 else np.concatenate([np.zeros(0, kind), *columns])


def _section_map(image: Elf, names: Elf) -> Int:
    """Which section of the image each section of `names` is; stripping renumbers them."""
    if names is image:
        return np.arange(len(image.sections))
    by_place = {(section.name, section.address): section.index for section in image.sections if section.is_allocated}
    return np.array([by_place.get((s.name, s.address), NONE) if s.is_allocated else NONE for s in names.sections] or [NONE], np.int64)


def _grouped(defined: Defined, ids: Int32, rows: Int, known: Names) -> tuple[Int, Int, AliasGroups]:
    """Of rows in order of place: the first symbol of each (place, size), the best of its aliases; the group of each, or NONE; the members.

    The best is global before weak before local, then the shortest, then by its hash: it must not change with the symbols' order.
    """
    count = len(rows)
    if not count:
        nothing = np.zeros(0, np.int32)
        return nothing.astype(np.int64), nothing.astype(np.int64), AliasGroups(np.zeros(1, np.int32), nothing)
    place = defined.place[rows]
    same = np.zeros(count + 1, bool)
    same[1:-1] = place[1:] == place[:-1]
    shared = np.flatnonzero(same[1:] | same[:-1])
    if not len(shared):
        return rows, np.full(count, NONE, np.int64), AliasGroups(np.zeros(1, np.int32), np.zeros(0, np.int32))
    some = rows[shared]
    texts, symbol = known.texts, ids[some]
    length = texts.end[symbol] - texts.start[symbol]
    size = defined.size[some]
    order = np.lexsort((known.hashes[symbol], length, defined.strength[some], -size, place[shared]))
    rows = rows.copy()
    rows[shared] = some[order]
    symbol, size = symbol[order], size[order]
    # Where another place begins, or among those of one place another size.
    new = ~same[:-1]
    new[shared[1:]] |= size[1:] != size[:-1]
    first = np.flatnonzero(new)
    claim = np.searchsorted(first, shared, side="right") - 1
    # The same name twice is no alias.
    key = claim * max(len(texts), 1) + symbol.astype(np.int64)
    by_key = packed_order(key)
    repeated = np.zeros(len(shared), bool)
    repeated[by_key[1:]] = key[by_key[1:]] == key[by_key[:-1]]
    claim, symbol = claim[~repeated], symbol[~repeated]
    begins = np.flatnonzero(np.diff(claim, prepend=-1))
    many = np.diff(begins, append=len(claim))
    groups = np.flatnonzero(many > 1)
    group = np.full(len(first), NONE, np.int64)
    group[claim[begins[groups]]] = np.arange(len(groups))
    member = symbol[np.repeat(many > 1, many)]
    return rows[first], group, AliasGroups(np.concatenate([[0], np.cumsum(many[groups])]).astype(np.int32), member.astype(np.int32))


def _labels(image: Elf, known: Names, defined: Defined, ids: Int32) -> Int:
    """Rows that name something, in order: where nobody writes, and not .L1 or $x. Linkers put _end and the like among data."""
    fixed = np.array([s.is_allocated and not s.is_writable and not s.is_nobits for s in image.sections] or [False])
    rows = defined.labels[fixed[defined.section[defined.labels]]]
    initial = known.texts.buffer[known.texts.start[ids[rows]]] if len(rows) else np.zeros(0, np.uint8)
    found: Int = rows[(initial != ord(".")) & (initial != ord("$"))]
    return found
