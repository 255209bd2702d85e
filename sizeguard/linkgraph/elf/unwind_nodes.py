"""Nodes and edges of the unwind tables of a link: headers (CIE) and entries (FDE)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.columns.texts import Int
from sizeguard.formats.elf import SHF_EXECINSTR, SHF_GROUP, SHF_LINK_ORDER, Elf
from sizeguard.linkgraph.edge_lists import EdgeLists
from sizeguard.linkgraph.elf.eh_frame import Record, read_records, trimmed_size
from sizeguard.linkgraph.elf.linker_rules import LinkerRules
from sizeguard.linkgraph.elf.object_columns import RelocationColumns, Sections
from sizeguard.linkgraph.graph import CIE, FDE, UNWIND
from sizeguard.linkgraph.inputs.loaded import Loaded


@dataclass(slots=True, eq=False)
class UnwindNodes:
    """Adds the records of unwind tables to a graph.

    lists:    edges of the graph
    taken:    bytes of each section that are nodes of their own
    new_node: adds a node of a kind, section, offset, size, alignment and name
    """

    loaded: Loaded
    sections: Sections
    relocations: RelocationColumns
    rules: LinkerRules
    lists: EdgeLists
    taken: npt.NDArray[np.int64]
    new_node: Callable[[int, int, int, int, int, str], int]
    _kept: list[int] = field(default_factory=list)

    def add(self, unwind: npt.NDArray[np.bool_], target: Int) -> list[int]:
        """Add a node for each record of the unwind tables.

        An entry is kept with its function; the linker's rules decide what the entry keeps. Returns
        the sections that the tables keep in any case.

        unwind: whether a section is such a table; target: the node of each relocation
        """
        rows = np.flatnonzero(unwind).tolist()
        # A section of one word only ends the table.
        last = max((row for row in rows if self.sections.size[row] > 4), default=-1)
        for row in rows:
            self._add_table(row, row == last, target)
        return self._kept

    def _add_table(self, row: int, is_last_table: bool, target: Int) -> None:
        r = self.relocations
        low, high = np.searchsorted(r.section, [row, row + 1])
        order = low + np.argsort(r.offset[low:high], kind="stable")
        offsets = r.offset[order]
        found = self.loaded.objects[int(self.sections.object[row])]
        content = found.elf.content(found.elf.sections[int(self.sections.index[row])])
        records = read_records(content, found.label)
        self.taken[row] += sum(record.end - record.start for record in records)
        headers: dict[int, int] = {}
        for record in records:
            first, end = np.searchsorted(offsets, [record.start, record.end])
            named = order[first:end]
            if record.cie < 0:
                size = record.end - record.start
                node = self.new_node(CIE, row, record.start, size, 1, "")
                headers[record.start] = node
                self._add_header_edges(node, named, target)
                continue
            if record.cie not in headers:
                raise InputError(
                    f"{found.label}: a damaged .eh_frame: the entry at {record.start} has no header"
                )
            is_last = is_last_table and record == records[-1]
            size = self._stored_size(found.elf, content, record, offsets[first:end], is_last)
            node = self.new_node(FDE, row, record.start, size, 1, "")
            self.lists.add(node, headers[record.cie], UNWIND)
            self._add_entry_edges(node, named, target)

    def _stored_size(
        self, elf: Elf, content: bytes, record: Record, offsets: Int, is_last: bool
    ) -> int:
        """Return the bytes that the linker stores for an entry.

        offsets: of its relocations
        is_last: of all entries of the link
        """
        if is_last and self.rules.unwind_entries == "trimmed":
            return trimmed_size(content, record, offsets.tolist())
        size = record.end - record.start
        if self.rules.unwind_entries == "filled":
            size += -size % elf.layout.word_size
        return size

    def _add_header_edges(self, node: int, named: Int, target: Int) -> None:
        """Add the personality routine that a header (CIE) keeps. `named`: its relocations."""
        if self.rules.personality == "always":
            self._kept += [t for t in target[named].tolist() if t >= 0]
        if self.rules.personality != "never":
            self._add_edges(node, named, target)

    def _add_entry_edges(self, node: int, named: Int, target: Int) -> None:
        """Add the function that keeps an FDE, and the exception tables that the FDE keeps."""
        if not len(named):
            return
        self.lists.add(int(target[named[0]]), node, UNWIND)
        tables = named[1:]
        self._add_edges(node, tables, target)
        if self.rules.lsda == "always":
            self._kept.extend(t for t in target[tables].tolist() if t >= 0 and self._is_loose(t))

    def _add_edges(self, node: int, named: Int, target: Int) -> None:
        r = self.relocations
        self.lists.add(node, target[named], UNWIND, r.offset[named], r.symbol[named], r.type[named])

    def _is_loose(self, row: int) -> bool:
        """Return whether a section is not code, in no group, and not ordered by another section."""
        flags = int(self.sections.flags[row])
        return not flags & (SHF_EXECINSTR | SHF_LINK_ORDER | SHF_GROUP)
