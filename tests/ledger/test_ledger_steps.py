"""Test steps of an ELF ledger on columns against plain loops.

The steps are: merging aliases, cutting sections into symbols and gaps, finding strings in gaps.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.columns.text_hash import hash_texts
from sizeguard.columns.texts import Texts
from sizeguard.ledger.elf.content import cut_by_symbols
from sizeguard.ledger.elf.disjoint_symbols import Defined, DisjointSymbols, merge_aliases
from sizeguard.ledger.elf.distinct_names import DistinctNames
from sizeguard.ledger.elf.gaps import SHORTEST_STRING, string_runs
from sizeguard.ledger.elf.owner_table import cover
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
    start, end = np.array(ranges, np.int64).reshape(-1, 2).T
    starts, which = cover(low, at + rest, start, end)
    assert list(zip(starts.tolist(), which.tolist(), strict=True)) == pieces


# Sections: whether it is cut, lengths of gaps and symbols, and bytes after the last symbol.
SECTIONS = st.lists(st.tuples(st.booleans(), LENGTHS, st.integers(0, 3)), max_size=5)


@given(SECTIONS)
def test_sections_are_cut_into_symbols_and_gaps(
    sections: list[tuple[bool, list[tuple[int, int]], int]],
) -> None:
    bounds, ranges, pieces, counts = [], [], [], []
    at = 0
    for is_cut, lengths, rest in sections:
        low = at
        here = []
        for gap, length in lengths:
            here += [(at, NONE)] if gap else []
            here.append((at + gap, len(ranges)))
            ranges.append((at + gap, at + gap + length))
            at += gap + length
        here += [(at, NONE)] if rest else []
        at += rest
        if is_cut:
            bounds.append((low, at))
            pieces += here
            counts.append(len(here))
    low_, high = np.array(bounds, np.int64).reshape(-1, 2).T
    start, end = np.array(ranges, np.int64).reshape(-1, 2).T
    nothing = np.zeros(len(ranges), np.int32)
    small = nothing.astype(np.int8)
    symbols = DisjointSymbols(start, end, nothing, nothing, small)
    starts, which, many = cut_by_symbols(low_, high, symbols)
    assert list(zip(starts.tolist(), which.tolist(), strict=True)) == pieces
    assert many.tolist() == counts


# Bytes of gaps: text, NUL and others.
GAPS = st.lists(st.lists(st.sampled_from([65, 66, 0, 1, 200]), max_size=14), min_size=1, max_size=4)


@given(GAPS)
def test_strings_are_text_between_nuls(gaps: list[list[int]]) -> None:
    content: list[int] = []
    last: list[int] = []
    runs: list[list[int]] = []
    for gap in gaps:
        base = len(content)
        begin = 0
        while begin < len(gap):
            after = begin
            while after < len(gap) and gap[after] in (65, 66):
                after += 1
            is_first = begin == 0 or gap[begin - 1] == 0
            is_ended = after < len(gap) and gap[after] == 0
            if is_first and is_ended and after - begin >= SHORTEST_STRING:
                if runs and runs[-1][1] == base + begin:
                    runs[-1][1] = base + after + 1
                else:
                    runs.append([base + begin, base + after + 1])
            begin = after + 1
        content += [*gap, 1]
        last.append(len(content) - 1)
    first, end = string_runs(np.array(content, np.uint8), np.array(last, np.int64))
    assert [list(run) for run in zip(first.tolist(), end.tolist(), strict=True)] == runs
