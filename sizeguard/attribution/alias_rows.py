"""Rows of bytes that have several names: a report shows them as one row with any of the names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.analysis import Aliases, Analysis
from sizeguard.columns.label import Label
from sizeguard.columns.sort import sorted_hashes
from sizeguard.columns.text_hash import hash_texts
from sizeguard.columns.texts import Int, Texts

Mask = npt.NDArray[np.bool_]
Hashes = npt.NDArray[np.uint64]


@runtime_checkable
class MergesNames(Protocol):
    """An analysis that can merge the rows of bytes with several names before it makes them."""

    names_are_merged: bool

    def with_merged_names(self) -> Analysis:
        """Return an analysis with one row for these bytes, or the analysis itself."""


def symbols_as_one(analysis: Analysis) -> Label:
    """Label rows with their symbol; all rows of a group of aliases get the same one of its names.

    The label is the name with the smallest hash, so that a snapshot gives the same rows as its
    binary.
    """
    label = analysis.label("symbol")
    if isinstance(analysis, MergesNames) and analysis.names_are_merged:
        return label
    aliases = analysis.aliases()
    if aliases is None:
        return label
    rows = np.flatnonzero(aliases.group >= 0)
    group, ids = aliases.group[rows], label.ids[rows]
    hashes = _hashes(label, ids)
    # By table: sorting the 230,000 such rows of libtorch_cpu.so takes twice as long.
    smallest = np.full(len(aliases.first), ~np.uint64(0), np.uint64)
    np.minimum.at(smallest, group, hashes)
    named = np.flatnonzero(hashes == smallest[group])
    name = np.zeros(len(aliases.first), np.int32)
    name[group[named]] = ids[named]
    merged = label.ids.copy()
    merged[rows] = name[group]
    return Label(merged, label.texts, label.hashes, label.order)


def _hashes(label: Label, ids: npt.NDArray[np.int32]) -> Hashes:
    if label.hashes is not None:
        found: Hashes = label.hashes[ids]
        return found
    used, places = np.unique(ids, return_inverse=True)
    of_used: Hashes = hash_texts(label.texts.take(used))
    return of_used[places]


def with_their_aliases(analysis: Analysis, mask: Mask) -> Mask:
    """Extend a mask over rows to all rows of the groups that it meets."""
    aliases = analysis.aliases()
    if aliases is None:
        return mask
    # the last entry is for -1, rows without a group
    is_met = np.zeros(len(aliases.first) + 1, np.bool_)
    is_met[aliases.group[mask]] = True
    is_met[-1] = False
    found: Mask = mask | is_met[aliases.group]
    return found


class SymbolAliases:
    """All names of a symbol's bytes, found by any of them."""

    def __init__(self, aliases: Aliases) -> None:
        """Keep the groups."""
        self._aliases = aliases

    @cached_property
    def _sorted(self) -> tuple[Hashes, Int]:
        """The sorted hashes of all names, and the index of the name of each."""
        known = self._aliases.hashes
        hashes = hash_texts(self._aliases.names) if known is None else known
        order, ordered = sorted_hashes(hashes)
        return ordered, order

    def of_rows(self, label: Label) -> Iterator[tuple[str, ...]]:
        """Yield the other names of each row's symbol; few of half a million have some."""
        used, places = np.unique(label.ids, return_inverse=True)
        low, high = (found[places].tolist() for found in self._places(label.texts.take(used)))
        for i, start, end in zip(label.ids.tolist(), low, high, strict=True):
            yield self._named(label.texts[i], start, end) if start < end else ()

    def _places(self, names: Texts) -> tuple[Int, Int]:
        """Return the range [low, high) of each name's entries in `_sorted`."""
        hashes, wanted = self._sorted[0], hash_texts(names)
        return np.searchsorted(hashes, wanted), np.searchsorted(hashes, wanted, side="right")

    def _named(self, name: str, low: int, high: int) -> tuple[str, ...]:
        """Return the sorted names of the alias groups of entries [low, high), except `name`."""
        found: set[str] = set()
        names, first = self._aliases.names, self._aliases.first
        entries = self._sorted[1][low:high]
        for group in (np.searchsorted(first, entries, side="right") - 1).tolist():
            found.update(names[i] for i in range(int(first[group]), int(first[group + 1])))
        return tuple(sorted(found - {name}))
