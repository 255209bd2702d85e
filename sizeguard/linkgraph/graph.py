"""Section graph: nodes that a linker keeps or removes as a whole, and edges that keep them.

It does not depend on file formats or commands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int
from sizeguard.formats.linkmap.link_map import is_mapping_symbol

# Kinds of nodes.
SECTION, ENTRY, STRING, FDE, CIE, IMPORT, CONSTANT = range(7)
KINDS = ("section", "table entry", "string", "unwind entry", "unwind header", "import", "constant")

# Reasons why an edge keeps its target.
RELOCATION, GROUP, LINK_ORDER, START_STOP, UNWIND, PART = range(6)


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """Nodes as parallel columns.

    Sections come first: node i < sections is section `index[i]` of object `object[i]`. The others
    are parts of sections (entries, strings, constants, unwind entries) or imports.

    kind:    index into KINDS
    object:  index into SectionGraph.objects; -1 for imports
    index:   number of the section in its object; for a part, of the section that contains it
    offset:  of a part, in its section, in bytes
    size:    bytes of memory; the size of a section excludes its parts
    align:   in bytes
    is_alloc, is_write, is_exec, is_nobits: flags of the section; all false if it is not linked
    is_duplicate: whether it was left out because an earlier object has its group; then it is never
        live
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
        """Return the number of nodes."""
        return len(self.kind)


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges as parallel columns, sorted by source; those of node i are [start[i], start[i + 1]).

    target: node
    reason: RELOCATION and so on
    offset: of a relocation, in the source's section, in bytes
    symbol: of a relocation, index into SectionGraph.symbols; -1 for other reasons
    type:   of a relocation
    place:  of a relocation, the offset that it points to in the target's section, where a named
            symbol begins
    """

    start: Int
    target: npt.NDArray[np.int32]
    reason: npt.NDArray[np.int8]
    offset: Int
    symbol: npt.NDArray[np.int32]
    type: npt.NDArray[np.int32]
    place: Int

    @cached_property
    def source(self) -> npt.NDArray[np.int32]:
        """Source nodes of all edges."""
        return np.repeat(np.arange(len(self.start) - 1, dtype=np.int32), np.diff(self.start))


_LABEL = re.compile(r"ltmp\d+|\.L.*")  # labels that assemblers make
_NAMING = (0, 1, 2, 6, 10)  # types of symbols that name code or data


@dataclass(frozen=True, slots=True, eq=False)
class GraphSymbols:
    """Defined symbols as parallel columns.

    node:   section that contains it
    offset: in that section, in bytes
    """

    names: tuple[bytes, ...]
    node: npt.NDArray[np.int32]
    offset: Int
    size: Int
    type: npt.NDArray[np.int8]
    is_global: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SectionGraph:
    """Section graph of one link.

    objects:    labels, path or archive(member), in load order
    names:      by node: a section's name, an import's symbol, a string's text
    root_kind:  nodes that are kept unconditionally → why
    is_pic:     whether absolute addresses are relocated when the image is loaded
    packing:    how relocations are packed: relr (relative ones), android (all), empty (none)
    is_dynamic: whether the image has a dynamic symbol table
    providers:  import → the library and the symbol's version there
    linker:     linker family
    literals:   (node, offset) of a reference to unmerged constant data → the operator name there
    contents:   strings and constants of Mach-O, merged if equal, by node → their bytes
    """

    objects: tuple[str, ...]
    nodes: Nodes
    names: tuple[str, ...]
    edges: Edges
    symbols: GraphSymbols
    root_kind: dict[int, str]
    is_pic: bool
    is_dynamic: bool
    providers: dict[int, tuple[str, str]]
    linker: str
    literals: Mapping[tuple[int, int], str] = field(default_factory=dict)
    contents: Mapping[int, bytes] = field(default_factory=dict)
    packing: str = ""

    @property
    def roots(self) -> Int:
        """Nodes that are kept unconditionally, ascending."""
        return np.array(sorted(self.root_kind), np.int64)

    @cached_property
    def _first_symbols(self) -> dict[int, int]:
        """The symbol that names each section.

        It is a function or object at its start; global symbols precede local ones.
        """
        y = self.symbols
        named = np.flatnonzero((y.node >= 0) & np.isin(y.type, _NAMING))
        order = named[
            np.lexsort((~y.is_global[named], y.type[named] == 0, y.offset[named], y.node[named]))
        ]
        found: dict[int, int] = {}
        for i in order.tolist():
            name = self.symbols.names[i]
            if name and not (name[:1] == b"$" and is_mapping_symbol(name.decode("latin-1"))):
                found.setdefault(int(y.node[i]), i)
        return found

    def symbol_of(self, node: int) -> str:
        """Return the mangled name of a section's first symbol; empty if it has none."""
        symbol = self._first_symbols.get(node)
        return (
            "" if symbol is None else self.symbols.names[symbol].decode("utf-8", "backslashreplace")
        )

    def aliases_of(self, node: int) -> tuple[str, ...]:
        """Return the other names at the place of a section's first symbol, sorted."""
        first = self._first_symbols.get(node)
        if first is None:
            return ()
        y = self.symbols
        same = (y.node == node) & (y.offset == y.offset[first]) & np.isin(y.type, _NAMING)
        names = {y.names[i].decode("utf-8", "backslashreplace") for i in np.flatnonzero(same)}
        names -= {"", self.symbol_of(node)}
        return tuple(
            sorted(n for n in names if not is_mapping_symbol(n) and not _LABEL.fullmatch(n))
        )

    def symbols_in(self, node: int) -> list[str]:
        """Return the mangled names of all symbols in a section, as the object lists them."""
        found = np.flatnonzero(self.symbols.node == node).tolist()
        return [self.symbols.names[i].decode("utf-8", "backslashreplace") for i in found]

    def section_of(self, node: int) -> int:
        """Return the section that contains a part."""
        if node < self.nodes.sections:
            return node
        k = int(self.nodes.object[node])
        if self.linker != "ld64.lld":
            return int(self.base[k]) + int(self.nodes.index[node])
        # A Mach-O section has many nodes; the last one that begins before the part contains it.
        low, high = int(self.base[k]), int(self.base[k + 1])
        here = low + np.flatnonzero(self.nodes.index[low:high] == self.nodes.index[node])
        return int(
            here[
                np.searchsorted(self.nodes.offset[here], self.nodes.offset[node], side="right") - 1
            ]
        )

    @cached_property
    def entries(self) -> dict[int, list[int]]:
        """Table entries by the section that contains them."""
        found: dict[int, list[int]] = {}
        for node in np.flatnonzero(self.nodes.kind == ENTRY).tolist():
            found.setdefault(self.section_of(node), []).append(node)
        return found

    @cached_property
    def base(self) -> Int:
        """Node of the first section of each object, followed by the number of sections."""
        return np.searchsorted(
            self.nodes.object[: self.nodes.sections], np.arange(len(self.objects) + 1)
        ).astype(np.int64)
