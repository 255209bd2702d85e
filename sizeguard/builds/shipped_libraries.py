"""Libraries and programs that a build makes in addition to its image; they ship with the app.

Code that moves from the image into a separate library is still part of the app. Every library
counts, whether the image names it or loads it by name at run time.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import SizeguardError
from sizeguard.base.files import check_no_output, path_below
from sizeguard.base.kept.hash_cache import unread_state
from sizeguard.base.kept.moment import kept_now
from sizeguard.base.kept.stored_facts import stored_fact
from sizeguard.builds import RECORD, SHIPS
from sizeguard.builds.build_record import IMAGE, Build, read_build
from sizeguard.builds.image_tools import MEASURED
from sizeguard.builds.link_record import LINK_INPUTS
from sizeguard.builds.measured_sizes import measure
from sizeguard.builds.sizes import Sizes
from sizeguard.formats.elf import ET_DYN, ET_EXEC, read_elf
from sizeguard.formats.elf.layout import (
    SHT_DYNAMIC,
    SHT_DYNSYM,
    SHT_GNU_HASH,
    SHT_GNU_VERDEF,
    SHT_GNU_VERSYM,
    SHT_HASH,
    SHT_STRTAB,
)
from sizeguard.formats.elf.needed import (
    INTERPRETER,
    SEARCH_PATH,
    library_name,
    needed_libraries,
)
from sizeguard.formats.magics import MOST_SLICES
from sizeguard.formats.sniff import (
    COFF,
    CONTAINERS,
    ELF,
    MACHO,
    MACHO_MAGICS,
    PE,
    WASM,
    format_of,
    image_format,
)

if TYPE_CHECKING:
    from sizeguard.formats.macho.image import MachO

STRIPPED = ".stripped"
# CMake tries the compiler with these files.
_TRIALS = re.compile(
    r"CMakeFiles/(\d[^/]*/(CompilerId\w+/a\.out|CMakeDetermineCompilerABI_\w+\.bin)"
    r"|(CMakeScratch|CMakeTmp)/([^/]+/)*(a\.out|cmTC_\w{5}))"
)
_MACHO_IMAGES = (2, 6, 8)  # MH_EXECUTE, MH_DYLIB, MH_BUNDLE
_MACHO_DEBUG = 10  # MH_DSYM
_LINKER_TABLES = frozenset(
    {
        SHT_DYNSYM,
        SHT_STRTAB,
        SHT_HASH,
        SHT_GNU_HASH,
        SHT_GNU_VERSYM,
        SHT_GNU_VERDEF,
        SHT_DYNAMIC,
    }
)
_HEAD = 20  # bytes that identify the type of a file
_FAT64 = b"\xca\xfe\xba\xbf"


@dataclass(frozen=True, slots=True)
class ShippedLibrary:
    """A library or program that ships with the image.

    name:   its path in the build's folder
    path:   the file that was measured
    needed: the list that needed_by returns
    soname: the name by which images need it; empty if it states none
    """

    name: str
    path: Path
    sizes: Sizes
    needed: tuple[str, ...] = ()
    soname: str = ""

    @property
    def names(self) -> frozenset[str]:
        """The names of files by which images need it."""
        return frozenset(filter(None, (PurePosixPath(self.name).name, self.soname)))


def library_files(folder: Path, apart: Iterable[Path]) -> list[Path]:
    """List the linked files in a build's folder, sorted.

    apart: the build's image and tools; they and their stripped twins do not count

    Links count once, as the file that they lead to. A folder with the record of its own image
    belongs to another build.
    """
    left_out = {name for path in apart for name in (str(path), f"{path}{STRIPPED}")}
    linked = [path for path in _files(folder) if path not in left_out and _is_linked(path)]
    if not linked:
        return []  # most builds; resolving the inputs of a link takes 1 ms
    found = {Path(path).resolve() for path in linked} - {Path(path).resolve() for path in left_out}
    return sorted(path for path in found if not _is_stub(path))


def shipped_libraries(build: Build) -> tuple[ShippedLibrary, ...]:
    """Measure the libraries that a build makes besides its image, or their stripped twins."""
    question = ("libraries", build.variant, build.image, build.shipped, build.model_tracer)
    return kept_now(question, lambda: _shipped_libraries(build))


def _shipped_libraries(build: Build) -> tuple[ShippedLibrary, ...]:
    folder = build.image.parent
    apart = [build.image, build.shipped, *filter(None, [build.model_tracer])]
    if build.variant == IMAGE:
        apart += (folder / LINK_INPUTS).rglob("*")  # inputs of the link do not ship
    files = library_files(folder, apart)
    if build.variant == IMAGE:
        files += _others_that_ship(folder / SHIPS)
    return libraries_of(folder, files)


def _others_that_ship(folder: Path) -> Iterator[Path]:
    """Yield the files of other formats that ship with an image: DLLs, modules, archives, objects.

    A folder of our own builds has such files, too, but there they are inputs of links.
    """
    for path in folder.rglob("*"):
        if path.is_file() and not is_linked(path) and image_format(path) in MEASURED:
            yield path


def libraries_of(folder: Path, files: Iterable[Path]) -> tuple[ShippedLibrary, ...]:
    """Measure library files, or their stripped twins if there are any."""
    paths = set(files)
    return tuple(
        _library(path, folder)
        for path in sorted(paths)
        if not (path.name.endswith(STRIPPED) and path.with_name(path.stem) in paths)
    )


def _library(path: Path, folder: Path) -> ShippedLibrary:
    shipped = shipped_twin(path)
    name = _name(path, folder)
    return ShippedLibrary(name, shipped, measure(shipped), needed_by(shipped), stated_name(shipped))


def shipped_twin(path: Path) -> Path:
    """Return the stripped twin of a linked file, or the file itself if there is none."""
    twin = path.with_name(path.name + STRIPPED)
    return twin if twin.is_file() else path


def with_libraries(sizes: Sizes, libraries: Iterable[ShippedLibrary]) -> Sizes:
    """Sum the sizes of an image and of its libraries."""
    each = [sizes, *(library.sizes for library in libraries)]
    return Sizes(
        sum(one.load for one in each),
        sum(one.ram for one in each),
        sum(one.file for one in each),
        sum(one.page_slack for one in each),
    )


def needed_by(image: Path) -> tuple[str, ...]:
    """List the libraries, search paths and interpreter that an image names, sorted."""
    format_ = image_format(image)
    if format_ in (PE, COFF, WASM):
        from sizeguard.formats.read_sectioned import read_sectioned

        return read_sectioned(image, format_).needed or ()
    if format_ in CONTAINERS:
        return ()
    if format_ == MACHO:
        from sizeguard.formats.macho.needed import needed_dylibs

        return tuple(sorted({name for each in _slices(image) for name in needed_dylibs(each)}))
    return needed_libraries(read_elf(image))


def search_paths(image: Path) -> tuple[str, ...]:
    """List the folders where an image says that its libraries are."""
    named = (name for name in needed_by(image) if name.startswith(SEARCH_PATH))
    return tuple(word for path in named for word in path.removeprefix(SEARCH_PATH).split(":"))


def needed_files(image: Path) -> tuple[str, ...]:
    """List the file names of the libraries that an image needs, and of its interpreter."""
    names = (name for name in needed_by(image) if not name.startswith(SEARCH_PATH))
    return tuple(PurePosixPath(name.removeprefix(INTERPRETER)).name for name in names)


def _files(folder: Path) -> Iterator[str]:
    """Yield the paths of a build's files; a gate asks for 15,000, and a Path takes 2 µs."""
    for place, folders, names in os.walk(folder):
        inside = place[len(str(folder)) + 1 :]
        if place != str(folder) and RECORD in names and _has_build(Path(place)):
            folders.clear()
            continue
        folders.sort()
        for name in names:
            if not _TRIALS.fullmatch(f"{inside}/{name}" if inside else name):
                yield f"{place.rstrip('/')}/{name}".removeprefix("./")


