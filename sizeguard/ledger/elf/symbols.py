"""Turns the symbols of an image into ranges on the line that do not overlap, and aliases into groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sizeguard.formats.elf import PT_TLS, SHF_TLS, STB_LOCAL, STB_WEAK, STT_FILE, STT_FUNC, STT_SECTION, STT_TLS, Elf, signed
from sizeguard.formats.elf.symbols import packed_order
from sizeguard.formats.texts import Int
from sizeguard.ledger.elf.names import Names
from sizeguard.ledger.elf.rows import Line, disjoint
from sizeguard.ledger.kinds import ANALYZER
from sizeguard.ledger.ledger import NONE, AliasGroups, Int8, Int32

LABEL_CONFIDENCE = 60


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
class _Defined:
    """Symbols that lie in a section of the image, as columns. strength: 0 global, 1 weak, 2 local."""

    place: Int
    room: Int
    size: Int
    symbol: Int32
    strength: Int8
    section: Int

    def take(self, where: npt.NDArray[np.generic]) -> _Defined:
        return _Defined(
            self.place[where], self.room[where], self.size[where], self.symbol[where], self.strength[where], self.section[where]
        )


def symbol_ranges(image: Elf, names: Elf, known: Names, line: Line, starts: Int) -> tuple[SymbolRanges, AliasGroups]:
    """names: the same build with symbols, or the image itself. starts: of input sections on the line, where labels end at the latest.

    Of symbols that overlap the smaller has the bytes. One without a size, as assembly has them, reaches to the next of any kind.
    """
    defined = _defined(image, names, known, line)
    sized = defined.take(defined.size > 0)
    first, first_groups, members = _grouped(sized, known)
    claim = sized.take(first)
    end = claim.place + np.minimum(claim.size, claim.room)
    start, stop, which = disjoint(claim.place, end, (claim.size, known.hashes[claim.symbol].view(np.int64)))

    labels = _labels(image, known, defined.take(defined.size == 0))
    at = np.searchsorted(start, labels.place, side="right") - 1
    outside = (at < 0) | (labels.place >= stop[np.maximum(at, 0)]) if len(start) else np.ones(len(labels.place), bool)
    labels = labels.take(outside)
    first, label_groups, label_members = _grouped(labels, known)
    label = labels.take(first)
    bounds = np.sort(np.concatenate([start, label.place, starts]), kind="stable")
    after = np.append(bounds, np.iinfo(np.int64).max)[np.searchsorted(bounds, label.place, side="right")]
    label_end = np.minimum(after, label.place + label.room)

    places = np.concatenate([start, label.place])
    order = packed_order(places)
    groups = np.concatenate([first_groups[which], np.where(label_groups >= 0, label_groups + len(members.first) - 1, NONE)])
    ranges = SymbolRanges(
        places[order],
        np.concatenate([stop, label_end])[order],
        np.concatenate([claim.symbol[which], label.symbol])[order],
        groups[order].astype(np.int32),
        np.repeat(np.array([ANALYZER["symbol table"], ANALYZER["label"]], np.int8), [len(start), len(label.place)])[order],
        np.repeat(np.array([100, LABEL_CONFIDENCE], np.int8), [len(start), len(label.place)])[order],
    )
    firsts = np.concatenate([members.first, members.first[-1] + label_members.first[1:]])
    return ranges, AliasGroups(firsts.astype(np.int32), np.concatenate([members.member, label_members.member]))


def _defined(image: Elf, names: Elf, known: Names, line: Line) -> _Defined:
    tables = names.static_symbols or names.dynamic_symbols
    to_image = _section_map(image, names)
    thread_local = next((signed(s.address) for s in names.segments if s.type == PT_TLS), 0)
    is_tls = np.array([bool(s.flags & SHF_TLS) for s in names.sections] or [False])
    base = np.array([0 if names.is_relocatable else signed(s.address) for s in names.sections] or [0], np.int64)
    parts = []
    for table in tables:
        ids = known.of(names, table)
        # No section and no name, or not a thing with bytes: file names and sections.
        inside = (table.section > 0) & (table.section < len(to_image)) & (ids >= 0)
        inside &= (table.type != STT_SECTION) & (table.type != STT_FILE)
        where = np.flatnonzero(inside)
        section = to_image[table.section[where]]
        offset = table.address[where] - base[table.section[where]]
        tls = (table.type[where] == STT_TLS) & is_tls[table.section[where]]
        if not names.is_relocatable and tls.any():
            offset[tls] += thread_local
        if image.machine == "arm":
            offset -= (offset & 1) * (table.type[where] == STT_FUNC)  # the lowest bit says Thumb
        limit = line.size[section] if len(line.size) else np.zeros(len(section), np.int64)
        fits = (section >= 0) & (offset >= 0) & (offset < limit)
        where, section, offset, limit = where[fits], section[fits], offset[fits], limit[fits]
        binding = table.binding[where]
        strength = (np.int8(2) * (binding == STB_LOCAL) + (binding == STB_WEAK)).astype(np.int8)
        parts.append(_Defined(line.at[section] + offset, limit - offset, table.size[where], ids[where], strength, section))
    if not parts:
        nothing = np.zeros(0, np.int64)
        return _Defined(nothing, nothing, nothing, nothing.astype(np.int32), nothing.astype(np.int8), nothing)
    whole = parts[0]
    if len(parts) > 1:
        columns = [np.concatenate([getattr(part, name) for part in parts]) for name in _Defined.__slots__]
        whole = _Defined(*columns)
    return whole.take(packed_order(whole.place))


def _section_map(image: Elf, names: Elf) -> Int:
    """Which section of the image each section of `names` is; stripping renumbers them."""
    if names is image:
        return np.arange(len(image.sections))
    by_place = {(section.name, section.address): section.index for section in image.sections if section.is_allocated}
    return np.array([by_place.get((s.name, s.address), NONE) if s.is_allocated else NONE for s in names.sections] or [NONE], np.int64)


def _grouped(symbols: _Defined, known: Names) -> tuple[Int, Int, AliasGroups]:
    """Sorted by place: the first symbol of each (place, size), the best of its aliases; the group of each, or NONE; and their members.

    The best is global before weak before local, then the shortest, then by its hash: it must not change with the symbols' order.
    """
    count = len(symbols.place)
    if not count:
        nothing = np.zeros(0, np.int32)
        return nothing.astype(np.int64), nothing.astype(np.int64), AliasGroups(np.zeros(1, np.int32), nothing)
    place = symbols.place
    same = np.zeros(count + 1, bool)
    same[1:-1] = place[1:] == place[:-1]
    order = np.arange(count)
    shared = np.flatnonzero(same[1:] | same[:-1])
    if len(shared):
        some = symbols.take(shared)
        length = (known.texts.end - known.texts.start)[some.symbol]
        order[shared] = shared[np.lexsort((known.hashes[some.symbol], length, some.strength, -some.size, some.place))]
    size = symbols.size[order]
    new = ~same[:-1]
    new[1:] |= size[1:] != size[:-1]
    first = np.flatnonzero(new)
    claim = np.cumsum(new) - 1
    ids = symbols.symbol[order]
    # The same name twice is no alias.
    key = claim[shared] * max(len(known.texts), 1) + ids[shared].astype(np.int64)
    by_key = packed_order(key)
    repeated = np.zeros(count, bool)
    repeated[shared[by_key[1:]]] = key[by_key[1:]] == key[by_key[:-1]]
    kept = np.bincount(claim[~repeated], minlength=len(first))
    many = kept > 1
    group = np.where(many, np.cumsum(many) - 1, NONE)
    member = ids[many[claim] & ~repeated]
    return order[first], group, AliasGroups(np.concatenate([[0], np.cumsum(kept[many])]).astype(np.int32), member.astype(np.int32))


def _labels(image: Elf, known: Names, symbols: _Defined) -> _Defined:
    """Those that name something: in sections that nobody writes to, and not .L1 or $x. Linkers put _end and the like among data."""
    fixed = np.array([s.is_allocated and not s.is_writable and not s.is_nobits for s in image.sections] or [False])
    initial = known.texts.buffer[known.texts.start[symbols.symbol]] if len(symbols.symbol) else np.zeros(0, np.uint8)
    return symbols.take(fixed[symbols.section] & (initial != ord(".")) & (initial != ord("$")))
