"""Read Mach-O files and universal binaries."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.columns.texts import Bytes, Int, Texts
from sizeguard.formats.macho import constants as c
from sizeguard.formats.macho.image import (
    Extent,
    LoadCommand,
    MachO,
    MachoSymbols,
    Section,
)
from sizeguard.formats.macho.segments import ADDRESS_LIMIT, SegmentReader
from sizeguard.formats.magics import ARCHIVE, HEAD, format_of, is_fat
from sizeguard.formats.mapped import mapped

MOST_NAME_BYTES = 64
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
    """An entry in a universal binary's header: the part of the file for one architecture."""

    arch: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class FatFile:
    """A universal binary, with its images in the header's order."""

    path: Path
    size: int
    slices: tuple[Slice, ...]
    images: tuple[MachO, ...]


def read_macho(path: Path, arch: str = "") -> MachO:
    """Read an image; from a universal binary, the one for `arch`.

    arch may be empty if there is only one image.

    Raises InputError for a file that is not a Mach-O file, is damaged, or has no image for that
    architecture.
    """
    whole = read_macho_file(path)
    images = whole.images if isinstance(whole, FatFile) else (whole,)
    fits = [image for image in images if image.arch == arch] if arch else list(images)
    if len(fits) != 1:
        names = ", ".join(image.arch for image in images)
        message = (
            f"no image for {arch}; --arch takes one of {names}"
            if arch
            else f"a universal binary; {members_hint(path, images)}"
        )
        raise InputError(f"{path}: {message}")
    return fits[0]


def members_hint(path: Path, images: Sequence[MachO]) -> str:
    """End a message on a universal binary: list its images as arguments of a command."""
    return f"name one of its images: {' or '.join(f'{path}!{image.arch}' for image in images)}"


def read_macho_file(path: Path) -> MachO | FatFile:
    """Read a file with all its images.

    Raises InputError for a file that is not a Mach-O file, or whose tables point outside it.
    """
    return parse_macho_file(path, mapped(path, "Mach-O"))


def parse_macho_file(path: Path, data: Bytes) -> MachO | FatFile:
    """Parse bytes as read_macho_file does; path appears in messages."""
    magic = data[:8].tobytes()
    if not is_fat(magic):
        return parse_macho(path, data, 0)
    slices = read_slices(path, data)
    for each in slices:
        if format_of(data[each.offset : each.offset + HEAD].tobytes()) == ARCHIVE:
            raise InputError(
                f"{path}: a universal file of static libraries; name one of them:"
                f" {path}!{each.arch}"
            )
    images = tuple(parse_macho(path, data[s.offset : s.offset + s.size], s.offset) for s in slices)
    return FatFile(path, len(data), slices, images)


def parse_macho(path: Path, data: Bytes, offset: int) -> MachO:
    """Parse the image at the beginning of these bytes; offset: their place in the file."""
    return _Reader(path, data, offset).read()


def read_slices(path: Path, data: Bytes) -> tuple[Slice, ...]:
    """Read the entries in the header of a universal binary; slices may be static archives."""
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
    return tuple(slices)


class _Reader(SegmentReader):
    """Read the tables of one image."""

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
                self.string_of(command)
                for command in commands
                if command.number in c.DYLIB_COMMANDS
            ),
            uuid=next(
                (self.uuid(command) for command in commands if command.number == c.LC_UUID), ""
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

    def extents(self, command: LoadCommand) -> Iterator[Extent]:
        """Yield the parts of the file that a command points to."""
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
        """Read the symbol table; empty if there is none."""
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
        # Values that do not fit an address column do not belong to a symbol of a section.
        values = np.minimum(rows["value"].astype(np.uint64), np.uint64(ADDRESS_LIMIT))
        return MachoSymbols(
            self.symbol_names(rows["name"].astype(np.int64), strings),
            rows["type"].copy(),
            rows["section"].copy(),
            rows["description"].astype(np.uint16),
            values.astype(np.int64),
        )

    def symbol_names(self, names: Int, strings: Extent) -> Texts:
        """Find the names at these offsets of the string table; 0 means no name."""
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
        # Linkers share the suffixes of names, and STABs the names of symbols. If all names extended
        # to the end, they would take the square of the table.
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
