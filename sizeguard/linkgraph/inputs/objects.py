"""Relocatable objects as a linker reads them: sections, groups and global names."""

from __future__ import annotations

import mmap
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.columns.texts import Int
from sizeguard.formats.archive import member_starts
from sizeguard.formats.elf import (
    SHT_GROUP,
    SHT_SYMTAB,
    STB_LOCAL,
    Elf,
    SymbolTable,
    parse_elf,
)
from sizeguard.formats.magics import BITCODE_MAGICS, ELF_MAGIC

GRP_COMDAT = 1
_SLIM = b"__gnu_lto_slim"


@dataclass(frozen=True, slots=True)
class SectionGroup:
    """Section group.

    signature: the name by which a linker keeps one of several groups; empty if each is kept
    members:   section numbers
    """

    signature: bytes
    members: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Object:
    """Relocatable object.

    path:   its file
    member: its name in an archive; empty for a separate file
    """

    path: Path
    member: str
    elf: Elf

    @property
    def label(self) -> str:
        """Name in messages: archive(member) or the path."""
        return f"{self.path}({self.member})" if self.member else str(self.path)

    @cached_property
    def symbols(self) -> SymbolTable | None:
        """The static symbol table, if there is one."""
        tables = self.elf.static_symbols
        return tables[0] if tables else None

    @cached_property
    def headers(self) -> npt.NDArray[np.void]:
        """Section headers as a table, with columns as in the file."""
        offset, size = self.elf.section_headers
        width = self.elf.layout.section.itemsize
        count = min(len(self.elf.sections), size // width) or len(self.elf.sections)
        table: npt.NDArray[np.void] = self.elf.data[offset : offset + count * width].view(
            self.elf.layout.section
        )
        return table

    @cached_property
    def globals(self) -> Int:
        """Indices of the symbols that are not local."""
        if self.symbols is None:
            return np.zeros(0, np.int64)
        return np.flatnonzero(self.symbols.binding != STB_LOCAL)

    @cached_property
    def names(self) -> list[bytes]:
        """Names of `globals`, without a default version: foo@@V defines foo."""
        if self.symbols is None:
            return []
        return names_of(self.symbols, self.globals)

    @cached_property
    def groups(self) -> tuple[SectionGroup, ...]:
        """Section groups, in the order of the file."""
        found = []
        for section in [section for section in self.elf.sections if section.type == SHT_GROUP]:
            if section.size >= 4:
                words = self.elf.content(section)
                numbers = np.frombuffer(words[: len(words) // 4 * 4], self.elf.layout.half).tolist()
                members = tuple(n for n in numbers[1:] if 0 < n < len(self.elf.sections))
                is_unique = bool(numbers[0] & GRP_COMDAT)
                found.append(
                    SectionGroup(self._name_of(section.info) if is_unique else b"", members)
                )
        return tuple(found)

    def _name_of(self, symbol: int) -> bytes:
        """Return the name of a symbol; for a section symbol, the section's."""
        if self.symbols is None or symbol >= len(self.symbols):
            return b""
        name = self.symbols.names.raw(symbol)
        index = int(self.symbols.section[symbol])
        if name or not 0 <= index < len(self.elf.sections):
            return name
        return self.elf.sections[index].name.encode()


def names_of(symbols: SymbolTable, indices: Int) -> list[bytes]:
    """Return the names of some symbols, without a default version."""
    buffer = symbols.names.buffer.data
    start, end = symbols.names.start[indices].tolist(), symbols.names.end[indices].tolist()
    names = [bytes(buffer[a:b]) for a, b in zip(start, end, strict=True)]
    return [name.partition(b"@")[0] if b"@@" in name else name for name in names]


def is_lto(content: bytes | mmap.mmap) -> bool:
    """Return whether an object, or a member of an archive, is LLVM bitcode or a slim LTO object."""
    head = content[:4]
    if head in BITCODE_MAGICS:
        return True
    if head == b"!<ar":
        # Only the headers are checked: a search takes 3 ms for 1 MB.
        return content.find(_SLIM) >= 0 or any(
            start in BITCODE_MAGICS for start in member_starts(content, 4)
        )
    return head == ELF_MAGIC and content.find(_SLIM) >= 0


class UnsupportedObjectError(InputError):
    """An object of a class or byte order that section graphs do not support."""


def read_object(path: Path, member: str, data: npt.NDArray[np.uint8], machine: str) -> Object:
    """Read an object for a machine ("" accepts any).

    Raises InputError for anything except an object of this machine, InconclusiveError for LTO
    objects.
    """
    label = Path(f"{path}({member})" if member else path)
    if data[:4].tobytes() in BITCODE_MAGICS:
        raise InconclusiveError(
            f"{label}: LLVM bitcode; link with -Wl,--save-temps and give the objects that it keeps"
        )
    elf = parse_elf(label, data)
    if not elf.is_relocatable:
        raise InputError(f"{label}: not a relocatable object")
    if machine and elf.machine != machine:
        raise InputError(f"{label}: an object for {elf.machine}, the others are for {machine}")
    if not elf.layout.is_64 or elf.layout.order != "<":
        raise UnsupportedObjectError(
            f"{label}: section graphs support only 64-bit little-endian objects"
        )
    if ".gnu.lto_" in "".join([section.name[:9] for section in elf.sections]) and is_lto(
        data.tobytes()
    ):
        raise InconclusiveError(
            f"{label}: an LTO object without code; link with -save-temps and give the objects that"
            " it keeps"
        )
    if [section.type for section in elf.sections].count(SHT_SYMTAB) > 1:
        raise InputError(f"{label}: an object with two symbol tables")
    return Object(path, member, elf)
