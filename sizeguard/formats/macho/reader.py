"""Read Mach-O files and universal binaries."""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NoReturn

import numpy as np

from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_read
from sizeguard.base.input_files import readable
from sizeguard.columns.texts import Int, Texts
from sizeguard.formats.macho import constants as c
from sizeguard.formats.macho.image import (
    BuildVersion,
    Bytes,
    Extent,
    LoadCommand,
    MachO,
    MachoSymbols,
    Section,
    Segment,
)
from sizeguard.formats.magics import MACHO_MAGICS, is_fat

# Addresses are int64 columns: higher ones (kernel images) are refused.
ADDRESS_LIMIT = 1 << 62
# Images have about five. The limit bounds work that is done for each segment and symbol.
MOST_SEGMENTS = 1000
MOST_NAME_BYTES = 64
# Bytes of a segment's command, and of each section behind it: of 32 and of 64 bits.
_SEGMENT_SIZES = ((56, 68), (72, 80))
_DYNAMIC_TABLES = (
    "table of contents",
    "module table",
    "external references",
    "indirect symbols",
    "external relocations",
    "local relocations",
)


@dataclass(frozen=True, slots=True)
class Slice:
    """An entry of a universal binary's header: the part of the file for one architecture."""

    arch: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class FatFile:
    """A universal binary, with its images in the header's order.

    header_size: bytes of the header and its entries.
    """

    path: Path
    size: int
    header_size: int
    slices: tuple[Slice, ...]
    images: tuple[MachO, ...]


def read_macho(path: Path, arch: str = "") -> MachO:
    """Read an image; of a universal binary the one for `arch`.

    arch may be empty if there is one image only.

    Raises InputError for a file that is no Mach-O file, is damaged, or has no image for that
    architecture.
    """
    whole = read_macho_file(path)
    images = whole.images if isinstance(whole, FatFile) else (whole,)
    fits = [image for image in images if image.arch == arch] if arch else list(images)
    if len(fits) != 1:
        names = ", ".join(image.arch for image in images)
        message = (
            f"no image for {arch}, it has: {names}"
            if arch
            else f"a fat file; choose one of its images: {names}"
        )
        raise InputError(f"{path}: {message}")
    return fits[0]


def read_macho_file(path: Path) -> MachO | FatFile:
    """Read a file with all its images.

    Raises InputError for a file that is no Mach-O file, or whose tables point outside of it.
    """
    try:
        # A plain array: 800,000 pieces of a memmap take 2.2 s, of an array 0.15 s.
        data: Bytes = np.memmap(readable(path), np.uint8, "r").view(np.ndarray)
    except OSError as error:
        raise cannot_read(path, error) from error
    except ValueError as error:  # an empty file cannot be mapped
        raise InputError(f"{path}: not a Mach-O file: it is empty") from error
    return parse_macho_file(path, data)


def parse_macho_file(path: Path, data: Bytes) -> MachO | FatFile:
    """Parse bytes as read_macho_file does; the path is for messages."""
    magic = data[:8].tobytes()
    if not is_fat(magic):
        return parse_macho(path, data, 0)
    slices, header_size = _slices(path, data)
    images = tuple(parse_macho(path, data[s.offset : s.offset + s.size], s.offset) for s in slices)
    return FatFile(path, len(data), header_size, slices, images)


def parse_macho(path: Path, data: Bytes, offset: int) -> MachO:
    """Parse the image that begins at the first of these bytes; offset: its place in the file."""
    return _Reader(path, data, offset).read()


