"""Edit a 64-bit little-endian ELF file to hide bytes, without special tools."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
PROGBITS, NOBITS, NOTE, ALLOC, WRITE = 1, 8, 7, 2, 1
PT_LOAD, PT_DYNAMIC = 1, 2
_DT_NULL, _DT_DEBUG = 0, 21


@dataclass(frozen=True)
class Header:
    """A section header; name: its text."""

    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int = 0
    info: int = 0
    alignment: int = 1
    entry_size: int = 0


@dataclass
class EditedElf:
    """The bytes of a file with its section headers at the end."""

    data: bytes
    sections: list[Header]

    @staticmethod
    def of(data: bytes) -> EditedElf:
        table, count, names = _table(data)
        rows = [_SECTION.unpack_from(data, table + i * _SECTION.size) for i in range(count)]
        start = rows[names][4]
        sections = []
        for offset, *rest in rows:
            end = data.index(b"\0", start + offset)
            sections.append(Header(data[start + offset : end].decode(), *rest))
        return EditedElf(data[: rows[names][4]], sections[:names] + sections[names + 1 :])

    def add(self, header: Header, content: bytes) -> None:
        """Append a section with its bytes."""
        self.sections.append(replace(header, offset=len(self.data), size=len(content)))
        self.data += content

    def change(self, name: str, edit: Callable[[Header], Header]) -> None:
        self.sections = [edit(each) if each.name == name else each for each in self.sections]

    def segment(self, index: int, **values: int) -> None:
        """Change a program header: type, flags, offset, file_size, memory_size …"""
        keys = ("type", "flags", "offset", "address", "physical", "file_size", "memory_size", "al")
        at = struct.unpack_from("<Q", self.data, 32)[0] + index * _SEGMENT.size
        row = dict(zip(keys, _SEGMENT.unpack_from(self.data, at), strict=True)) | values
        self.data = self.data[:at] + _SEGMENT.pack(*row.values()) + self.data[at + _SEGMENT.size :]

    def segments(self) -> list[tuple[int, ...]]:
        (at,) = struct.unpack_from("<Q", self.data, 32)
        (count,) = struct.unpack_from("<H", self.data, 56)
        return [_SEGMENT.unpack_from(self.data, at + i * _SEGMENT.size) for i in range(count)]

    def dynamic(self, tag: int, value: int) -> None:
        """Write an entry into a spare place at the end of the dynamic table."""
        (_, _, at, _, _, size, *_) = next(s for s in self.segments() if s[0] == PT_DYNAMIC)
        for place in range(at, at + size - 16, 16):
            if struct.unpack_from("<Q", self.data, place)[0] in (_DT_NULL, _DT_DEBUG):
                entry = struct.pack("<QQ", tag, value)
                self.data = self.data[:place] + entry + self.data[place + 16 :]
                return
        raise AssertionError("no room in the dynamic table")

    def file(self, *, strip_headers: bool = False) -> bytes:
        """Return the file, with names and section headers at the end."""
        if strip_headers:
            blank = self.data[:40] + bytes(8) + self.data[48:58] + bytes(6)
            return blank + self.data[64:]
        texts = [*(each.name for each in self.sections), ".shstrtab"]
        names = b"\0".join(text.encode() for text in texts) + b"\0"
        header = Header(".shstrtab", 3, 0, 0, len(self.data), len(names))
        starts = [sum(len(text.encode()) + 1 for text in texts[:i]) for i in range(len(texts))]
        rows = b"".join(
            _SECTION.pack(
                start, each.type, each.flags, each.address, each.offset, each.size, each.link,
                each.info, each.alignment, each.entry_size,
            )
            for start, each in zip(starts, [*self.sections, header], strict=True)
        )  # fmt: skip
        whole = self.data + names
        whole += bytes(-len(whole) % 8)
        head = whole[:40] + struct.pack("<Q", len(whole)) + whole[48:60]
        return head + struct.pack("<HH", len(texts), len(texts) - 1) + whole[64:] + rows


def _table(data: bytes) -> tuple[int, int, int]:
    return struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 60)
