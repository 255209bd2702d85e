"""Compute the bytes that each node of a section graph, with table entries, adds to an image."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.distinct import distinct
from sizeguard.columns.texts import Int
from sizeguard.formats.elf import (
    R_AARCH64_ABS64,
    R_AARCH64_CALL26,
    R_AARCH64_JUMP26,
    R_X86_64_64,
    R_X86_64_PC32,
    R_X86_64_PLT32,
)
from sizeguard.linkgraph.address_slots import address_slots
from sizeguard.linkgraph.graph import FDE, IMPORT, PART, STRING, SectionGraph
from sizeguard.linkgraph.live import live

# Bytes in 64-bit ELF of a relocation, a dynamic symbol with its version, a GOT slot, a PLT entry
# and an .eh_frame_hdr entry.
RELOCATION_SIZE, SYMBOL_SIZE, SLOT_SIZE, PLT_SIZE, HEADER_ENTRY = 24, 26, 8, 16, 8

ABSOLUTE = (R_X86_64_64, R_AARCH64_ABS64)
CALLS = (R_X86_64_PLT32, R_X86_64_PC32, R_AARCH64_JUMP26, R_AARCH64_CALL26)


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """Bytes by node.

    load: bytes of the loaded file that belong to the node: its content, and its entries in the
          tables of the dynamic linker and of unwinding
    ram:  the writable part of them, including NOBITS
    """

    load: Int
    ram: Int


def costs_of(graph: SectionGraph) -> Costs:
    """Compute the loaded and the writable bytes of each node."""
    nodes, edges = graph.nodes, graph.edges
    load = np.where(nodes.is_nobits | (nodes.object >= 0) & ~nodes.is_alloc, 0, nodes.size)
    ram = np.where(nodes.is_write, nodes.size, 0)
    source = edges.source
    # A string that ends a longer one is stored once, inside it.
    is_end = (edges.reason == PART) & (nodes.kind[source] == STRING)
    load[source[is_end]] -= nodes.size[edges.target[is_end]]
    # A relocation may have two edges, to its target and to a string in it, so count the places.
    absolute = np.isin(edges.type, ABSOLUTE) & (edges.symbol >= 0) & nodes.is_alloc[source]
    places = _holders(source[absolute].astype(np.int64), edges.offset[absolute])
    # When packed, a relative relocation is a bit of a bitmap, and any other one takes a few bytes.
    if graph.is_pic and not graph.packing:
        load += RELOCATION_SIZE * np.bincount(places, minlength=len(nodes))
    slots = _slots_of(graph)
    load += slot_size(graph) * slots
    ram += SLOT_SIZE * slots
    load[nodes.kind == FDE] += HEADER_ENTRY
    imports = np.flatnonzero(nodes.kind == IMPORT)
    if graph.is_dynamic and len(imports):
        called = np.zeros(len(nodes), bool)
        called[edges.target[np.isin(edges.type, CALLS)]] = True
        load[imports] += (
            SYMBOL_SIZE
            + _name_sizes(graph, imports)
            + (0 if graph.packing == "android" else RELOCATION_SIZE)
            + SLOT_SIZE
            + np.where(called[imports], PLT_SIZE, 0)
        )
        ram[imports] += SLOT_SIZE
    return Costs(load, ram)


def slot_size(graph: SectionGraph) -> int:
    """Return the bytes of a slot for an address of the image, with its relocation."""
    return SLOT_SIZE + (RELOCATION_SIZE if graph.is_pic and not graph.packing else 0)


def _slots_of(graph: SectionGraph) -> Int:
    """Count the slots of each node: those that only it loads, and those for its address.

    A slot goes with the last code that loads it, which may be before what it leads to.
    """
    found = address_slots(graph)
    if not len(found.edges):
        return np.zeros(len(graph.nodes), np.int64)
    source = graph.edges.source[found.edges].astype(np.int64)
    is_live = live(graph)[source]
    slot, source = found.slot[is_live], source[is_live]
    first, last = found.target.copy(), np.full(len(found.target), -1, np.int64)
    first[slot] = source
    np.maximum.at(last, slot, source)
    np.minimum.at(first, slot, source)
    holder = np.where(first == last, first, found.target)
    return np.bincount(holder[distinct(slot)], minlength=len(graph.nodes))


def _holders(source: Int, offset: Int) -> Int:
    """Return the node of each place, without duplicates, ascending.

    np.unique would import numpy.ma, which takes 10 ms.
    """
    order = np.lexsort((offset, source))
    source, offset = source[order], offset[order]
    is_new = np.ones(len(source), np.bool_)
    is_new[1:] = (source[1:] != source[:-1]) | (offset[1:] != offset[:-1])
    return source[is_new]


def _name_sizes(graph: SectionGraph, imports: Int) -> Int:
    """Return the bytes of each import's name; 0 if a linked GNU ld name ends with it."""
    names = [graph.names[i].encode() for i in imports.tolist()]
    sizes = np.array([len(name) + 1 for name in names], np.int64)
    if graph.linker == "bfd":
        kept = live(graph)[imports].tolist()
        order = sorted(name[::-1] for name, is_kept in zip(names, kept, strict=True) if is_kept)
        ends = {a[::-1] for a, b in pairwise(order) if b.startswith(a)}
        sizes[[name in ends for name in names]] = 0
    return sizes
