"""Reports of an analysis: rows grouped by levels, summed, filtered and sorted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.alias_rows import MergesNames, SymbolAliases, symbols_as_one
from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.filters import matching_rows, parse_filters
from sizeguard.attribution.levels import LEVELS, SORTS, unknown_level
from sizeguard.attribution.owners.inline_pieces import levels_asked, span_counts, uncounted_pieces
from sizeguard.attribution.size_report import UNATTRIBUTED, ByteSums, Report
from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.columns.compiled_code import addresses, compiled_beside
from sizeguard.columns.label import Label
from sizeguard.columns.pack import pack
from sizeguard.columns.sort import descending, sorted_hashes
from sizeguard.columns.sums import sum_by
from sizeguard.columns.text_hash import hash_texts
from sizeguard.columns.texts import Int, Texts
from sizeguard.formats.magics import SEVERAL_IMAGES

_CODE = compiled_beside(__file__)

# The largest report whose rows of equal size are sorted by name. In larger reports such rows keep
# the order in which they are found.
SORTED_BY_NAME = 50_000


def check_levels(by: Sequence[str]) -> tuple[str, ...]:
    """Return the levels.

    Raises InputError for an unknown level and for a level that is given twice.
    """
    for level in by:
        if level not in LEVELS:
            raise unknown_level(level)
        if by.count(level) > 1:
            raise InputError(f"level {level} is given twice")
    if not by:
        raise InputError(f"no level given; there are {', '.join(LEVELS)}")
    return tuple(by)


def default_levels(analysis: Analysis) -> tuple[str, ...]:
    """Return the levels of a report or diff if the user gives none; they depend on the image.

    For several images it is the image. For a known runtime it is the operator. Otherwise it is the
    namespace, if there are any.
    """
    if analysis.image.format in SEVERAL_IMAGES:
        return ("image",)
    if analysis.rules or (analysis.rules is None and _has_names(analysis, "operator")):
        return ("operator",)
    return ("namespace", "symbol") if _has_names(analysis, "namespace") else ("symbol",)


def _has_names(analysis: Analysis, level: str) -> bool:
    """Return whether a level has a name besides those of the kind (core)."""
    texts = analysis.label(level).texts
    names = {texts[i] for i in range(len(texts))} - {"", UNATTRIBUTED}
    return any(name[0] != "(" for name in names)


def require_regions(analysis: Analysis, levels: Sequence[str]) -> None:
    """Raise InputError if rows by memory region are requested but the regions are not known."""
    if "region" in levels and analysis.image.regions is None:
        raise InputError(
            f"{analysis.image.title}: no memory regions are known: give the map of GNU ld (--map)"
            " or the linker's script (--linker-script), or record the link (sizeguard record)"
        )


def group(
    analysis: Analysis, by: Sequence[str], where: Sequence[str] = (), sort: str = "load"
) -> Report:
    """Sum the rows of an analysis by levels; the largest come first.

    where: the filters that rows must meet
    sort:  one of SORTS

    Raises InputError for unknown levels, filters and orders.
    """
    levels = check_levels(by)
    if sort not in SORTS:
        raise InputError(f"unknown order {sort}; there are {', '.join(SORTS)}")
    if levels == ("symbol",) and not where and isinstance(analysis, MergesNames):
        analysis = analysis.with_merged_names()
    mask = matching_rows(analysis, parse_filters(where))
    kept = None if mask is None else np.flatnonzero(mask)
    asked = levels_asked(levels, where)
    rows = _Rows(analysis, asked, len(uncounted_pieces(analysis, asked)) > 0, kept)
    tables, columns = _by_one(rows, levels[0]) if len(levels) == 1 else _by_several(rows, levels)
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
        aliases=_aliases(analysis) if "symbol" in levels else None,
        rules=analysis.rules,
        left_out=(
            None
            if mask is None
            else ByteSums(*(int(column[~mask].sum()) for column in rows.columns()))
        ),
    )


def _aliases(analysis: Analysis) -> SymbolAliases | None:
    aliases = analysis.aliases()
    return None if aliases is None else SymbolAliases(aliases)


def label_of(analysis: Analysis, level: str) -> Label:
    """Return a level's label as reports use it: aliases count as one symbol."""
    return symbols_as_one(analysis) if level == "symbol" else analysis.label(level)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of an analysis.

    asked: levels; has_uncounted: whether some rows are not spans at these levels; kept: the rows to
        sum
    """

    analysis: Analysis
    asked: frozenset[str]
    has_uncounted: bool
    kept: Int | None

    def columns(self) -> Iterator[Int]:
        """Yield the columns one at a time, so that their memory is reused."""
        for name in ("file", "load", "ram"):
            yield getattr(self.analysis, name)
        yield span_counts(self.analysis, self.asked)

    def ids(self, label: Label) -> npt.NDArray[np.int32]:
        """Return the ids of the rows to sum."""
        return label.ids if self.kept is None else label.ids[self.kept]

    def sums_by(self, ids: Int | npt.NDArray[np.int32], count: int) -> list[Int]:
        """Sum the columns of the rows to sum, by id."""
        if self.kept is None and not self.has_uncounted:
            return list(self.analysis.sums_by(ids, count))
        kept = slice(None) if self.kept is None else self.kept
        return [sum_by(column[kept], ids, count) for column in self.columns()]


def _by_one(rows: _Rows, level: str) -> tuple[list[Label], list[Int]]:
    """Make a row for each text of one level.

    Rows are summed by id first; then ids with equal texts are merged. That merges half a million
    ids instead of three million rows.
    """
    label = label_of(rows.analysis, level)
    ids = rows.ids(label)
    sums = rows.sums_by(ids, len(label.texts))
    used, first = _by_hash(label, ids)
    columns = [
        np.add.reduceat(column[used], first) if len(first) < len(used) else column[used]
        for column in sums
    ]
    return [Label(np.arange(len(first), dtype=np.int32), label.texts.take(used[first]))], columns


def _by_several(rows: _Rows, levels: Sequence[str]) -> tuple[list[Label], list[Int]]:
    """Make a row for each combination of texts that occurs."""
    labels = [label_of(rows.analysis, level) for level in levels]
    ids = [rows.ids(label) for label in labels]
    numbers, texts = zip(
        *(_numbers(label, some) for label, some in zip(labels, ids, strict=True)), strict=True
    )
    counts = [len(some) for some in texts]
    combinations = math.prod(counts)
    if combinations <= max(len(ids[0]), 1024):
        # Few combinations, such as of operators and dtypes: sum all of them, then keep those that
        # occur.
        combination, occurs = _combined(ids, numbers, counts)
        found = np.flatnonzero(occurs)
        columns = [column[found] for column in rows.sums_by(combination, combinations)]
        values = []
        for count in reversed(counts):
            found, value = np.divmod(found, count)
            values.append(value.astype(np.int32))
        return [
            Label(value, some) for value, some in zip(reversed(values), texts, strict=True)
        ], columns
    of_rows = [number[some] for number, some in zip(numbers, ids, strict=True)]
    row, first = pack(of_rows)
    columns = rows.sums_by(row, len(first))
    return [
        Label(column[first], some) for column, some in zip(of_rows, texts, strict=True)
    ], columns


def _combined(
    ids: Sequence[npt.NDArray[np.int32]],
    numbers: Sequence[npt.NDArray[np.int32]],
    counts: Sequence[int],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """Combine each row's values into one number; also return which numbers occur."""
    combination = np.empty(len(ids[0]), np.int32)
    occurs = np.zeros(math.prod(counts), np.bool_)
    columns = [np.ascontiguousarray(column, np.int32) for column in ids]
    _CODE.call(
        "combine",
        addresses(*columns),
        addresses(*numbers),
        np.array(counts, np.int64),
        len(counts),
        len(combination),
        combination,
        occurs,
    )
    return combination, occurs


