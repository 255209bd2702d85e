"""Turns two analyses into what changed between them: rows by the levels that are asked for, each with its cause.

Names are matched by 64-bit hashes of what stays of them from build to build (see symbol_keys), names of the same bytes as one
(see alias_keys). diff(x, x) has no rows; diff(b, a) has the rows of diff(a, b), negated, with mirrored causes.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.alias_keys import AliasKeys, alias_keys
from sizeguard.attribution.analysis import Aliases, Analysis, Label
from sizeguard.attribution.diff_causes import Cells, causes
from sizeguard.attribution.diff_result import METRICS, Diff
from sizeguard.attribution.filters import Filter, matching_rows, parse_filters
from sizeguard.attribution.group import SORTED_BY_NAME, check_levels, compact, sum_by
from sizeguard.attribution.result import Sums
from sizeguard.attribution.symbol_keys import hash_keys, keys_of
from sizeguard.errors import InputError
from sizeguard.formats.mapped import release
from sizeguard.formats.text_hash import Hash, hash_texts
from sizeguard.formats.texts import Int, Texts
from sizeguard.ledger.ledger import ImageInfo

# Kinds of pieces that one counts as instances; unwind tables, relocations and the like are tables about them.
_INSTANCES = frozenset((b"code", b"rodata", b"data", b"zero", b"string", b"vtable", b"typeinfo", b"initializer"))
_PADDING = frozenset((b"padding", b"page slack", b"section gap"))

Ids = npt.NDArray[np.int32] | Int
Mask = npt.NDArray[np.bool_]


def diff(old: Analysis, new: Analysis, by: Sequence[str], where: Sequence[str] = (), metric: str = "load") -> Diff:
    """What changed from old to new. Raises InputError for unknown levels, filters and metrics."""
    return diff_of(lambda: old, lambda: new, by, where, metric)


def diff_of(
    old: Callable[[], Analysis], new: Callable[[], Analysis], by: Sequence[str], where: Sequence[str] = (), metric: str = "load"
) -> Diff:
    """The same of analyses that are made when needed, one after the other: two of libtorch_cpu.so at once need 1.5 GiB."""
    levels = check_levels(by)
    if metric not in METRICS:
        raise InputError(f"unknown size {metric}; there are {', '.join(METRICS)}")
    filters = parse_filters(where)
    sides = []
    for make in (old, new):
        sides.append(_side(make(), levels, filters, metric))
        # Half a gigabyte of libtorch_cpu.so would wait for the collector, and its pages stay in memory, while the other is read.
        gc.collect()
        release(sides[-1].labels["symbol"].texts.buffer)
    aliases = alias_keys([side.aliases for side in sides])
    matched = [_match(level, [side.labels[level] for side in sides], [side.hashes[level] for side in sides], aliases) for level in levels]
    row, rows = _pack(matched)
    size = [sum_by(side.size, ids, rows) for side, ids in zip(sides, row, strict=True)]
    changed = np.flatnonzero(size[0] != size[1])
    place = np.full(rows, -1, np.int64)
    place[changed] = np.arange(len(changed))
    at = [place[ids] for ids in row]
    taken = [np.flatnonzero(ids >= 0) for ids in at]
    parts = [_Part(side, rows_, ids[rows_]) for side, rows_, ids in zip(sides, taken, at, strict=True)]
    cells = _cells(parts, aliases, len(changed))
    cause = causes(size[0][changed], size[1][changed], cells)
    labels = [_label(match, parts, len(changed), aliases) for match in matched]
    order = _order(labels, np.abs(size[1] - size[0])[changed])
    return Diff(
        old_image=sides[0].image,
        new_image=sides[1].image,
        by=levels,
        metric=metric,
        labels=tuple(Label(label.ids[order], label.texts) for label in labels),
        old=size[0][changed][order],
        new=size[1][changed][order],
        old_count=cells.count[0][order],
        new_count=cells.count[1][order],
        cause=cause[order],
        filters=tuple(where),
        left_out=Sums(*(b - a for a, b in zip(sides[0].left_out, sides[1].left_out, strict=True))) if filters else None,
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """What a diff needs of an analysis: the rows that have bytes and meet the filters, as columns.

    labels: of the levels asked for, and of symbols; each with the texts that those rows have
    hashes: of these texts, for each level asked for
    """

    image: ImageInfo
    size: Int
    instances: Int
    is_padding: Mask
    labels: dict[str, Label]
    hashes: dict[str, Hash]
    aliases: Aliases | None
    left_out: tuple[int, ...]


def _side(analysis: Analysis, levels: Sequence[str], filters: Sequence[Filter], metric: str) -> _Side:
    column: Int = getattr(analysis, metric)
    mask = matching_rows(analysis, filters)
    # What has no bytes cannot differ: without the symbols of the file's own symbol table half of the rows are left.
    rows = np.flatnonzero(column > 0 if mask is None else mask & (column > 0))
    kinds = analysis.label("kind")
    labels = {level: _in_use(analysis.label(level), rows) for level in {*levels, "symbol"}}
    return _Side(
        image=analysis.image,
        size=column[rows],
        instances=np.where(_is_of(kinds, _INSTANCES)[kinds.ids[rows]], analysis.count[rows], 0),
        is_padding=_is_of(kinds, _PADDING)[kinds.ids[rows]],
        labels=labels,
        hashes={level: _hashes(labels[level].texts, level) for level in levels},
        aliases=analysis.aliases(),
        left_out=() if mask is None else tuple(int(getattr(analysis, name)[~mask].sum()) for name in ("file", "load", "ram", "count")),
    )


def _is_of(kinds: Label, names: frozenset[bytes]) -> Mask:
    return np.array([kinds.texts.raw(i) in names for i in range(len(kinds.texts))] or [False], np.bool_)


def _in_use(label: Label, rows: Int) -> Label:
    """The label of some rows, with the texts that they have."""
    ids = label.ids[rows]
    occurs = np.zeros(len(label.texts), np.bool_)
    occurs[ids] = True
    number = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
    return Label(number[ids], label.texts.take(np.flatnonzero(occurs)))


@dataclass(frozen=True, slots=True)
class _Part:
    """The rows of a side that are in changed rows of the diff: rows of the side, and which row of the diff each is in."""

    side: _Side
    rows: Int
    at: Int


@dataclass(frozen=True, slots=True)
class _Matched:
    """A level in both images: equal values have equal ids, of each side's rows. hashes: of each id, ascending."""

    level: str
    ids: tuple[Ids, Ids]
    hashes: Hash


