"""Turns what stays of a section graph into the sizes of the image's sections, as the linker would lay them out."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sizeguard.formats.texts import Int
from sizeguard.linkgraph.costs import ABSOLUTE, CALLS, HEADER_ENTRY, PLT_SIZE, RELOCATION_SIZE, SLOT_SIZE
from sizeguard.linkgraph.graph import CONSTANT, ENTRY, FDE, IMPORT, STRING, SectionGraph

Bool = npt.NDArray[np.bool_]

# Input sections go into the output section whose name theirs begins with; the first that fits.
_OUTPUTS = (
    *(".text", ".rodata", ".data.rel.ro", ".data", ".bss", ".init_array", ".fini_array", ".preinit_array", ".tdata", ".tbss"),
    *(".gcc_except_table", ".eh_frame", ".init", ".fini", ".ctors", ".dtors"),
)
# In .text these stand first, in this order.
_FIRST = (".text.unlikely", ".text.exit", ".text.startup", ".text.hot")
SYMBOL, VERSION, NEED, AUXILIARY, DYNAMIC = 24, 2, 16, 16, 16


def output_of(name: str) -> str:
    """.text of .text.unlikely._Z1fv; a name of no rule is an output section of its own."""
    for output in _OUTPUTS:
        if name == output or name.startswith(f"{output}."):
            return output
    return name


@dataclass(slots=True, eq=False)
class _Output:
    """The input sections of an output section, in order, and whether any of them must be aligned."""

    nodes: Int
    align: Int
    is_nobits: bool
    is_write: bool


@dataclass(eq=False)
class Layout:
    """Works out sizes for any part of a graph. Made once, asked a thousand times."""

    graph: SectionGraph
    outputs: dict[str, _Output] = field(init=False)

    def __post_init__(self) -> None:
        graph, nodes = self.graph, self.graph.nodes
        rows = np.flatnonzero(nodes.is_alloc[: nodes.sections])
        names = [graph.names[i] for i in rows.tolist()]
        rank = np.array([next((k for k, first in enumerate(_FIRST) if name.startswith(first)), len(_FIRST)) for name in names], np.int64)
        where: dict[str, list[int]] = {}
        for i, name in zip(
            rows[np.argsort(rank, kind="stable")].tolist(), (names[k] for k in np.argsort(rank, kind="stable")), strict=True
        ):
            where.setdefault(output_of(name), []).append(i)
        self.outputs = {
            name: _Output(np.array(found), nodes.align[found], bool(nodes.is_nobits[found].all()), bool(nodes.is_write[found].any()))
            for name, found in where.items()
        }
        self._parts = np.flatnonzero(nodes.kind == ENTRY)
        self._part_of = np.array([graph.section_of(n) for n in self._parts.tolist()], np.int64)
        edges = graph.edges
        source = edges.source.astype(np.int64)
        absolute = np.isin(edges.type, ABSOLUTE) & (edges.symbol >= 0) & nodes.is_alloc[source]
        places = np.unique(np.stack([source[absolute], edges.offset[absolute]]), axis=1)[0]
        self._relocations = np.bincount(places, minlength=len(nodes)) if graph.is_pic else np.zeros(len(nodes), np.int64)
        self._imports = np.flatnonzero(nodes.kind == IMPORT)
        called = np.zeros(len(nodes), bool)
        called[edges.target[np.isin(edges.type, CALLS)]] = True
        self._called = called
        self._unwind = np.flatnonzero(nodes.kind == FDE)
        self._merged = self._merge_order()

    def sizes(self, kept: Bool, shrunk: dict[int, int] | None = None) -> dict[str, int]:
        """Bytes of each output section and table that depends on what is kept. shrunk: bytes that sections lose."""
        nodes = self.graph.nodes
        size = nodes.size.copy()
        chosen = kept[self._parts]
        np.add.at(size, self._part_of[chosen], nodes.size[self._parts[chosen]])
        for node, less in (shrunk or {}).items():
            size[node] -= less
        found = {name: _placed(output, size, kept) for name, output in self.outputs.items()}
        for output, total in self._merged_sizes(kept).items():
            found[output] = found.get(output, 0) + total
        unwind = self._unwind[kept[self._unwind]]
        found[".eh_frame"] = found.get(".eh_frame", 0) + int(nodes.size[unwind].sum())
        found[".eh_frame_hdr"] = HEADER_ENTRY * len(unwind)
        imports = self._imports[kept[self._imports]]
        relocations = int(self._relocations[kept].sum())
        if self.graph.is_dynamic:
            plt = int(self._called[imports].sum())
            found[".rela"] = RELOCATION_SIZE * (relocations + len(imports))
            found[".got"] = SLOT_SIZE * len(imports)
            found[".plt"] = PLT_SIZE * plt
            found |= self._dynamic(imports.tolist())
        return found

    def _dynamic(self, imports: list[int]) -> dict[str, int]:
        """Symbols, their names and versions, and the libraries that they need."""
        graph = self.graph
        versions = {graph.providers[i] for i in imports if i in graph.providers}
        libraries = {library for library, _ in versions}
        texts = {graph.names[i] for i in imports} | {version for _, version in versions} | libraries
        return {
            ".dynsym": SYMBOL * len(imports),
            ".gnu.version": VERSION * len(imports),
            ".gnu.version_r": NEED * len(libraries) + AUXILIARY * len(versions),
            ".dynstr": sum(len(text) + 1 for text in _without_suffixes(sorted(text[::-1] for text in texts))),
            ".dynamic": DYNAMIC * len(libraries),
        }

    def _merge_order(self) -> list[tuple[str, int, Int, list[str]]]:
        """Pieces by output section, kind and alignment; strings in order of their ends, so that one that ends another stands before it."""
        graph, nodes = self.graph, self.graph.nodes
        groups: dict[tuple[str, int, int], list[int]] = {}
        for node in np.flatnonzero((nodes.kind == STRING) | (nodes.kind == CONSTANT)).tolist():
            output = output_of(graph.names[graph.section_of(node)])
            groups.setdefault((output, int(nodes.kind[node]), int(nodes.align[node])), []).append(node)
        found = []
        merges_ends = self.graph.linker == "bfd"
        for (output, kind, align), members in groups.items():
            keys = {node: graph.names[node][::-1] for node in members} if kind == STRING and merges_ends else {}
            members = sorted(members, key=lambda node: keys.get(node, ""))
            found.append((output, align, np.array(members), [keys.get(node, "") for node in members]))
        return found

    def _merged_sizes(self, kept: Bool) -> dict[str, int]:
        found: dict[str, int] = {}
        for output, align, members, keys in self._merged:
            chosen = np.flatnonzero(kept[members])
            if not len(chosen):
                continue
            sizes = -(-self.graph.nodes.size[members[chosen]] // align) * align
            total = int(sizes.sum())
            texts = [keys[i] for i in chosen.tolist()]
            if texts[-1]:
                swallowed = [bool(a) and b.startswith(a) for a, b in pairwise(texts)]
                total -= int(sizes[:-1][swallowed].sum())
            found[output] = found.get(output, 0) + total
        return found


def _placed(output: _Output, size: Int, kept: Bool) -> int:
    """Sizes with the padding between them."""
    chosen = kept[output.nodes]
    lengths, aligns = size[output.nodes[chosen]].tolist(), output.align[chosen].tolist()
    end = 0
    for length, align in zip(lengths, aligns, strict=True):
        if length:
            end = -(-end // align) * align + length
    return end


def _without_suffixes(backwards: list[str]) -> list[str]:
    """Of texts sorted backwards those that do not end another."""
    return [a for a, b in zip(backwards, [*backwards[1:], ""], strict=True) if not b.startswith(a)]
