"""The section graph: what a linker moves or leaves as a whole, and what keeps what. It knows no file format and no command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sizeguard.formats.texts import Int

# What a node is.
SECTION, ENTRY, STRING, FDE, CIE, IMPORT, CONSTANT = range(7)
KINDS = ("section", "table entry", "string", "unwind entry", "unwind header", "import", "constant")

# What keeps an edge's target, or makes a root one.
RELOCATION, GROUP, LINK_ORDER, START_STOP, UNWIND, PART = range(6)


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """Nodes as columns. Sections come first: node i < sections is section `index[i]` of object `object[i]`.

    kind:    of KINDS
    object:  index into SectionGraph.objects; of an import -1
    index:   the section's number in its object; of what lies in a section, that section's
    offset:  of what lies in a section: where in it
    size:    bytes of memory; of a section what its parts (entries, strings, unwind entries) do not take
    align:   in bytes
    is_alloc, is_write, is_exec, is_nobits: of the section; all false if it takes no part in the link
    is_duplicate: a section left out because an earlier object has its group; never live
    """

    sections: int
    kind: npt.NDArray[np.int8]
    object: npt.NDArray[np.int32]
    index: npt.NDArray[np.int32]
    offset: Int
    size: Int
    align: Int
    is_alloc: npt.NDArray[np.bool_]
    is_write: npt.NDArray[np.bool_]
    is_exec: npt.NDArray[np.bool_]
    is_nobits: npt.NDArray[np.bool_]
    is_duplicate: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.kind)


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Edges sorted by source: those of node i are [start[i], start[i + 1]).

    target: a node. reason: RELOCATION …. offset: of a relocation, where in the source's section it stands. type: of the relocation.
    symbol: number of the symbol that it names in SectionGraph.symbols, -1 for other reasons.
    place:  of a relocation, where in the target's section it points; of a named symbol where that begins
    """

    start: Int
    target: npt.NDArray[np.int32]
    reason: npt.NDArray[np.int8]
    offset: Int
    symbol: npt.NDArray[np.int32]
    type: npt.NDArray[np.int32]
    place: Int

    @property
    def source(self) -> npt.NDArray[np.int32]:
        return np.repeat(np.arange(len(self.start) - 1, dtype=np.int32), np.diff(self.start))


@dataclass(frozen=True, slots=True, eq=False)
class Symbols:
    """Defined symbols as columns: names, the node of their section, their offset in it, size, whether global."""

    names: tuple[bytes, ...]
    node: npt.NDArray[np.int32]
    offset: Int
    size: Int
    type: npt.NDArray[np.int8]
    is_global: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SectionGraph:
    """What a link loads, and what keeps what.

    objects:    labels, path or archive(member), in the order of loading
    names:      of each node: a section's name, an import's symbol, a string's text
    roots:      nodes that stay by themselves; root_kind: why, by node
    is_pic:     absolute addresses are relocated when the image is loaded
    is_dynamic: the image has a table of dynamic symbols
    providers:  of imports the library and the symbol's version there, by node
    linker:     family
    literals:   by node and offset of a reference to constant data that is not merged: the operator name that stands there
    """

    objects: tuple[str, ...]
    nodes: Nodes
    names: tuple[str, ...]
    edges: Edges
    symbols: Symbols
    root_kind: dict[int, str]
    is_pic: bool
    is_dynamic: bool
    providers: dict[int, tuple[str, str]]
    linker: str
    literals: Mapping[tuple[int, int], str] = field(default_factory=dict)

    @property
    def roots(self) -> Int:
        return np.array(sorted(self.root_kind), np.int64)

    @cached_property
    def _first_symbols(self) -> dict[int, int]:
        """Of each section the symbol that names it: a function or object at its start, a global one before a local one."""
        y = self.symbols
        named = np.flatnonzero((y.node >= 0) & np.isin(y.type, (0, 1, 2, 6, 10)))
        order = named[np.lexsort((~y.is_global[named], y.type[named] == 0, y.offset[named], y.node[named]))]
        found: dict[int, int] = {}
        for i in order.tolist():
            if self.symbols.names[i]:
                found.setdefault(int(y.node[i]), i)
        return found

    def symbol_of(self, node: int) -> str:
        """The mangled name of a section's first symbol; empty if it has none."""
        symbol = self._first_symbols.get(node)
        return "" if symbol is None else self.symbols.names[symbol].decode("utf-8", "backslashreplace")

    def section_of(self, node: int) -> int:
        """The section that a part lies in."""
        if node < self.nodes.sections:
            return node
        k = int(self.nodes.object[node])
        if self.linker != "ld64.lld":
            return int(self.base[k]) + int(self.nodes.index[node])
        # Of Mach-O a section has many nodes: the one that a part lies in begins last before it.
        low, high = int(self.base[k]), int(self.base[k + 1])
        here = low + np.flatnonzero(self.nodes.index[low:high] == self.nodes.index[node])
        return int(here[np.searchsorted(self.nodes.offset[here], self.nodes.offset[node], side="right") - 1])

    @cached_property
    def base(self) -> Int:
        """Of each object the node of its first section."""
        return np.searchsorted(self.nodes.object[: self.nodes.sections], np.arange(len(self.objects) + 1)).astype(np.int64)
