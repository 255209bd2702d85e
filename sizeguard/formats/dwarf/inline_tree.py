"""Read the tree of functions and the functions inlined into them, as columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int, Int32
from sizeguard.formats.dwarf.debug_info import Info

_ROOM = 24  # bytes of .debug_info for each node that room is made for; real ones take more


@dataclass(frozen=True, slots=True)
class InlineTree:
    """Functions, and the calls that are inlined into them.

    Node n is inlined into node parent[n], or a function if that is NONE. depth: 0 for a function;
    entry: the entry with the node's name. Nodes follow those that contain them.

    Row i of (low, high, node) is a half-open range of addresses of node[i].
    """

    parent: Int32
    depth: Int32
    entry: Int
    low: Int
    high: Int
    node: Int32


def read_tree(info: Info, sections: Sequence[tuple[int, int]]) -> InlineTree:
    """Read all functions with an address in code.

    sections: [start, end) of the code sections, ascending and disjoint. Functions that the linker
    removed are at 0 or at a marker, outside all code.

    Raises DwarfError for damaged debug information.
    """
    starts, ends = np.array(sections, np.int64).reshape(-1, 2).T.copy()
    nodes = rows = len(info.data) // _ROOM + 1
    units = info.code_units()
    while True:
        parent, depth, node = (np.empty(size, np.int32) for size in (nodes, nodes, rows))
        entry, low, high = (np.empty(size, np.int64) for size in (nodes, rows, rows))
        code = (units, len(units), starts, ends, len(starts))
        counts = np.zeros(2, np.int64)
        of_nodes, of_rows = (parent, depth, entry, nodes), (low, high, node, rows)
        info.call("read_tree", *code, *of_nodes, *of_rows, counts)
        found = counts.tolist()
        if found[0] <= nodes and found[1] <= rows:
            break
        nodes, rows = found
    first, last = slice(found[0]), slice(found[1])
    return InlineTree(parent[first], depth[first], entry[first], low[last], high[last], node[last])
