"""Prepare one image for a diff: sums by levels, and the symbols that own the bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.analysis import Aliases, Analysis
from sizeguard.attribution.filters import Filter, matching_rows
from sizeguard.attribution.owners.inline_pieces import span_counts
from sizeguard.columns.label import Label
from sizeguard.columns.pack import pack
from sizeguard.columns.sums import Counts, sum_by
from sizeguard.columns.text_hash import Hash, hash_texts
from sizeguard.columns.texts import Int, Int32, Texts
from sizeguard.diff.alias_keys import AliasNames, alias_names
from sizeguard.diff.holdings import HeldBytes, Holdings
from sizeguard.diff.symbol_keys import UsedNames
from sizeguard.ledger.ledger import ImageInfo

# Kinds of pieces that count as instances. Unwind tables, relocations and the like only describe
# them.
_INSTANCES = frozenset(
    (b"code", b"rodata", b"data", b"zero", b"string", b"vtable", b"typeinfo", b"initializer")
)
_PADDING = frozenset((b"padding", b"page slack", b"section gap"))

_BATCH = 1 << 16  # rows at a time

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Amounts:
    """Columns of bytes, instances, and bytes of padding."""

    size: Int
    instances: Int
    padding: Int

    def take(self, where: Int) -> Amounts:
        """Select entries."""
        return Amounts(self.size[where], self.instances[where], self.padding[where])

    def sums(self, row: Int32, rows: int) -> Amounts:
        """Sum by row; -1 marks entries outside all rows."""
        taken = np.flatnonzero(row >= 0)
        columns = (self.size, self.instances, self.padding)
        return Amounts(*(sum_by(column[taken], row[taken], rows) for column in columns))


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a level.

    ids: by group; texts: the texts in use; hashes: of the texts; names: None except for symbols
    """

    level: str
    ids: Int32
    texts: Texts
    hashes: Hash
    names: UsedNames | None = None

    def of_groups(self) -> Hash:
        """Return the hash of each group's value."""
        return self.hashes[self.ids]


@dataclass(frozen=True, slots=True)
class Side:
    """One image of a diff: a group for each combination of the levels' values that has bytes.

    amounts:  by group
    values:   for each level
    holdings: None if groups are symbols, which cannot move between groups
    aliases:  returns the names that share bytes
    left_out: file, load, ram and count of the rows that the filters left out; empty without filters
    is_met:   a row meets the filters
    """

    image: ImageInfo
    amounts: Amounts
    values: tuple[Values, ...]
    holdings: Holdings | None
    aliases: Callable[[], AliasNames | None]
    left_out: tuple[int, ...]
    is_met: bool


def side_of(
    analysis: Analysis, levels: Sequence[str], filters: Sequence[Filter], metric: str
) -> Side:
    """Sum an analysis by levels."""
    size: Int = getattr(analysis, metric)
    mask = matching_rows(analysis, filters)
    left_out: tuple[int, ...] = ()
    asked = frozenset((*levels, *(each.level for each in filters)))
    if mask is not None:
        size = np.where(mask, size, 0)
        columns = (analysis.file, analysis.load, analysis.ram, span_counts(analysis, asked))
        left_out = tuple(int(column[~mask].sum()) for column in columns)
    labels = [analysis.label(level) for level in levels]
    symbols, kinds = analysis.label("symbol"), analysis.label("kind")
    groups, ids = _groups(labels, size)
    held = HeldBytes(len(symbols.texts)) if tuple(levels) != ("symbol",) else None
    amounts = _amounts(kinds, span_counts(analysis, asked), size, groups, symbols.ids, held)
    used = np.flatnonzero(amounts.size)
    return Side(
        analysis.image,
        amounts.take(used),
        tuple(
            _values(level, label, of_groups[used])
            for level, label, of_groups in zip(levels, labels, ids, strict=True)
        ),
        None if held is None else held.holdings(symbols, used, groups.count),
        _alias_names(analysis.aliases()),
        left_out,
        mask is None or bool(mask.any()),
    )


