"""Find the references of objects to texts in their data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from sizeguard.base.dataclass import dataclass
from sizeguard.verify.evidence.object_evidence import ObjectFile

# Distances are relative to the next instruction: up to 8 bytes less than to the place.
_INSTRUCTION = 8
# An address that an instruction takes is relative to the end of its field of 4 bytes, its last one.
_RELATIVE, _FIELD = ("x86_64", 2), 4  # R_X86_64_PC32


@dataclass(frozen=True, eq=False)
class TextReferences:
    """The references among the objects of a link."""

    files: Sequence[ObjectFile]

    @cached_property
    def _undefined(self) -> Mapping[str, list[tuple[int, int]]]:
        """Return name → object and number of each symbol of that name without a definition."""
        found: dict[str, list[tuple[int, int]]] = {}
        for number, file in enumerate(self.files):
            for row, symbol in enumerate(file.symbols):
                if not symbol.section and symbol.name:
                    found.setdefault(symbol.name, []).append((number, row))
        return found

    def to(
        self, number: int, index: int, start: int, *, is_exact: bool = False
    ) -> Iterator[tuple[int, int, int]]:
        """Yield the places that refer to an offset of a section: object, section and offset.

        is_exact: whether a reference to bytes just before it does not count

        Other objects refer to it by a global symbol: ThinLTO makes one for a text that functions of
        several objects use.
        """
        symbols = self.files[number].symbols
        own = {row: symbol.address for row, symbol in enumerate(symbols) if symbol.section == index}
        yield from self._to(number, own, start, is_exact)
        others: dict[int, dict[int, int]] = {}
        for symbol in symbols:
            if symbol.section == index and symbol.binding:
                for other, row in self._undefined.get(symbol.name, ()):
                    others.setdefault(other, {})[row] = symbol.address
        for other, rows in others.items():
            yield from self._to(other, rows, start, is_exact)

    def _to(
        self, number: int, symbols: Mapping[int, int], start: int, is_exact: bool
    ) -> Iterator[tuple[int, int, int]]:
        """Yield an object's references to an offset by symbols: row → place of the symbol."""
        file = self.files[number]
        for source, table in file.relocations.items():
            is_code = file.elf.sections[source].is_executable
            for offset, kind, symbol, addend in zip(
                table.offset.tolist(),
                table.type.tolist(),
                table.symbol.tolist(),
                table.addend.tolist(),
                strict=True,
            ):
                place = symbols.get(symbol)
                if place is None or not start - _INSTRUCTION <= place + addend <= start:
                    continue
                is_relative = is_code and (file.elf.machine, kind) == _RELATIVE
                if not is_exact or place + addend == start - _FIELD * is_relative:
                    yield number, source, offset
