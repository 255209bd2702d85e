"""What verification asks of an image or an object, of whichever format. The words are ELF's: atoms of Mach-O come as sections."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sizeguard.formats.elf import Section, Symbol


class Table(Protocol):
    """A symbol table."""

    def objects(self) -> tuple[Symbol, ...]: ...


class Binary(Protocol):
    """An image or an object. formats.elf.Elf is one, and so are the views of verify.macho."""

    @property
    def path(self) -> Path: ...
    @property
    def type(self) -> int: ...
    @property
    def machine(self) -> str: ...
    @property
    def build_id(self) -> str: ...
    @property
    def sections(self) -> tuple[Section, ...]: ...
    @property
    def data(self) -> npt.NDArray[np.uint8]: ...
    @property
    def is_stripped(self) -> bool: ...
    @property
    def static_symbols(self) -> tuple[Table, ...]: ...
    @property
    def dynamic_symbols(self) -> tuple[Table, ...]: ...
    @property
    def symbols(self) -> tuple[Symbol, ...]: ...
    def content(self, section: Section) -> bytes: ...
    def section(self, name: str) -> Section | None: ...
