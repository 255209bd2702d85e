"""Verdicts on deselected code under other names or in unexpected places."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from sizeguard.claims.verdict import (
    ABSENT,
    FAIL,
    INCONCLUSIVE,
    PASS,
    REMOVED_BY_COMPILER,
    STILL_THERE,
    UNKNOWN,
    ChainStep,
    Verdict,
)
from sizeguard.names.demangle import demangle
from sizeguard.names.short import (
    TAGS,
    split_name,
    template_of,
    without_parameters,
    without_templates,
)
from sizeguard.verify.branches.dtype_arguments import served_dtypes, split_dtype
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.object_evidence import NamedPiece
from sizeguard.verify.evidence.object_registrations import class_makers
from sizeguard.verify.leaks.deselected_code import FEWEST_BYTES, DeselectedCode, plain_name
from sizeguard.verify.leaks.foreign_code import ForeignCode, foreign_code
from sizeguard.verify.why_there import explain

_MOST_SHOWN = 8  # notes of a verdict; the rest is counted
COPIES = "machine code of deselected functions"
NAMESAKES = "functions named like deselected kernels"
# Parts of names of lambdas, and of operators and destructors of classes, as compilers and
# demanglers write them.
_UNNAMED = re.compile(
    r"'?lambda\d*'?|\{.*\}|'?\$_\d+'?|operator\b(?! (?:new|delete|co_await)).*|_FUN|__invoke|~\w+"
    r"|h[0-9a-f]{16}"  # the hash of a function of Rust
)
# A conversion of a class
_CONVERSION = re.compile(r"::operator (?!new\b|delete\b|co_await\b).*")
# Tags, what follows a $ in a name of C, and the operator of a literal
_TAGS = re.compile(rf"{TAGS.pattern}|(?<=\w)\$\w*|\boperator\"\" _?")
# A block of Objective-C, whose name is made of the name of the function that it is in.
_BLOCK = re.compile(r"_{2}(.+)_block_invoke(?:_\d+)?")
_UNNAMED_SPACE = "_GLOBAL__N_1"  # in mangled names, before the length of the next word
_LENGTH = re.compile(r"\d{1,4}")  # before a word, in mangled names of many languages
# Between words of a name in C; the linker's --wrap, a module of Fortran.
_WORDS = re.compile(r"\W+|__(?:wrap|real)_|__+|_MOD_")
_SWIFT = re.compile(r"_?\$[sSe]")
_SWIFTS_NAME = re.compile(r"\.(\w+)\(")  # of a function: app.Rows.gather(Swift.Int) -> ()
_INLINED = -1  # section of a piece that is inside of a function


class FunctionThere(NamedTuple):
    """A function of the image, its address, and the object or function that it is in."""

    piece: NamedPiece
    address: int
    where: str


def judge_copies(code: DeselectedCode) -> Verdict:
    """Judge that the image contains no bytes of a deselected function, under any name."""
    evidence = code.evidence
    # Unless all places are known, legitimate code cannot be distinguished from copies.
    copies = code.copies() if _knows_places(evidence) else []
    if not copies:
        if (foreign := foreign_code(code)) and sum(f.bytes for f in foreign) >= FEWEST_BYTES:
            return _undecided_copies(evidence, foreign)
        count = len(set(code.functions.names))
        note = f"no bytes of {count} functions that were left out are in the image"
        return _gone(evidence, COPIES, note)
    notes = tuple(
        f"{copy.bytes} bytes of {demangle(copy.function)} are at {copy.address:#x}, in {copy.where}"
        for copy in copies
    )
    piece = next((copy.piece for copy in copies if copy.piece is not None), None)
    chain = explain(evidence, piece)[1] if piece is not None else ()
    cause = f"copied: code of {evidence.short(copies[0].function)} in {copies[0].where}"
    size = sum(copy.bytes for copy in copies)
    return _there(COPIES, size, notes, cause, chain)


def _undecided_copies(evidence: Evidence, foreign: Sequence[ForeignCode]) -> Verdict:
    """Judge code that the full build lacks and that may be a copy under another name."""
    notes = [
        f"{each.bytes} bytes of {demangle(each.function)} at {each.address:#x}"
        + (f", inside of {evidence.short(each.host)}" if each.host else "")
        + (f", with {' and '.join(map(demangle, each.inlined))}" if each.inlined else "")
        for each in foreign
    ]
    cause = "code that the full build lacks: LTO makes copies too different to recognise"
    shown = (*_shown(notes), cause)
    return Verdict("section", COPIES, ABSENT, INCONCLUSIVE, UNKNOWN, 0, shown)


def _shown(notes: Sequence[str]) -> tuple[str, ...]:
    more = (f"and {len(notes) - _MOST_SHOWN} more",) if len(notes) > _MOST_SHOWN else ()
    return (*notes[:_MOST_SHOWN], *more)


def _knows_places(evidence: Evidence) -> bool:
    """Return whether the place of every function of the given objects is known."""
    has_code = not evidence.objects.lto or evidence.has_lto
    has_all = evidence.placement.has_map and not evidence.lacks_inputs
    return bool(evidence.own) and has_all and has_code


def judge_namesakes(
    code: DeselectedCode,
    kernels: Iterable[str],
    classes: Collection[str] = (),
    bodies: Mapping[str, frozenset[str]] = MappingProxyType({}),
    handled: Collection[str] = (),
) -> Verdict:
    """Judge that no function of the image has the name of a deselected kernel, in any scope.

    Nor may the name of a function contain a deselected class, as a scope, argument or parameter,
    nor may it be that of a dtype's body for a deselected dtype, as a parameter.
    The full build's own functions may: a method of a tensor is also called `view`. A class or
    namespace with a kernel's name may have other functions than the kernel, so it is undecided,
    as is a template with such an argument, and a function named like a body that tells no dtype.

    handled: classes that selected operators take or return; only a full build tells which functions
    these operators need, so without one such a class is not judged
    """
    evidence, names = code.evidence, frozenset(kernels)
    if code.full is None:
        classes = [name for name in classes if name not in handled]
    told, untold = _like_bodies(code, bodies)
    found = [*_namesakes(code, names), *_of_classes(code, classes), *told]
    if not found:
        scoped = [*_in_scopes(code, names), *untold]
        if untold or sum(each.piece.size for each in scoped) >= FEWEST_BYTES:
            cause = "a scope or template argument has the name of a kernel; the full build lacks it"
            if untold:
                cause = "a name or scope is that of a body of dtypes; the full build lacks it"
            notes = (*_shown(_described(scoped)), cause)
            return Verdict("section", NAMESAKES, ABSENT, INCONCLUSIVE, UNKNOWN, 0, notes)
        return _gone(evidence, NAMESAKES, "no function of the image has such a name")
    notes = _described(found)
    placed = next((p for p, _, _ in found if p.section != _INLINED), None)
    chain = explain(evidence, placed)[1] if placed is not None else ()
    cause = f"another scope: {demangle(found[0][0].symbol)}"
    return _there(NAMESAKES, sum(p.size for p, _, _ in found), notes, cause, chain)


def _described(found: Iterable[FunctionThere]) -> tuple[str, ...]:
    return tuple(
        f"{demangle(piece.symbol)}: {piece.size} bytes at {address:#x}, {host}"
        for piece, address, host in found
    )


def _namesakes(code: DeselectedCode, names: frozenset[str]) -> Iterator[FunctionThere]:
    """Yield functions named like kernels."""
    if not names:
        return
    # Only the demangled name decides: languages and compilers write names in too many ways.
    mentions = re.compile("|".join(map(re.escape, names)))
    for found in _functions_there(code, mentions):
        if _is_namesake(code, found[0], names, mentions):
            yield found


def _in_scopes(code: DeselectedCode, names: frozenset[str]) -> Iterator[FunctionThere]:
    """Yield functions in classes and namespaces named like kernels, or with such an argument.

    The full build's own are left out; without one, nothing is known of other functions.
    """
    if not names or code.full is None:
        return
    for found in _functions_there(code, re.compile("|".join(map(re.escape, names)))):
        piece = found.piece
        if names.isdisjoint(_around(piece.symbol)):
            continue
        if not code.is_known(piece.symbol, piece.object, is_inlined=piece.section == _INLINED):
            yield found


def _of_classes(code: DeselectedCode, classes: Collection[str]) -> Iterator[FunctionThere]:
    """Yield functions and data whose names contain a class, except those that the full build has.

    The functions that make its objects count in any case.
    """
    if not classes:
        return
    words = "|".join(map(re.escape, classes))
    lengths = "|".join(f"{len(name)}{re.escape(name)}" for name in classes)
    # In a mangled name, or a word of a name in C.
    named = re.compile(
        rf"(?:(?<!\d)|(?<={_UNNAMED_SPACE}))(?:{lengths})|(?<![^\W_])(?:{words})(?![^\W_])"
    )
    for found in (*_functions_there(code, named), *_data_there(code, named)):
        piece = found[0]
        if not code.is_known(piece.symbol, piece.object, is_inlined=piece.section == _INLINED):
            yield found
    makers = class_makers(code.full, classes) if code.full is not None else ()
    if makers:
        yield from _functions_there(code, re.compile(rf"(?:{'|'.join(map(re.escape, makers))})\Z"))


def _like_bodies(
    code: DeselectedCode, bodies: Mapping[str, frozenset[str]]
) -> tuple[list[FunctionThere], list[FunctionThere]]:
    """List functions that are named like bodies, or around which something is.

    First those that serve a dtype that is left out, then those whose names tell no dtype. Templates
    of such a name are judged as bodies, if they have code of their own. Functions of the full build
    are left out; without one, nothing is known of other functions.
    """
    told: list[FunctionThere] = []
    untold: list[FunctionThere] = []
    if not bodies or code.full is None:
        return told, untold
    for found in _functions_there(code, re.compile("|".join(map(re.escape, bodies)))):
        piece = found.piece
        if piece.section != _INLINED and _is_template_of(piece.symbol, bodies):
            continue
        left_out, served = _dtypes_like(piece.symbol, bodies)
        if not left_out or (served and left_out.isdisjoint(served)):
            continue
        if not code.is_known(piece.symbol, piece.object, is_inlined=piece.section == _INLINED):
            (told if served else untold).append(found)
    return told, untold


def _is_template_of(symbol: str, bodies: Collection[str]) -> bool:
    """Return whether a function is an instance of a template with the name of a body."""
    name, arguments = template_of(symbol)
    return bool(arguments) and name in bodies and code_name(symbol) == name


def _dtypes_like(
    symbol: str, bodies: Mapping[str, frozenset[str]]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the dtypes that bodies of a function's names lack, and those that it serves."""
    words = {*code_names(symbol), *_scopes(symbol), *_around(symbol)}
    divided = [split_dtype(word) for word in words]
    names = words.union(name for name, _ in divided)
    left_out = frozenset().union(*(bodies[each] for each in names if each in bodies))
    # A name of C has no parameters, so the function may serve any dtype.
    if demangle(symbol) == symbol and not words.isdisjoint(bodies):
        return left_out, left_out
    of_words = {dtype for each, dtype in divided if dtype and each in bodies}
    return left_out, frozenset(of_words or served_dtypes(symbol))