@dataclass(frozen=True, slots=True)
class _Groups:
    """The group of each row, or only of some rows; there are `count` groups.

    Rows without bytes cannot differ, so they are skipped. Leaving out the symbols of the file's
    symbol table leaves two thirds of the rows.
    """

    of: npt.NDArray[np.signedinteger]
    count: int
    rows: Int | None = None

    def batches(self, size: Int) -> Iterator[tuple[Int | slice, npt.NDArray[np.signedinteger]]]:
        """Yield rows with bytes and their groups, in batches that fit the cache.

        size: bytes by row
        """
        for low in range(0, len(self.of), _BATCH):
            some = slice(low, min(low + _BATCH, len(self.of)))
            if self.rows is not None:
                yield self.rows[some], self.of[some]
                continue
            is_filled = size[some] != 0
            if is_filled.all():
                yield some, self.of[some]  # views, as in most batches
            elif len(filled := np.flatnonzero(is_filled)):
                yield filled + low, self.of[some][filled]


def _groups(labels: Sequence[Label], size: Int) -> tuple[_Groups, list[Int | Int32]]:
    """Group rows by their values; also return the values of each group, as ids of each label."""
    if len(labels) == 1:
        count = len(labels[0].texts)
        return _Groups(labels[0].ids, count), [np.arange(count)]
    rows = np.flatnonzero(size)
    columns = [label.ids[rows] for label in labels]
    group, first = pack(columns)
    return _Groups(group, len(first), rows), [column[first] for column in columns]


# More than 6 parameters: columns of the same rows.
def _amounts(
    kinds: Label,
    count: Counts,
    size: Int,
    groups: _Groups,
    symbol: Int32,
    held: HeldBytes | None,
) -> Amounts:
    """Sum the amounts of each group, and collect the bytes of symbols in `held`."""
    is_piece, is_padding = _is_of(kinds, _INSTANCES), _is_of(kinds, _PADDING)
    found = Amounts(*(np.zeros(groups.count, np.int64) for _ in range(3)))
    for rows, of in groups.batches(size):
        kind, bytes_ = kinds.ids[rows], size[rows]
        np.add.at(found.size, of, bytes_)
        pieces = np.flatnonzero(is_piece[kind])
        # With numbers of another type, add.at takes five times as long.
        np.add.at(found.instances, of[pieces], count[rows][pieces].astype(np.int64, copy=False))
        padding = np.flatnonzero(is_padding[kind])
        np.add.at(found.padding, of[padding], bytes_[padding])
        if held is not None:
            held.add(symbol[rows], of, bytes_)
    return found


def _is_of(kinds: Label, names: frozenset[bytes]) -> Mask:
    """Check which of the kinds are among the names."""
    return np.array(
        [kinds.texts.raw(i) in names for i in range(len(kinds.texts))] or [False], np.bool_
    )


def _alias_names(aliases: Aliases | None) -> Callable[[], AliasNames | None]:
    """Return a function that reads the names, since only some diffs need them."""
    if aliases is None:
        return lambda: None
    # Without the group of each row.
    short = replace(aliases, group=np.zeros(0, np.int32))
    return lambda: alias_names(short)


def _values(level: str, label: Label, ids: Int | Int32) -> Values:
    """Return the values in use."""
    number, used = _in_use(label, ids)
    texts = label.texts.take(used)
    if level == "symbol":
        names = UsedNames.of(label, used)
        return Values(level, number, texts, names.hashes, names)
    return Values(
        level, number, texts, hash_texts(texts) if label.hashes is None else label.hashes[used]
    )


def _in_use(label: Label, ids: Int | Int32) -> tuple[Int32, Int]:
    """Renumber ids by those that occur; also return the ids that occur."""
    occurs = np.zeros(len(label.texts), np.bool_)
    occurs[ids] = True
    number = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
    return number[ids], np.flatnonzero(occurs)
