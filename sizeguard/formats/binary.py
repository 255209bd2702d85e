"""Images and objects that verification reads, in any format, and their definitions by name.

They use ELF's terms: atoms of Mach-O appear as sections.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.formats.elf import Section, Symbol


class SymbolList(Protocol):
    """A symbol table."""

    def objects(self) -> tuple[Symbol, ...]:
        """Return the symbols as objects."""

    def defined_names(self) -> list[str]:
        """Return the names of the definitions; some are empty."""

    def defined(self, index: int) -> Symbol:
        """Return the definition with the name at an index in `defined_names`."""


class Binary(Protocol):
    """An image or an object, such as formats.elf.Elf and the views of verify.macho."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def type(self) -> int:
        """The file's type, an ET_ number."""

    @property
    def machine(self) -> str:
        """The architecture, such as x86_64."""

    @property
    def build_id(self) -> str:
        """The build id in hex, empty if there is none."""

    @property
    def sections(self) -> tuple[Section, ...]:
        """All sections, by index."""

    @property
    def data(self) -> npt.NDArray[np.uint8]:
        """The bytes of the file."""

    @property
    def is_stripped(self) -> bool:
        """Return whether it has no symbol table except the one for dynamic linking."""

    @property
    def static_symbols(self) -> tuple[SymbolList, ...]:
        """Symbol tables that stripping removes."""

    @property
    def dynamic_symbols(self) -> tuple[SymbolList, ...]:
        """Symbol tables for dynamic linking."""

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols of the static tables, else of the dynamic tables."""

    def content(self, section: Section) -> bytes:
        """Return a section's bytes in the file."""

    def section(self, name: str) -> Section | None:
        """Return the first section of that name; None if there is none."""


def linked_debug_file(image: Binary) -> tuple[Path, bool] | None:
    """Return the file that .gnu_debuglink names, as gdb finds it, and whether its CRC-32 agrees."""
    section = image.section(".gnu_debuglink")
    if section is None:
        return None
    content = image.content(section)
    name = os.fsdecode(content.partition(b"\0")[0])
    for path in (image.path.parent / name, image.path.parent / ".debug" / name):
        if "/" not in name and path.is_file():
            crc = zlib.crc32(path.read_bytes())
            # in the image's byte order; the other order agrees for one file in four billion
            return path, content.endswith((crc.to_bytes(4, "little"), crc.to_bytes(4, "big")))
    return None


@dataclass(frozen=True, eq=False)
class ImageSymbols(Mapping[str, list[Symbol]]):
    """Definitions by name; each address counts once, although two tables may name it.

    Claims ask for few of many symbols: making an object of each of the 1,023,755 in
    libtorch_cpu.so took half of a verification's time.

    names: of all definitions, table after table
    """

    names: Sequence[str]
    _tables: Sequence[SymbolList]
    _starts: Sequence[int]  # of each table in `names`
    _last: Mapping[str, int]  # place of a name in `names`; in the order of their first places
    _others: Mapping[str, Sequence[int]] = field(repr=False)  # the places before the last

    @staticmethod
    def of(tables: Sequence[SymbolList]) -> ImageSymbols:
        """Index the definitions of symbol tables by their names, without versions."""
        parts = [table.defined_names() for table in tables]
        names = [each.partition("@")[0] if "@" in each else each for each in chain(*parts)]
        starts = [0]
        for part in parts:
            starts.append(starts[-1] + len(part))
        last = dict(zip(names, range(len(names)), strict=True))
        last.pop("", None)
        others: dict[str, list[int]] = {}
        for place, name in enumerate(names):
            if name and last[name] != place:
                others.setdefault(name, []).append(place)
        return ImageSymbols(names, tables, starts, last, others)

    def __getitem__(self, name: str) -> list[Symbol]:
        """Return the definitions of a name."""
        places = (*self._others.get(name, ()), self._last[name])
        found: dict[int, Symbol] = {}
        for symbol in self._symbols(places):
            found.setdefault(symbol.address, symbol)
        return list(found.values())

    def _symbols(self, places: Iterable[int]) -> Iterator[Symbol]:
        for place in places:
            table = next(i for i, end in enumerate(self._starts[1:]) if place < end)
            yield self._tables[table].defined(place - self._starts[table])

    def __contains__(self, name: object) -> bool:
        """Return whether the image defines a name."""
        return name in self._last

    def __iter__(self) -> Iterator[str]:
        """Yield each name once."""
        return iter(self._last)

    def __len__(self) -> int:
        """Return the number of names."""
        return len(self._last)