def _functions_there(code: DeselectedCode, mangled: re.Pattern[str]) -> Iterator[FunctionThere]:
    """Yield the functions whose symbols match a pattern, in the image or inlined there."""
    evidence = code.evidence
    for each in code.placed:
        if mangled.search(each.piece.symbol):
            where = evidence.placement.where(each.piece) or 0
            yield FunctionThere(each.piece, where, f"of {evidence.objects.label(each.piece)}")
    for symbol, part in evidence.inlined.items():
        if mangled.search(symbol):
            host = evidence.placement.owner(part.address)
            piece = NamedPiece(host[0] if host else 0, _INLINED, 0, part.bytes, symbol)
            yield FunctionThere(piece, part.address, f"inside of {demangle(part.host)}")


def _data_there(code: DeselectedCode, named: re.Pattern[str]) -> Iterator[FunctionThere]:
    """Yield the variables and tables of the image whose symbols match a pattern."""
    placement, objects = code.evidence.placement, code.evidence.objects
    for number, file in enumerate(code.evidence.own_files()):
        for each in file.definitions:
            if not named.search(each.symbol) or file.elf.sections[each.section].is_executable:
                continue
            piece = each.in_object(number)
            where = placement.where(piece)
            if where is not None:
                yield FunctionThere(piece, where, f"of {objects.label(piece)}")


