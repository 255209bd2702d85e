"""Test steps of an ELF ledger on columns against plain loops.

The steps are: merging aliases, and cutting sections into symbols and gaps.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.columns.text_hash import hash_texts
from sizeguard.columns.texts import Texts
from sizeguard.ledger.elf.content import ContentSources, RowRanges, cut_sections
from sizeguard.ledger.elf.disjoint_symbols import Defined, DisjointSymbols, merge_aliases
from sizeguard.ledger.elf.distinct_names import DistinctNames
from sizeguard.ledger.elf.owner_table import cover
from sizeguard.ledger.kinds import ANALYZER
from sizeguard.ledger.ledger import NONE

NAMES = ["f", "g", "h", "longer", "longest", "other"]

# Symbols: address, size, strength and name.
SYMBOLS = st.lists(
    st.tuples(
        st.integers(0, 5), st.integers(1, 3), st.integers(0, 2), st.integers(0, len(NAMES) - 1)
    ),
    max_size=16,
).map(sorted)


@given(SYMBOLS)
def test_symbols_of_one_place_and_size_are_aliases(
    symbols: list[tuple[int, int, int, int]],
) -> None:
    texts = Texts.of(NAMES)
    hashes = hash_texts(texts)
    place, size, strength, name = np.array(symbols, np.int64).reshape(-1, 4).T
    rows = np.arange(len(symbols))
    defined = Defined(place, size, size, strength.astype(np.int8), place, rows, rows[:0])
    known = DistinctNames(texts, hashes, np.argsort(hashes, kind="stable"), {})
    merged = merge_aliases(defined, name.astype(np.int32), rows, known)

    aliases: dict[tuple[int, int], list[tuple[int, int, int, int]]] = {}
    for p, s, strong, n in symbols:
        alias = (strong, len(NAMES[n]), int(hashes[n]), n)
        aliases.setdefault((p, -s), []).append(alias)
    groups = []
    found = []
    for (p, s), several in sorted(aliases.items()):
        names = list(dict.fromkeys(n for *_, n in sorted(several)))
        found.append((p, -s, names[0], len(groups) if len(names) > 1 else NONE))
        if len(names) > 1:
            groups.append(names)
    assert [
        (int(place[row]), int(size[row]), int(name[row]), group)
        for row, group in zip(merged.row.tolist(), merged.group.tolist(), strict=True)
    ] == found
    bounds = merged.groups.first.tolist()
    members = merged.groups.member.tolist()
    assert [members[a:b] for a, b in pairwise(bounds)] == groups
    assert [len(members)] == bounds[-1:]


# Pairs of lengths: of a gap and of the symbol after it.
LENGTHS = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=8)


@given(st.integers(0, 5), LENGTHS, st.integers(0, 3))
def test_ranges_and_the_gaps_between_cover_an_interval(
    low: int, lengths: list[tuple[int, int]], rest: int
) -> None:
    pieces = []
    ranges = []
    at = low
    for gap, length in lengths:
        if gap:
            pieces.append((at, NONE))
        pieces.append((at + gap, len(ranges)))
        ranges.append((at + gap, at + gap + length))
        at += gap + length
    if rest:
        pieces.append((at, NONE))
    start, end = np.array(ranges, np.int64).reshape(-1, 2).T.copy()
    starts, which = cover(low, at + rest, start, end)
    assert list(zip(starts.tolist(), which.tolist(), strict=True)) == pieces


# Sections: whether it is cut, lengths of gaps and ranges, and bytes after the last range.
SECTIONS = st.lists(st.tuples(st.booleans(), LENGTHS, st.integers(0, 3)), max_size=5)


@given(SECTIONS, st.data())
def test_sections_are_cut_into_symbols_functions_and_gaps(
    sections: list[tuple[bool, list[tuple[int, int]], int]], data: st.DataObject
) -> None:
    bounds, pieces, gaps = [], [], []
    ranges: tuple[list[tuple[int, int]], list[tuple[int, int]]] = [], []  # symbols, functions
    at = 0
    for index, (is_cut, lengths, rest) in enumerate(sections):
        low = at
        here = []
        for gap, length in lengths:
            here += [(at, at + gap, index, NONE, NONE, 0)] if gap else []
            start, at = at + gap, at + gap + length
            is_part = data.draw(st.booleans())
            number = len(ranges[is_part])
            of_symbol = NONE if is_part else number
            of_part = number if is_part else NONE
            here.append((start, at, index, of_symbol, of_part, (2 if is_part else 1) + number))
            ranges[is_part].append((start, at))
        here += [(at, at + rest, index, NONE, NONE, 0)] if rest else []
        at += rest
        if is_cut:
            gaps += [len(pieces) + i for i, piece in enumerate(here) if piece[3:5] == (NONE, NONE)]
            bounds.append((low, at, index))
            pieces += here
    low_, high, chosen = np.array(bounds, np.int64).reshape(-1, 3).T.copy()
    start, end = np.array(ranges[0], np.int64).reshape(-1, 2).T.copy()
    numbers = np.arange(len(start), dtype=np.int32)
    symbols = DisjointSymbols(start, end, numbers, numbers, (numbers + 1).astype(np.int8))
    parts = RowRanges(
        *np.array(ranges[1], np.int64).reshape(-1, 2).T.copy(), np.arange(len(ranges[1]))
    )
    analyzers = (parts.row + 2).astype(np.int8)
    nothing = np.zeros(0, np.int64)
    sources = ContentSources(symbols, RowRanges(nothing, nothing, nothing), parts, analyzers)
    rows, found = cut_sections(chosen, low_, high, (chosen + 3).astype(np.int8), sources)
    part = np.full(len(rows.start), rows.part, np.int32)
    columns = (rows.start, rows.stop, rows.section, rows.symbol, part, rows.analyzer)
    nobody = ANALYZER["unattributed"]
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == [
        (*piece[:5], piece[5] or nobody) for piece in pieces
    ]
    assert rows.group.tolist() == rows.symbol.tolist()
    assert rows.kind.tolist() == [section + 3 for section in rows.section.tolist()]
    assert found.tolist() == gaps