def _has_build(folder: Path) -> bool:
    """Return whether a folder contains an image with its record."""
    try:
        image = read_build(folder).image
    except SizeguardError:
        return False
    return image.is_file() and image.parent.resolve() == folder.resolve()


def stated_name(path: Path) -> str:
    """Return the file name by which images need a library of ELF or Mach-O; empty for none."""
    try:
        if not _reads_linked(str(path)):
            return ""
        if image_format(path) == ELF:
            return PurePosixPath(library_name(read_elf(path))).name
        from sizeguard.formats.macho.needed import install_name

        return next((PurePosixPath(install_name(each)).name for each in _slices(path)), "")
    except SizeguardError:
        return ""  # damaged, as inputs of tests are


def _slices(path: Path) -> Sequence[MachO]:
    """Read the Mach-O images of a file."""
    # takes 12 ms, which reports of ELF images save
    from sizeguard.formats.macho import read_macho_file
    from sizeguard.formats.macho.image import MachO

    file = read_macho_file(path)
    return [file] if isinstance(file, MachO) else file.images


def is_linked(path: Path) -> bool:
    """Return whether a file is a program or library of ELF or Mach-O, which ships stripped."""
    return _is_linked(str(path))


def _is_linked(path: str) -> bool:
    return bool(stored_fact("linked", path, _linked_fact, unread_state))


