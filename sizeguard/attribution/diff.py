"""Turns two analyses into what changed between them: rows by the levels that are asked for, each with its cause.

Names are matched by 64-bit hashes of what stays of them from build to build (see symbol_keys), names of the same bytes as one
(see alias_keys). diff(x, x) has no rows; diff(b, a) has the rows of diff(a, b), negated, with mirrored causes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.alias_keys import AliasKeys, alias_keys
from sizeguard.attribution.analysis import Analysis, Label
from sizeguard.attribution.diff_causes import Cells, causes
from sizeguard.attribution.diff_result import METRICS, Diff
from sizeguard.attribution.filters import matching_rows, parse_filters
from sizeguard.attribution.group import SORTED_BY_NAME, check_levels, compact, sum_by
from sizeguard.attribution.result import Sums
from sizeguard.attribution.symbol_keys import hash_keys, keys_of
from sizeguard.errors import InputError
from sizeguard.formats.text_hash import Hash, hash_texts
from sizeguard.formats.texts import Int, Texts

# Kinds of pieces that one counts as instances; unwind tables, relocations and the like are tables about them.
_INSTANCES = frozenset((b"code", b"rodata", b"data", b"zero", b"string", b"vtable", b"typeinfo", b"initializer"))
_PADDING = frozenset((b"padding", b"page slack", b"section gap"))

Ids = npt.NDArray[np.int64]


def diff(old: Analysis, new: Analysis, by: Sequence[str], where: Sequence[str] = (), metric: str = "load") -> Diff:
    """What changed from old to new. Raises InputError for unknown levels, filters and metrics."""
    levels = check_levels(by)
    if metric not in METRICS:
        raise InputError(f"unknown size {metric}; there are {', '.join(METRICS)}")
    filters = parse_filters(where)
    masks = [matching_rows(side, filters) for side in (old, new)]
    sides = [_Side(side, mask, metric) for side, mask in zip((old, new), masks, strict=True)]
    aliases = alias_keys([old.aliases(), new.aliases()])
    matched = [_match(sides, level, aliases) for level in levels]
    row, rows = _pack(matched)
    size = [sum_by(side.size, ids, rows) for side, ids in zip(sides, row, strict=True)]
    changed = np.flatnonzero(size[0] != size[1])
    place = np.full(rows, -1, np.int64)
    place[changed] = np.arange(len(changed))
    cells = _cells(sides, [place[ids] for ids in row], aliases, len(changed))
    cause = causes(size[0][changed], size[1][changed], cells)
    labels = [_label(match, sides, row, place, len(changed), aliases) for match in matched]
    order = _order(labels, np.abs(size[1] - size[0])[changed])
    return Diff(
        old_image=old.image,
        new_image=new.image,
        by=levels,
        metric=metric,
        labels=tuple(Label(label.ids[order], label.texts) for label in labels),
        old=size[0][changed][order],
        new=size[1][changed][order],
        old_count=cells.count[0][order],
        new_count=cells.count[1][order],
        cause=cause[order],
        filters=tuple(where),
        left_out=_left_out(old, new, masks) if filters else None,
    )


class _Side:
    """The rows of one analysis that take part, by their numbers."""

    def __init__(self, analysis: Analysis, mask: npt.NDArray[np.bool_] | None, metric: str) -> None:
        column: Int = getattr(analysis, metric)
        # What has no bytes cannot differ: without the symbols of the file's own symbol table half of the rows are left.
        taken = column > 0 if mask is None else mask & (column > 0)
        self.analysis = analysis
        self.rows: Int = np.flatnonzero(taken)
        self.size: Int = column[self.rows]

    def kinds(self, names: frozenset[bytes], rows: Int) -> npt.NDArray[np.bool_]:
        label = self.analysis.label("kind")
        wanted = np.array([label.texts.raw(i) in names for i in range(len(label.texts))], np.bool_)
        return wanted[label.ids[rows]]


@dataclass(frozen=True, slots=True)
class _Matched:
    """A level in both images: equal values have equal ids below `values`, of each side's rows. hashes: of each id, ascending."""

    level: str
    ids: tuple[Ids, Ids]
    hashes: Hash


def _match(sides: Sequence[_Side], level: str, aliases: AliasKeys | None, rows: Sequence[Int] | None = None) -> _Matched:
    """rows: of the analyses; those that take part if left out."""
    found = [_hashes(side.analysis.label(level), side.rows if rows is None else rows[i], level) for i, side in enumerate(sides)]
    hashes = [hashed for _, hashed in found]
    if level == "symbol" and aliases is not None:
        hashes = [aliases.apply(hashed) for hashed in hashes]
    known, number = np.unique(np.concatenate(hashes), return_inverse=True)
    split = len(hashes[0])
    return _Matched(level, (number[:split][found[0][0]], number[split:][found[1][0]]), known)


def _hashes(label: Label, rows: Int, level: str) -> tuple[Ids, Hash]:
    """For each row the number of a text, for each number its hash; only texts in use are hashed."""
    ids = label.ids[rows]
    used = np.flatnonzero(np.bincount(ids, minlength=len(label.texts)))
    number = np.zeros(len(label.texts), np.int64)
    number[used] = np.arange(len(used))
    texts = label.texts.take(used)
    return number[ids], hash_keys(texts) if level == "symbol" else hash_texts(texts)


