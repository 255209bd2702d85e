"""Turns a file of a link into what linking needs of it: sections, groups and global names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sizeguard.errors import InconclusiveError, InputError
from sizeguard.formats.elf import SHN_COMMON, SHT_SYMTAB, STB_LOCAL, Elf, SymbolTable, parse_elf
from sizeguard.formats.texts import Int

SHT_GROUP, SHF_GROUP, GRP_COMDAT = 17, 0x200, 1
_COMMON = SHN_COMMON - 0x10000
_BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")


@dataclass(frozen=True, slots=True)
class Group:
    """A section group. signature: the name that a linker keeps one group of; empty if each is kept."""

    signature: bytes
    members: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Object:
    """A relocatable object. path: its file; member: its name in an archive, empty if it is a file of its own."""

    path: Path
    member: str
    elf: Elf

    @property
    def label(self) -> str:
        """archive(member) or the path."""
        return f"{self.path}({self.member})" if self.member else str(self.path)

    @cached_property
    def symbols(self) -> SymbolTable | None:
        tables = self.elf.static_symbols
        return tables[0] if tables else None

    @cached_property
    def headers(self) -> npt.NDArray[np.void]:
        """The section headers as a table, columns as in the file."""
        offset, size = self.elf.section_headers
        width = self.elf.layout.section.itemsize
        count = min(len(self.elf.sections), size // width) or len(self.elf.sections)
        table: npt.NDArray[np.void] = self.elf.data[offset : offset + count * width].view(self.elf.layout.section)
        return table

    @cached_property
    def globals(self) -> Int:
        """Indices of the symbols that are not local."""
        if self.symbols is None:
            return np.zeros(0, np.int64)
        return np.flatnonzero(self.symbols.binding != STB_LOCAL)

    @cached_property
    def names(self) -> list[bytes]:
        """Names of `globals`. A default version is dropped: foo@@V defines foo."""
        if self.symbols is None:
            return []
        return names_of(self.symbols, self.globals)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        found = []
        for section in [section for section in self.elf.sections if section.type == SHT_GROUP]:
            if section.size >= 4:
                words = self.elf.content(section)
                numbers = np.frombuffer(words[: len(words) // 4 * 4], self.elf.layout.half).tolist()
                members = tuple(n for n in numbers[1:] if 0 < n < len(self.elf.sections))
                signature = b""
                if numbers[0] & GRP_COMDAT and self.symbols is not None and section.info < len(self.symbols):
                    signature = self.symbols.names.raw(section.info)
                    if not signature:  # a section symbol: the section's name counts
                        index = int(self.symbols.section[section.info])
                        signature = self.elf.sections[index].name.encode() if 0 <= index < len(self.elf.sections) else b""
                found.append(Group(signature, members))
        return tuple(found)


def names_of(symbols: SymbolTable, indices: Int) -> list[bytes]:
    buffer = symbols.names.buffer.data
    start, end = symbols.names.start[indices].tolist(), symbols.names.end[indices].tolist()
    names = [bytes(buffer[a:b]) for a, b in zip(start, end, strict=True)]
    return [name.partition(b"@")[0] if b"@@" in name else name for name in names]


def is_common(section: int) -> bool:
    return section == _COMMON


def is_lto(data: npt.NDArray[np.uint8]) -> bool:
    """Whether an object is LLVM bitcode or a slim LTO object of gcc, or an archive holds one."""
    head = data[:4].tobytes()
    if head in _BITCODE:
        return True
    content = data.tobytes()
    if head == b"!<ar":
        return b"__gnu_lto_slim" in content or any(b"`\n" + magic in content for magic in _BITCODE)
    return head == b"\x7fELF" and b"__gnu_lto_slim" in content


def read_object(path: Path, member: str, data: npt.NDArray[np.uint8], machine: str) -> Object:
    """Read an object. Raises InputError for what is none of this machine's ("" takes any), InconclusiveError for LTO objects."""
    label = Path(f"{path}({member})" if member else path)
    if data[:4].tobytes() in _BITCODE:
        raise InconclusiveError(f"{label}: LLVM bitcode; link with -Wl,--save-temps and give the objects that it leaves")
    elf = parse_elf(label, data)
    if not elf.is_relocatable:
        raise InputError(f"{label}: not a relocatable object")
    if machine and elf.machine != machine:
        raise InputError(f"{label}: an object for {elf.machine}, the others are for {machine}")
    if not elf.layout.is_64 or elf.layout.order != "<":
        raise InputError(f"{label}: section graphs are made of 64-bit little-endian objects")
    if ".gnu.lto_" in "".join([section.name[:9] for section in elf.sections]) and is_lto(data):
        raise InconclusiveError(f"{label}: an LTO object without code; link with -save-temps and give the objects that it leaves")
    if [section.type for section in elf.sections].count(SHT_SYMTAB) > 1:
        raise InputError(f"{label}: an object with two symbol tables")
    return Object(path, member, elf)
