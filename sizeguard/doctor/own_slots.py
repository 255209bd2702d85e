"""Find slots and stubs through which a library calls its own exported functions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sizeguard.base.errors import InputError
from sizeguard.formats.elf import (
    R_AARCH64_GLOB_DAT,
    R_AARCH64_JUMP_SLOT,
    R_X86_64_GLOB_DAT,
    R_X86_64_JUMP_SLOT,
    RELOCATION_TYPES,
    SHN_UNDEF,
    read_elf,
)
from sizeguard.linkgraph.costs import PLT_SIZE, RELOCATION_SIZE, SLOT_SIZE
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.linkgraph.live import live

# Types of relocations that fill a slot, with the bytes of its stub.
_SLOTS = {
    "x86_64": {R_X86_64_GLOB_DAT: 0, R_X86_64_JUMP_SLOT: PLT_SIZE},
    "aarch64": {R_AARCH64_GLOB_DAT: 0, R_AARCH64_JUMP_SLOT: PLT_SIZE},
}


def unused_slots(image: Path, graph: SectionGraph) -> Mapping[str, int]:
    """Return the bytes of slots, stubs and relocations that nothing in a graph uses, by name.

    Other libraries may replace an exported function, so calls of it go through a slot.
    """
    sizes = _own_slots(image)
    if not sizes:
        return {}
    edges, names = graph.edges, graph.symbols.names
    used = np.unique(edges.symbol[live(graph)[edges.source] & (edges.symbol >= 0)])
    kept = {names[i].decode("utf-8", "backslashreplace") for i in used.tolist()}
    return {name: size for name, size in sizes.items() if name not in kept}


def _own_slots(image: Path) -> dict[str, int]:
    """Return the bytes of each slot for an exported function of the image itself."""
    elf = read_elf(image)
    stubs = _SLOTS.get(elf.machine, {})
    found: dict[str, int] = {}
    for section in elf.sections if stubs else ():
        if section.type not in RELOCATION_TYPES or not section.is_allocated:
            continue
        try:
            table = elf.relocation_table(section)
        except InputError:
            continue
        symbols = [symbol for each in elf.dynamic_symbols for symbol in each.objects()]
        for type_, number in zip(table.type.tolist(), table.symbol.tolist(), strict=True):
            if type_ in stubs and number < len(symbols) and symbols[number].section != SHN_UNDEF:
                size = RELOCATION_SIZE + SLOT_SIZE + stubs[type_]
                found[symbols[number].name] = found.get(symbols[number].name, 0) + size
    return found
