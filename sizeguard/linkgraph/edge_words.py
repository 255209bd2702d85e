"""Describe in words how an edge of a section graph keeps its target."""

from __future__ import annotations

from sizeguard.formats.elf import (
    R_AARCH64_CALL26,
    R_AARCH64_JUMP26,
    R_X86_64_GOTPCRELX,
    R_X86_64_PLT32,
)
from sizeguard.linkgraph.graph import (
    ENTRY,
    GROUP,
    LINK_ORDER,
    PART,
    START_STOP,
    STRING,
    UNWIND,
    SectionGraph,
)

_WORDS = {
    GROUP: "same section group",
    LINK_ORDER: "ordered by the section before",
    START_STOP: "walked from __start_ to __stop_",
    UNWIND: "unwind table",
    PART: "table entry",
}
# With -fno-plt calls go through a GOT slot: R_X86_64_GOTPCRELX belongs to a call or a jump, its REX
# form to a load. R_X86_64_PC32 belongs to a load, too.
# Types of Mach-O, as macho_graph numbers them: X86_64_RELOC_BRANCH, X86_64_RELOC_GOT (a load has
# GOT_LOAD), ARM64_RELOC_BRANCH26.
_CALLS_OF_MACHO = (0x1002, 0x1004, 0x2002)
DIRECT_CALLS = (
    R_X86_64_PLT32,
    R_X86_64_GOTPCRELX,
    R_AARCH64_JUMP26,
    R_AARCH64_CALL26,
    *_CALLS_OF_MACHO,
)


def how_kept(graph: SectionGraph, source: int, edge: int) -> str:
    """Describe one edge in a few words.

    A call and the use of an address may have the same relocation; they are distinguished where its
    type allows it.
    """
    reason = int(graph.edges.reason[edge])
    if reason == PART and graph.nodes.kind[source] == STRING:
        return "end of the longer string"
    if reason in _WORDS:
        return _WORDS[reason]
    nodes = graph.nodes
    if nodes.kind[source] == ENTRY:
        return (
            f"kernel of {graph.names[source]}"
            if nodes.is_exec[graph.edges.target[edge]]
            else "name of the entry"
        )
    name = graph.names[source]
    if name.startswith(
        (".init_array", ".ctors", ".preinit_array", "__DATA,__mod_init", "__DATA_CONST,__mod_init")
    ):
        return "static initializer"
    if name.startswith((".fini_array", ".dtors")):
        return "run at exit"
    if nodes.is_exec[source]:
        if not nodes.is_exec[graph.edges.target[edge]]:
            return "used by the function"
        return (
            "direct call"
            if int(graph.edges.type[edge]) in DIRECT_CALLS
            else "address taken by the function"
        )
    symbol = graph.symbol_of(source)
    if symbol.startswith("_ZTV"):
        return "vtable entry"
    if symbol.startswith(("_ZTI", "_ZTS")):
        return "type information"
    return "address in data"