def _hashes(texts: Texts, level: str) -> Hash:
    return hash_keys(texts) if level == "symbol" else hash_texts(texts)


def _match(level: str, labels: Sequence[Label], hashes: Sequence[Hash], aliases: AliasKeys | None) -> _Matched:
    if level == "symbol" and aliases is not None:
        hashes = [aliases.apply(hashed) for hashed in hashes]
    known, number = np.unique(np.concatenate(hashes), return_inverse=True)
    number = number.astype(np.int32)
    split = len(hashes[0])
    return _Matched(level, (number[:split][labels[0].ids], number[split:][labels[1].ids]), known)


def _pack(matched: Sequence[_Matched]) -> tuple[tuple[Ids, Ids], int]:
    """The row of the diff that each row of a side falls in, and how many there are."""
    if len(matched) == 1:
        return matched[0].ids, len(matched[0].hashes)
    split = len(matched[0].ids[0])
    packed = np.concatenate(matched[0].ids).astype(np.int64)
    values = len(matched[0].hashes)
    for match in matched[1:]:
        packed *= len(match.hashes)
        packed += np.concatenate(match.ids)
        packed, values = compact(packed, values * len(match.hashes))
    return (packed[:split], packed[split:]), values


def _cells(parts: Sequence[_Part], aliases: AliasKeys | None, rows: int) -> Cells:
    """What the causes of the changed rows are found from."""
    count = [sum_by(part.side.instances[part.rows], part.at, rows) for part in parts]
    padding = [sum_by(np.where(part.side.is_padding[part.rows], part.side.size[part.rows], 0), part.at, rows) for part in parts]
    labels = [part.side.labels["symbol"] for part in parts]
    named = [np.flatnonzero(_is_name(label.texts)[label.ids[part.rows]]) for label, part in zip(labels, parts, strict=True)]
    used = [_in_use(label, part.rows[rows_]) for label, part, rows_ in zip(labels, parts, named, strict=True)]
    symbols = _match("symbol", used, [hash_keys(label.texts) for label in used], aliases)
    values = len(symbols.hashes)
    keys = np.concatenate([part.at[rows_] * values + ids for part, rows_, ids in zip(parts, named, symbols.ids, strict=True)])
    cell, cells = compact(keys, rows * values)
    first = np.zeros(cells, np.int64)
    first[cell] = np.arange(len(cell))
    split = len(named[0])
    return Cells(
        row=keys[first] // max(values, 1),
        symbol=keys[first] % max(values, 1),
        old=sum_by(parts[0].side.size[parts[0].rows[named[0]]], cell[:split], cells),
        new=sum_by(parts[1].side.size[parts[1].rows[named[1]]], cell[split:], cells),
        symbols=values,
        count=(count[0], count[1]),
        padding=(padding[0], padding[1]),
    )


def _is_name(texts: Texts) -> Mask:
    """Which texts are names of symbols. Others are empty, or say in parentheses what bytes are: those do not move."""
    filled = texts.end > texts.start
    filled[filled] = texts.buffer[texts.start[filled]] != ord("(")
    return filled


def _label(match: _Matched, parts: Sequence[_Part], rows: int, aliases: AliasKeys | None) -> Label:
    """The values of the changed rows, each text once."""
    ids = np.full(rows, -1, np.int64)
    source = np.zeros((2, len(match.hashes)), np.int64) - 1
    for i, part in enumerate(parts):
        ids[part.at] = match.ids[i][part.rows]
        source[i, match.ids[i][part.rows]] = part.side.labels[match.level].ids[part.rows]
    used, number = np.unique(ids, return_inverse=True)
    texts: list[bytes] = [b""] * len(used)
    for i, part in enumerate(parts):
        taken = np.flatnonzero(source[i, used] >= 0)
        found = part.side.labels[match.level].texts.take(source[i, used[taken]])
        for j, text in zip(taken.tolist(), keys_of(found) if match.level == "symbol" else map(found.raw, range(len(found))), strict=True):
            texts[j] = text
    if match.level == "symbol" and aliases is not None:
        aliases.rename(texts, match.hashes[used])
    return Label(number.astype(np.int32), Texts.of(texts))


def _order(labels: Sequence[Label], size: Int) -> npt.NDArray[np.intp]:
    """The largest first, equal ones by name, or if there are many by the names' hashes: that is how ids are ordered."""
    if len(size) > SORTED_BY_NAME:
        return np.lexsort((*(label.ids.astype(np.int64) for label in labels), -size))
    names = [[label.texts.raw(i) for i in label.ids.tolist()] for label in labels]
    by_name = np.array(sorted(range(len(size)), key=list(zip(*names, strict=True)).__getitem__), np.intp)
    return by_name[np.argsort(-size[by_name], kind="stable")]
