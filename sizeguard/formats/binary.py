"""Protocol of images and objects that verification reads, in any format.

It uses ELF's terms: atoms of Mach-O appear as sections.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sizeguard.formats.elf import Section, Symbol


class SymbolList(Protocol):
    """A symbol table."""

    def objects(self) -> tuple[Symbol, ...]:
        """Return the symbols as objects."""


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