def _linked_fact(path: str) -> str:
    return "linked" if _reads_linked(path) else ""


def _reads_linked(path: str) -> bool:
    if not Path(path).is_file():
        return False
    with open(path, "rb", 0) as file:  # noqa: PTH123  (half the time; a gate reads 50,000 files)
        head = file.read(_HEAD)
        kind = format_of(head)
        if len(head) < _HEAD or kind not in (ELF, MACHO):
            return False
        check_no_output(os.fstat(file.fileno()))
    if kind == ELF:
        order = ">" if head[5] == 2 else "<"
        return struct.unpack_from(f"{order}H", head, 16)[0] in (ET_DYN, ET_EXEC)
    form = MACHO_MAGICS.get(head[:4])
    if form is None:  # a universal file, which does not contain objects of a link
        return not _has_debug_slices(Path(path))
    return struct.unpack_from(f"{form[0]}I", head, 12)[0] in _MACHO_IMAGES


def _has_debug_slices(path: Path) -> bool:
    """Return whether all slices of a universal file are debug files of dsymutil."""
    with path.open("rb") as file:
        head = file.read(8 + MOST_SLICES * 32)
        entry, place = (32, ">Q") if head[:4] == _FAT64 else (20, ">I")
        count = struct.unpack_from(">I", head, 4)[0]
        if not 0 < count <= MOST_SLICES or len(head) < 8 + count * entry:
            return False
        starts = [struct.unpack_from(place, head, 16 + i * entry)[0] for i in range(count)]
        return all(_filetype(file, start) == _MACHO_DEBUG for start in starts)


def _filetype(file: BinaryIO, start: int) -> int:
    """Read the file type of a Mach-O slice; 0 for any other content."""
    file.seek(start)
    head = file.read(16)
    form = MACHO_MAGICS.get(head[:4])
    return struct.unpack_from(f"{form[0]}I", head, 12)[0] if form and len(head) == 16 else 0


def _is_stub(path: Path) -> bool:
    """Check for a stub library, which only lists names of another library for the linker."""
    if image_format(path) != ELF:
        return False
    loaded = [section for section in read_elf(path).sections if section.is_allocated]
    return bool(loaded) and all(
        section.type in _LINKER_TABLES or section.size == 0 for section in loaded
    )


def _name(path: Path, folder: Path) -> str:
    base = folder.resolve()
    return path_below(path, base) or path.name
