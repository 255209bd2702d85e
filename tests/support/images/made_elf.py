"""Make small ELF files of any class and byte order, well-formed or not, for tests."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_NOBITS = 1, 2, 3, 8
ET_REL, ET_EXEC, ET_DYN = 1, 2, 3


@dataclass(frozen=True)
class MadeSection:
    """A section.

    Offset: NONE means after the earlier content; size: for NOBITS, or a false size.
    """

    name: str
    type: int = SHT_PROGBITS
    flags: int = 0
    address: int = 0
    content: bytes = b""
    offset: int | None = None
    size: int | None = None
    link: int = 0
    info: int = 0
    alignment: int = 1
    entry_size: int = 0


@dataclass(frozen=True)
class MadeSegment:
    offset: int
    address: int
    file_size: int
    memory_size: int
    type: int = 1
    flags: int = 5


@dataclass(frozen=True)
class MadeSymbol:
    name: str
    address: int
    size: int
    type: int = 2
    binding: int = 1
    section: int = 1


@dataclass(frozen=True)
class Form:
    is_64: bool = True
    order: str = "<"

    @property
    def header_size(self) -> int:
        return 64 if self.is_64 else 52

    def symbols(self, symbols: Sequence[MadeSymbol]) -> tuple[bytes, bytes]:
        """Make .symtab and .strtab, including the empty first symbol."""
        strings = bytearray(b"\0")
        rows = [self.symbol(0, MadeSymbol("", 0, 0, 0, 0, 0))]
        for symbol in symbols:
            at = 0
            if symbol.name:
                at = len(strings)
                strings += symbol.name.encode() + b"\0"
            rows.append(self.symbol(at, symbol))
        return b"".join(rows), bytes(strings)

    def symbol(self, name: int, s: MadeSymbol) -> bytes:
        info = s.binding << 4 | s.type
        if self.is_64:
            return struct.pack(self.order + "IBBHQQ", name, info, 0, s.section, s.address, s.size)
        return struct.pack(
            self.order + "IIIBBH",
            name,
            s.address & 0xFFFFFFFF,
            s.size & 0xFFFFFFFF,
            info,
            0,
            s.section,
        )

    def relocations(self, rows: Sequence[tuple[int, int, int, int]], *, addend: bool) -> bytes:
        """Make a relocation section from rows of offset, symbol, type, addend."""
        packed = []
        for offset, symbol, type_, value in rows:
            if self.is_64:
                packed.append(
                    struct.pack(
                        self.order + "QQ" + "q" * addend,
                        offset,
                        symbol << 32 | type_,
                        *[value] * addend,
                    )
                )
            else:
                packed.append(
                    struct.pack(
                        self.order + "II" + "i" * addend,
                        offset,
                        symbol << 8 | type_,
                        *[value] * addend,
                    )
                )
        return b"".join(packed)


def _program_header(form: Form, segment: MadeSegment) -> bytes:
    placed = (segment.offset, segment.address, 0, segment.file_size, segment.memory_size)
    if form.is_64:
        return struct.pack(f"{form.order}IIQQQQQQ", segment.type, segment.flags, *placed, 1)
    return struct.pack(f"{form.order}IIIIIIII", segment.type, *placed, segment.flags, 1)


# More than 40 lines: the parts of a file in order, of which each has the place of the next.
def make_elf(
    form: Form,
    sections: Sequence[MadeSection],
    segments: Sequence[MadeSegment] = (),
    *,
    type_: int = ET_EXEC,
    machine: int = 62,
    tail: bytes = b"",
) -> bytes:
    """Lay out header, program headers, sections in order, .shstrtab, section headers, tail.

    Section 0 and .shstrtab are added.
    """
    width, section_width = (56, 64) if form.is_64 else (32, 40)
    names = bytearray(b"\0")
    whole = [*sections, MadeSection(".shstrtab", SHT_STRTAB)]
    starts = []
    for section in whole:
        starts.append(len(names))
        names += section.name.encode() + b"\0"
    at = form.header_size + width * len(segments)
    content = bytearray()
    rows = [(0,) * 10]
    for section, name in zip(whole, starts, strict=True):
        body = bytes(names) if section.name == ".shstrtab" else section.content
        offset = section.offset
        if offset is None:
            content += bytes(-(at + len(content)) % section.alignment)
            offset = at + len(content)
            content += body
        size = len(body) if section.size is None else section.size
        placed = (name, section.type, section.flags, section.address, offset, size)
        rows.append((*placed, section.link, section.info, section.alignment, section.entry_size))
    table = at + len(content)
    layout = "HHIQQQIHHHHHH" if form.is_64 else "HHIIIIIHHHHHH"
    # Numbers that do not fit 16 bits are in the first section header.
    count, last = len(rows), len(rows) - 1
    if count >= 0xFF00:
        rows[0] = (0, 0, 0, 0, 0, count, last, 0, 0, 0)
        count, last = 0, 0xFFFF
    first_segment = form.header_size if segments else 0
    numbers = (
        type_,
        machine,
        1,
        0,
        first_segment,
        table,
        0,
        form.header_size,
        width,
        len(segments),
    )
    ident = (
        b"\x7fELF" + bytes((2 if form.is_64 else 1, 1 if form.order == "<" else 2, 1)) + bytes(9)
    )
    head = ident + struct.pack(form.order + layout, *numbers, section_width, count, last)
    layout = "IIQQQQIIQQ" if form.is_64 else "IIIIIIIIII"
    return (
        head
        + b"".join(_program_header(form, segment) for segment in segments)
        + bytes(content)
        + b"".join(struct.pack(form.order + layout, *row) for row in rows)
        + tail
    )
