"""Read an ELF file's header, sections and segments, checked against the size of the file."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_read
from sizeguard.base.input_files import readable
from sizeguard.columns.texts import Bytes
from sizeguard.formats.elf.image import Elf, Section, Segment
from sizeguard.formats.elf.layout import (
    EM_MIPS,
    ET_CORE,
    ET_DYN,
    ET_EXEC,
    NT_GNU_BUILD_ID,
    PT_NOTE,
    SHT_NOBITS,
    SHT_NOTE,
    SHT_NULL,
    SHT_PROGBITS,
    Layout,
)
from sizeguard.formats.elf.machines import machine_name
from sizeguard.formats.elf.segment_sections import sections_of_segments, zeros_without_section
from sizeguard.formats.elf.symbols import FREE_BYTES, MAX_SHARING
from sizeguard.formats.magics import ELF_MAGIC

# Smaller files are read: a mapping would end in SIGBUS if another program truncates the file.
# Reading 434 MB takes 0.3 s and 350 MiB.
MAPPED_FROM = 16 << 20

MOST_NOTES = 1 << 18  # notes before the build id; sections that share bytes could have any number

# Sections may be this many times as large as the file, since those of damaged files overlap.
SHARED_TIMES = 4

# Larger sizes and addresses count as damaged, since sums must fit an int64.
MAX_SIZE = 1 << 55


def read_elf(path: Path) -> Elf:
    """Read a file.

    Raises InputError for a file that is not an ELF file, or whose tables point outside it.
    """
    return parse_elf(path, read_bytes(path))


def read_bytes(path: Path) -> Bytes:
    """Read a file's bytes; large files are mapped.

    Raises InputError if it cannot be read.
    """
    try:
        with readable(path).open("rb") as file:
            size = file.seek(0, 2)
            if size >= MAPPED_FROM:
                return np.frombuffer(
                    mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ), np.uint8
                )
            file.seek(0)
            return np.frombuffer(file.read(), np.uint8)
    except OSError as error:
        raise cannot_read(path, error) from error


_READABLE = "; images are ELF, Mach-O, PE, COFF or WebAssembly files"


def parse_elf(path: Path, data: bytes | Bytes) -> Elf:
    """Parse bytes as read_elf does; path appears in messages."""
    content = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data
    if content[:4].tobytes() != ELF_MAGIC:
        from sizeguard.formats.describe import HEAD, describe_bytes  # 1 ms

        what = describe_bytes(content[:HEAD].tobytes(), len(content))
        hint = _READABLE if what in ("text", "an empty file", "data of an unknown format") else ""
        raise InputError(f"{path}: not an ELF file: {what}{hint}")
    try:
        return _Reader(path, content).read()
    except struct.error as error:
        raise InputError(f"{path}: a damaged ELF file: {error}") from error


@dataclass(frozen=True, slots=True)
class _ElfHeader:
    """Fields of the ELF header, with the names of elf.h.

    size: of the header; names: index of the section with the names of sections
    """

    type: int
    machine: int
    flags: int
    size: int
    phoff: int
    phnum: int
    shoff: int
    shnum: int
    names: int

    def places(self, layout: Layout) -> tuple[tuple[int, int], ...]:
        """Return offset and size of the header, the program headers and the section headers."""
        return (
            (0, self.size),
            (self.phoff, layout.segment.itemsize * self.phnum) if self.phnum else (0, 0),
            (self.shoff, layout.section.itemsize * self.shnum) if self.shnum else (0, 0),
        )


class _Reader:
    """Reads the tables of one file."""

    def __init__(self, path: Path, data: Bytes) -> None:
        self.path = path
        self.data = data
        self.buffer = data.data
        if len(data) < 52 or data[4] not in (1, 2) or data[5] not in (1, 2):
            raise self.damaged("its header is truncated or of an unknown class")
        is_64, is_little = bool(data[4] == 2), bool(data[5] == 1)
        is_mips = int.from_bytes(data[18:20], "little") in EM_MIPS
        self.layout = Layout(is_64, "<" if is_little else ">", is_64 and is_little and is_mips)

    def damaged(self, what: str) -> InputError:
        """Make the error for a damaged file."""
        return InputError(f"{self.path}: a damaged ELF file: {what}")

    def read(self) -> Elf:
        """Read the header and the two tables that it names."""
        header = self.header()
        sections = self.sections(header.shoff, header.shnum, header.names)
        segments = self.segments(header.phoff, header.phnum, sections)
        places = header.places(self.layout)
        build_id = self.build_id(sections, segments)
        if not sections and header.type in (ET_EXEC, ET_DYN):
            sections = sections_of_segments(self.data, self.layout, segments, places[:2])
        elif header.type in (ET_EXEC, ET_DYN):
            sections += zeros_without_section(sections, segments)
        return Elf(
            path=self.path,
            size=len(self.data),
            type=header.type,
            machine=machine_name(header.machine, self.layout, header.flags),
            layout=self.layout,
            build_id=build_id,
            header=places[0],
            program_headers=places[1],
            section_headers=places[2],
            sections=sections,
            segments=segments,
            data=self.data,
        )

    def header(self) -> _ElfHeader:
        """Read the header.

        Numbers above 16 bits (more than 65,279 sections) are in the first section header.
        """
        fields = struct.unpack_from(self.layout.header, self.buffer)
        type_, machine, _, _, phoff, shoff, flags, size, phentsize, phnum, *rest = fields
        shentsize, shnum, names = rest
        if type_ == ET_CORE:
            raise InputError(f"{self.path}: an ELF core dump, not an image")
        self.check("the header", 0, size)
        if shoff and (shnum == 0 or names == 0xFFFF or phnum == 0xFFFF):
            first = self.rows("section headers", self.layout.section, shoff, 1)[0]
            shnum = shnum or first[5]
            names = first[6] if names == 0xFFFF else names
            phnum = first[7] if phnum == 0xFFFF and first[7] else phnum
        if not shoff:
            shnum = 0
        for count, width, dtype, what in (
            (shnum, shentsize, self.layout.section, "section"),
            (phnum, phentsize, self.layout.segment, "program"),
        ):
            if count and width != dtype.itemsize:
                raise self.damaged(f"{what} headers of {width} bytes, not {dtype.itemsize}")
        return _ElfHeader(type_, machine, flags, size, phoff, phnum, shoff, shnum, names)

    def check(self, what: str, offset: int, size: int) -> None:
        """Raise InputError if an extent exceeds the file."""
        if offset + size > len(self.data):
            raise self.damaged(
                f"{what} at [{offset}, {offset + size}) of a file of {len(self.data)} bytes"
            )

    def rows(
        self, what: str, dtype: np.dtype[np.void], offset: int, count: int
    ) -> list[tuple[int, ...]]:
        """Read `count` rows of a table."""
        self.check(what, offset, count * dtype.itemsize)
        rows: list[tuple[int, ...]] = (
            self.data[offset : offset + count * dtype.itemsize].view(dtype).tolist()
        )
        return rows

    def sections(self, offset: int, count: int, names_index: int) -> tuple[Section, ...]:
        """Read the section headers and check the sections' places."""
        self.check("section headers", offset, count * self.layout.section.itemsize)
        if not count:
            return ()
        if names_index >= count:
            raise self.damaged(f"section names in section {names_index} of {count}")
        # As columns: reading row by row takes three times as long, and objects have a hundred.
        table = struct.Struct(self.layout.section_fields)
        columns = list(
            zip(*table.iter_unpack(self.buffer[offset : offset + count * table.size]), strict=True)
        )
        name, type_, flags, address, where, size, *others = columns
        # if there are many sections, the size of the first one is their number
        if SHT_NULL in type_:
            size = tuple(
                0 if kind == SHT_NULL else length for kind, length in zip(type_, size, strict=True)
            )
        names = b""
        if type_[names_index] != SHT_NOBITS:
            begin, length = where[names_index], columns[5][names_index]
            self.check("section names", begin, length)
            names = self.data[begin : begin + length].tobytes()
        texts = map(self.section_names(names, name).__getitem__, name)
        sections = tuple(
            map(Section, range(count), texts, type_, flags, address, where, size, *others)
        )
        for section in sections:
            if section.offset + section.size > len(self.data) and section.type != SHT_NOBITS:
                self.check(f"section {section.name}", section.offset, section.size)
        self.check_shared(type_, size)
        if sum(size) > MAX_SIZE:
            largest = max(sections, key=lambda section: section.size)
            raise self.damaged(f"section {largest.name} of {largest.size} bytes")
        return sections

    def check_shared(self, types: Sequence[int], sizes: Sequence[int]) -> None:
        """Raise InputError if sections share bytes again and again, to exhaust memory."""
        most = SHARED_TIMES * len(self.data) + FREE_BYTES
        if sum(sizes) > most:
            rows = zip(types, sizes, strict=True)
            stored = sum(size for kind, size in rows if kind != SHT_NOBITS)
            if stored > most:
                raise self.damaged(f"sections of {stored} bytes in {len(self.data)} bytes")

    def section_names(self, table: bytes, starts: Iterable[int]) -> dict[int, str]:
        """Return the name at each offset of the string table; names such as .group repeat often."""
        known: dict[int, str] = {}
        total = 0
        for start in dict.fromkeys(starts):
            known[start] = _text(table, start)
            total += len(known[start])
            if total > MAX_SHARING * len(table) + FREE_BYTES:
                raise self.damaged("sections share names of a string table without ends")
        return known

    def segments(
        self, offset: int, count: int, sections: tuple[Section, ...]
    ) -> tuple[Segment, ...]:
        """Read the program headers."""
        raw = self.rows("program headers", self.layout.segment, offset, count)
        if not raw:
            return ()
        # objcopy --only-keep-debug keeps the segments but removes their bytes.
        is_debug_file = bool(sections) and not any(
            s.load_size and s.type == SHT_PROGBITS for s in sections
        )
        segments = []
        total = 0
        for row in raw:
            if self.layout.is_64:
                type_, flags, where, address, physical, size, memory, _ = row
            else:
                type_, where, address, physical, size, memory, flags, _ = row
            if is_debug_file:
                size = max(0, min(size, len(self.data) - where))
            self.check("a segment", where if size else 0, size)
            total += memory
            if total > MAX_SIZE:
                raise self.damaged(f"a segment of {memory} bytes")
            segments.append(Segment(type_, flags, where, address, size, memory, physical))
        return tuple(segments)

    def build_id(self, sections: tuple[Section, ...], segments: tuple[Segment, ...]) -> str:
        """Return the GNU build id in hex; empty if there is none."""
        places = [(s.offset, s.size) for s in sections if s.type == SHT_NOTE]
        places = places or [(s.offset, s.file_size) for s in segments if s.type == PT_NOTE]
        left = MOST_NOTES
        for position, size in places:
            end = position + size
            while position + 12 <= end and left:
                left -= 1
                name, length, type_ = struct.unpack_from(
                    self.layout.order + "III", self.buffer, position
                )
                start = position + 12 + (name + 3) // 4 * 4
                if (
                    type_ == NT_GNU_BUILD_ID
                    and self.data[position + 12 : position + 16].tobytes() == b"GNU\0"
                ):
                    return self.data[start : min(start + length, end)].tobytes().hex()
                position = start + (length + 3) // 4 * 4
        return ""


def _text(table: bytes, offset: int) -> str:
    """Return the string at an offset of a string table."""
    end = table.find(b"\0", offset)
    return table[offset : end if end >= 0 else len(table)].decode("utf-8", "replace")