def _is_namesake(
    code: DeselectedCode, piece: NamedPiece, names: frozenset[str], mentions: re.Pattern[str]
) -> bool:
    """Return whether a function has a kernel's name and is not another function of the full build.

    Without a full build, a function counts only if it also has the kernel's parameters and is not
    local, since a helper may have the name of a kernel.
    """
    symbol = piece.symbol
    if code.full is not None and not names.isdisjoint(_suffixes(symbol)):
        return symbol not in code.full.index  # main.gather is no clone of main
    name = template_of(symbol)[0]
    if name not in names and (code.full is None or names.isdisjoint(code_names(symbol))):
        return False
    if code.full is not None:
        return not code.is_known(symbol, piece.object, is_inlined=piece.section == _INLINED)
    if "_GLOBAL__N_" in symbol or symbol.endswith("()"):
        return False
    kernels = (c.piece.symbol for c in code.gone if mentions.search(c.piece.symbol))
    return any(
        template_of(kernel)[0] == name and _arguments(kernel) == _arguments(symbol)
        for kernel in kernels
    )


def code_names(symbol: str) -> set[str]:
    """Return the names that a function may have.

    No rule says how a label of assembly or another language joins the parts of a name: sg.gather,
    pkg__gather, __rows_MOD_gather, _D2sg6gather. So each of its words is one.
    """
    symbol = _without_block(symbol)
    found = {code_name(symbol)}
    if _SWIFT.match(symbol):
        found.update(_SWIFTS_NAME.findall(demangle(symbol)))
    if demangle(symbol) == symbol and "::" not in symbol and "(" not in symbol:
        words = _WORDS.split(symbol)
        found.update(word.lstrip("_") for word in words)
        found.update(word.strip("_") for word in words)  # Fortran: gather_
        lengths = _LENGTH.finditer(symbol)
        found.update(symbol[m.end() : m.end() + int(m[0])] for m in lengths)
    return found


