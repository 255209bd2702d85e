"""Verdicts on symbols and operators that a user names, such as in `verify --absent NAME`.

They are decided for an image of any project, with or without a known runtime.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from sizeguard.base.errors import InputError
from sizeguard.claims.verdict import (
    ABSENT,
    INCONCLUSIVE,
    MATCHES_NOTHING,
    NOT_GENERATED,
    PASS,
    PRESENT,
    UNKNOWN,
    Verdict,
)
from sizeguard.names.demangle import ANONYMOUS, demangle, without_clones
from sizeguard.names.globs import glob_regex
from sizeguard.names.resolve_names import Resolved, SymbolNames
from sizeguard.names.short import without_parameters, without_templates
from sizeguard.names.spelling import shown_symbol
from sizeguard.names.spellings.plain_paths import is_scoped
from sizeguard.verify.code_presence import UNNAMED, FoundCode, judge_code, look_for, nameless
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.object_evidence import NamedPiece
from sizeguard.verify.known_names import ClaimNames
from sizeguard.verify.leaks.constants import constant_places, size_of
from sizeguard.verify.registrations import judge_registered

# [sd] and {s,d}, which shells expand; [3] is of an array, [3f2a71c0] a hash of a crate of Rust.
_OF_SHELLS = re.compile(r"\[(?![0-9a-f]{5,}\]|\d*\])[!^]?[\w-]+\]|\{[\w:]*(?:,[\w:]*)+\}")
_MOST_TEXTS = 3
_LAMBDA = re.compile(r"\{lambda[^}]*\}|'lambda\d*'(?:\([^()]*\))?|lambda|\$_\d+")
_PARAMETERS = re.compile(r"\([^()]*\)")
_EMPTY, _UNNAMED_SCOPE = "\1", "\2"  # stand for () and (anonymous namespace)
_GROUP = re.compile(r"\([^()]*\)")
_CUT = re.compile(r"\([^()]*\Z")
_AFTER = re.compile(rf"{_EMPTY}(?: ?(?:const|volatile|&&?|noexcept))+\Z")
_WITH_CONSTANT = re.compile(r"(.+)@(0x[0-9a-fA-F]{5,16})")


def judge_named(names: ClaimNames, text: str, expect: str) -> tuple[Verdict, ...]:
    """Judge a named symbol: `f`, `_Z1fv`, `ns::f`, `ns::f(int)`, `aten::gelu` or `ns::f*`.

    `f@0x1122334455667788` adds a constant that occurs only in its code. A pattern and an operator
    without its overload get a verdict for each match.

    Raises InputError for an empty name, a malformed constant, and a pattern with a constant.
    """
    if not text.strip():
        raise InputError(f"--{expect}: the name is empty; write --{expect} SYMBOL")
    marked = _WITH_CONSTANT.fullmatch(text)
    if marked is None and "@0x" in text:
        raise InputError(f"{text}: a constant after @ is 0x and 5 to 16 hexadecimal digits")
    operators = names.operators_called(text) if marked is None else ()
    judged = tuple(_judge_operator(names, name, expect) for name in operators)
    if judged and "*" not in text and "?" not in text:
        return judged
    found = names.resolve(marked[1] if marked else text)
    if found.is_glob:
        if marked:
            raise InputError(f"{text}: a constant goes with one name, not with a pattern")
        # A pattern may match symbols, too: *gelu* means aten::gelu and kernels::gelu(…)
        has_more = found.names or (expect == ABSENT and _written(names, text))
        return judged if judged and not has_more else judged + _judge_pattern(names, found, expect)
    if marked is None and (notes := _unread(names, found.names, text)):
        return (Verdict("symbol", text, expect, INCONCLUSIVE, UNKNOWN, 0, notes),)
    lost = names.lost(found.text) if expect == PRESENT and found.names else ()
    code = _code(names, lost or found.names or (found.text,))
    if marked:
        code = _with_constant(names.evidence, code, int(marked[2], 16))
    # A constant disproves absence under any name, but proves presence only of a known one.
    is_shown = bool(code.there) and expect == ABSENT
    written = () if found.names or marked or is_shown else _written(names, text)
    if not found.names and not is_shown and (written or not names.unknown_ok):
        return (_unknown(names.evidence, found, text, expect, written),)
    is_unknown = not found.names and not code.pieces
    verdict = judge_code(names.evidence, "symbol", text, expect, code, not_generated=is_unknown)
    if marked and found.names:  # otherwise --unknown ok accepts the name with its constant
        verdict = _if_known(names, int(marked[2], 16), verdict)
    return (verdict,)


def _judge_operator(names: ClaimNames, name: str, expect: str) -> Verdict:
    verdict = judge_registered(names, "operator", name, expect)
    if (verdict.expect, verdict.verdict) == (ABSENT, PASS) and (notes := _written(names, name)):
        return replace(verdict, verdict=INCONCLUSIVE, how=UNKNOWN, evidence=notes)
    return verdict


def _code(names: ClaimNames, symbols: Sequence[str]) -> FoundCode:
    evidence = names.evidence
    pieces = [piece for symbol in symbols for piece in evidence.objects.find(symbol)]
    found = look_for(evidence, list(dict.fromkeys(pieces)), symbols)
    return found if found.there else _by_map(names, found, symbols)


def _by_map(names: ClaimNames, found: FoundCode, symbols: Sequence[str]) -> FoundCode:
    """Add the places that the map states for names that neither image nor objects have.

    Names at places of the linker's own, such as calls of shared libraries, are not definitions.
    """
    there: dict[int, int] = {}
    placed: dict[NamedPiece, None] = {}
    notes: list[str] = []
    for name in symbols:
        for symbol in names.mapped.get(name, ()):
            piece = _piece_at(names.evidence, symbol.address, symbol.size)
            if piece is not None:
                size = symbol.size or _size_of(names.evidence, piece)
                there[symbol.address] = size
                placed[piece] = None
                notes.append(f"the map names {size} bytes at {symbol.address:#x} {name}")
    if not there:
        return found
    return replace(
        found,
        there=tuple(sorted(there.items())),
        placed=tuple(placed),
        evidence=tuple(notes),
        doubt="",
        unclear=(),
    )


def _judge_pattern(names: ClaimNames, found: Resolved, expect: str) -> tuple[Verdict, ...]:
    """Judge every symbol that a pattern matches; clones go with their function."""
    evidence = names.evidence
    by_name: dict[str, list[str]] = {}
    known = frozenset(found.names)
    for symbol in found.names:
        whole = without_clones(symbol)
        is_clone = whole in known or whole.startswith("_")  # main.F of Go is no clone of main
        by_name.setdefault(shown_symbol(whole if is_clone else symbol), []).append(symbol)
    codes = {name: _code(names, symbols) for name, symbols in by_name.items()}
    again = _known_otherwise(names, by_name, codes)
    judged = tuple(
        judge_code(evidence, "symbol", name, expect, code)
        for name, code in codes.items()
        if name not in again
    )
    unnamed: tuple[str, ...] = ()
    if expect == ABSENT:
        meant = _perhaps_meant(evidence, found.text, found.names)
        unnamed = (*nameless(evidence), *meant, *_written(names, found.text))
    doubts = (*evidence.gaps, *unnamed)
    if judged and not unnamed:
        return judged
    note = f"{MATCHES_NOTHING}{' else' if judged else ''}: {found.text}"
    if not judged and found.nearest and not names.unknown_ok:
        note += f"; with more scopes it matches {found.nearest}"
    elif not judged and _OF_SHELLS.search(found.text):
        note += "; only * and ? are special in a pattern"
    elif expect == ABSENT and not doubts:
        said = (note, *evidence.undescribed_notes[:1])
        return (Verdict("symbol", found.text, ABSENT, PASS, NOT_GENERATED, 0, said),)
    notes = (note, *doubts)
    return (*judged, Verdict("symbol", found.text, expect, INCONCLUSIVE, UNKNOWN, 0, notes))


def _unread(names: ClaimNames, found: Sequence[str], text: str) -> tuple[str, ...]:
    """Describe the functions that a text with parameters means, if those of none are known.

    They have no symbol, and debug information gives only their names and scopes.
    """
    evidence = names.evidence
    if _bare(text) == text or not all(each in evidence.inlined for each in found):
        return ()
    are_read = (
        each.startswith("_Z") or each in evidence.objects.index or each in evidence.symbols
        for each in found
    )
    return () if any(are_read) else tuple(_inlined(evidence, found))


def _inlined(evidence: Evidence, functions: Iterable[str]) -> Iterator[str]:
    for name in islice(functions, _MOST_TEXTS):
        host = demangle(evidence.inlined[name].host)
        yield f"a function {name}, whose parameters are unknown, is inside of {host}"


def _bare(text: str) -> str:
    """Empty all parameters, as in names of inlined functions: ns::f() of ns::f(void (*)(int)).

    The last ones of a pattern may lack their end.
    """
    text, before = text.replace(ANONYMOUS, _UNNAMED_SCOPE), ""
    while before != text:  # innermost groups first
        before, text = text, _GROUP.sub(_EMPTY, text)
    text = _AFTER.sub(_EMPTY, _CUT.sub(_EMPTY, text))
    return text.replace(_EMPTY, "()").replace(_UNNAMED_SCOPE, ANONYMOUS)


def _perhaps_meant(evidence: Evidence, pattern: str, matched: Sequence[str]) -> Iterator[str]:
    """Name an inlined function that a pattern may mean, although it has another name.

    matched: the names that it matches

    gcc gives no name to lambdas. -g1 and -gmlt leave scopes out: a C function has none in any debug
    information, but C++ inlines some function with scopes.
    """
    inlined = evidence.inlined
    if (bare := _bare(pattern)) != pattern:
        local = [name for name in inlined if not name.startswith("_Z")]
        called = {name if is_scoped(name) else f"{name}()": name for name in local}
        meant = (called[each] for each in SymbolNames.of(called).glob(bare))
        yield from _inlined(evidence, (each for each in meant if each not in matched))
    if _LAMBDA.search(pattern):
        unnamed = SymbolNames.of(name for name in inlined if UNNAMED in name)
        for name in unnamed.glob(_PARAMETERS.sub("", _LAMBDA.sub(UNNAMED, pattern)))[:1]:
            host = demangle(inlined[name].host)
            yield f"a function {name}, which may be a lambda, is inside of {host}"
    scopes, _, last = without_templates(without_parameters(pattern)).rpartition("::")
    if not scopes or any("::" in name or name.startswith("_Z") for name in inlined):
        return
    wanted = re.compile(glob_regex(last))
    for name, part in inlined.items():
        if part.host.startswith("_Z") and wanted.match(without_templates(name)):
            host = demangle(part.host)
            yield f"a function {name}, whose scopes are unknown, is inside of {host}"
            return


def _known_otherwise(
    names: ClaimNames, by_name: Mapping[str, Sequence[str]], codes: Mapping[str, FoundCode]
) -> frozenset[str]:
    """List names that only the map has, for places that have other names or that linkers make.

    The linker's demangler writes some names otherwise, such as std::string and f() [clone .cold].
    """
    of_map = {
        name
        for name, symbols in by_name.items()
        if all(each in names.mapped and not names.is_defined(each) for each in symbols)
    }
    others = {at for name in codes if name not in of_map for at, _ in codes[name].there}
    return frozenset(name for name in of_map if {at for at, _ in codes[name].there} <= others)


def _written(names: ClaimNames, text: str) -> tuple[str, ...]:
    """List a few texts of the image by which code may register what a text means."""
    return tuple(islice(names.perhaps_registered(text), _MOST_TEXTS))


def _unknown(
    evidence: Evidence, found: Resolved, text: str, expect: str, written: Sequence[str]
) -> Verdict:
    near = f"; nearest is {found.nearest}" if found.nearest else ""
    note = f"unknown name: nothing is called {found.text}{near}"
    notes = (note, *written, *evidence.gaps)
    return Verdict("symbol", text, expect, INCONCLUSIVE, UNKNOWN, 0, notes, (), note)


def _with_constant(evidence: Evidence, found: FoundCode, value: int) -> FoundCode:
    """Add the places of a constant, which survives inlining and renaming.

    If it is anywhere in the image, the code is still present.
    """
    places, size = constant_places(evidence.shipped, value), size_of(value)
    if not places:
        note = f"its constant {value:#x} is not in the image"
        return replace(found, evidence=(*found.evidence, note))
    there = dict(found.there)
    notes: list[str] = []
    pieces: list[NamedPiece] = []
    for place in places:
        note = f"its constant {value:#x} is at {place:#x}"
        if not any(start <= place < start + length for start, length in found.there):
            there[place] = size
            if piece := _piece_at(evidence, place, size):
                pieces.append(piece)
                note += f", in {demangle(piece.symbol)}" if piece.symbol else ""
        notes.append(note)
    return replace(
        found,
        there=tuple(sorted(there.items())),
        placed=(*found.placed, *pieces),
        evidence=(*notes, *found.evidence),
        doubt="",
    )


def _size_of(evidence: Evidence, piece: NamedPiece) -> int:
    """Return the size of the definition at a place; 0 if none begins there."""
    place = piece.section, piece.offset
    found = evidence.objects.files[piece.object].definitions
    return max((each.size for each in found if (each.section, each.offset) == place), default=0)


def _if_known(names: ClaimNames, value: int, verdict: Verdict) -> Verdict:
    """Doubt an absence if no object and no other build has the constant: it may be misspelt.

    Compilers also make constants of parts, which are not recognised on all machines.
    """
    if (verdict.expect, verdict.verdict) != (ABSENT, PASS) or names.have_constant(value):
        return verdict
    note = f"no object has {value:#x}, so the code may have it in parts or not at all"
    notes = (note, *verdict.evidence)
    return replace(verdict, verdict=INCONCLUSIVE, how=UNKNOWN, evidence=notes)


def _piece_at(evidence: Evidence, address: int, size: int) -> NamedPiece | None:
    """Return the bytes at an address as a piece of the input section that contains them."""
    node = evidence.placement.owner(address)
    if node is None:
        return None
    offset = address - evidence.placement.address[node]
    return NamedPiece(*node, offset, size, evidence.reasons.symbol_at(node, offset))
