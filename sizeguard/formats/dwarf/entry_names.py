"""Read the names of entries: linkage names, and names in the source."""

from __future__ import annotations

import numpy as np

from sizeguard.columns.distinct import distinct, without
from sizeguard.columns.texts import Int
from sizeguard.formats.dwarf.debug_info import Info

# A concrete function refers to its abstract one, which refers to its declaration in a class.
LONGEST = 16

# A row of what C code reads: section and place of the linkage name and of the source name, and the
# entry that the entry refers to.
_COLUMNS = 7
_LINKAGE, _SOURCE, _ORIGIN = slice(0, 3), slice(3, 6), 6
NONE = -1


class EntryNames:
    """Names of some entries, each read once with the entries that it refers to in turn.

    A name is empty if dwz moved it to a file that several packages share.
    """

    def __init__(self, info: Info, places: Int) -> None:
        """Read the names of the entries at `places`. Raises DwarfError for damaged ones."""
        self._info = info
        place, rows = _closed(info, places)
        order = np.argsort(place, kind="stable")
        self._place, rows = place[order], rows[order]
        self._linkage, self._source = rows[:, _LINKAGE], rows[:, _SOURCE]
        self._has_linkage, self._has_source = (
            texts[:, 2] > texts[:, 1] for texts in (self._linkage, self._source)
        )
        origin = rows[:, _ORIGIN]
        at = np.searchsorted(self._place, origin)
        is_known = at < len(self._place)
        is_known[is_known] = self._place[at[is_known]] == origin[is_known]
        self._origin = np.where(is_known, at, NONE)

    def of(self, places: Int) -> list[bytes]:
        """Return the names of functions: a linkage name, else the name in the source."""
        rows = self._at(places)
        first = self._first(rows, self._has_linkage)
        texts = self._texts(self._linkage, first)
        missing = np.flatnonzero(first == NONE)
        plain = self._texts(self._source, self._first(rows[missing], self._has_source))
        for i, text in zip(missing.tolist(), plain, strict=True):
            texts[i] = text
        return texts

    def linkages(self, places: Int) -> list[bytes]:
        """Return the entries' own linkage names; empty if they have none."""
        return self._texts(self._linkage, self._at(places))

    def sources(self, places: Int) -> list[bytes]:
        """Return the source names of entries, or of those they refer to; empty without one."""
        return self._texts(self._source, self._first(self._at(places), self._has_source))

    def functions(self, places: Int) -> list[tuple[bytes, bytes, int]]:
        """Return the linkage name and the source name of functions, and the entry of the latter.

        The linkage name is empty if there is none; the entry is NONE without a source name.
        """
        rows = self._at(places)
        linkage = self._first(rows, self._has_linkage)
        source = self._first(rows, self._has_source)
        entries = np.where(source == NONE, NONE, self._place[source])
        return list(
            zip(
                self._texts(self._linkage, linkage),
                self._texts(self._source, source),
                entries.tolist(),
                strict=True,
            )
        )

    def first_of(self, places: Int, known: Int) -> Int:
        """Return which of the known places, ascending, an entry is or first refers to, or NONE."""
        if not len(known):
            return np.full(len(places), NONE, np.int64)
        at = np.minimum(np.searchsorted(known, self._place), len(known) - 1)
        found = self._first(self._at(places), known[at] == self._place)
        return np.where(found == NONE, NONE, at[found])

    def _at(self, places: Int) -> Int:
        return np.searchsorted(self._place, places)

    def _first(self, rows: Int, has: np.typing.NDArray[np.bool_]) -> Int:
        """Return the first row for which `has` is true, of a row and those it refers to."""
        rows = rows.copy()
        open_ = np.flatnonzero(~has[rows])
        for _ in range(LONGEST - 1):
            rows[open_] = self._origin[rows[open_]]
            open_ = open_[rows[open_] != NONE]
            open_ = open_[~has[rows[open_]]]
            if not len(open_):
                break
        rows[open_] = NONE
        return rows

    def _texts(self, column: Int, rows: Int) -> list[bytes]:
        """Return the texts of rows; empty for NONE."""
        found = np.where((rows == NONE)[:, None], 0, column[rows])
        key = found[:, 0] << 60 | found[:, 1]
        keys = distinct(key)
        first = np.empty(len(keys), np.int64)
        where = np.searchsorted(keys, key)
        first[where] = np.arange(len(key))
        text = self._info.text
        texts = [text(*row) for row in found[first].tolist()]
        return [texts[i] for i in where.tolist()]


def _closed(info: Info, places: Int) -> tuple[Int, Int]:
    """Return entries and those that they refer to in turn, with their rows."""
    place = new = distinct(np.asarray(places, np.int64))
    rows = _read(info, new)
    for _ in range(LONGEST - 1):
        origins = rows[-len(new) :, _ORIGIN] if len(new) else new
        new = without(origins[origins != NONE], place)
        if not len(new):
            break
        place = np.concatenate([place, new])
        rows = np.concatenate([rows, _read(info, new)])
    return place, rows


def _read(info: Info, places: Int) -> Int:
    rows = np.zeros((len(places), _COLUMNS), np.int64)
    info.call("entry_names", places, len(places), rows)
    return rows