def _suffixes(symbol: str) -> list[str]:
    """Return the words behind a name that look like a clone's: isra and 0 of f.isra.0."""
    plain = plain_name(symbol)
    return re.findall(r"\w+", symbol[len(plain) :]) if symbol.startswith(plain) else []


def _without_block(symbol: str) -> str:
    """Return the function that a block is in, without clone suffixes; else the symbol."""
    block = _BLOCK.fullmatch(plain_name(symbol))
    return block[1] if block else symbol


def code_name(symbol: str) -> str:
    """Return the name of a function, without ABI tags and module.

    That of a lambda, function object, destructor or conversion is the name of what it is in.
    """
    scopes = _scopes(symbol)
    while len(scopes) > 1 and _UNNAMED.fullmatch(scopes[-1]):
        scopes.pop()
    return scopes[-1]


def _around(symbol: str) -> set[str]:
    """Return the names of a function's scopes and template arguments; std has names of kernels."""
    text = demangle(_without_block(plain_name(symbol)))
    text = _TAGS.sub("", without_parameters(text))
    return set(re.findall(r"\w+", re.sub(r"\bstd::(?:\w+::)*\w+", "", text)))


def _scopes(symbol: str) -> list[str]:
    """Return the scopes of a function and its name, without ABI tags and module."""
    text = _CONVERSION.sub("", without_parameters(demangle(plain_name(symbol))))
    return _TAGS.sub("", without_templates(text)).split("::")


def _arguments(symbol: str) -> str:
    """Return the parameters of a function, as written after its name."""
    return split_name(demangle(plain_name(symbol))).parameters


def _gone(evidence: Evidence, name: str, note: str) -> Verdict:
    if not evidence.is_complete:
        return Verdict("section", name, ABSENT, INCONCLUSIVE, UNKNOWN, 0, evidence.gaps)
    return Verdict("section", name, ABSENT, PASS, REMOVED_BY_COMPILER, 0, (note,))


def _there(
    name: str, size: int, notes: Sequence[str], cause: str, chain: tuple[ChainStep, ...]
) -> Verdict:
    return Verdict("section", name, ABSENT, FAIL, STILL_THERE, size, _shown(notes), chain, cause)
