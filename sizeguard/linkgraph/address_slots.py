"""Find the slots of the global offset table (GOT) for the image's own addresses.

On aarch64, all linkers of ELF but mold keep them: a slot for each symbol that code loads, and, in
an image that may be loaded anywhere, a relocation for it. mold computes most such addresses
instead, as all of them do on x86-64. ld64.lld keeps those that code uses without a load, as calls
do.
"""

from __future__ import annotations

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int
from sizeguard.linkgraph.graph import IMPORT, SectionGraph

# R_AARCH64_GOT_LD_PREL19, ADR_GOT_PAGE, LD64_GOT_LO12_NC and LD64_GOTPAGE_LO15; types of Mach-O as
# macho_graph numbers them: X86_64_RELOC_GOT and ARM64_RELOC_POINTER_TO_GOT.
_LOADS = (309, 311, 312, 313, 0x1004, 0x2007)


@dataclass(frozen=True, slots=True, eq=False)
class AddressSlots:
    """Slots for the image's own addresses.

    edges:  the references that load from them
    slot:   of each reference, the number of its slot
    target: of each slot, the node whose address it has
    """

    edges: Int
    slot: Int
    target: Int


def address_slots(graph: SectionGraph) -> AddressSlots:
    """Find the slots of all references; none if the linker does not keep them."""
    none = np.zeros(0, np.int64)
    if graph.linker == "mold":
        return AddressSlots(none, none, none)
    edges, names = graph.edges, graph.symbols.names
    is_load = np.isin(edges.type, _LOADS) & (edges.symbol >= 0)
    loads = np.flatnonzero(is_load & (graph.nodes.kind[edges.target] != IMPORT))
    numbers: dict[tuple[int, bytes], int] = {}
    target, symbol = edges.target[loads].tolist(), edges.symbol[loads].tolist()
    # Each object has its own row for a symbol of another one.
    keys = [(node, names[row]) for node, row in zip(target, symbol, strict=True)]
    slot = [numbers.setdefault(key, len(numbers)) for key in keys]
    return AddressSlots(
        loads, np.array(slot, np.int64), np.array([node for node, _ in numbers], np.int64)
    )
