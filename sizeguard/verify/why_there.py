"""Explain why something is still in an image, in words and as a chain."""

from __future__ import annotations

from sizeguard.claims.verdict import ChainStep
from sizeguard.formats.elf import ET_REL, SHF_GROUP, SHF_MERGE, SHT_NOBITS, SHT_PROGBITS
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.object_evidence import NamedPiece
from sizeguard.verify.evidence.placement import Node
from sizeguard.verify.evidence.ways import EXPORTED, RETAINED, SHUT_DOWN, START_UP, Edge, Way

# Categories of causes.
PARTIAL_LINK = "partial link"
NO_GC = "no --gc-sections"
COMMAND_LINE = "command line"
SHARED_SECTION = "shared section"
BOUNDS = "section bounds"
RETAIN = "retain attribute"
EXPORT = "exported symbol"
STATIC_INITIALIZER = "static initializer"
CONSTRUCTOR = "constructor function"
DESTRUCTOR = "destructor function"
EXCEPTION = "thrown exception type"
VTABLE = "vtable"
TABLE = "address table"
REFERENCE = "reference"
UNKNOWN = "unknown"

_INITIALIZERS = (
    "_GLOBAL__",
    "__cxx_global_var_init",
    "__cxx_global_array_dtor",
    "_Z41__static_initialization_and_destruction",
)


def explain(evidence: Evidence, piece: NamedPiece) -> tuple[str, tuple[ChainStep, ...]]:
    """Return the cause, `category: detail`, and the chain from a root to the piece."""
    if evidence.image.type == ET_REL:
        return f"{PARTIAL_LINK}: -r removes nothing", ()
    node = (piece.object, piece.section)
    way = evidence.reasons.way_to(node)
    if not evidence.reasons.knows(node):
        return f"{UNKNOWN}: there is no section graph of {evidence.objects.label(piece)}", (
            _step(evidence, node, piece.symbol),
        )
    if way is None:
        return _unreached(evidence, piece)
    chain = _chain(evidence, way, piece)
    neighbour = _neighbour(evidence, piece, way)
    if neighbour:
        section = evidence.objects.section(piece).name
        return (
            (
                f"{SHARED_SECTION}: in {section} with {evidence.short(neighbour)}, compiled without"
                " -ffunction-sections"
            ),
            chain,
        )
    return _category(evidence, way, piece), chain


def _unreached(evidence: Evidence, piece: NamedPiece) -> tuple[str, tuple[ChainStep, ...]]:
    """Explain a piece that no root reaches: it, or what refers to it, is kept otherwise."""
    node = (piece.object, piece.section)
    if _is_nothing_removed(evidence):
        cause = f"{NO_GC}: nothing leads to it, and the linker removed nothing"
        return cause, (_step(evidence, node, piece.symbol),)
    way = evidence.reasons.other_way_to(node)
    if way is None or not way.edges:
        return (
            f"{COMMAND_LINE}: no section leads to it; the linker was told to keep it (-u,"
            " --undefined, KEEP)"
        ), (_step(evidence, node, piece.symbol),)
    first = evidence.short(way.symbol) or evidence.placement.section(way.first).name
    cause = f"{_by_edges(evidence, way)}; the linker was told to keep {first} (-u, KEEP)"
    return cause, _chain(evidence, way, piece)


def _is_nothing_removed(evidence: Evidence) -> bool:
    """Return whether the image has every section of its objects, including start-up objects."""
    placement = evidence.placement
    present = {node[0] for node in placement.address}
    placed = {placement.section(node).name for node in placement.address}
    for number in present:
        for section in evidence.objects.files[number].elf.sections:
            if (
                not section.is_allocated
                or not section.size
                or section.type not in (SHT_PROGBITS, SHT_NOBITS)
            ):
                continue
            # Merged constants have no place of their own, and one copy of a COMDAT group is kept.
            if (
                section.flags & SHF_MERGE
                or section.name.startswith(".eh_frame")
                or (section.flags & SHF_GROUP and section.name in placed)
            ):
                continue
            if (number, section.index) not in placement.address:
                return False
    return True


def _neighbour(evidence: Evidence, piece: NamedPiece, way: Way) -> str:
    """Return the function in the piece's section that is referred to, if the piece is not."""
    section = evidence.objects.section(piece)
    file = evidence.objects.files[piece.object]
    others = [
        other.symbol
        for other in file.definitions
        if other.section == piece.section
        and not (
            other.offset < piece.offset + piece.size and piece.offset < other.offset + other.size
        )
    ]
    if not others or not section.is_executable or evidence.reasons.is_reached(piece):
        return ""
    if way.edges:
        last = way.edges[-1]
        return evidence.reasons.symbol_at(last.target, last.offset) or others[0]
    return way.symbol or others[0]


