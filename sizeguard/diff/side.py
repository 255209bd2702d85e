"""Prepare one image for a diff: sums by levels, and the symbols that own the bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.analysis import Aliases, Analysis
from sizeguard.attribution.filters import Filter, matching_rows
from sizeguard.attribution.owners.inline_pieces import span_counts
from sizeguard.base.dataclass import dataclass
from sizeguard.columns.compiled_code import compiled_beside
from sizeguard.columns.label import Label
from sizeguard.columns.pack import pack
from sizeguard.columns.sums import Counts, sum_by
from sizeguard.columns.text_hash import Hash, hash_texts
from sizeguard.columns.texts import Int, Int32, Texts
from sizeguard.diff.alias_keys import AliasNames, alias_names
from sizeguard.diff.holdings import Holdings, holdings
from sizeguard.diff.symbol_keys import UsedNames
from sizeguard.ledger.ledger import ImageInfo

_CODE = compiled_beside(__file__)

# Kinds of pieces that count as instances. Unwind tables, relocations and the like only describe
# them.
_INSTANCES = frozenset(
    (b"code", b"rodata", b"data", b"zero", b"string", b"vtable", b"typeinfo", b"initializer")
)
_PADDING = frozenset((b"padding", b"page slack", b"section gap"))

# Flags of a kind, see compiled/rows.c.
_IS_PIECE, _IS_PADDING = 1, 2

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
        columns = (self.size, self.instances, self.padding)
        return Amounts(*(sum_by(column, row, rows, has_none=True) for column in columns))


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
    size = np.ascontiguousarray(size, np.int64)
    group, groups, ids = _groups(labels, size)
    amounts = amounts_of(kinds, span_counts(analysis, asked), size, group, groups)
    used = np.flatnonzero(amounts.size)
    return Side(
        analysis.image,
        amounts.take(used),
        tuple(
            _values(level, label, of_groups[used])
            for level, label, of_groups in zip(levels, labels, ids, strict=True)
        ),
        None if tuple(levels) == ("symbol",) else holdings(symbols, group, size, used, groups),
        _alias_names(analysis.aliases()),
        left_out,
        mask is None or bool(mask.any()),
    )


def _groups(labels: Sequence[Label], size: Int) -> tuple[Int32, int, list[Int | Int32]]:
    """Group rows by their values.

    Returns each row's group, the number of groups, and the values of each group, as ids of each
    label. Rows without bytes cannot differ, so with several labels they are all in group 0. Leaving
    out the symbols of the file's symbol table leaves two thirds of the rows.
    """
    if len(labels) == 1:
        count = len(labels[0].texts)
        return labels[0].ids, count, [np.arange(count)]
    rows = np.flatnonzero(size)
    columns = [label.ids[rows] for label in labels]
    packed, first = pack(columns)
    group = np.zeros(len(size), np.int32)
    group[rows] = packed
    return group, len(first), [column[first] for column in columns]


def amounts_of(kinds: Label, count: Counts, size: Int, group: Int32, groups: int) -> Amounts:
    """Sum the amounts of each group."""
    flags = np.zeros(len(kinds.texts), np.uint8)
    flags[_is_of(kinds, _INSTANCES)] |= _IS_PIECE
    flags[_is_of(kinds, _PADDING)] |= _IS_PADDING
    count = np.ascontiguousarray(count, np.int8 if count.dtype == np.int8 else np.int64)
    is_wide = int(count.dtype == np.int64)
    rows = [np.ascontiguousarray(ids, np.int32) for ids in (group, kinds.ids)]
    sums = np.zeros((3, groups), np.int64)
    done = _CODE.call(
        "sum_rows",
        len(size),
        rows[0],
        groups,
        size,
        rows[1],
        flags,
        len(flags),
        count,
        is_wide,
        sums,
    )
    if done < 0:
        raise IndexError(f"row {-1 - done} has no group or kind")
    return Amounts(*sums)


def _is_of(kinds: Label, names: frozenset[bytes]) -> Mask:
    """Check which of the kinds are among the names."""
    return np.array([kinds.texts.raw(i) in names for i in range(len(kinds.texts))], np.bool_)


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
