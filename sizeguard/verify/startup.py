"""Verdicts on code before main, on the image's exports, and on the code that the program keeps.

Before main only registrations may run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sizeguard.claims.verdict import (
    ABSENT,
    DISCARDED_BY_LINKER,
    FAIL,
    INCONCLUSIVE,
    PASS,
    REMOVED_BY_COMPILER,
    STILL_THERE,
    UNKNOWN,
    Verdict,
)
from sizeguard.formats.elf import (
    SHT_FINI_ARRAY,
    SHT_INIT_ARRAY,
    SHT_PREINIT_ARRAY,
    STT_IFUNC,
    Section,
)
from sizeguard.verify.code_presence import FoundCode, judge_code
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.object_evidence import NamedPiece
from sizeguard.verify.evidence.placement import Node
from sizeguard.verify.evidence.ways import ENTRY, SHUT_DOWN, START_UP
from sizeguard.verify.registrations import Registrations
from sizeguard.verify.why_there import explain

# Tables of functions that run before and after main. Older tables have no type of their own, and
# linkers place the others by their names, too.
_TABLE_TYPES = (SHT_INIT_ARRAY, SHT_PREINIT_ARRAY, SHT_FINI_ARRAY)
_TABLE_NAMES = (".init_array", ".preinit_array", ".fini_array", ".ctors", ".dtors")
# Names that compilers add themselves: -fstack-protector-all checks start-up functions, too.
_COMPILERS = ("", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail")


# More than 40 lines: each verdict is written out with its evidence.
def judge_initializers(
    evidence: Evidence, tables: Registrations, registering: Collection[str]
) -> Iterator[Verdict]:
    """Judge the initializers of each object.

    They may only register selected names.

    registering: the functions of the runtime that register something
    """
    with_entries, written = tables.files_with_entries(), tables.files_that_register()
    for number, file in enumerate(evidence.own_files()):
        yield from _judge_resolvers(evidence, number)
        own = [s.index for s in file.elf.sections if s.size and _is_table(s)]
        if not own:
            continue
        placed = [index for index in own if (number, index) in evidence.placement.address]
        if not placed:
            if evidence.is_complete:
                note = "its entry of .init_array is not in the image"
                yield Verdict(
                    "initializer", file.label, ABSENT, PASS, DISCARDED_BY_LINKER, 0, (note,)
                )
            else:
                yield Verdict(
                    "initializer", file.label, ABSENT, INCONCLUSIVE, UNKNOWN, 0, evidence.gaps
                )
            continue
        notes = [_others(evidence, (number, index), registering) for index in placed]
        others = [note for refers, calls in notes for note in (*refers, *calls)]
        size = sum(evidence.placement.section((number, index)).size for index in placed)
        if number not in (with_entries if evidence.is_complete else written):
            others.insert(0, "it runs before main, and registers nothing that is selected")
        is_known = evidence.is_complete or (number in with_entries and not others)
        if not is_known and not any(refers for refers, _ in notes) and number in written:
            # Its entries may be there: without a map, data that no symbol names has no place. An
            # object that was not given may have what it calls.
            yield Verdict(
                "initializer", file.label, ABSENT, INCONCLUSIVE, UNKNOWN, size, evidence.gaps
            )
        elif others:
            piece = NamedPiece(number, placed[0], 0, size, file.label)
            chain = explain(evidence, piece)[1]
            yield Verdict(
                "initializer",
                file.label,
                ABSENT,
                FAIL,
                STILL_THERE,
                size,
                tuple(others),
                chain,
                "leftover initializer",
            )
        else:
            note = "it registers a table that is in the image, and does nothing else"
            yield Verdict("initializer", file.label, ABSENT, PASS, REMOVED_BY_COMPILER, 0, (note,))


def _is_table(section: Section) -> bool:
    return section.type in _TABLE_TYPES or section.name.startswith(_TABLE_NAMES)


def _judge_resolvers(evidence: Evidence, number: int) -> Iterator[Verdict]:
    """Judge an object's functions in the image that choose other functions (IFUNC)."""
    file = evidence.objects.files[number]
    for symbol in file.symbols:
        node = number, symbol.section
        if symbol.type != STT_IFUNC or node not in evidence.placement.address:
            continue
        piece = NamedPiece(*node, symbol.address, symbol.size, symbol.name)
        name = evidence.short(symbol.name)
        note = f"the loader calls {name} before main, to choose a function"
        cause = f"leftover resolver: {name}"
        chain = explain(evidence, piece)[1]
        yield Verdict(
            "initializer", file.label, ABSENT, FAIL, STILL_THERE, symbol.size, (note,), chain, cause
        )