def _category(evidence: Evidence, way: Way, piece: NamedPiece) -> str:
    for edge in way.edges:
        if edge.bounds:
            return (
                f"{BOUNDS}: {edge.symbol} keeps every"
                f" {evidence.placement.section(edge.target).name}"
            )
    # A root is the cause if it names the piece; further away, the last reference is the cause.
    if way.root == RETAINED and len(way.edges) < 2:
        return f"{RETAIN}: {evidence.short(way.symbol or piece.symbol)} is marked SHF_GNU_RETAIN"
    if way.root == EXPORTED and len(way.edges) < 2:
        own = not way.edges
        return f"{EXPORT}: {'it is' if own else evidence.short(way.symbol) + ' is'} exported" + (
            "" if own else f", {_referrer(evidence, way)}"
        )
    if way.root in (START_UP, SHUT_DOWN) and 0 < len(way.edges) < 3:
        first = way.edges[0].symbol
        if way.root == SHUT_DOWN:
            return f"{DESTRUCTOR}: {evidence.short(first)} runs at exit"
        if first.startswith(_INITIALIZERS):
            return (
                f"{STATIC_INITIALIZER}: {evidence.short(first)} in"
                f" {evidence.objects.files[way.first[0]].label}"
            )
        return f"{CONSTRUCTOR}: {evidence.short(first)} runs at start-up"
    if not way.edges:
        return (
            f"{REFERENCE}: {evidence.short(way.symbol or piece.symbol)} is where the program starts"
        )
    return _by_edges(evidence, way)


def _by_edges(evidence: Evidence, way: Way) -> str:
    for edge in way.edges:
        if edge.symbol.startswith(("_ZTV", "_ZTI", "_ZTT")):
            thrower = next((e.source for e in way.edges if _throws(evidence, e.source)), None)
            if thrower is not None:
                return (
                    f"{EXCEPTION}: {evidence.short(edge.symbol)}, thrown in"
                    f" {evidence.short(evidence.reasons.symbol_at(thrower))}"
                )
            return f"{VTABLE}: {evidence.short(edge.symbol)}"
    source = way.edges[-1].source
    if not evidence.placement.section(source).is_executable:
        name = evidence.reasons.symbol_at(source) or evidence.placement.section(source).name
        return f"{TABLE}: {evidence.short(name)}, {_referrer(evidence, way, skip_data=True)}"
    return f"{REFERENCE}: {_referrer(evidence, way)}"


def _throws(evidence: Evidence, node: Node) -> bool:
    file = evidence.objects.files[node[0]]
    table = file.relocations.get(node[1])
    return table is not None and any(
        file.symbols[i].name == "__cxa_throw"
        for i in set(table.symbol.tolist())
        if i < len(file.symbols)
    )


def _referrer(evidence: Evidence, way: Way, *, skip_data: bool = False) -> str:
    for edge in reversed(way.edges):
        if skip_data and not evidence.placement.section(edge.source).is_executable:
            continue
        symbol = evidence.short(evidence.reasons.symbol_at(edge.source, 0))
        return f"referred to by {symbol or evidence.placement.section(edge.source).name}"
    return "which is itself a root"


def _chain(evidence: Evidence, way: Way, piece: NamedPiece) -> tuple[ChainStep, ...]:
    steps = [_step(evidence, way.first, way.symbol)]
    steps += [_step(evidence, edge.target, _edge_name(evidence, edge)) for edge in way.edges]
    if (
        steps[-1].symbol != evidence.short(piece.symbol)
        and steps[-1].section == evidence.objects.section(piece).name
    ):
        steps[-1] = ChainStep(steps[-1].section, evidence.short(piece.symbol), steps[-1].object)
    return tuple(steps)


def _edge_name(evidence: Evidence, edge: Edge) -> str:
    return evidence.reasons.symbol_at(edge.target, edge.offset) or edge.symbol


def _step(evidence: Evidence, node: Node, symbol: str) -> ChainStep:
    return ChainStep(
        evidence.placement.section(node).name,
        evidence.short(symbol),
        evidence.objects.files[node[0]].label,
    )
