"""Measure images again with pyelftools or lief, to confirm numbers that block a change."""

from __future__ import annotations

import io
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import SizeguardError
from sizeguard.base.input_files import readable
from sizeguard.builds.measured_sizes import measure
from sizeguard.builds.sizes import Sizes
from sizeguard.formats.elf import read_elf
from sizeguard.formats.sniff import COFF, CONTAINERS, MACHO, PE, WASM, image_format

if TYPE_CHECKING:
    import lief
    from elftools.elf.elffile import ELFFile

_WRITE = 2  # VM_PROT_WRITE of Mach-O
_FAT_64, _FAT_ENTRY = 0xCAFEBABF, struct.Struct(">8xQQ8x")
_PE_WRITE = 0x8000_0000


class SectionSize(NamedTuple):
    """The bytes of a section."""

    name: str
    in_file: int
    in_memory: int


@dataclass(frozen=True, slots=True)
class Reading:
    """Sizes of an image in bytes, measured by one reader.

    sections: None without a section table
    """

    reader: str
    load: int
    ram: int
    file: int
    sections: Counter[SectionSize] | None


def check_readings(images: Iterable[Path], sizes: Sizes) -> None:
    """Compare sizes, and the sections of images, with those that another library reads.

    sizes: the sums over all images, which are compared with limits

    Raises SizeguardError, exit code 4, that names the difference: then neither number is reliable.
    """
    images = list(images)
    readings = [_checked(image) for image in images]
    for name in ("load", "ram", "file"):
        recorded = getattr(sizes, name)
        read = sum(getattr(each, name) for each in readings)
        if recorded != read:
            raise SizeguardError(
                f"{images[0]}: {name} is recorded as {recorded} bytes, but is {read}"
            )


def _checked(image: Path) -> Reading:
    """Read an image, or all images of a container, with the library; our reader must agree."""
    format_ = image_format(image)
    if format_ in CONTAINERS:
        from sizeguard.formats.containers.member_files import unpacked_images

        members = [_checked(member) for member in unpacked_images(image)]
        load, ram = sum(each.load for each in members), sum(each.ram for each in members)
        return Reading("members", load, ram, readable(image).stat().st_size, None)
    ours = read_ourselves(image)
    again = read_again(image)
    if again is None:
        return ours
    if found := disagreement(ours, again):
        raise SizeguardError(f"{image}: two readers disagree about {found}")
    return again


def disagreement(ours: Reading, theirs: Reading) -> str:
    """Name the first difference of two readings; empty if they agree."""
    for name in ("load", "ram", "file"):
        one, other = getattr(ours, name), getattr(theirs, name)
        if one != other:
            return f"{name}: {ours.reader} reads {one} bytes, {theirs.reader} {other}"
    if ours.sections is None or theirs.sections is None:
        return ""
    for whose, only in (
        (ours.reader, ours.sections - theirs.sections),
        (theirs.reader, theirs.sections - ours.sections),
    ):
        for name, in_file, in_memory in only:
            return (
                f"section {name}: only {whose} reads {in_file} bytes in the file, {in_memory} in "
                "memory"
            )
    return ""


def read_ourselves(image: Path) -> Reading:
    """Read the sizes of an image the same way as all other commands."""
    sizes = measure(image)
    sections = Counter(_own_sections(image))
    return Reading("sizeguard", sizes.load, sizes.ram, sizes.file, sections)


def read_again(image: Path) -> Reading | None:
    """Read an image with another library: ELF with pyelftools, Mach-O and PE with lief.

    Returns None for WebAssembly and COFF objects, which neither library reads.

    Raises SizeguardError if the library cannot read it.
    """
    format_ = image_format(image)
    if format_ in (WASM, COFF):
        return None
    file = readable(image)
    if format_ == MACHO:
        return _macho_by_lief(image, file)
    return _pe_by_lief(image, file) if format_ == PE else _by_elftools(image, file)


