"""Sum the bytes of each owner, or of all owners with the same label, from the rows' places."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.sums import WHAT, Counts, SumsById, sum_by
from sizeguard.columns.texts import Int, Int32
from sizeguard.formats.elf import Elf
from sizeguard.ledger.elf.owner_table import Places
from sizeguard.ledger.elf.regions import Region, clipped

# Bits for the columns in which the bytes of a section count.
_BIT = {"file": 1, "load": 2, "ram": 4}

# A packed sum has bytes in its low bits, spans in its high bits.
_SPAN_BITS = 36
_SPAN = 1 << _SPAN_BITS
_MOST_SPANS = 1 << (62 - _SPAN_BITS)
_PIECE = 1 << 16  # rows that are summed at once


@dataclass(frozen=True)
class RowSums:
    """Sums over rows of sections, and over rows of bytes outside all sections.

    regions: of the file.
    """

    image: Elf
    places: Places
    regions: list[Region]
    rows: int

    def column(self, what: str, room: int = 0) -> Int:
        """Return all rows' values as a new array with `room` more entries, which are 0."""
        if what == "count":
            return self.counts(room).astype(np.int64)
        sums = np.zeros(self.rows + room, np.int64)
        if what == "file":
            self._add_file_bytes(sums)
        else:
            for index, (low, high) in self.places.rows_of.items():
                section = self.image.sections[index]
                if section.load_size if what == "load" else section.ram_size:
                    sums[low:high] = self.places.sizes(index)
        return sums

    def counts(self, room: int = 0) -> Counts:
        """Return the number of spans of all rows, followed by `room` zeros.

        64 bits for each of three million rows would be 28 MB of fresh memory, which take 40 ms.
        """
        some = np.ones(self.rows, np.int8)
        if self._is_clipped:
            counts = some.astype(np.int64)
            self._add_counts(counts)
            return np.append(counts, np.zeros(room, np.int64))
        return np.append(some, np.zeros(room, np.int8))

    def at(self, what: str, owners: Int) -> Int:
        """Return the values of some rows."""
        if self._is_clipped:
            return self.column(what)[owners]
        if what == "count":
            return np.ones(len(owners), np.int64)
        found = np.zeros(len(owners), np.int64)
        if what == "file":
            for region in self.regions:
                if region.row >= 0:
                    found[owners == region.row] += region.end - region.start
        runs = self._runs
        counts = np.array([bool(bits & _BIT[what]) for _, _, bits in runs], np.bool_)
        run = (
            np.searchsorted(np.array([low for low, _, _ in runs], np.int64), owners, side="right")
            - 1
        )
        here = np.flatnonzero((owners < len(self.places.start)) & (run >= 0))
        here = here[counts[run[here]]]
        rows = owners[here]
        size = (
            self.places.start[np.minimum(rows + 1, len(self.places.start) - 1)]
            - self.places.start[rows]
        )
        last, last_size = self._last
        if len(last):
            at = np.minimum(np.searchsorted(last, rows), len(last) - 1)
            size = np.where(last[at] == rows, last_size[at], size)
        found[here] = size
        return found

    def by(self, ids: Int | Int32, count: int) -> SumsById:
        """Sum rows with equal id, in one pass over all rows instead of seven.

        A row has the same size in the file and in memory, so the high bits of a sum can count
        spans.
        """
        is_small = len(self.places.start) < _MOST_SPANS and int(self.places.line.size.sum()) < _SPAN
        if self._is_clipped or not is_small:
            return SumsById(*(sum_by(self.column(what), ids, count) for what in WHAT))
        file, load, ram, spans = (np.zeros(count, np.int64) for _ in WHAT)
        for wanted in sorted({bits for _, _, bits in self._runs}):
            sums = np.zeros(count, np.int64)
            for low, high, bits in self._runs:
                # Pieces fit the cache.
                for a in range(low, high, _PIECE) if bits == wanted else ():
                    b = min(a + _PIECE, high)
                    np.add.at(sums, ids[a:b], self._sizes(a, b) + _SPAN)
            spans += sums >> _SPAN_BITS
            sums &= _SPAN - 1
            for what, column in (("file", file), ("load", load), ("ram", ram)):
                if wanted & _BIT[what]:
                    column += sums
        for region in self.regions:
            if region.row >= 0:
                file[ids[region.row]] += region.end - region.start
        np.add.at(spans, ids[len(self.places.start) :], 1)
        return SumsById(file, load, ram, spans)

    def _sizes(self, low: int, high: int) -> Int:
        """Return the sizes of the rows [low, high) of sections."""
        start = self.places.start
        size = np.empty(high - low, np.int64)
        inner = min(high, len(start) - 1)
        np.subtract(start[low + 1 : inner + 1], start[low:inner], out=size[: inner - low])
        last, last_size = self._last
        a, b = np.searchsorted(last, (low, high))
        size[last[a:b] - low] = last_size[a:b]
        return size

    @cached_property
    def _last(self) -> tuple[Int, Int]:
        """The last row of each section, ascending, and its size.

        It ends with its section, not at the next row.
        """
        line = self.places.line
        sections = sorted(
            (high - 1, index) for index, (low, high) in self.places.rows_of.items() if low < high
        )
        last, index = (np.array([pair[i] for pair in sections], np.int64) for i in range(2))
        return last, line.at[index] + line.size[index] - self.places.start[last]

    @cached_property
    def _runs(self) -> list[tuple[int, int, int]]:
        """Runs of rows [low, high) with the same bits of _BIT, in order."""
        in_file = {region.section for region in self.regions if region.row < 0}
        runs: list[tuple[int, int, int]] = []
        for index, (low, high) in sorted(self.places.rows_of.items(), key=lambda item: item[1]):
            section = self.image.sections[index]
            counts = {
                "file": index in in_file,
                "load": section.load_size > 0,
                "ram": section.ram_size > 0,
            }
            bits = sum(_BIT[what] for what, is_so in counts.items() if is_so)
            if runs and runs[-1][2] == bits:
                runs[-1] = (runs[-1][0], high, bits)
            elif low < high:
                runs.append((low, high, bits))
        return runs

    @cached_property
    def _is_clipped(self) -> bool:
        """Return whether sections overlap in the file, so that rows share bytes."""
        return any(
            r.row < 0 and r.end - r.start != self.image.sections[r.section].size
            for r in self.regions
        )

    def _add_file_bytes(self, sums: Int) -> None:
        """Add the bytes of the file to each row's sum."""
        for region in self.regions:
            if region.row >= 0:
                sums[region.row] += region.end - region.start
            elif region.end - region.start == self.image.sections[region.section].size:
                low, high = self.places.rows_of[region.section]
                sums[low:high] = self.places.sizes(region.section)
            else:
                offset = self.image.sections[region.section].offset
                rows = clipped(self.places, region, offset)
                sums[rows.owner] += rows.size

    def _add_counts(self, sums: Int) -> None:
        """Increase the counts of rows that have several spans in the file.

        Rows that are only in memory keep one span. So do NOBITS of objects and threads, which have
        no place in memory.
        """
        # Only rows of sections that contain other sections can have several spans.
        cut = [
            clipped(self.places, region, self.image.sections[region.section].offset).owner
            for region in self.regions
            if region.row < 0
            and region.end - region.start != self.image.sections[region.section].size
        ]
        if cut:
            more = np.bincount(np.concatenate(cut))
            sums[: len(more)] = np.maximum(more, sums[: len(more)])
