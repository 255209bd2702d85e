"""The names that claims may use: those of the image, its objects and map, and of other builds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.builds import FULL, RECORD
from sizeguard.builds.open_build import open_build
from sizeguard.formats import sniff
from sizeguard.formats.binary import Binary, ImageSymbols
from sizeguard.formats.elf import read_elf
from sizeguard.formats.linkmap.link_map import MapSymbol
from sizeguard.names.find_operators import find_operators
from sizeguard.names.registered import Registration
from sizeguard.names.resolve_names import DROPPED, KnownNames, Resolved, SymbolNames
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.macho import plain, read_macho_image
from sizeguard.verify.evidence.object_evidence import NamedPiece
from sizeguard.verify.evidence.object_registrations import registered_by
from sizeguard.verify.evidence.tables import named_in, registered_in, written_operators
from sizeguard.verify.leaks.constants import constant_places


@dataclass(frozen=True, eq=False)
class ClaimNames:
    """The names of one link.

    others:       other images or builds with known names: the base, the full build
    operators:    operators that a selection chooses from
    unknown_ok:   whether to decide a claim on an unknown name
    """

    evidence: Evidence
    others: tuple[Path, ...] = ()
    operators: tuple[str, ...] = ()
    unknown_ok: bool = False
    _resolved: dict[str, Resolved] = field(default_factory=dict, repr=False)

    @cached_property
    def _written(self) -> dict[str, list[NamedPiece]]:
        return registered_by(self.evidence.objects, ())[0]

    def entries(self, kind: str, name: str) -> tuple[Registration, ...]:
        """List the entries of the shipped image for an operator."""
        if kind != "operator":
            return ()
        return self.evidence.operators.get(name) or self._named.get(name, ())

    def written(self, kind: str, name: str) -> list[NamedPiece]:
        """List the entries of the objects for an operator."""
        return self._written.get(name, []) if kind == "operator" else []

    @cached_property
    def mapped(self) -> dict[str, list[MapSymbol]]:
        """Symbols of the map by name, as the linker spells it: most linkers demangle names."""
        found: dict[str, list[MapSymbol]] = {}
        if (link_map := self.evidence.link_map) is not None:
            is_plain = self.evidence.names.underscore == DROPPED and link_map.linker == "ld64"
            for symbol in link_map.symbols:
                name = plain(symbol.name) if is_plain else symbol.name
                found.setdefault(name, []).append(symbol)
        return found

    def is_defined(self, symbol: str) -> bool:
        """Return whether the image, its objects or its debug information have a symbol."""
        evidence = self.evidence
        known = (evidence.objects.index, evidence.symbols, evidence.inlined)
        return any(symbol in each for each in known)

    @cached_property
    def _here(self) -> KnownNames:
        evidence = self.evidence
        return KnownNames(evidence.names, {**evidence.operators, **self._written}.keys())

    @cached_property
    def _named(self) -> Mapping[str, tuple[Registration, ...]]:
        """Entries of tables of any shape."""
        return named_in(self.evidence.shipped)

    @cached_property
    def _named_elsewhere(self) -> dict[str, None]:
        return dict.fromkeys(name for path in self.others for name in named_in(_image(path)))

    @cached_property
    def _elsewhere(self) -> KnownNames:
        """Names that only the map, another build or the operator libraries have."""
        symbols = list(self.mapped)
        operators = dict.fromkeys(self.operators)
        underscore = self.evidence.names.underscore
        for path in self.others:
            image = _image(path)
            symbols += _symbols(image)
            operators |= dict.fromkeys(registered_in(image, ()).operators)
        return KnownNames(SymbolNames.of(symbols, underscore, self.evidence.names.model), operators)

    def operators_called(self, text: str) -> tuple[str, ...]:
        """Find the operators that a text means, in the image, its objects or elsewhere."""
        found = [*self._here.operator(text), *self._elsewhere.operator(text)]
        if named := find_operators(text, {**self._named_elsewhere, **self._named}):
            is_symbol = self._is_symbol(text)
            found += [each for each in named if not is_symbol and not self._is_symbol(each)]
        return tuple(dict.fromkeys(found))

    def _is_symbol(self, name: str) -> bool:
        """Return whether a name is all of a symbol's, without further scopes."""
        whole = f"::{name.removeprefix('::')}"
        return any(each.symbols.find(whole) for each in (self._here, self._elsewhere))

    def perhaps_registered(self, text: str) -> Iterator[str]:
        """Describe texts of the image that may be names of operators, and that a text means.

        The names of symbols and of entries of tables are judged by their code. Those of a selection
        are judged together: the code of other operators may call them.
        """
        places = self._texts
        for name in find_operators(text, places):
            if name in self.operators or self.entries("operator", name) or self._is_symbol(name):
                continue
            yield f"the text {name} is at {places[name]:#x}: code may register it"

    @cached_property
    def _texts(self) -> dict[str, int]:
        return written_operators(self.evidence.shipped_bytes)

    def have_constant(self, value: int) -> bool:
        """Return whether an object or another build's image contains a constant."""
        objects = (file.elf for file in self.evidence.own_files())
        return any(constant_places(each, value) for each in (*objects, *map(_image, self.others)))

    def resolve(self, text: str) -> Resolved:
        """Find the symbols that a text means; those of the image and its objects come first.

        A claim looks up a text twice, as absent and as present; each look-up takes 0.1 s in a large
        image.
        """
        if text not in self._resolved:
            self._resolved[text] = self._resolve(text)
        return self._resolved[text]

    def lost(self, text: str) -> tuple[str, ...]:
        """Find the symbols elsewhere whose entire path is a text that the image has only as an end.

        `f` means ns::f if there is no other; if the base has f itself, that is what is present.
        """
        whole = f"::{text.removeprefix('::')}"
        here, elsewhere = self._here.symbols, self._elsewhere.symbols
        if here.exact(text) or here.find(whole):
            return ()
        return elsewhere.find(whole)

    def _resolve(self, text: str) -> Resolved:
        found = self._here.resolve(text)
        if found.names and not found.is_glob:
            return found
        other = self._elsewhere.resolve(text)
        names = tuple(dict.fromkeys((*found.names, *other.names)))
        return Resolved(text, names, found.is_glob, found.nearest or other.nearest)


def known_builds(path: Path, base: Path | None) -> tuple[Path, ...]:
    """List the builds with known names, in addition to the build in a folder."""
    full = path.parent / FULL
    has_full = full != path and (full / RECORD).is_file()
    return (*((base,) if base else ()), *((full,) if has_full else ()))


def _image(path: Path) -> Binary:
    image = open_build(path).image
    is_macho = sniff.image_format(image) == sniff.MACHO
    return read_macho_image(image) if is_macho else read_elf(image)


def _symbols(image: Binary) -> Iterable[str]:
    return ImageSymbols.of((*image.static_symbols, *image.dynamic_symbols))