def _others(
    evidence: Evidence, array: Node, registering: Collection[str]
) -> tuple[list[str], list[str]]:
    """List references of initializers, except to `registering` and to their own data.

    First those to other objects, then those to libraries.
    """
    notes, calls = [], []
    for entry in evidence.reasons.edges_from(array):
        for edge in evidence.reasons.edges_from(entry.target):
            name = evidence.short(edge.symbol).rpartition("::")[2]
            is_code = evidence.placement.section(edge.target).is_executable
            if is_code and name not in registering and edge.target != entry.target:
                notes.append(
                    f"{evidence.short(entry.symbol)} refers to {evidence.short(edge.symbol)}"
                )
        file = evidence.objects.files[entry.target[0]]
        table = file.relocations.get(entry.target[1])
        for index in set(table.symbol.tolist()) if table is not None else ():
            symbol = file.symbols[index] if index < len(file.symbols) else None
            # A symbol that no object defines belongs to a library: malloc, getenv.
            is_library = (
                symbol is not None and symbol.section == 0 and symbol.name not in _COMPILERS
            )
            if symbol is not None and is_library and symbol.name not in evidence.objects.index:
                calls.append(f"{evidence.short(entry.symbol)} calls {symbol.name}")
    return sorted(set(notes)), sorted(set(calls))


def judge_exports(evidence: Evidence) -> Iterator[Verdict]:
    """Judge the image's exports: a program must not export functions of its objects.

    The exports of a shared library are decided by its version script.
    """
    if not evidence.is_program:
        return
    own: dict[str, list[NamedPiece]] = {}
    for number, file in enumerate(evidence.own_files()):
        for definition in file.definitions:
            own.setdefault(definition.symbol, []).append(definition.in_object(number))
    exported = [
        symbol
        for table in evidence.shipped.dynamic_symbols
        for symbol in table.objects()
        if symbol.section > 0
    ]
    found = [symbol for symbol in exported if symbol.name in own]
    for symbol in found:
        piece = own[symbol.name][0]
        yield judge_code(
            evidence,
            "export",
            symbol.name,
            ABSENT,
            FoundCode(((symbol.address, symbol.size),), (piece,), (piece,), ("it is in .dynsym",)),
        )
    if not found:
        note = (
            f".dynsym of the shipped image has {len(exported)} definitions, none of them of the"
            " objects"
        )
        verdict, how = (PASS, REMOVED_BY_COMPILER) if evidence.own else (INCONCLUSIVE, UNKNOWN)
        yield Verdict("export", "any definition", ABSENT, verdict, how, 0, (note,))


# More than 40 lines: one walk from the roots, with the notes that explain each verdict.
def judge_ways(evidence: Evidence) -> Iterator[Verdict]:
    """Judge that a path from the program leads to all code of its objects.

    It may be reached only from the program itself, or from a table that the program registers.
    """
    if not evidence.is_program:
        return  # in a library, exports are roots, too
    if not evidence.placement.has_map or evidence.lacks_inputs:
        note = "without a map, the places of the sections are unknown"
        if evidence.placement.has_map:
            note = "without all objects of the link, the ways to its code are unknown"
        yield Verdict(
            "section",
            "anything without a way from the program",
            ABSENT,
            INCONCLUSIVE,
            UNKNOWN,
            0,
            (note,),
        )
        return
    lost = []
    for node in evidence.placement.address:
        section = evidence.placement.section(node)
        if not section.is_executable or node[0] >= evidence.own:
            continue
        way = evidence.reasons.way_to(node)
        if way is None or way.root not in (ENTRY, START_UP, SHUT_DOWN):
            lost.append(
                NamedPiece(
                    node[0],
                    node[1],
                    0,
                    section.size,
                    evidence.reasons.symbol_at(node) or section.name,
                )
            )
    if not lost:
        note = "the program's start or a registration leads to every section of code"
        yield Verdict(
            "section",
            "anything without a way from the program",
            ABSENT,
            PASS,
            DISCARDED_BY_LINKER,
            0,
            (note,),
        )
    for piece in lost:
        cause, chain = explain(evidence, piece)
        note = f"{evidence.objects.label(piece)}: {evidence.objects.section(piece).name}"
        yield Verdict(
            "section",
            evidence.short(piece.symbol),
            ABSENT,
            FAIL,
            STILL_THERE,
            piece.size,
            (note,),
            chain,
            cause,
        )
