"""Compare two analyses by levels, and give each changed row a cause.

Names are matched by 64-bit hashes of the part that stays the same between builds (see
stable_names). Names of the same bytes count as one name (see alias_keys). diff(x, x) has no rows;
diff(b, a) has the rows of diff(a, b), negated, with mirrored causes.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.filters import Filter, no_match, parse_filters
from sizeguard.attribution.group import SORTED_BY_NAME, check_levels
from sizeguard.attribution.levels import METRICS
from sizeguard.attribution.size_report import ByteSums
from sizeguard.base.errors import InputError
from sizeguard.columns.ranks import rank_hashes
from sizeguard.columns.sums import sum_by
from sizeguard.columns.text_hash import MULTIPLY, SHIFT, Hash
from sizeguard.columns.texts import Int, Int32
from sizeguard.diff.alias_keys import AliasKeys, alias_keys
from sizeguard.diff.causes import causes
from sizeguard.diff.changed_texts import ChangedTexts
from sizeguard.diff.diff_result import Diff, DiffLabel
from sizeguard.diff.moves import moves
from sizeguard.diff.side import Side, Values, side_of
from sizeguard.diff.symbol_keys import SymbolKeys
from sizeguard.diff.versioned_files import LEVELS, paired

_SMALL = 10_000  # names; the garbage of smaller images need not be collected at once


def diff(
    old: Analysis, new: Analysis, by: Sequence[str], where: Sequence[str] = (), metric: str = "load"
) -> Diff:
    """Compare two analyses. Raises InputError for unknown levels, filters and metrics."""
    return diff_of(lambda: old, lambda: new, by, where, metric)


def diff_of(
    old: Callable[[], Analysis],
    new: Callable[[], Analysis],
    by: Sequence[str],
    where: Sequence[str],
    metric: str,
) -> Diff:
    """Compare like diff, but make the analyses one after the other, when they are needed.

    Two analyses of libtorch_cpu.so at the same time need 1 GiB.
    """
    levels = check_levels(by)
    if metric not in METRICS:
        raise InputError(f"unknown size {metric}; there are {', '.join(METRICS)}")
    filters = parse_filters(where)
    unmet: list[InputError] = []
    sides = [_read(make, levels, filters, metric, unmet) for make in (old, new)]
    if len(unmet) == len(sides):
        raise unmet[-1]
    aliases = cache(lambda: alias_keys([side.aliases() for side in sides]))
    values = _keyed(sides, aliases)
    rows, at = _changed(sides, values)
    before, after = (side.amounts.sums(ids, rows) for side, ids in zip(sides, at, strict=True))
    cause = causes(before, after, moves(sides, at, rows, aliases))
    labels = [_label(both, at, rows, aliases) for both in zip(*values, strict=True)]
    order = _order(labels, np.abs(after.size - before.size))
    return Diff(
        old_image=sides[0].image,
        new_image=sides[1].image,
        by=levels,
        metric=metric,
        labels=tuple(DiffLabel(label.ids[order], label.texts) for label in labels),
        old=before.size[order],
        new=after.size[order],
        old_count=before.instances[order],
        new_count=after.instances[order],
        cause=cause[order],
        filters=tuple(where),
        left_out=_left_out(sides) if filters else None,
    )


def _left_out(sides: Sequence[Side]) -> ByteSums:
    """Subtract the old from the new sums of the rows that the filters left out."""
    return ByteSums(*(b - a for a, b in zip(sides[0].left_out, sides[1].left_out, strict=True)))


def _changed(
    sides: Sequence[Side], values: Sequence[Sequence[Values]]
) -> tuple[int, tuple[Int32, Int32]]:
    """Find the rows whose bytes differ.

    Returns their number, and the row of each side's groups; -1 for groups outside changed rows.
    """
    number, known = rank_hashes(
        np.concatenate([_joined([each.of_groups() for each in of_side]) for of_side in values])
    )
    split = len(sides[0].amounts.size)
    row = number[:split], number[split:]
    old, new = (
        sum_by(side.amounts.size, ids, len(known)) for side, ids in zip(sides, row, strict=True)
    )
    changed = np.flatnonzero(old != new)
    place = np.full(len(known), -1, np.int32)
    place[changed] = np.arange(len(changed))
    return len(changed), (place[row[0]], place[row[1]])


def _read(
    make: Callable[[], Analysis],
    levels: Sequence[str],
    filters: Sequence[Filter],
    metric: str,
    unmet: list[InputError],
) -> Side:
    """Make one side of the diff, then free its analysis.

    unmet: collects the error if no row meets a filter; a row of the other side may still meet it
    """
    analysis = make()
    side = side_of(analysis, levels, filters, metric)
    if not side.is_met:
        unmet.append(no_match(analysis, filters))
    names = analysis.label("symbol").texts
    del analysis
    if len(names) > _SMALL:
        # Otherwise half a gigabyte for libtorch_cpu.so would stay in memory while the other
        # analysis is read.
        gc.collect()
        names.release()
    return side


def _keyed(
    sides: Sequence[Side], aliases: Callable[[], AliasKeys | None]
) -> list[tuple[Values, ...]]:
    """Replace the hashes of symbols with those of their keys, and pair files of two versions."""
    columns = []
    for both in zip(*(side.values for side in sides), strict=True):
        names = [values.names for values in both if values.names is not None]
        if names:
            symbols, of_bytes = SymbolKeys(names), aliases()
            keys = symbols.keys() if of_bytes is None else of_bytes.apply(symbols.keys())
            both = tuple(
                replace(values, hashes=keys[number])
                for values, number in zip(both, symbols.numbers, strict=True)
            )
        elif both[0].level in LEVELS:
            both = paired(both)
        columns.append(both)
    return list(zip(*columns, strict=True))


def _joined(levels: Sequence[Hash]) -> Hash:
    """Return one hash for each group, mixed from its hashes at all levels."""
    result = levels[0]
    for hashes in levels[1:]:
        result = (result ^ (result >> SHIFT)) * MULTIPLY + hashes
    return result


def _label(
    both: Sequence[Values],
    at: Sequence[Int32],
    rows: int,
    of_symbols: Callable[[], AliasKeys | None],
) -> DiffLabel:
    """Return the values of the changed rows, each string once.

    at: the changed row of each side's groups; -1 if there is none.
    """
    side, value = np.zeros(rows, np.int8), np.zeros(rows, np.int64)
    hashes = np.zeros(rows, np.uint64)
    for i, (values, row) in enumerate(zip(both, at, strict=True)):
        taken = np.flatnonzero(row >= 0)
        side[row[taken]], value[row[taken]] = i, values.ids[taken]
        hashes[row[taken]] = values.of_groups()[taken]
    number, known = rank_hashes(hashes)
    first = np.zeros(len(known), np.int64)
    first[number] = np.arange(rows)
    is_symbol = both[0].level == "symbol"
    aliases = of_symbols() if is_symbol else None
    nothing = np.full(len(known), -1, np.int64)
    alias = nothing if aliases is None else aliases.numbers(known)
    texts = ChangedTexts(
        tuple(values.texts for values in both), side[first], value[first], is_symbol, aliases, alias
    )
    return DiffLabel(number, texts)


def _order(labels: Sequence[DiffLabel], size: Int) -> npt.NDArray[np.intp]:
    """Sort rows by size, largest first, then by name, or by the names' hashes if there are many.

    Ids are in the order of hashes.
    """
    if len(size) > SORTED_BY_NAME:
        return np.lexsort((*(label.ids.astype(np.int64) for label in labels), -size))
    names = [[label.texts.raw(i) for i in label.ids.tolist()] for label in labels]
    by_name = np.array(
        sorted(range(len(size)), key=list(zip(*names, strict=True)).__getitem__), np.intp
    )
    return by_name[np.argsort(-size[by_name], kind="stable")]