def distinct(label: Label) -> Label:
    """Return the label with one id for each text, in the order of the texts' hashes.

    This order depends only on the texts. Ids of symbols are entries of a symbol table, and entries
    share names: the 512,542 entries of libtorch_cpu.so have 465,766 names.
    """
    numbers, texts = _numbers(label, label.ids)
    return Label(numbers[label.ids], texts)


def _numbers(label: Label, ids: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], Texts]:
    """Return the number of each of the label's texts, and the different texts."""
    used, first = _by_hash(label, ids)
    of_id = np.zeros(len(label.texts), np.int32)
    of_id[used] = np.repeat(np.arange(len(first), dtype=np.int32), np.diff(first, append=len(used)))
    return of_id, label.texts.take(used[first])


def _by_hash(label: Label, ids: npt.NDArray[np.int32]) -> tuple[Int, Int]:
    """Sort the label's used ids by the hashes of their texts.

    Returns the ids, and the positions at which a different text begins.
    """
    is_used = np.zeros(len(label.texts), np.bool_)
    _CODE.call("mark_used", np.ascontiguousarray(ids, np.int32), len(ids), is_used)
    if label.order is not None:
        used = label.order[np.flatnonzero(is_used[label.order])]
        return used, np.arange(len(used))
    used = np.flatnonzero(is_used)
    hashes = hash_texts(label.texts.take(used)) if label.hashes is None else label.hashes[used]
    order, found = sorted_hashes(hashes)
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = found[1:] != found[:-1]
    return used[order], np.flatnonzero(is_first)


def _order(labels: Sequence[Label], columns: Sequence[Int], sort: str) -> npt.NDArray[np.intp]:
    """Return the order of a report's rows, which depends only on the rows' texts and sizes.

    So a snapshot gives the same report as its binary.
    """
    file, load, ram, count = columns
    sizes = {
        "load": (load, file),
        "file": (file, load),
        "ram": (ram, load),
        "count": (count, load),
        "name": (),
    }[sort]
    if sort == "name" or len(load) <= SORTED_BY_NAME:
        names = [[label.texts[i] for i in label.ids.tolist()] for label in labels]
        by_name = np.array(
            sorted(range(len(load)), key=list(zip(*names, strict=True)).__getitem__), np.intp
        )
        return by_name[np.lexsort([-size[by_name] for size in sizes[::-1]])] if sizes else by_name
    # Rows are in ascending order of their labels' ids, which depends on the texts; sorting keeps
    # it.
    first, second = sizes
    # Among equal first sizes the differences have the order of the second sizes, so it suffices to
    # sort one number with both.
    both = _joined(first, second - first)
    if both is not None:
        return descending(both)
    order = descending(second)
    return order[descending(first[order])]


def _joined(first: Int, second: Int) -> Int | None:
    """Return numbers in the order of the pairs; None if they and their indices exceed 62 bits."""
    low, high = int(second.min(initial=0)), int(second.max(initial=0))
    bits = (high - low).bit_length()
    if (
        int(first.min(initial=0)) < 0
        or int(first.max(initial=0)).bit_length() + bits + len(first).bit_length() > 62
    ):
        return None
    both = first << bits
    both += second
    both -= low
    return both
