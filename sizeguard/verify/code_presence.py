"""Verdicts on whether code is absent from the image or present in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from sizeguard.base.dataclass import dataclass
from sizeguard.claims.verdict import (
    ABSENT,
    DISCARDED_BY_LINKER,
    FAIL,
    INCONCLUSIVE,
    NOT_GENERATED,
    PASS,
    PRESENT,
    REMOVED_BY_COMPILER,
    STILL_THERE,
    THERE,
    UNKNOWN,
    ChainStep,
    Verdict,
)
from sizeguard.formats.elf import STT_TLS
from sizeguard.formats.elf.machines import place_of
from sizeguard.names.demangle import demangle, without_clones
from sizeguard.names.short import template_of
from sizeguard.names.spelling import Spelling, shown_symbol, spelling_of, spells
from sizeguard.verify.evidence.evidence import Evidence, without_mark
from sizeguard.verify.evidence.object_evidence import NamedPiece
from sizeguard.verify.leaks.toolchain_files import is_installed
from sizeguard.verify.why_there import explain

_MOST_SHOWN = 3  # notes of objects
# Kinds of claims on code that compilers inline into other functions.
_MAY_BE_INLINED = frozenset({"kernel", "dtype"})
# The address of a thread-local symbol is its offset in the TLS block. On these machines, that of a
# function is its descriptor's.
_DESCRIBING = ("ppc64",)
UNNAMED = "{unnamed}"  # in scopes of debug information
_FORMS = "1245"  # of constructors and destructors; D0 also frees memory
_FORM = re.compile(rf"(?<=\w)[CD][{_FORMS}](?=[EIB])")  # perhaps inside of a word
_NUMBER = "the image has the name for an address outside of it, as --defsym and --just-symbols do"


@dataclass(frozen=True, slots=True)
class FoundCode:
    """Known places of a subject's code.

    there:  address → bytes of each place in the image
    pieces: its definitions in the objects
    placed: the definitions that are in the image
    host:   the function that it was inlined into
    doubt:  why these places, or the image's name, do not show that the code is present; else empty
    unclear: inlined code that may be the subject's
    """

    there: tuple[tuple[int, int], ...]
    pieces: tuple[NamedPiece, ...]
    placed: tuple[NamedPiece, ...]
    evidence: tuple[str, ...]
    host: str = ""
    doubt: str = ""
    unclear: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """Sum the bytes of all places."""
        return sum(dict(self.there).values())


def look_for(evidence: Evidence, pieces: Sequence[NamedPiece], symbols: Sequence[str]) -> FoundCode:
    """Look for definitions in the map, in the image's names, and by their machine code."""
    there: dict[int, int] = {}
    notes: list[str] = []
    placed = [piece for piece in pieces if evidence.placement.where(piece) is not None]
    for piece in placed:
        address = evidence.placement.where(piece) or 0
        there[address] = max(there.get(address, 0), piece.size)
        notes.append(f"{evidence.objects.label(piece)}: {piece.size} bytes at {address:#x}")
    numbers = False
    for name in symbols:
        for symbol in evidence.symbols.get(name, ()):
            if symbol.section < 0 and not evidence.is_loaded(symbol.address):
                numbers = True
                continue
            address = place_of(symbol, evidence.image.machine)
            is_elsewhere = symbol.type == STT_TLS or evidence.image.machine in _DESCRIBING
            if address not in there and not (placed and is_elsewhere):
                there[address] = symbol.size
                notes.append(f"the image names {symbol.size} bytes at {address:#x} {name}")
    doubt = ""
    hosts: list[NamedPiece] = []
    names = {*symbols, *(piece.symbol for piece in pieces)}
    if not there:
        there, hosts, notes = _inlined(evidence, names)
    if not there:
        there, notes, doubt = _by_bytes(evidence, pieces)
    if not there and numbers:
        doubt = _NUMBER
    host = demangle(hosts[0].symbol) if hosts else ""
    return FoundCode(
        tuple(sorted(there.items())),
        tuple(pieces),
        (*placed, *hosts),
        tuple(notes),
        host,
        doubt,
        () if there else _perhaps_inlined(evidence, names),
    )


def _inlined(
    evidence: Evidence, names: Iterable[str]
) -> tuple[dict[int, int], list[NamedPiece], list[str]]:
    """Find the subject inside other functions, where it has no symbol."""
    there: dict[int, int] = {}
    hosts: list[NamedPiece] = []
    notes: list[str] = []
    for name in dict.fromkeys(
        each for symbol in sorted(names) for each in _names_of(evidence, symbol)
    ):
        part = evidence.inlined[name]
        there[part.address] = part.bytes
        notes.append(
            f"{part.bytes} bytes of it are inside of {demangle(part.host)}, at {part.address:#x}"
        )
        node = evidence.placement.owner(part.address)
        if node is not None:
            hosts.append(
                NamedPiece(
                    node[0],
                    node[1],
                    part.address - evidence.placement.address[node],
                    part.bytes,
                    part.host,
                )
            )
    return there, hosts, notes


