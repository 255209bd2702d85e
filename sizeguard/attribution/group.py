"""Turns an analysis into a report: rows by the levels that are asked for, summed, filtered, sorted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.analysis import LEVELS, Analysis, Label
from sizeguard.attribution.filters import matching_rows, parse_filters
from sizeguard.attribution.result import Report, Sums
from sizeguard.errors import InputError
from sizeguard.formats.text_hash import hash_order, hash_texts
from sizeguard.formats.texts import Int, Texts
from sizeguard.ledger.sums import sum_by as sum_by

SORTS = ("load", "file", "ram", "count", "name")

# Up to so many rows, rows of one size come in the order of their names; beyond, in an order that costs nothing to find.
SORTED_BY_NAME = 50_000

_PIECE = 1 << 16  # rows


def check_levels(by: Sequence[str]) -> tuple[str, ...]:
    """Raises InputError for what is no level or comes twice."""
    for level in by:
        if level not in LEVELS:
            raise InputError(f"unknown level {level}; there are {', '.join(LEVELS)}")
        if by.count(level) > 1:
            raise InputError(f"level {level} is given twice")
    if not by:
        raise InputError(f"no level given; there are {', '.join(LEVELS)}")
    return tuple(by)


def group(analysis: Analysis, by: Sequence[str], where: Sequence[str] = (), sort: str = "load") -> Report:
    """Rows by the levels, the largest first. Raises InputError for unknown levels, filters and orders."""
    levels = check_levels(by)
    if sort not in SORTS:
        raise InputError(f"unknown order {sort}; there are {', '.join(SORTS)}")
    mask = matching_rows(analysis, parse_filters(where))
    kept = None if mask is None else np.flatnonzero(mask)
    tables, columns = _by_one(analysis, levels[0], kept) if len(levels) == 1 else _by_several(analysis, levels, kept)
    order = _order(tables, columns, sort)
    file, load, ram, count = (column[order] for column in columns)
    return Report(
        image=analysis.image,
        by=levels,
        labels=tuple(Label(label.ids[order], label.texts) for label in tables),
        file=file,
        load=load,
        ram=ram,
        count=count,
        sort=sort,
        filters=tuple(where),
        left_out=None if mask is None else Sums(*(int(column[~mask].sum()) for column in _columns(analysis))),
    )


def _columns(analysis: Analysis) -> Iterator[Int]:
    """One at a time: their memory is used again."""
    for name in ("file", "load", "ram", "count"):
        yield getattr(analysis, name)


def _by_one(analysis: Analysis, level: str, kept: Int | None) -> tuple[list[Label], list[Int]]:
    """Each text is a row. Sums by the ids as they are; equal texts are merged then: half a million ids, not three million rows."""
    label = analysis.label(level)
    ids = label.ids if kept is None else label.ids[kept]
    sums = _sums_by(analysis, ids, len(label.texts), kept)
    used, first = _by_hash(label, ids)
    columns = [np.add.reduceat(column[used], first) if len(first) < len(used) else column[used] for column in sums]
    return [Label(np.arange(len(first), dtype=np.int32), label.texts.take(used[first]))], columns


def _by_several(analysis: Analysis, levels: Sequence[str], kept: Int | None) -> tuple[list[Label], list[Int]]:
    labels = [analysis.label(level) for level in levels]
    ids = [label.ids if kept is None else label.ids[kept] for label in labels]
    numbers, texts = zip(*(_numbers(label, some) for label, some in zip(labels, ids, strict=True)), strict=True)
    counts = [len(some) for some in texts]
    combinations = math.prod(counts)
    if combinations <= max(len(ids[0]), 1024):
        # Few, as of operators and dtypes: sums of all of them, of which some occur.
        combination, occurs = _combined(ids, numbers, counts)
        found = np.flatnonzero(occurs)
        columns = [column[found] for column in _sums_by(analysis, combination, combinations, kept)]
        values = []
        for count in reversed(counts):
            found, value = np.divmod(found, count)
            values.append(value.astype(np.int32))
        return [Label(value, some) for value, some in zip(reversed(values), texts, strict=True)], columns
    of_rows = [number[some] for number, some in zip(numbers, ids, strict=True)]
    row, first = pack(of_rows)
    columns = _sums_by(analysis, row, len(first), kept)
    return [Label(column[first], some) for column, some in zip(of_rows, texts, strict=True)], columns


def _combined(
    ids: Sequence[npt.NDArray[np.int32]], numbers: Sequence[npt.NDArray[np.int32]], counts: Sequence[int]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """One number for the values that a row has, and which numbers occur. In pieces that stay in the cache: of three million rows each
    column more would take as long as all of it."""
    combination = np.empty(len(ids[0]), np.int32)
    occurs = np.zeros(math.prod(counts), np.bool_)
    for low in range(0, len(combination), _PIECE):
        some = slice(low, low + _PIECE)
        number = numbers[0][ids[0][some]]
        for column, value, count in zip(ids[1:], numbers[1:], counts[1:], strict=True):
            number *= np.int32(count)
            number += value[column[some]]
        occurs[number] = True
        combination[some] = number
    return combination, occurs


def _sums_by(analysis: Analysis, ids: Int | npt.NDArray[np.int32], count: int, kept: Int | None) -> list[Int]:
    if kept is None:
        return list(analysis.sums_by(ids, count))
    return [sum_by(column[kept], ids, count) for column in _columns(analysis)]


def distinct(label: Label) -> Label:
    """The label with one id for each text, in the order of the texts' hashes: one that they alone decide.

    An id of a symbol is an entry of a symbol table, and entries share names: 512,542 of libtorch_cpu.so have 465,766.
    """
    numbers, texts = _numbers(label, label.ids)
    return Label(numbers[label.ids], texts)


def _numbers(label: Label, ids: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], Texts]:
    """For each text of the label its number among the different ones that rows have, and those."""
    used, first = _by_hash(label, ids)
    of_id = np.zeros(len(label.texts), np.int32)
    of_id[used] = np.repeat(np.arange(len(first), dtype=np.int32), np.diff(first, append=len(used)))
    return of_id, label.texts.take(used[first])


def _by_hash(label: Label, ids: npt.NDArray[np.int32]) -> tuple[Int, Int]:
    """The ids of the label that are in use in the order of their texts' hashes, and where among them another text begins."""
    is_used = np.zeros(len(label.texts), np.bool_)
    is_used[ids] = True
    if label.order is not None:
        used = label.order[is_used[label.order]]
        return used, np.arange(len(used))
    used = np.flatnonzero(is_used)
    hashes = hash_texts(label.texts.take(used)) if label.hashes is None else label.hashes[used]
    order = hash_order(hashes)
    found = hashes[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = found[1:] != found[:-1]
    return used[order], np.flatnonzero(is_first)


def pack(columns: Sequence[npt.NDArray[np.int32]]) -> tuple[npt.NDArray[np.signedinteger], Int]:
    """For each entry the row that it falls in, equal entries in one row, rows in ascending order; for each row an entry that is in it."""
    widths = [int(column.max(initial=0)) + 1 for column in columns]
    # Of few values, as operators times dtypes are, numbers half as long do: 30 ms less for three million rows.
    packed: npt.NDArray[np.signedinteger] = columns[0].astype(np.int64 if math.prod(widths) >= 1 << 31 else np.int32)
    values = widths[0]
    for column, width in zip(columns[1:], widths[1:], strict=True):
        if values * width >= 1 << 62:
            packed, values = compact(packed, values)
        packed *= width
        packed += column
        values *= width
    row, rows = compact(packed, values)
    last = np.zeros(rows, np.int64)
    last[row] = np.arange(len(row), dtype=np.int32 if len(row) < 1 << 31 else np.int64)  # of equal places the last assignment stays
    return row, last


def compact(packed: npt.NDArray[np.signedinteger], values: int) -> tuple[npt.NDArray[np.signedinteger], int]:
    """The rank of each number among those below `values` that occur, and how many those are."""
    if values <= 4 * len(packed) + 1024:
        # A table instead of sorting: 10 ms against 200 for two million rows by symbol.
        occurs = np.zeros(values, np.bool_)
        occurs[packed] = True
        rank = np.cumsum(occurs, dtype=packed.dtype)
        rank -= 1
        return rank[packed], int(rank[-1]) + 1 if values else 0
    found, row = np.unique(packed, return_inverse=True)
    return row, len(found)


def _order(labels: Sequence[Label], columns: Sequence[Int], sort: str) -> npt.NDArray[np.intp]:
    """Does not depend on the order of the analysis' rows: a snapshot gives the same report as its binary."""
    file, load, ram, count = columns
    sizes = {"load": (load, file), "file": (file, load), "ram": (ram, load), "count": (count, load), "name": ()}[sort]
    if sort == "name" or len(load) <= SORTED_BY_NAME:
        names = [[label.texts[i] for i in label.ids.tolist()] for label in labels]
        by_name = np.array(sorted(range(len(load)), key=list(zip(*names, strict=True)).__getitem__), np.intp)
        return by_name[np.lexsort([-size[by_name] for size in sizes[::-1]])] if sizes else by_name
    # Rows come in ascending order of their labels' ids, and those in an order that the texts decide; sorting keeps it.
    first, second = sizes
    # Where the first sizes are equal the differences are in the order of the second: both in one number are sorted once.
    both = _joined(first, second - first)
    if both is not None:
        return descending(both)
    order = descending(second)
    return order[descending(first[order])]


def _joined(first: Int, second: Int) -> Int | None:
    """Numbers in the order of the pairs, if they fit 62 bits with their indices."""
    low, high = int(second.min(initial=0)), int(second.max(initial=0))
    bits = (high - low).bit_length()
    if int(first.min(initial=0)) < 0 or int(first.max(initial=0)).bit_length() + bits + len(first).bit_length() > 62:
        return None
    both = first << bits
    both += second
    both -= low
    return both


def descending(sizes: Int) -> Int:
    """A stable argsort, the largest first. With the index in their low bits numbers are sorted by themselves, in half the time."""
    bits = len(sizes).bit_length()
    most = int(sizes.max(initial=0))
    if most.bit_length() + bits > 62 or int(sizes.min(initial=0)) < 0:
        return np.argsort(-sizes, kind="stable")
    packed = most - sizes
    packed <<= bits
    packed |= np.arange(len(sizes), dtype=np.int64)
    packed.sort()
    packed &= (1 << bits) - 1
    return packed
