"""Read the headers of PE and COFF files: machine, sections, directories, symbol table."""

from __future__ import annotations

import functools
import string
import struct
from bisect import bisect_right
from pathlib import Path
from typing import NamedTuple, NoReturn

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.columns.texts import Bytes

MACHINES = {
    0x14C: "i386",
    0x8664: "x86_64",
    0x1C0: "arm",
    0x1C2: "armv7",
    0x1C4: "armv7",
    0xAA64: "arm64",
    0xA641: "arm64ec",
    0xA64E: "arm64x",
    0x200: "ia64",
    0xEBC: "efi-bytecode",
    0x5032: "riscv32",
    0x5064: "riscv64",
    0x6232: "loongarch32",
    0x6264: "loongarch64",
    0x166: "mips",
    0x1F0: "ppc",
    0x1A6: "sh4",
}
BIG_OBJECT = bytes.fromhex("c7a1bad1eebaa94baf20faf66aa4dcb8")  # class id of /bigobj files
# Digits of base 64, by value.
_DIGITS = f"{string.ascii_uppercase}{string.ascii_lowercase}{string.digits}+/".encode()
MOST_SECTIONS = 1 << 20
_SYMBOL, _BIG_SYMBOL = 18, 20  # bytes of a symbol record; the second in /bigobj files

CNT_CODE, CNT_ZEROS = 0x20, 0x80
LNK_INFO, LNK_REMOVE = 0x200, 0x800
_LNK_MANY_RELOCATIONS = 0x01000000
MEM_DISCARDABLE, MEM_EXECUTE, MEM_WRITE = 0x02000000, 0x20000000, 0x80000000

# Indices of data directories.
EXPORTS, IMPORTS, RESOURCES, EXCEPTIONS, CERTIFICATES, RELOCATIONS, DEBUG = range(7)
DELAYED_IMPORTS = 13


@dataclass(frozen=True, slots=True)
class PeSection:
    """A section; size: its bytes in the file; memory: its bytes in memory.

    relocations: place and bytes in the file, for objects
    """

    name: str
    address: int
    memory: int
    offset: int
    size: int
    flags: int
    relocations: tuple[int, int] = (0, 0)

    @property
    def is_code(self) -> bool:
        """Return whether it contains instructions."""
        return bool(self.flags & (CNT_CODE | MEM_EXECUTE))

    @property
    def is_zeros(self) -> bool:
        """Return whether the file has no bytes of it."""
        return bool(self.flags & CNT_ZEROS) and not self.flags & CNT_CODE


class SymbolRecords(NamedTuple):
    """The symbol table. start: its offset in the file; width: bytes of a record."""

    start: int
    records: int
    width: int


@dataclass(frozen=True, eq=False)
class PeLayout:
    """A file's headers.

    headers:     bytes before the sections
    directories: address and size of each data directory; for CERTIFICATES an offset in the file
    """

    path: Path
    data: Bytes
    machine: int
    is_object: bool
    headers: int
    sections: tuple[PeSection, ...]
    directories: tuple[tuple[int, int], ...]
    symbols: SymbolRecords

    @property
    def arch(self) -> str:
        """The machine's name."""
        return MACHINES.get(self.machine, f"machine{self.machine:#x}")

    def directory(self, index: int) -> tuple[int, int]:
        """Return address and size of a directory; zeros if there is none."""
        return self.directories[index] if index < len(self.directories) else (0, 0)

    @functools.cached_property
    def _by_address(self) -> tuple[list[int], list[PeSection]]:
        """Addresses of the sections, ascending, and the sections."""
        ordered = sorted(self.sections, key=lambda s: (s.address, min(s.size, s.memory)))
        return [section.address for section in ordered], ordered

    def offset_of(self, address: int) -> int:
        """Return the file offset of an address; -1 if the file has no byte for it."""
        starts, ordered = self._by_address
        at = bisect_right(starts, address) - 1
        if at >= 0:
            section = ordered[at]
            if address < section.address + min(section.size, section.memory):
                return section.offset + address - section.address
        return address if 0 < address < self.headers else -1

    def at(self, address: int, size: int) -> bytes:
        """Return bytes at an address; fewer at the end of the file, none outside the image."""
        offset = self.offset_of(address)
        return b"" if offset < 0 else self.data[offset : offset + size].tobytes()

    def damaged(self, what: str) -> NoReturn:
        """Raise the error for a damaged file."""
        raise InputError(f"{self.path}: a damaged PE file: {what}")


def read_layout(path: Path, data: Bytes) -> PeLayout:
    """Read the headers. Raises InputError if they are damaged or of another kind of file."""
    head = data[:64].tobytes()
    if head[:2] != b"MZ":
        return _object(path, data, head)
    start = int.from_bytes(head[0x3C:0x40], "little") if len(head) == 64 else len(data)
    if data[start : start + 4].tobytes() != b"PE\0\0":
        raise InputError(f"{path}: a DOS program (MZ without a PE header), which is not measured")
    return _image(path, data, start + 4)


