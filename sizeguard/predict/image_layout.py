"""Compute the section sizes of an image that keeps only a part of a section graph.

The linker's layout is modelled: order and alignment of input sections, merged strings, PLT, GOT and
dynamic tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.distinct import distinct
from sizeguard.columns.pack import pack
from sizeguard.columns.texts import Int
from sizeguard.linkgraph.address_slots import address_slots
from sizeguard.linkgraph.costs import (
    ABSOLUTE,
    CALLS,
    HEADER_ENTRY,
    PLT_SIZE,
    RELOCATION_SIZE,
    SLOT_SIZE,
)
from sizeguard.linkgraph.graph import ENTRY, FDE, IMPORT, SectionGraph
from sizeguard.predict.merged_pieces import MergedPieces

Bool = npt.NDArray[np.bool_]

# An input section belongs to the first of these output sections whose name is a prefix of its own.
_OUTPUTS = (
    ".text",
    ".rodata",
    ".data.rel.ro",
    ".data",
    ".bss",
    ".init_array",
    ".fini_array",
    ".preinit_array",
    ".tdata",
    ".tbss",
    ".gcc_except_table",
    ".eh_frame",
    ".init",
    ".fini",
    ".ctors",
    ".dtors",
)
# These input sections come first in .text, in this order.
_FIRST = (".text.unlikely", ".text.exit", ".text.startup", ".text.hot")
# Bytes of an entry: .dynsym, .gnu.version, .gnu.version_r (library, version), .dynamic.
SYMBOL, VERSION, NEED, AUXILIARY, DYNAMIC = 24, 2, 16, 16, 16


def output_of(name: str) -> str:
    """Return the output section of an input section: .text for .text.unlikely._Z1fv.

    A name without a matching rule is a separate output section.
    """
    for output in _OUTPUTS:
        if name == output or name.startswith(f"{output}."):
            return output
    return name


def _rank(name: str) -> int:
    """Return the place of an input section in its output section, by its name."""
    return next((k for k, first in enumerate(_FIRST) if name.startswith(first)), len(_FIRST))


@dataclass(slots=True, eq=False)
class _Output:
    """Input sections of an output section, in order, with their alignments in bytes."""

    nodes: Int
    align: Int
    is_nobits: bool
    is_write: bool


@dataclass(eq=False)
class ImageLayout:
    """Compute sizes for any part of a graph. One layout answers thousands of queries."""

    graph: SectionGraph
    outputs: dict[str, _Output] = field(init=False)

    def __post_init__(self) -> None:
        """Prepare everything that does not depend on which nodes are kept."""
        graph, nodes = self.graph, self.graph.nodes
        self.outputs = self._input_sections()
        self._output_of = np.full(len(nodes), -1, np.int64)
        for i, output in enumerate(self.outputs.values()):
            self._output_of[output.nodes] = i
        self._parts = np.flatnonzero(nodes.kind == ENTRY)
        self._part_of = np.array([graph.section_of(n) for n in self._parts.tolist()], np.int64)
        self._relocations = self._relocations_at_load()
        self._imports = np.flatnonzero(nodes.kind == IMPORT)
        self._called = np.zeros(len(nodes), bool)
        self._called[graph.edges.target[np.isin(graph.edges.type, CALLS)]] = True
        self._unwind = np.flatnonzero(nodes.kind == FDE)
        self._merged = MergedPieces(graph)
        self._slots = address_slots(graph)

    def _input_sections(self) -> dict[str, _Output]:
        """Sort the input sections into output sections, in the linker's order."""
        nodes = self.graph.nodes
        rows = np.flatnonzero(nodes.is_alloc[: nodes.sections])
        names = [self.graph.names[row] for row in rows.tolist()]
        where: dict[str, list[int]] = {}
        for k in sorted(range(len(names)), key=lambda k: _rank(names[k])):
            where.setdefault(output_of(names[k]), []).append(int(rows[k]))
        return {
            output: _Output(
                np.array(found),
                nodes.align[found],
                bool(nodes.is_nobits[found].all()),
                bool(nodes.is_write[found].any()),
            )
            for output, found in where.items()
        }

    def _relocations_at_load(self) -> Int:
        """Count the relocations that the dynamic linker applies, by node.

        A relocation may have two edges, to its target and to a string in it, so places are counted.
        """
        nodes, edges = self.graph.nodes, self.graph.edges
        if not self.graph.is_pic or self.graph.packing:
            return np.zeros(len(nodes), np.int64)
        source = edges.source.astype(np.int64)
        absolute = np.isin(edges.type, ABSOLUTE) & (edges.symbol >= 0) & nodes.is_alloc[source]
        source, offset = source[absolute], edges.offset[absolute]
        _, places = pack([source, offset - int(offset.min(initial=0))])
        return np.bincount(source[places], minlength=len(nodes))

    def sizes(
        self, kept: Bool, shrunk: Mapping[int, int] | None = None, cut: Bool | None = None
    ) -> dict[str, int]:
        """Return the bytes of each output section and table that depends on which nodes are kept.

        kept:   mask over all nodes
        shrunk: node → bytes that it loses
        cut:    missing edges; by default all edges exist
        """
        return self.part(kept, cut).sizes(shrunk or {})

    def part(self, kept: Bool, cut: Bool | None = None) -> LaidOutPart:
        """Prepare the layouts of a part in which functions lose some bytes or others."""
        nodes = self.graph.nodes
        size = nodes.size.copy()
        chosen = kept[self._parts]
        np.add.at(size, self._part_of[chosen], nodes.size[self._parts[chosen]])
        self._merged.add_to(size, kept, cut)
        unwind = self._unwind[kept[self._unwind]]
        imports = self._imports[kept[self._imports]]
        relocations = int(self._relocations[kept].sum())
        slots = self._count_slots(kept, cut)
        if self.graph.is_pic and not self.graph.packing:
            relocations += slots
        tables = {".eh_frame_hdr": HEADER_ENTRY * len(unwind), ".got": SLOT_SIZE * slots}
        if self.graph.is_dynamic:
            plt = int(self._called[imports].sum())
            tables[".rela"] = RELOCATION_SIZE * (relocations + len(imports))
            tables[".got"] += SLOT_SIZE * len(imports)
            tables[".plt"] = PLT_SIZE * plt
            tables |= self._dynamic(imports.tolist())
        return LaidOutPart(
            self.outputs,
            self._output_of,
            kept,
            size,
            nodes.align,
            distinct(self._part_of[chosen]),
            int(nodes.size[unwind].sum()),
            tables,
        )

    def _count_slots(self, kept: Bool, cut: Bool | None) -> int:
        """Count the slots that kept code loads addresses of the image from."""
        loads = self._slots.edges
        is_used = kept[self.graph.edges.source[loads]]
        if cut is not None:
            is_used &= ~cut[loads]
        return len(distinct(self._slots.slot[is_used]))

    def _dynamic(self, imports: list[int]) -> dict[str, int]:
        """Return the sizes of dynamic symbols, names, versions and needed libraries."""
        graph = self.graph
        versions = {graph.providers[i] for i in imports if i in graph.providers}
        libraries = {library for library, _ in versions}
        texts = {graph.names[i] for i in imports} | {version for _, version in versions} | libraries
        names = sorted(text[::-1] for text in texts)
        if graph.linker == "bfd":  # others only merge ends of names with -O2
            names = _without_suffixes(names)
        return {
            ".dynsym": SYMBOL * len(imports),
            ".gnu.version": VERSION * len(imports),
            ".gnu.version_r": NEED * len(libraries) + AUXILIARY * len(versions),
            ".dynstr": sum(len(name) + 1 for name in names),
            ".dynamic": DYNAMIC * len(libraries),
        }