def _names_of(evidence: Evidence, symbol: str) -> list[str]:
    """List the names that debug information has for a symbol that is inlined.

    gcc gives no linkage name to local functions, but their scopes: ns::(anonymous namespace)::f().
    Constructors and destructors have one body, which may have another of their names.
    """
    if found := [each for each in _forms(symbol) if each in evidence.inlined]:
        return found
    actual, alike = _alike(evidence, symbol)
    return [name for name in alike if spells(_path(name), actual)]


def _forms(symbol: str) -> Iterator[str]:
    """Yield a symbol, and other names for the same body: C1 and C2; gcc calls the body C4."""
    yield symbol
    for match in _FORM.finditer(symbol):
        for digit in _FORMS:
            other = f"{symbol[: match.end() - 1]}{digit}{symbol[match.end() :]}"
            if other != symbol and demangle(other) == demangle(symbol):
                yield other


def _perhaps_inlined(evidence: Evidence, names: Iterable[str]) -> tuple[str, ...]:
    """Describe inlined functions that may be the subject: -g1 and -gmlt leave scopes out."""
    notes: dict[str, None] = {}
    for symbol in sorted(names):
        actual, alike = _alike(evidence, symbol)
        for name in alike:
            is_whole = without_mark(name) != name
            if (
                _has_unnamed(_path(name), actual)
                if is_whole
                else spells(_path(name), actual, ends=True)
            ):
                part = evidence.inlined[name]
                note = f"{part.bytes} bytes of a function {name}, which may be it,"
                place = f" are inlined at {part.address:#x} into {demangle(part.host)}"
                notes[note + place] = None
    return tuple(notes)


def _alike(evidence: Evidence, symbol: str) -> tuple[Spelling, list[str]]:
    """Return the spelling of a C++ symbol, and the inlined functions with its last part."""
    shown = shown_symbol(without_clones(symbol))
    last = template_of(symbol)[0] if shown != symbol else ""
    return spelling_of(shown), evidence.inlined_locals.get(last, []) if last else []


def _has_unnamed(written: Spelling, actual: Spelling) -> bool:
    """Return whether a path is that of a symbol, except classes without a name, such as lambdas."""
    mine, parts = written.parts, actual.parts
    return len(mine) == len(parts) and all(
        one.name == (UNNAMED if other.name.startswith(("'", "$_")) else other.name)
        for one, other in zip(mine, parts, strict=True)
    )


def _path(name: str) -> Spelling:
    return spelling_of(without_mark(name))


def _by_bytes(
    evidence: Evidence, pieces: Sequence[NamedPiece]
) -> tuple[dict[int, int], list[str], str]:
    """Look for the machine code of definitions that the map does not place."""
    there: dict[int, int] = {}
    notes: list[str] = []
    weak = 0
    runs = False
    for piece in pieces:
        label = evidence.objects.label(piece)
        copies = evidence.placement.copies(piece)
        if copies is None:
            weak += 1
            continue
        for address in copies:
            there[address] = piece.size
            runs |= evidence.is_code(address)
            notes.append(f"the machine code of {label} is at {address:#x}")
        for offset in evidence.unloaded_copies(piece):
            there.setdefault(offset, piece.size)
            notes.append(f"the machine code of {label} is at {offset:#x} of the file")
    if pieces and not there:
        code = len(pieces) - weak
        notes.append(
            "not in the image: the map has "
            + (
                f"none of its {len(pieces)} definitions"
                if len(pieces) > 1
                else "no definition of it"
            )
            + (f", and the machine code of {code} is nowhere" if code else "")
        )
    is_data = there and not runs
    return there, notes, "its machine code is in no section of code" if is_data else ""


def judge_code(
    evidence: Evidence,
    kind: str,
    name: str,
    expect: str,
    found: FoundCode,
    *,
    not_generated: bool = False,
) -> Verdict:
    """Judge whether code is absent or present, as expected.

    not_generated: no object has the code, so it was never generated, rather than removed later
    """
    never = NOT_GENERATED if not_generated else REMOVED_BY_COMPILER
    if expect == ABSENT:
        absent = _judge_absent(evidence, kind, name, found, never)
        if absent.verdict != PASS:
            return absent
        if found.unclear:
            notes = (*found.unclear[:_MOST_SHOWN], *absent.evidence)
            return replace(absent, verdict=INCONCLUSIVE, how=UNKNOWN, evidence=notes)
        if evidence.unreadable:
            notes = (evidence.unreadable, *absent.evidence)
            return replace(absent, verdict=INCONCLUSIVE, how=UNKNOWN, evidence=notes)
        # The symbol is absent, although code of it may be inlined.
        return replace(absent, evidence=(*absent.evidence, *evidence.undescribed_notes[:1]))
    return _judge_present(evidence, kind, name, found, never)


