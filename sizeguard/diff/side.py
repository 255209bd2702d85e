"""Prepare one image for a diff: sums by levels, and the symbols that own the bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.filters import Filter, matching_rows
from sizeguard.attribution.group import sum_by
from sizeguard.attribution.owners.inline_pieces import span_counts
from sizeguard.base.parallel import beside
from sizeguard.columns.label import Label
from sizeguard.columns.pack import pack
from sizeguard.columns.text_hash import Hash, hash_texts
from sizeguard.columns.texts import Int, Int32, Texts
from sizeguard.diff.alias_keys import AliasNames, alias_names
from sizeguard.diff.stable_names import hash_keys
from sizeguard.ledger.ledger import ImageInfo

# Kinds of pieces that count as instances. Unwind tables, relocations and the like only describe
# them.
_INSTANCES = frozenset(
    (b"code", b"rodata", b"data", b"zero", b"string", b"vtable", b"typeinfo", b"initializer")
)
_PADDING = frozenset((b"padding", b"page slack", b"section gap"))

_BATCH = 1 << 18  # rows at a time

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

    ids: by group; texts: the texts in use; hashes: of the texts, or for symbols of their keys.
    """

    level: str
    ids: Int32
    texts: Texts
    hashes: Hash

    def of_groups(self) -> Hash:
        """Return the hash of each group's value."""
        return self.hashes[self.ids]


@dataclass(frozen=True, slots=True)
class Holdings:
    """Bytes of each symbol in each group, as columns; a pair may occur twice.

    symbol: an index into keys, the hashes of symbols' keys.
    """

    symbol: Int32
    group: Int32
    size: npt.NDArray[np.unsignedinteger]
    keys: Hash


@dataclass(frozen=True, slots=True)
class Side:
    """One image of a diff: a group for each combination of the levels' values that has bytes.

    amounts:  by group
    values:   for each level
    holdings: None if groups are symbols, which cannot move between groups
    left_out: file, load, ram and count of the rows that the filters left out; empty without filters
    """

    image: ImageInfo
    amounts: Amounts
    values: tuple[Values, ...]
    holdings: Holdings | None
    aliases: AliasNames | None
    left_out: tuple[int, ...]


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
    keys = beside(lambda: hash_keys(symbols.texts, symbols.hashes))
    if tuple(levels) == ("symbol",):
        # Group by the ids themselves, since only the sums of three million rows are needed.
        counts = span_counts(analysis, asked)
        amounts = _amounts(kinds, counts, size, symbols.ids, len(symbols.texts))
        used = np.flatnonzero(amounts.size)
        amounts = amounts.take(used)
        values: tuple[Values, ...] = (_values("symbol", symbols, used, keys),)
        holdings = None
    else:
        # Rows without bytes cannot differ. Leaving out the symbols of the file's symbol table
        # leaves two thirds of the rows.
        rows = np.flatnonzero(size)
        of_rows = [
            _values(level, label, label.ids[rows], keys)
            for level, label in zip(levels, labels, strict=True)
        ]
        group, first = pack([each.ids for each in of_rows])
        counts = span_counts(analysis, asked)
        amounts = _amounts(kinds, counts, size, group, len(first), rows)
        values = tuple(replace(values, ids=values.ids[first]) for values in of_rows)
        holdings = _holdings(symbols, symbols.ids[rows], group, size[rows], keys)
    return Side(
        analysis.image, amounts, values, holdings, alias_names(analysis.aliases()), left_out
    )


def _amounts(
    kinds: Label,
    count: Int,
    size: Int,
    group: npt.NDArray[np.signedinteger],
    groups: int,
    rows: Int | None = None,
) -> Amounts:
    """Sum the amounts of each group.

    group: of all rows, or of `rows`; other rows have no bytes. Works in batches, since a column of
    seven million rows takes 50 MB.
    """
    is_piece, is_padding = _is_of(kinds, _INSTANCES), _is_of(kinds, _PADDING)
    found = Amounts(*(np.zeros(groups, np.int64) for _ in range(3)))
    for low in range(0, len(group), _BATCH):
        some = slice(low, low + _BATCH)
        where = some if rows is None else rows[some]
        kind, held, of = kinds.ids[where], size[where], group[some]
        np.add.at(found.size, of, held)
        pieces = np.flatnonzero(is_piece[kind] & (held > 0))
        counted = low + pieces if rows is None else rows[low + pieces]
        np.add.at(found.instances, of[pieces], count[counted])
        padding = np.flatnonzero(is_padding[kind])
        np.add.at(found.padding, of[padding], held[padding])
    return found


def _is_of(kinds: Label, names: frozenset[bytes]) -> Mask:
    """Check which of the kinds are among the names."""
    return np.array(
        [kinds.texts.raw(i) in names for i in range(len(kinds.texts))] or [False], np.bool_
    )


def _values(level: str, label: Label, ids: Int | Int32, keys: Callable[[], Hash]) -> Values:
    """Return the values in use; keys: a function that returns the hashes of all symbols' keys."""
    number, used = _in_use(label, ids)
    texts = label.texts.take(used)
    if level == "symbol":
        return Values(level, number, texts, keys()[used])
    return Values(
        level, number, texts, hash_texts(texts) if label.hashes is None else label.hashes[used]
    )


def _in_use(label: Label, ids: Int | Int32) -> tuple[Int32, Int]:
    """Renumber ids by those that occur; also return the ids that occur."""
    occurs = np.zeros(len(label.texts), np.bool_)
    occurs[ids] = True
    number = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
    return number[ids], np.flatnonzero(occurs)


def _holdings(
    symbols: Label,
    ids: Int32,
    group: npt.NDArray[np.signedinteger],
    size: Int,
    keys: Callable[[], Hash],
) -> Holdings:
    """Return the bytes of each symbol in each group.

    Rows without a symbol's name are left out: they are empty or describe bytes in parentheses,
    which do not move.
    """
    is_name = np.concatenate([_are_names(table) for table in symbols.texts.tables()])
    named = np.flatnonzero(is_name[ids])
    number, used = _in_use(symbols, ids[named])
    size = size[named]
    # As narrow as possible: the 6,573,426 of libtensorflow_cc.so.2 stay in memory while the other
    # image is read.
    narrow = size.astype(np.min_scalar_type(int(size.max(initial=0))))
    return Holdings(number, group[named].astype(np.int32, copy=False), narrow, keys()[used])


def _are_names(texts: Texts) -> Mask:
    """Check which texts are names of symbols: not empty, and not in parentheses."""
    is_name = texts.end > texts.start
    is_name[is_name] = texts.buffer[texts.start[is_name]] != ord("(")
    return is_name