@dataclass(slots=True, eq=False)
class LaidOutPart:
    """A part of a graph, in which functions may lose some bytes or others.

    outputs: all output sections by name; output_of: the place of a node's one there, or -1
    kept:    mask over all nodes
    size:    bytes of each node, with its entries and merged pieces
    align:   bytes, of each node; that of `registering` depends on their size
    unwind:  bytes in .eh_frame beside whole input sections
    tables:  bytes of the tables that the linker makes
    """

    outputs: Mapping[str, _Output]
    output_of: Int
    kept: Bool
    size: Int
    align: Int
    registering: Int
    unwind: int
    tables: Mapping[str, int]
    _whole: dict[str, int] = field(default_factory=dict, init=False)

    def sizes(self, shrunk: Mapping[int, int]) -> dict[str, int]:
        """Return the bytes of each output section and table.

        shrunk: node → bytes that it loses
        """
        size, touched = self.size, frozenset[int]()
        lost = [node for node, less in shrunk.items() if less and self.kept[node]]
        if lost:
            size = self.size.copy()
            size[lost] -= [shrunk[node] for node in lost]
            touched = frozenset(self.output_of[lost].tolist())
        align = self._align(size)
        found: dict[str, int] = {}
        for place, (name, output) in enumerate(self.outputs.items()):
            if place in touched:
                found[name] = _placed(output, size, align, self.kept)
            else:
                if name not in self._whole:
                    self._whole[name] = _placed(output, size, align, self.kept)
                found[name] = self._whole[name]
        found[".eh_frame"] = found.get(".eh_frame", 0) + self.unwind
        found.update(self.tables)
        return found

    def _align(self, size: Int) -> Int:
        align = self.align.copy()
        # Compilers align a table to at most its size: one of a single entry of 16 bytes to 16.
        for table in self.registering.tolist():
            align[table] = min(align[table], 1 << max(int(size[table]).bit_length() - 1, 0))
        return align


def _placed(output: _Output, size: Int, align: Int, kept: Bool) -> int:
    """Sum the sizes of kept sections and the padding between them."""
    if len(output.nodes) == 1:
        node = int(output.nodes[0])
        return int(size[node]) if kept[node] else 0
    chosen = output.nodes[kept[output.nodes]]
    length, multiple = size[chosen], align[chosen]
    # Two thirds of the sections of an -Os build need no alignment.
    aligned = np.flatnonzero((multiple > 1) & (length != 0))
    start = (length.cumsum() - length)[aligned]
    padding = 0
    for before, bytes_ in zip(start.tolist(), multiple[aligned].tolist(), strict=True):
        padding += -(before + padding) % bytes_
    return int(length.sum()) + padding


def _without_suffixes(backwards: list[str]) -> list[str]:
    """Drop the texts that end another. The texts are reversed and sorted."""
    following = (*backwards[1:], "")  # longer if there are no texts
    return [a for a, b in zip(backwards, following, strict=False) if not b.startswith(a)]
