"""Measure images with pyelftools or lief, too: a number that blocks a change is read twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.base.errors import SizeguardError
from sizeguard.builds.measured_sizes import measure
from sizeguard.builds.sizes import Sizes
from sizeguard.formats.elf import read_elf
from sizeguard.formats.sniff import MACHO, image_format

if TYPE_CHECKING:
    import lief
    from elftools.elf.elffile import ELFFile

_WRITE = 2  # VM_PROT_WRITE of Mach-O


@dataclass(frozen=True, slots=True)
class Reading:
    """Sizes of an image in bytes, as one reader finds them.

    sections: name, bytes in the file and bytes in memory of each; None if the file has no table of
              them
    """

    reader: str
    load: int
    ram: int
    file: int
    sections: Counter[tuple[str, int, int]] | None


def check_readings(images: Iterable[Path], sizes: Sizes) -> None:
    """Compare sizes, and the sections of images, with what another library reads.

    sizes: of all images together, which limits are compared with

    Raises SizeguardError, exit code 4, that says where they differ: then neither can be believed.
    """
    images = list(images)
    load = ram = file = 0
    for image in images:
        again = read_again(image)
        if found := disagreement(read_ourselves(image), again):
            raise SizeguardError(f"{image}: two readers disagree about {found}")
        load, ram, file = load + again.load, ram + again.ram, file + again.file
    sums = {"load": (sizes.load, load), "ram": (sizes.ram, ram), "file": (sizes.file, file)}
    for name, (recorded, read) in sums.items():
        if recorded != read:
            raise SizeguardError(
                f"{images[0]}: {name} is recorded as {recorded} bytes, and is {read}"
            )


def disagreement(ours: Reading, theirs: Reading) -> str:
    """Say what two readings differ in; empty if nothing."""
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
    """Read the sizes of an image as all other commands do."""
    sizes = measure(image)
    sections = Counter(_own_sections(image))
    return Reading("sizeguard", sizes.load, sizes.ram, sizes.file, sections)


def read_again(image: Path) -> Reading:
    """Read the sizes of an ELF image with pyelftools, of a Mach-O image with lief.

    Raises SizeguardError if the library cannot read it.
    """
    return _by_lief(image) if image_format(image) == MACHO else _by_elftools(image)


def _own_sections(image: Path) -> Iterator[tuple[str, int, int]]:
    if image_format(image) == MACHO:
        from sizeguard.formats.macho.reader import read_macho

        for each in read_macho(image).sections:
            yield f"{each.segment_name},{each.name}", each.file_size, each.size
        return
    elf = read_elf(image)
    # Behind those of the table come zeros that no section covers.
    count = elf.section_headers[1] // elf.layout.section.itemsize
    for section in elf.sections[1:count]:
        yield section.name, section.file_size, section.size


def _by_elftools(image: Path) -> Reading:
    from elftools.common.exceptions import ELFError  # 20 ms, which other commands need not wait for
    from elftools.elf.elffile import ELFFile

    try:
        with image.open("rb") as stream:
            elf = ELFFile(stream)
            if elf.num_sections() == 0:
                return _of_segments(elf, image)
            return _of_sections(elf, image)
    except (ELFError, ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise SizeguardError(f"{image}: pyelftools cannot read it: {error}") from error


def _of_sections(elf: ELFFile, image: Path) -> Reading:
    load = ram = 0
    sections: Counter[tuple[str, int, int]] = Counter()
    ends: list[tuple[int, int]] = []  # address and end of what is in memory for the whole process
    for number, section in enumerate(elf.iter_sections()):
        if number == 0:
            continue
        size, flags = int(section["sh_size"]), int(section["sh_flags"])
        is_zeros = section["sh_type"] == "SHT_NOBITS"
        sections[section.name, 0 if is_zeros else size, size] += 1
        if not flags & 2:  # SHF_ALLOC
            continue
        load += 0 if is_zeros else size
        ram += size if flags & 1 and section.name != ".relro_padding" else 0  # SHF_WRITE
        if not (flags & 0x400 and is_zeros):  # SHF_TLS
            ends.append((int(section["sh_addr"]), int(section["sh_addr"]) + size))
    ram += sum(_uncovered(segment, ends) for segment in elf.iter_segments("PT_LOAD"))
    return Reading("pyelftools", load, ram, image.stat().st_size, sections)


def _uncovered(segment: object, ends: list[tuple[int, int]]) -> int:
    """Return the zeros behind a writable segment's bytes that no section covers."""
    head: dict[str, int] = segment.header  # type: ignore[attr-defined]
    low, in_file, in_memory = head["p_vaddr"], head["p_filesz"], head["p_memsz"]
    if not head["p_flags"] & 2 or in_memory <= in_file:
        return 0
    covered = [end for start, end in ends if low <= start < low + in_memory]
    return max(0, low + in_memory - max([low + in_file, *covered]))


def _of_segments(elf: ELFFile, image: Path) -> Reading:
    """Read a file without section headers: the bytes that segments load, without the headers."""
    loads = [segment.header for segment in elf.iter_segments("PT_LOAD")]
    head = elf.header
    table = head["e_phoff"]
    outside = [(0, head["e_ehsize"]), (table, table + head["e_phentsize"] * head["e_phnum"])]
    ranges = [(load["p_offset"], load["p_offset"] + load["p_filesz"]) for load in loads]
    both = _union([*ranges, *outside])
    ram = sum(load["p_memsz"] for load in loads if load["p_flags"] & 2)
    size = _union(ranges) - (_union(ranges) + _union(outside) - both)
    return Reading("pyelftools", size, ram, image.stat().st_size, None)


def _union(ranges: Iterable[tuple[int, int]]) -> int:
    """Count the bytes that lie in one range or more."""
    total = reached = 0
    for start, end in sorted(ranges):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _by_lief(image: Path) -> Reading:
    import lief  # 60 ms, for Mach-O images alone

    found = lief.MachO.parse(image)
    if found is None or len(found) != 1 or (binary := found.at(0)) is None:
        raise SizeguardError(f"{image}: lief cannot read it as one Mach-O image")
    load = ram = 0
    sections: Counter[tuple[str, int, int]] = Counter()
    for section in binary.sections:
        in_file = 0 if _is_zeros(section) else section.size
        sections[f"{section.segment_name},{_text(section.name)}", in_file, section.size] += 1
        segment = section.segment
        if segment is None or int(segment.max_protection) == 0 or _is_debug(section):
            continue
        load += in_file
        ram += section.size if int(segment.init_protection) & _WRITE else 0
    return Reading("lief", load, ram, image.stat().st_size, sections)


def _text(name: str | bytes) -> str:
    return name if isinstance(name, str) else name.decode("utf-8", "backslashreplace")


def _is_debug(section: lief.MachO.Section) -> bool:
    return type(section).FLAGS.DEBUG_INFO in section.flags_list or section.segment_name == "__DWARF"


def _is_zeros(section: lief.MachO.Section) -> bool:
    kinds = type(section).TYPE
    zeros = (kinds.ZEROFILL, kinds.GB_ZEROFILL, kinds.THREAD_LOCAL_ZEROFILL)
    return section.type in zeros