def _pack(matched: Sequence[_Matched]) -> tuple[tuple[Ids, Ids], int]:
    """The row of the diff that each row of a side falls in, and how many there are."""
    split = len(matched[0].ids[0])
    packed = np.concatenate(matched[0].ids)
    values = len(matched[0].hashes)
    for match in matched[1:]:
        packed, values = compact(packed * len(match.hashes) + np.concatenate(match.ids), values * len(match.hashes))
    return (packed[:split], packed[split:]), values


def _cells(sides: Sequence[_Side], place: Sequence[Ids], aliases: AliasKeys | None, rows: int) -> Cells:
    """What the causes of the changed rows are found from; place: the changed row of each row of a side, or -1."""
    taken = [np.flatnonzero(at >= 0) for at in place]
    at = [ids[where] for ids, where in zip(place, taken, strict=True)]
    analysis_rows = [side.rows[where] for side, where in zip(sides, taken, strict=True)]
    size = [side.size[where] for side, where in zip(sides, taken, strict=True)]
    count, padding = [], []
    for i, side in enumerate(sides):
        instances = np.where(side.kinds(_INSTANCES, analysis_rows[i]), side.analysis.count[analysis_rows[i]], 0)
        count.append(sum_by(instances, at[i], rows))
        padding.append(sum_by(np.where(side.kinds(_PADDING, analysis_rows[i]), size[i], 0), at[i], rows))
    named = [_is_named(side.analysis.label("symbol"), part) for side, part in zip(sides, analysis_rows, strict=True)]
    symbols = _match(sides, "symbol", aliases, [part[mask] for part, mask in zip(analysis_rows, named, strict=True)])
    values = len(symbols.hashes)
    keys = np.concatenate([at[i][named[i]] * values + symbols.ids[i] for i in (0, 1)])
    cell, cells = compact(keys, rows * values)
    first = np.zeros(cells, np.int64)
    first[cell] = np.arange(len(cell))
    split = int(named[0].sum())
    return Cells(
        row=keys[first] // values if values else keys[first],
        symbol=keys[first] % values if values else keys[first],
        old=sum_by(size[0][named[0]], cell[:split], cells),
        new=sum_by(size[1][named[1]], cell[split:], cells),
        symbols=values,
        count=(count[0], count[1]),
        padding=(padding[0], padding[1]),
    )


def _is_named(label: Label, rows: Int) -> npt.NDArray[np.bool_]:
    """Rows that are of a symbol. Others have no text, or one in parentheses that says what they are: those do not move."""
    filled = label.texts.end > label.texts.start
    filled[filled] = label.texts.buffer[label.texts.start[filled]] != ord("(")
    return filled[label.ids[rows]]


def _label(match: _Matched, sides: Sequence[_Side], row: Sequence[Ids], place: Ids, rows: int, aliases: AliasKeys | None) -> Label:
    """The values of the changed rows, each text once."""
    ids = np.full(rows, -1, np.int64)
    source = np.zeros((2, len(match.hashes)), np.int64) - 1
    for i in (0, 1):
        at = place[row[i]]
        taken = np.flatnonzero(at >= 0)
        ids[at[taken]] = match.ids[i][taken]
        source[i, match.ids[i][taken]] = sides[i].rows[taken]
    used, number = np.unique(ids, return_inverse=True)
    texts: list[bytes] = [b""] * len(used)
    for i, side in enumerate(sides):
        taken = np.flatnonzero(source[i, used] >= 0)
        label = side.analysis.label(match.level)
        found = label.texts.take(label.ids[source[i, used[taken]]])
        for j, text in zip(taken.tolist(), keys_of(found) if match.level == "symbol" else map(found.raw, range(len(found))), strict=True):
            texts[j] = text
    if match.level == "symbol" and aliases is not None:
        texts = [aliases.names.get(hashed, text) for hashed, text in zip(match.hashes[used].tolist(), texts, strict=True)]
    return Label(number.astype(np.int32), Texts.of(texts))


def _order(labels: Sequence[Label], size: Int) -> npt.NDArray[np.intp]:
    """The largest first, equal ones by name, or if there are many by the names' hashes: that is how ids are ordered."""
    if len(size) > SORTED_BY_NAME:
        return np.lexsort((*(label.ids.astype(np.int64) for label in labels), -size))
    names = [[label.texts.raw(i) for i in label.ids.tolist()] for label in labels]
    by_name = np.array(sorted(range(len(size)), key=list(zip(*names, strict=True)).__getitem__), np.intp)
    return by_name[np.argsort(-size[by_name], kind="stable")]


def _left_out(old: Analysis, new: Analysis, masks: Sequence[npt.NDArray[np.bool_] | None]) -> Sums:
    def sums(side: Analysis, mask: npt.NDArray[np.bool_] | None) -> list[int]:
        columns = (side.file, side.load, side.ram, side.count)
        return [int(column.sum() if mask is None else column[~mask].sum()) for column in columns]

    before, after = sums(old, masks[0]), sums(new, masks[1])
    return Sums(*(b - a for a, b in zip(before, after, strict=True)))