def _own_sections(image: Path) -> Iterator[SectionSize]:
    format_ = image_format(image)
    if format_ == MACHO:
        from sizeguard.formats.macho.reader import FatFile, read_macho_file

        file = read_macho_file(image)
        for macho in file.images if isinstance(file, FatFile) else (file,):
            for each in macho.sections:
                name = f"{each.segment_name},{each.name}"
                yield SectionSize(name, each.file_size, each.size)
    elif format_ == PE:
        from sizeguard.formats.pe.layout import read_layout

        for found in read_layout(image, np.fromfile(readable(image), np.uint8)).sections:
            yield SectionSize(found.name, found.size, found.memory)
    elif format_ not in (WASM, COFF):
        elf = read_elf(image)
        # Zeros that no section covers follow those of the table.
        count = elf.section_headers[1] // elf.layout.section.itemsize
        for section in elf.sections[1:count]:
            yield SectionSize(section.name, section.file_size, section.size)


def _by_elftools(image: Path, file: Path) -> Reading:
    from elftools.common.exceptions import ELFError  # takes 20 ms, which other commands save
    from elftools.elf.elffile import ELFFile

    try:
        with readable(file).open("rb") as stream:
            elf = ELFFile(stream)
            if elf.num_sections() == 0:
                return _of_segments(elf, file)
            return _of_sections(elf, file)
    except (ELFError, ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise SizeguardError(f"{image}: pyelftools cannot read it: {error}") from error


def _of_sections(elf: ELFFile, file: Path) -> Reading:
    from elftools.elf.sections import SymbolTableSection

    load = ram = 0
    sections: Counter[SectionSize] = Counter()
    ends: list[tuple[int, int]] = []  # address and end of memory for the whole process
    for number, section in enumerate(elf.iter_sections()):
        if number == 0:
            continue
        size, flags = int(section["sh_size"]), int(section["sh_flags"])
        is_zeros = section["sh_type"] == "SHT_NOBITS"
        sections[SectionSize(section.name, 0 if is_zeros else size, size)] += 1
        if isinstance(section, SymbolTableSection) and elf.header["e_type"] == "ET_REL":
            symbols = section.iter_symbols()
            ram += sum(int(s["st_size"]) for s in symbols if s["st_shndx"] == "SHN_COMMON")
        if not flags & 2:  # SHF_ALLOC
            continue
        load += 0 if is_zeros else size
        ram += size if flags & 1 and section.name != ".relro_padding" else 0  # SHF_WRITE
        if not (flags & 0x400 and is_zeros):  # SHF_TLS
            ends.append((int(section["sh_addr"]), int(section["sh_addr"]) + size))
    ram += sum(_uncovered(segment.header, ends) for segment in elf.iter_segments("PT_LOAD"))
    return Reading("pyelftools", load, ram, file.stat().st_size, sections)


def _uncovered(head: Mapping[str, int], ends: list[tuple[int, int]]) -> int:
    """Count the zeros after a writable segment's bytes that no section covers."""
    low, in_file, in_memory = head["p_vaddr"], head["p_filesz"], head["p_memsz"]
    if not head["p_flags"] & 2 or in_memory <= in_file:
        return 0
    covered = [end for start, end in ends if low <= start < low + in_memory]
    return max(0, low + in_memory - max([low + in_file, *covered]))


def _of_segments(elf: ELFFile, file: Path) -> Reading:
    """Read a file without section headers: the bytes that segments load, without the headers."""
    heads = [segment.header for segment in elf.iter_segments("PT_LOAD")]
    head = elf.header
    table = head["e_phoff"]
    outside = [(0, head["e_ehsize"]), (table, table + head["e_phentsize"] * head["e_phnum"])]
    ranges = [(each["p_offset"], each["p_offset"] + each["p_filesz"]) for each in heads]
    load = _union([*ranges, *outside]) - _union(outside)
    ram = sum(each["p_memsz"] for each in heads if each["p_flags"] & 2)
    return Reading("pyelftools", load, ram, file.stat().st_size, None)


def _union(ranges: Iterable[tuple[int, int]]) -> int:
    """Count the bytes that are in at least one range."""
    total = reached = 0
    for start, end in sorted(ranges):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _macho_by_lief(image: Path, file: Path) -> Reading:
    import lief  # takes 60 ms; only images of Mach-O and PE need it

    wide = _wide_slices(file)
    files = [lief.MachO.parse(part) for part in wide] if wide else [lief.MachO.parse(file)]
    slices = [f.at(number) for f in files if f is not None for number in range(len(f))]
    sections: Counter[SectionSize] = Counter()
    sums = [_slice_sums(binary, sections) for binary in slices if binary is not None]
    if not sums or None in files or len(sums) != len(slices):
        raise SizeguardError(f"{image}: lief cannot read it")
    load, ram = sum(load for load, _ in sums), sum(ram for _, ram in sums)
    return Reading("lief", load, ram, file.stat().st_size, sections)


def _wide_slices(file: Path) -> list[io.BytesIO]:
    """Split a universal binary with 64-bit offsets, which lief cannot read; empty for others."""
    data = readable(file).read_bytes()
    magic, count = struct.unpack_from(">II", data) if len(data) > _FAT_ENTRY.size else (0, 0)
    if magic != _FAT_64:
        return []
    table = data[8 : 8 + count * _FAT_ENTRY.size]
    return [io.BytesIO(data[at : at + size]) for at, size in _FAT_ENTRY.iter_unpack(table)]


def _slice_sums(binary: lief.MachO.Binary, sections: Counter[SectionSize]) -> tuple[int, int]:
    """Return load and ram of an image, and count its sections."""
    is_object = binary.header.file_type == type(binary.header).FILE_TYPE.OBJECT
    load = ram = 0
    for section in binary.sections:
        in_file = 0 if _is_zeros(section) else section.size
        name = f"{section.segment_name},{_text(section.name)}"
        sections[SectionSize(name, in_file, section.size)] += 1
        segment = section.segment
        if segment is None or int(segment.max_protection) == 0 or _is_debug(section):
            continue
        load += in_file
        # The only segment of an object has all permissions, so names tell where sections will be.
        is_data = section.segment_name.startswith("__DATA")
        if is_data if is_object else int(segment.init_protection) & _WRITE:
            ram += section.size
    return load, ram


def _pe_by_lief(image: Path, file: Path) -> Reading:
    import lief

    found = lief.PE.parse(file)
    if found is None:
        raise SizeguardError(f"{image}: lief cannot read it")
    load = ram = 0
    sections: Counter[SectionSize] = Counter()
    for section in found.sections:
        # A name of more than eight bytes, such as that of debug sections, is in a table.
        long = section.coff_string
        name = _text(section.fullname if long is None else long.string)
        in_file = section.sizeof_raw_data
        in_memory = section.virtual_size or in_file
        sections[SectionSize(name, in_file, in_memory)] += 1
        if name.startswith((".debug", ".zdebug", ".stab")):
            continue
        load += min(in_file, in_memory)
        ram += in_memory if section.characteristics & _PE_WRITE else 0
    return Reading("lief", load, ram, file.stat().st_size, sections)


def _text(name: str | bytes) -> str:
    text = name if isinstance(name, str) else name.decode("utf-8", "backslashreplace")
    return text.rstrip("\0")


def _is_debug(section: lief.MachO.Section) -> bool:
    return type(section).FLAGS.DEBUG_INFO in section.flags_list or section.segment_name == "__DWARF"


def _is_zeros(section: lief.MachO.Section) -> bool:
    kinds = type(section).TYPE
    zeros = (kinds.ZEROFILL, kinds.GB_ZEROFILL, kinds.THREAD_LOCAL_ZEROFILL)
    return section.type in zeros
