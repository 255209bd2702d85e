"""Find code that the full build lacks, which LTO makes too different to compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.formats.archive import contents
from sizeguard.formats.lto_object import functions_of
from sizeguard.formats.magics import MACHO_MAGICS
from sizeguard.names.demangle import demangle
from sizeguard.names.short import without_parameters
from sizeguard.verify.leaks.deselected_code import DeselectedCode, plain_name
from sizeguard.verify.leaks.full_objects import full_build

_MOST_INLINED = 2


@dataclass(frozen=True, slots=True)
class ForeignCode:
    """Code of a function that the full build has in no form.

    host:    the function that it is inlined into; empty if it has a symbol
    inlined: the largest functions that are inlined into it
    """

    function: str
    bytes: int
    address: int
    host: str = ""
    inlined: tuple[str, ...] = ()


def foreign_code(code: DeselectedCode) -> tuple[ForeignCode, ...]:
    """List code of LTO in functions that the full build lacks, the largest first.

    Such code may be a renamed copy of a deselected kernel: LTO inlines kernels into their callers
    in the full build, so the copy and the kernel share few bytes.
    """
    if code.full is None or not code.evidence.has_lto:
        return ()
    known = KnownFunctions.of(code)
    found = [*_placed(code, known), *_inlined(code, known)]
    return tuple(sorted(found, key=lambda each: -each.bytes))


@dataclass(frozen=True, slots=True)
class KnownFunctions:
    """Functions of the full build in any form: compiled, inlined, or discarded by LTO.

    scoped: names of local functions in debug information: a::(anonymous namespace)::f()
    """

    symbols: frozenset[str]
    scoped: frozenset[str]

    @classmethod
    def of(cls, code: DeselectedCode) -> KnownFunctions:
        """Collect the names of the full build beside an image."""
        bodies = _bodies(code)
        symbols = {*code.known, *code.inlined_in_full, *bodies}
        texts = b"\0".join(code.debug_texts_of_full).split(b"\0")
        symbols |= {text.decode() for text in texts if text.startswith(b"_Z") and text.isascii()}
        scoped = {f"{without_parameters(demangle(name))}()" for name in (*code.known, *bodies)}
        return cls(frozenset(symbols), frozenset(scoped))

    def has(self, symbol: str) -> bool:
        """Return whether the full build has a function, or the one that a clone was made of."""
        return not self.symbols.isdisjoint({symbol, plain_name(symbol)}) or symbol in self.scoped


def _bodies(code: DeselectedCode) -> frozenset[str]:
    build = full_build(code.evidence)
    return function_bodies(build.lto_inputs) if build is not None else frozenset()


def function_bodies(paths: Iterable[Path]) -> frozenset[str]:
    """List the functions whose bodies are in LTO objects, dead and local ones too.

    Objects that cannot be read have none, so more code counts as foreign.
    """
    found: set[str] = set()
    try:
        for each in contents(paths, None, (b"\x7fELF", *MACHO_MAGICS)):
            if each.data[:4] not in MACHO_MAGICS:
                found.update(map(plain_name, functions_of(each.data)))
    except InputError:
        pass
    return frozenset(found)


def _placed(code: DeselectedCode, known: KnownFunctions) -> Iterator[ForeignCode]:
    """Yield foreign functions with a symbol of the image; aliases once."""
    evidence = code.evidence
    seen: set[tuple[int, int, int]] = set()
    for each in code.placed:
        piece = each.piece
        place = (piece.object, piece.section, piece.offset)
        if place in seen or known.has(piece.symbol):
            continue
        seen.add(place)
        inside = [
            (part.bytes, n) for n, part in evidence.inlined.items() if part.host == piece.symbol
        ]
        largest = tuple(name for _, name in sorted(inside, reverse=True)[:_MOST_INLINED])
        address = evidence.placement.where(piece) or 0
        yield ForeignCode(piece.symbol, piece.size, address, "", largest)


def _inlined(code: DeselectedCode, known: KnownFunctions) -> Iterator[ForeignCode]:
    """Yield foreign functions inside of known ones, each byte as the outermost function's."""
    frames = code.evidence.frames
    if frames is None:
        return
    names = frames.plain_names()
    lacks = [not known.has(name) for name in names]
    first, over = frames.first.tolist(), frames.frame.tolist()
    found: dict[str, ForeignCode] = {}
    inside: dict[str, Counter[str]] = {}
    for i, (start, end) in enumerate(zip(frames.start.tolist(), frames.end.tolist(), strict=True)):
        *inner, host = over[first[i] : first[i + 1]]
        foreign = [names[index] for index in inner if lacks[index]]
        if foreign and not lacks[host]:
            *nested, name = foreign
            before = found.get(name, ForeignCode(name, 0, start, names[host]))
            found[name] = replace(before, bytes=before.bytes + end - start)
            sizes = {part: end - start for part in nested if part != name}
            inside.setdefault(name, Counter()).update(sizes)
    for name, each in found.items():
        largest = inside[name].most_common(_MOST_INLINED)
        yield replace(each, inlined=tuple(part for part, _ in largest))
