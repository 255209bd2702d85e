"""Turns what runs before main, and what the image exports, into verdicts: registrations and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from sizeguard.attribution.names import short_name
from sizeguard.formats.elf import SHN_LORESERVE, STT_FUNC
from sizeguard.verify.causes import explain
from sizeguard.verify.chain import SHT_INIT_ARRAY, SHT_PREINIT_ARRAY
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
        own = [s.index for s in file.elf.sections if s.type in (SHT_INIT_ARRAY, SHT_PREINIT_ARRAY) and s.size]
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
    if not any(s.name == ".interp" for s in evidence.image.sections):
        return
    own: dict[str, list[Piece]] = {}
    for number, file in enumerate(evidence.own_files()):
        for name, section, offset, size in file.pieces:
            own.setdefault(name, []).append(Piece(number, section, offset, size, name))
    exported = [
        symbol
        for table in evidence.shipped.dynamic_symbols
        for symbol in table.objects()
        if 0 < symbol.section < SHN_LORESERVE and symbol.type == STT_FUNC
    ]
    found = [symbol for symbol in exported if symbol.name in own]
    for symbol in found:
        piece = own[symbol.name][0]
        yield judge_code(
            evidence, "export", symbol.name, ABSENT, Found(((symbol.address, symbol.size),), (piece,), (piece,), ("it is in .dynsym",))
        )
    if not found:
        note = f".dynsym of the shipped image has {len(exported)} functions of its own, none of them of the objects"
        verdict, how = (PASS, REMOVED_BY_COMPILER) if evidence.own else (INCONCLUSIVE, UNKNOWN)
        yield Verdict("export", "any function", ABSENT, verdict, how, 0, (note,))