def _slices(path: Path, data: Bytes) -> tuple[tuple[Slice, ...], int]:
    """Read the header of a universal binary; return its entries and the header's size."""
    magic, count = struct.unpack(">II", data[:8].tobytes())
    entry = struct.Struct(">IIQQII" if magic == c.FAT_MAGIC_64 else ">IIIII")
    end = 8 + count * entry.size
    if not count or end > len(data):
        raise InputError(
            f"{path}: a damaged fat Mach-O file: {count} images in a file of {len(data)} bytes"
        )
    slices = []
    for cpu, subtype, where, size, *_ in entry.iter_unpack(data[8:end].tobytes()):
        arch = c.architecture(cpu, subtype)
        if where < end or where + size > len(data):
            raise InputError(
                f"{path}: a damaged fat Mach-O file: {arch} at [{where}, {where + size}) of a file"
                f" of {len(data)} bytes"
            )
        slices.append(Slice(arch, where, size))
    for before, after in pairwise(sorted(slices, key=lambda s: s.offset)):
        if before.offset + before.size > after.offset:
            raise InputError(
                f"{path}: a damaged fat Mach-O file: {before.arch} and {after.arch} overlap"
            )
    return tuple(slices), end


class _Reader:
    """Reads the tables of one image."""

    def __init__(self, path: Path, data: Bytes, offset: int) -> None:
        self.path = path
        self.data = data
        self.offset = offset
        magic = MACHO_MAGICS.get(data[:4].tobytes())
        if magic is None:
            raise InputError(f"{path}: not a Mach-O file" + (f" at {offset}" if offset else ""))
        self.order, self.is_64 = magic
        self.header_size = 32 if self.is_64 else 28
        if len(data) < self.header_size:
            self.damaged("its header is cut")

    def damaged(self, what: str) -> NoReturn:
        """Raise the error for a damaged file."""
        raise InputError(f"{self.path}: a damaged Mach-O file: {what}")

    def unpack(self, layout: str, offset: int) -> tuple[int, ...]:
        """Unpack numbers at an offset."""
        form = struct.Struct(self.order + layout)
        return form.unpack(self.data[offset : offset + form.size].tobytes())

    def read(self) -> MachO:
        """Read the header, the load commands and the tables that they name."""
        cpu, subtype, filetype, count, commands_size, flags = self.unpack("IIIIII", 4)
        self.check("load commands", self.header_size, commands_size)
        commands = tuple(self.commands(count, commands_size))
        segments, sections = self.segments(commands, filetype)
        head = Extent("the load commands", 0, self.header_size + commands_size)
        linkedit, relocations = self.checked_extents(head, commands, sections)
        return MachO(
            path=self.path,
            offset=self.offset,
            size=len(self.data),
            arch=c.architecture(cpu, subtype),
            order=self.order,
            is_64=self.is_64,
            cpu=cpu,
            filetype=filetype,
            flags=flags,
            header_size=self.header_size,
            commands=commands,
            segments=segments,
            sections=sections,
            symbols=self.symbols(linkedit),
            indirect=self.indirect(linkedit),
            linkedit=linkedit + relocations,
            dylibs=tuple(
                self.string_of(command, 8)
                for command in commands
                if command.number in c.DYLIB_COMMANDS
            ),
            uuid=next(
                (self.uuid(command) for command in commands if command.number == c.LC_UUID), ""
            ),
            build_version=next(
                (v for v in map(self.build_version, commands) if v is not None), None
            ),
            data=self.data,
        )

    def checked_extents(
        self, head: Extent, commands: Sequence[LoadCommand], sections: Sequence[Section]
    ) -> tuple[tuple[Extent, ...], tuple[Extent, ...]]:
        """Return the link-edit data and the relocations; check that they overlap nothing.

        head: the header and the load commands.
        """
        linkedit = tuple(e for command in commands for e in self.extents(command) if e.size)
        relocations = tuple(
            Extent("relocations", s.relocation_offset, 8 * s.relocation_count)
            for s in sections
            if s.relocation_count
        )
        for extent in (*linkedit, *relocations):
            self.check(extent.name, extent.offset, extent.size)
        if sum(extent.size for extent in relocations) > len(self.data):
            self.damaged("relocations of several sections are the same")
        self.check_apart(sections, (head, *linkedit, *relocations))
        return linkedit, relocations

    def check(self, what: str, offset: int, size: int) -> None:
        """Raise InputError if an extent leaves the image."""
        if offset + size > len(self.data):
            self.damaged(
                f"{what} at [{offset}, {offset + size}) of an image of {len(self.data)} bytes"
            )

    def commands(self, count: int, size: int) -> Iterator[LoadCommand]:
        """Yield the load commands."""
        position, end = self.header_size, self.header_size + size
        if count * 8 > size:
            self.damaged(f"{count} load commands in {size} bytes")
        for i in range(count):
            if position + 8 > end:
                self.damaged(f"load command {i} is cut")
            number, length = self.unpack("II", position)
            if length < 8 or position + length > end:
                self.damaged(f"load command {i} of {length} bytes")
            yield LoadCommand(c.COMMANDS.get(number, f"LC_{number:#x}"), number, position, length)
            position += length

    def fields(self, command: LoadCommand, layout: str) -> tuple[int, ...]:
        """Unpack the numbers behind a command's number and size."""
        if 8 + struct.calcsize(self.order + layout) > command.size:
            self.damaged(f"{command.name} of {command.size} bytes")
        return self.unpack(layout, command.offset + 8)

    def text(self, offset: int) -> str:
        """Read a name of at most 16 bytes."""
        return (
            self.data[offset : offset + 16]
            .tobytes()
            .split(b"\0")[0]
            .decode("utf-8", "backslashreplace")
        )

    def segments(
        self, commands: Sequence[LoadCommand], filetype: int
    ) -> tuple[tuple[Segment, ...], tuple[Section, ...]]:
        """Read the segments and their sections, and check that none overlap."""
        segments: list[Segment] = []
        sections: list[Section] = []
        for command in commands:
            if command.number not in (c.LC_SEGMENT, c.LC_SEGMENT_64):
                continue
            if len(segments) == MOST_SEGMENTS:
                self.damaged(f"more than {MOST_SEGMENTS} segments")
            wide = command.number == c.LC_SEGMENT_64
            segment = self.segment(command, len(sections))
            head, width = _SEGMENT_SIZES[wide]
            for i, index in enumerate(segment.sections):
                position = command.offset + head + i * width
                section = self.section(position, wide, index, len(segments), segment)
                self.check_section(section, segment)
                sections.append(section)
            segments.append(segment)
        self.check_overlap("segments", [(s.address, s.memory_size, s.name) for s in segments])
        self.check_overlap(
            "the file's parts of", [(s.offset, s.file_size, s.name) for s in segments]
        )
        self.check_overlap(
            "the file's parts of", [(s.offset, s.file_size, s.full_name) for s in sections]
        )
        if filetype != c.MH_DSYM:
            self.check_overlap("sections", [(s.address, s.size, s.full_name) for s in sections])
        return tuple(segments), tuple(sections)

    def segment(self, command: LoadCommand, first: int) -> Segment:
        """Read a segment's command; first: the index of its first section."""
        wide = command.number == c.LC_SEGMENT_64
        layout = "16xQQQQIIII" if wide else "16xIIIIIIII"
        address, memory, offset, size, maximum, protection, count, flags = self.fields(
            command, layout
        )
        head, width = _SEGMENT_SIZES[wide]
        name = self.text(command.offset + 8)
        if head + count * width > command.size:
            self.damaged(f"segment {name} has {count} sections in {command.size} bytes")
        self.check(f"segment {name}", offset, size)
        if address + memory > ADDRESS_LIMIT:
            self.damaged(f"segment {name} at address {address:#x}")
        if size > memory:
            self.damaged(f"segment {name} has {size} bytes in the file, {memory} in memory")
        sections = range(first, first + count)
        return Segment(name, address, memory, offset, size, maximum, protection, flags, sections)

    def section(
        self, position: int, wide: bool, index: int, segment_index: int, segment: Segment
    ) -> Section:
        """Read a section's header."""
        layout = "QQIIIIIII" if wide else "IIIIIIIII"
        address, size, offset, alignment, reloff, relocations, flags, first, second = self.unpack(
            layout, position + 32
        )
        # A dSYM repeats the image's sections, and the file holds nothing for them.
        backed = segment.file_size > 0 and flags & c.SECTION_TYPE not in c.ZEROFILL_TYPES
        return Section(
            index=index,
            segment=segment_index,
            name=self.text(position),
            segment_name=self.text(position + 16),
            address=address,
            size=size,
            offset=offset,
            file_size=size if backed else 0,
            alignment=1 << min(alignment, 32),
            flags=flags,
            reserved1=first,
            reserved2=second,
            relocation_offset=reloff,
            relocation_count=relocations,
        )

    def check_section(self, section: Section, segment: Segment) -> None:
        """Raise InputError if a section leaves its segment."""
        name = section.full_name
        if (
            section.address < segment.address
            or section.address + section.size > segment.address + segment.memory_size
        ):
            self.damaged(f"section {name} lies outside of its segment")
        if (
            section.file_size
            and section.offset - segment.offset != section.address - segment.address
        ):
            self.damaged(
                f"section {name} lies at {section.offset} of the file, its address says elsewhere"
            )
        if (
            section.file_size
            and section.offset + section.file_size > segment.offset + segment.file_size
        ):
            self.damaged(f"section {name} lies outside of its segment's part of the file")

    def check_overlap(self, what: str, ranges: Sequence[tuple[int, int, str]]) -> None:
        """Raise InputError if two ranges (start, size, name) overlap."""
        for before, after in pairwise(sorted(r for r in ranges if r[1])):
            if before[0] + before[1] > after[0]:
                self.damaged(f"{what} {before[2]} and {after[2]} overlap")

    def check_apart(self, sections: Sequence[Section], extents: Sequence[Extent]) -> None:
        """Raise InputError if link-edit data is in a section: a byte would have two meanings."""
        ranges = sorted((s.offset, s.offset + s.file_size) for s in sections if s.file_size)
        starts = [start for start, _ in ranges]
        ends = list(accumulate((end for _, end in ranges), max))
        for extent in extents:
            at = bisect_left(starts, extent.offset + extent.size) - 1
            if at >= 0 and ends[at] > extent.offset:
                self.damaged(
                    f"{extent.name} at [{extent.offset}, {extent.offset + extent.size}) lies in a"
                    " section"
                )

    def extents(self, command: LoadCommand) -> Iterator[Extent]:
        """Yield the parts of the file that a command points at."""
        number = command.number
        if number in c.BLOBS:
            offset, size = self.fields(command, "II")
            yield Extent(c.BLOBS[number], offset, size)
        elif number == c.LC_SYMTAB:
            symbols, count, strings, size = self.fields(command, "IIII")
            yield Extent("symbol table", symbols, count * (16 if self.is_64 else 12))
            yield Extent("string table", strings, size)
        elif number == c.LC_DYSYMTAB:
            values = self.fields(command, "24x12I")
            module = 56 if self.is_64 else 52
            widths = (8, module, 4, 4, 8, 8)
            for i, (name, width) in enumerate(zip(_DYNAMIC_TABLES, widths, strict=True)):
                yield Extent(name, values[2 * i], values[2 * i + 1] * width)
        elif number in (c.LC_DYLD_INFO, c.LC_DYLD_INFO_ONLY):
            values = self.fields(command, "10I")
            for i, name in enumerate(
                (
                    "rebase opcodes",
                    "bind opcodes",
                    "weak bind opcodes",
                    "lazy bind opcodes",
                    "exports trie",
                )
            ):
                yield Extent(name, values[2 * i], values[2 * i + 1])
        elif number == c.LC_TWOLEVEL_HINTS:
            offset, count = self.fields(command, "II")
            yield Extent("two-level hints", offset, count * 4)
        elif number == c.LC_NOTE:
            offset, size = self.fields(command, "16xQQ")
            yield Extent("note", offset, size)

    def array(self, extent: Extent, dtype: np.dtype[np.void] | np.dtype[np.uint32]) -> np.ndarray:
        """Read an extent as an array."""
        return np.frombuffer(
            self.data[extent.offset : extent.offset + extent.size].tobytes(), dtype
        )

    def symbols(self, extents: Sequence[Extent]) -> MachoSymbols:
        """Read the symbol table; without one there are no symbols."""
        table = next((e for e in extents if e.name == "symbol table"), None)
        empty = np.zeros(0, np.int64)
        if table is None:
            return MachoSymbols(
                Texts(self.data, empty, empty),
                empty.astype(np.uint8),
                empty.astype(np.uint8),
                empty.astype(np.uint16),
                empty,
            )
        strings = next(
            (e for e in extents if e.name == "string table"), Extent("string table", 0, 0)
        )
        fields = [
            ("name", "u4"),
            ("type", "u1"),
            ("section", "u1"),
            ("description", "u2"),
            ("value", "u8" if self.is_64 else "u4"),
        ]
        rows = self.array(table, np.dtype([(name, self.order + kind) for name, kind in fields]))
        # Values that fit no address column belong to no symbol of a section.
        values = np.minimum(rows["value"].astype(np.uint64), np.uint64(ADDRESS_LIMIT))
        return MachoSymbols(
            self.symbol_names(rows["name"].astype(np.int64), strings),
            rows["type"].copy(),
            rows["section"].copy(),
            rows["description"].astype(np.uint16),
            values.astype(np.int64),
        )

    def symbol_names(self, names: Int, strings: Extent) -> Texts:
        """Find the names that begin at these places of the string table; 0 stands for no name."""
        outside = names >= strings.size
        outside &= names > 0
        if outside.any():
            first = int(np.flatnonzero(outside)[0])
            self.damaged(
                f"the name of symbol {first} at {names[first]} of a string table of {strings.size}"
                " bytes"
            )
        table = self.data[strings.offset : strings.offset + strings.size]
        zeros = np.append(np.flatnonzero(table == 0), strings.size)
        ends = zeros[np.searchsorted(zeros, names)]
        # Linkers share the ends of names, and STABs the names of symbols. Names that all reach to
        # the end would take the table's square.
        total = float((ends - np.minimum(names, ends)).astype(np.float64).sum())
        if total > MOST_NAME_BYTES * (strings.size + 4096):
            self.damaged(f"names of more than {MOST_NAME_BYTES} times the string table's size")
        nameless = names == 0
        start = np.where(nameless, strings.offset, names + strings.offset)
        end = np.where(nameless, strings.offset, ends + strings.offset)
        return Texts(self.data, start, end)

    def indirect(self, extents: Sequence[Extent]) -> np.ndarray:
        """Read the indirect symbol table; empty without one."""
        extent = next((e for e in extents if e.name == "indirect symbols"), Extent("", 0, 0))
        return self.array(extent, np.dtype(self.order + "u4")).astype(np.uint32)

    def string_of(self, command: LoadCommand, position: int) -> str:
        """Return the string of a command; `position`: of the number that holds its offset."""
        (start,) = self.fields(command, "I")
        if start >= command.size:
            self.damaged(f"{command.name} has its name at {start} of {command.size} bytes")
        raw = self.data[command.offset + start : command.offset + command.size].tobytes()
        return raw.split(b"\0")[0].decode("utf-8", "backslashreplace")

    def uuid(self, command: LoadCommand) -> str:
        """Return the UUID in hex."""
        self.fields(command, "16x")
        return self.data[command.offset + 8 : command.offset + 24].tobytes().hex()

    def build_version(self, command: LoadCommand) -> BuildVersion | None:
        """Read the platform and its versions, None for a command without any."""
        old = {
            c.LC_VERSION_MIN_MACOSX: 1,
            c.LC_VERSION_MIN_IPHONEOS: 2,
            c.LC_VERSION_MIN_TVOS: 3,
            c.LC_VERSION_MIN_WATCHOS: 4,
        }
        if command.number == c.LC_BUILD_VERSION:
            platform, minimum, sdk = self.fields(command, "III")
        elif command.number in old:
            platform, (minimum, sdk) = old[command.number], self.fields(command, "II")
        else:
            return None
        return BuildVersion(platform, _version(minimum), _version(sdk))


def _version(packed: int) -> str:
    """Format a packed version: 13.0.0."""
    return f"{packed >> 16}.{packed >> 8 & 255}.{packed & 255}"