def _image(path: Path, data: Bytes, at: int) -> PeLayout:
    machine, count, _, symbols, records, optional, _ = _unpack(path, data, at, "<HHIIIHH")
    body = at + 20
    (magic,) = _unpack(path, data, body, "<H")
    if magic not in (0x10B, 0x20B):
        raise InputError(f"{path}: a damaged PE file: optional header {magic:#x}")
    (headers,) = _unpack(path, data, body + 60, "<I")
    where = body + (92 if magic == 0x10B else 108)
    (number,) = _unpack(path, data, where, "<I")
    number = min(number, 16, max(optional - (where + 4 - body), 0) // 8)
    directories = tuple(
        (address, size)
        for address, size in (_unpack(path, data, where + 4 + 8 * i, "<II") for i in range(number))
    )
    table = body + optional
    table_of_symbols = SymbolRecords(symbols, records, _SYMBOL)
    strings = _Strings.of(data, table_of_symbols)
    sections = _sections(path, data, table, count, strings, is_object=False)
    begin = min((s.offset for s in sections if s.size), default=len(data))
    end = table + 40 * count
    headers = min(max(headers, end), max(begin, end), len(data))
    return PeLayout(path, data, machine, False, headers, sections, directories, table_of_symbols)


def _object(path: Path, data: Bytes, head: bytes) -> PeLayout:
    if head[:4] == b"\0\0\xff\xff":
        if head[12:28] != BIG_OBJECT:
            raise InputError(
                f"{path}: an entry of a Windows import library or an anonymous object, which has no"
                " sections"
            )
        machine = int.from_bytes(head[6:8], "little")
        count, symbols, records = _unpack(path, data, 44, "<III")
        start, width = 56, _BIG_SYMBOL
    else:
        machine, count, _, symbols, records, optional, _ = _unpack(path, data, 0, "<HHIIIHH")
        start, width = 20 + optional, _SYMBOL
    table_of_symbols = SymbolRecords(symbols, records, width)
    strings = _Strings.of(data, table_of_symbols)
    sections = _sections(path, data, start, count, strings, is_object=True)
    return PeLayout(path, data, machine, True, start + 40 * count, sections, (), table_of_symbols)


def _unpack(path: Path, data: Bytes, at: int, form: str) -> tuple[int, ...]:
    raw = data[at : at + struct.calcsize(form)].tobytes()
    if len(raw) < struct.calcsize(form):
        raise InputError(f"{path}: a damaged PE file: its headers end at {at + len(raw)}")
    return struct.unpack(form, raw)


@dataclass(frozen=True, slots=True)
class _Strings:
    """The string table after the symbols: [start, end) of the file."""

    data: Bytes
    start: int
    end: int

    @staticmethod
    def of(data: Bytes, symbols: SymbolRecords) -> _Strings:
        start = symbols.start + symbols.records * symbols.width
        if not symbols.start or start + 4 > len(data):
            return _Strings(data, 0, 0)
        size = int.from_bytes(data[start : start + 4].tobytes(), "little")
        return _Strings(data, start, min(start + max(size, 4), len(data)))

    def at(self, offset: int) -> bytes:
        """Return the string at an offset, at most 4 KiB; empty outside the table."""
        low = self.start + offset
        if not offset >= 4 or low >= self.end:
            return b""
        return self.data[low : min(low + 4096, self.end)].tobytes().split(b"\0")[0]


def string_table(layout: PeLayout) -> tuple[int, int]:
    """Return start and end of the string table; zeros if there is none."""
    strings = _Strings.of(layout.data, layout.symbols)
    return strings.start, strings.end


def _sections(
    path: Path, data: Bytes, at: int, count: int, strings: _Strings, *, is_object: bool
) -> tuple[PeSection, ...]:
    if count > MOST_SECTIONS or at + 40 * count > len(data):
        raise InputError(
            f"{path}: a damaged PE file: {count} sections in a file of {len(data)} bytes"
        )
    found = []
    table = data[at : at + 40 * count].tobytes()
    for raw, memory, address, size, offset, place, _, many, _, flags in struct.iter_unpack(
        "<8sIIIIIIHHI", table
    ):
        section = PeSection(_name(raw, strings), address, memory, offset, size, flags)
        if section.is_zeros or not offset:
            memory, size = (size if is_object else max(memory, size)), 0
        elif is_object:
            memory = size
        # The loader accepts at most the existing bytes; old linkers leave the virtual size at 0.
        size = max(min(size, len(data) - offset), 0)
        memory = memory or size
        relocations = _relocations(data, place, many, flags) if is_object else (0, 0)
        found.append(PeSection(section.name, address, memory, offset, size, flags, relocations))
    return tuple(found)


def _relocations(data: Bytes, place: int, count: int, flags: int) -> tuple[int, int]:
    """Return place and bytes of an object's relocations; of 65,535 or more, the first counts."""
    if flags & _LNK_MANY_RELOCATIONS and count == 0xFFFF:
        count = int.from_bytes(data[place : place + 4].tobytes(), "little")
    return place, max(min(10 * count, len(data) - place), 0)


def _place(digits: bytes) -> int:
    """Return a place in the string table, as LLVM writes it; -1 if it is none."""
    values = [_DIGITS.find(digit) for digit in digits]
    return -1 if min(values, default=-1) < 0 else functools.reduce(lambda a, b: 64 * a + b, values)


def _name(raw: bytes, strings: _Strings) -> str:
    name = raw.rstrip(b"\0")
    digits = name[1:]
    if name[:2] == b"//":  # places from 10,000,000 on have six digits of base 64
        digits = str(_place(name[2:])).encode()
    if name[:1] == b"/" and digits.isdigit():
        name = strings.at(int(digits)) or name
    return name.decode("utf-8", "backslashreplace")
