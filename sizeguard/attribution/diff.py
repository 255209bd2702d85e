"""Turns two analyses into what changed between them: rows by the levels that are asked for, each with its cause.

Names are matched by 64-bit hashes of what stays of them from build to build (see symbol_keys), names of the same bytes as one
(see alias_keys). diff(x, x) has no rows; diff(b, a) has the rows of diff(a, b), negated, with mirrored causes.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.alias_keys import AliasKeys, alias_keys
from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.changed_texts import ChangedTexts
from sizeguard.attribution.diff_causes import causes
from sizeguard.attribution.diff_moves import moves
from sizeguard.attribution.diff_result import METRICS, Diff, DiffLabel
from sizeguard.attribution.diff_side import Side, Values, side_of
from sizeguard.attribution.filters import Filter, parse_filters
from sizeguard.attribution.group import SORTED_BY_NAME, check_levels, sum_by
from sizeguard.attribution.hash_ranks import rank_hashes
from sizeguard.attribution.result import Sums
from sizeguard.errors import InputError
from sizeguard.formats.mapped import release
from sizeguard.formats.text_hash import Hash
from sizeguard.formats.texts import Int
from sizeguard.ledger.ledger import Int32

_MULTIPLY = np.uint64(0xD6E8FEB86659FD93)
_SHIFT = np.uint64(32)


def diff(old: Analysis, new: Analysis, by: Sequence[str], where: Sequence[str] = (), metric: str = "load") -> Diff:
    """What changed from old to new. Raises InputError for unknown levels, filters and metrics."""
    return diff_of(lambda: old, lambda: new, by, where, metric)


def diff_of(
    old: Callable[[], Analysis], new: Callable[[], Analysis], by: Sequence[str], where: Sequence[str] = (), metric: str = "load"
) -> Diff:
    """The same of analyses that are made when needed, one after the other: two of libtorch_cpu.so at once need 1 GiB."""
    levels = check_levels(by)
    if metric not in METRICS:
        raise InputError(f"unknown size {metric}; there are {', '.join(METRICS)}")
    filters = parse_filters(where)
    sides = [_read(make, levels, filters, metric) for make in (old, new)]
    aliases = alias_keys([side.aliases for side in sides])
    values = [_keyed(side, aliases) for side in sides]
    number, known = rank_hashes(np.concatenate([_joined([each.of_groups() for each in of_side]) for of_side in values]))
    split = len(sides[0].amounts.size)
    row = number[:split], number[split:]
    size = [sum_by(side.amounts.size, ids, len(known)) for side, ids in zip(sides, row, strict=True)]
    changed = np.flatnonzero(size[0] != size[1])
    place = np.full(len(known), -1, np.int32)
    place[changed] = np.arange(len(changed))
    at = [place[ids] for ids in row]
    before, after = (side.amounts.sums(ids, len(changed)) for side, ids in zip(sides, at, strict=True))
    cause = causes(before, after, moves(sides, at, len(changed), aliases))
    labels = [_label(both, at, len(changed), aliases) for both in zip(*values, strict=True)]
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
        left_out=Sums(*(b - a for a, b in zip(sides[0].left_out, sides[1].left_out, strict=True))) if filters else None,
    )


def _read(make: Callable[[], Analysis], levels: Sequence[str], filters: Sequence[Filter], metric: str) -> Side:
    analysis = make()
    side = side_of(analysis, levels, filters, metric)
    buffer = analysis.label("symbol").texts.buffer
    # Half a gigabyte of libtorch_cpu.so would wait for the collector, and its pages stay in memory, while the other is read.
    del analysis
    gc.collect()
    release(buffer)
    return side


def _keyed(side: Side, aliases: AliasKeys | None) -> list[Values]:
    """The values of each level; symbols of the same bytes have the hash of one."""
    return [
        replace(values, hashes=aliases.apply(values.hashes)) if values.level == "symbol" and aliases is not None else values
        for values in side.values
    ]


def _joined(levels: Sequence[Hash]) -> Hash:
    """The hash of each group: of one level its own, of several all of them, mixed in turn."""
    result = levels[0]
    for hashes in levels[1:]:
        result = (result ^ (result >> _SHIFT)) * _MULTIPLY + hashes
    return result


def _label(both: Sequence[Values], at: Sequence[Int32], rows: int, aliases: AliasKeys | None) -> DiffLabel:
    """The values of the changed rows, each text once. at: of each side's groups the changed row that it is in, or -1."""
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
    alias = aliases.numbers(known) if is_symbol and aliases is not None else np.full(len(known), -1, np.int64)
    texts = ChangedTexts(tuple(values.texts for values in both), side[first], value[first], is_symbol, aliases, alias)
    return DiffLabel(number, texts)


def _order(labels: Sequence[DiffLabel], size: Int) -> npt.NDArray[np.intp]:
    """The largest first, equal ones by name, or if there are many by the names' hashes: that is how ids are ordered."""
    if len(size) > SORTED_BY_NAME:
        return np.lexsort((*(label.ids.astype(np.int64) for label in labels), -size))
    names = [[label.texts.raw(i) for i in label.ids.tolist()] for label in labels]
    by_name = np.array(sorted(range(len(size)), key=list(zip(*names, strict=True)).__getitem__), np.intp)
    return by_name[np.argsort(-size[by_name], kind="stable")]
