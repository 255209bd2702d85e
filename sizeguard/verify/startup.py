"""Turns what runs before main, and what the image exports, into verdicts: registrations and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from sizeguard.attribution.names import short_name
from sizeguard.formats.elf import SHN_LORESERVE, SHT_FINI_ARRAY, SHT_INIT_ARRAY, SHT_PREINIT_ARRAY, STT_FUNC, STT_OBJECT
from sizeguard.verify.causes import explain
from sizeguard.verify.chain import ENTRY, SHUT_DOWN, START_UP
from sizeguard.verify.evidence import Evidence
from sizeguard.verify.judge import Found, judge_code
from sizeguard.verify.objects import Piece
from sizeguard.verify.operators import Registrations
from sizeguard.verify.placement import Node
from sizeguard.verify.result import (
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

# What an initializer that registers calls.
_REGISTERING = frozenset({"register_library", "register_class"})


def judge_initializers(evidence: Evidence, tables: Registrations) -> Iterator[Verdict]:
    """One claim for each object: no initializer but one that registers what is selected, and it does nothing else."""
    registering = tables.files_with_entries()
    for number, file in enumerate(evidence.own_files()):
        own = [s.index for s in file.elf.sections if s.type in (SHT_INIT_ARRAY, SHT_PREINIT_ARRAY, SHT_FINI_ARRAY) and s.size]
        if not own:
            continue
        placed = [index for index in own if (number, index) in evidence.placement.address]
        if not placed:
            if evidence.is_complete:
                note = "its entry of .init_array is not in the image"
                yield Verdict("initializer", file.label, ABSENT, PASS, DISCARDED_BY_LINKER, 0, (note,))
            else:
                yield Verdict("initializer", file.label, ABSENT, INCONCLUSIVE, UNKNOWN, 0, evidence.gaps)
            continue
        others = [note for index in placed for note in _others(evidence, (number, index))]
        size = sum(evidence.placement.section((number, index)).size for index in placed)
        if number not in registering:
            others.insert(0, "it runs before main, and registers nothing that is selected")
        if others:
            piece = Piece(number, placed[0], 0, size, file.label)
            chain = explain(evidence, piece)[1]
            yield Verdict("initializer", file.label, ABSENT, FAIL, STILL_THERE, size, tuple(others), chain, "leftover initializer")
        else:
            note = "it hands over a table that is in the image, and does nothing else"
            yield Verdict("initializer", file.label, ABSENT, PASS, REMOVED_BY_COMPILER, 0, (note,))


def _others(evidence: Evidence, array: Node) -> list[str]:
    """What initializers refer to besides the registry's functions and data of their own."""
    notes = []
    for entry in evidence.reasons.edges_from(array):
        for edge in evidence.reasons.edges_from(entry.target):
            name = short_name(edge.symbol).rpartition("::")[2]
            is_code = evidence.placement.section(edge.target).is_executable
            if is_code and name not in _REGISTERING and edge.target != entry.target:
                notes.append(f"{short_name(entry.symbol)} refers to {short_name(edge.symbol)}")
        file = evidence.objects.files[entry.target[0]]
        table = file.relocations.get(entry.target[1])
        for index in set(table.symbol.tolist()) if table is not None else ():
            symbol = file.symbols[index] if index < len(file.symbols) else None
            # What no object defines is a library's: malloc, getenv.
            is_library = symbol is not None and symbol.section == 0 and symbol.name not in ("", "_GLOBAL_OFFSET_TABLE_")
            if symbol is not None and is_library and symbol.name not in evidence.objects.index:
                notes.append(f"{short_name(entry.symbol)} calls {symbol.name}")
    return sorted(set(notes))


def judge_exports(evidence: Evidence) -> Iterator[Verdict]:
    """A program exports none of its objects' functions; of a shared library that is for its version script to say."""
    if not evidence.is_program:
        return
    own: dict[str, list[Piece]] = {}
    for number, file in enumerate(evidence.own_files()):
        for name, section, offset, size in file.pieces:
            own.setdefault(name, []).append(Piece(number, section, offset, size, name))
    exported = [
        symbol
        for table in evidence.shipped.dynamic_symbols
        for symbol in table.objects()
        if 0 < symbol.section < SHN_LORESERVE and symbol.type in (STT_FUNC, STT_OBJECT)
    ]
    found = [symbol for symbol in exported if symbol.name in own]
    for symbol in found:
        piece = own[symbol.name][0]
        yield judge_code(
            evidence, "export", symbol.name, ABSENT, Found(((symbol.address, symbol.size),), (piece,), (piece,), ("it is in .dynsym",))
        )
    if not found:
        note = f".dynsym of the shipped image has {len(exported)} definitions, none of them of the objects"
        verdict, how = (PASS, REMOVED_BY_COMPILER) if evidence.own else (INCONCLUSIVE, UNKNOWN)
        yield Verdict("export", "any definition", ABSENT, verdict, how, 0, (note,))


def judge_ways(evidence: Evidence) -> Iterator[Verdict]:
    """Code of the objects is in a program because the program, or a table that it registers, leads there; for no other reason."""
    if not evidence.is_program:
        return  # of a library what is exported leads on
    if not evidence.placement.has_map:
        note = "without a map it is not known where everything lies"
        yield Verdict("section", "anything without a way from the program", ABSENT, INCONCLUSIVE, UNKNOWN, 0, (note,))
        return
    lost = []
    for node in evidence.placement.address:
        section = evidence.placement.section(node)
        way = evidence.reasons.way_to(node) if section.is_executable and node[0] < evidence.own else None
        is_own_code = section.is_executable and node[0] < evidence.own
        if is_own_code and (way is None or way.root not in (ENTRY, START_UP, SHUT_DOWN)):
            lost.append(Piece(node[0], node[1], 0, section.size, evidence.reasons.symbol_at(node) or section.name))
    if not lost:
        note = "the program's start or a registration leads to every section of code"
        yield Verdict("section", "anything without a way from the program", ABSENT, PASS, DISCARDED_BY_LINKER, 0, (note,))
    for piece in lost:
        cause, chain = explain(evidence, piece)
        note = f"{evidence.objects.label(piece)}: {evidence.objects.section(piece).name}"
        yield Verdict("section", short_name(piece.symbol), ABSENT, FAIL, STILL_THERE, piece.size, (note,), chain, cause)