def _judge_present(
    evidence: Evidence, kind: str, name: str, found: FoundCode, never: str
) -> Verdict:
    if found.there and not found.doubt:
        return Verdict(kind, name, PRESENT, PASS, THERE, found.bytes, found.evidence)
    doubts = (found.doubt,) if found.doubt else evidence.gaps
    doubts = doubts or tuple(filter(None, [_folded(evidence, found)]))
    if doubts:
        notes = (*found.evidence, *doubts)
        return Verdict(kind, name, PRESENT, INCONCLUSIVE, UNKNOWN, 0, notes)
    how = DISCARDED_BY_LINKER if found.pieces else never
    notes = found.evidence or ("no object defines it",)
    return Verdict(kind, name, PRESENT, FAIL, how, 0, notes, (), _why_lost(evidence, found))


def _judge_absent(
    evidence: Evidence, kind: str, name: str, found: FoundCode, never: str
) -> Verdict:
    if found.there:
        cause, chain = explain_any(evidence, found)
        cause = f"inlined: into {found.host}" if found.host else cause
        return Verdict(
            kind, name, ABSENT, FAIL, STILL_THERE, found.bytes, found.evidence, chain, cause
        )
    if not evidence.is_complete:
        return Verdict(
            kind, name, ABSENT, INCONCLUSIVE, UNKNOWN, 0, (*found.evidence, *evidence.gaps)
        )
    if kind in _MAY_BE_INLINED and evidence.undescribed_notes:
        notes = (*evidence.undescribed_notes, *found.evidence)
        return Verdict(kind, name, ABSENT, INCONCLUSIVE, UNKNOWN, 0, notes)
    if found.pieces:
        return _discarded(evidence, kind, name, found)
    if doubts := nameless(evidence):
        return Verdict(kind, name, ABSENT, INCONCLUSIVE, UNKNOWN, 0, doubts[:_MOST_SHOWN])
    doubt = (found.doubt,) if found.doubt else ()
    return Verdict(
        kind,
        name,
        ABSENT,
        PASS,
        never,
        0,
        (f"none of the {len(evidence.objects.files)} objects of the image defines it", *doubt),
    )


def nameless(evidence: Evidence) -> tuple[str, ...]:
    """Name given objects, and others that the map has, with code that may have any name.

    Libraries of systems and compilers have such code, too, but none that a project removes.
    """
    objects, found = evidence.objects, dict.fromkeys(evidence.nameless)
    for number, index in evidence.placement.address:
        file = objects.files[number]
        if number >= evidence.own and index in file.nameless and not is_installed(str(file.path)):
            section = evidence.placement.section((number, index)).name
            found[f"{file.label} has code or data without a symbol in {section}"] = None
    return tuple(found)


def _discarded(evidence: Evidence, kind: str, name: str, found: FoundCode) -> Verdict:
    """Judge code that the map lacks; the section graph, which does not use the map, must agree."""
    said = sorted({line for piece in found.pieces if (line := evidence.removed.says(piece))})
    notes = (*found.evidence, *said)
    if evidence.reachable is not None:
        kept = [
            piece for piece in found.pieces if (piece.object, piece.section) in evidence.reachable
        ]
        if kept:
            doubt = (
                f"the section graph says that {evidence.objects.label(kept[0])} keeps"
                f" {kept[0].symbol}, but the map does not have it"
            )
            return Verdict(kind, name, ABSENT, INCONCLUSIVE, UNKNOWN, 0, (doubt, *notes))
        notes = (*notes, "no root of the section graph leads to it")
    folded = _folded(evidence, found)
    if folded:
        return Verdict(kind, name, ABSENT, INCONCLUSIVE, UNKNOWN, 0, (folded, *notes))
    return Verdict(kind, name, ABSENT, PASS, DISCARDED_BY_LINKER, 0, notes)


def _folded(evidence: Evidence, found: FoundCode) -> str:
    """Say that code of the image refers to a definition without a place; empty if none does.

    Linkers remove no code in use. They merge equal functions (--icf), and the names of local ones
    may not be in the image.
    """
    for piece in found.pieces:
        node = evidence.reasons.referrer_of((piece.object, piece.section))
        if node is not None:
            user = evidence.reasons.symbol_at(node) or evidence.placement.section(node).name
            return (
                f"{evidence.short(user)}, which is in the image, leads to {piece.symbol} of"
                f" {evidence.objects.label(piece)}: equal code of another function may replace it"
                " (--icf)"
            )
    return ""


def explain_any(evidence: Evidence, found: FoundCode) -> tuple[str, tuple[ChainStep, ...]]:
    """Explain why code is present, by a definition in the image, otherwise by any."""
    for piece in (*found.placed, *found.pieces):
        return explain(evidence, piece)
    return "", ()


def _why_lost(evidence: Evidence, found: FoundCode) -> str:
    if not found.pieces:
        return "no object defines it"
    members = {node[0] for node in evidence.placement.address}
    files = [evidence.objects.files[piece.object] for piece in found.pieces]
    unused = [
        file.label
        for file, piece in zip(files, found.pieces, strict=True)
        if piece.object not in members
    ]
    if len(unused) == len(files) and files[0].member:
        return (
            f"archive member not linked: nothing refers to {unused[0]}; link the whole archive"
            " (--whole-archive)"
        )
    return f"discarded: nothing in the image refers to {found.pieces[0].symbol}"
