"""Find the images of a build folder, and rank them: the project's own first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.builds.image_tools import MEASURED, is_before_lto, is_thin
from sizeguard.builds.measured_sizes import measure
from sizeguard.builds.sizes import Sizes
from sizeguard.formats.containers.member_files import unpacked_images
from sizeguard.formats.elf import Elf, read_elf
from sizeguard.formats.elf.layout import (
    ET_CORE,
    ET_DYN,
    ET_REL,
    PT_DYNAMIC,
    PT_INTERP,
    PT_TLS,
)
from sizeguard.formats.macho.reader import FatFile, read_macho_file
from sizeguard.formats.read_sectioned import read_sectioned
from sizeguard.formats.sniff import ARCHIVE, COFF, ELF, MACHO, PE, image_format
from sizeguard.proposals.build_folder import BuildFolder, LinkedFile, files_of_build

_TEST = re.compile(
    r"(?:^|[_\-.])(?:unit|fuzz)?(?:tests?|testing|gtest|gmock|catch2?|benchmarks?|bench|examples?"
    r"|samples?|demos?|fuzz|fuzzer|mocks?)(?:main|s|er)?(?=$|[_\-.\d])"
    r"|^tests?(?-i:(?=[A-Z]))|(?-i:[a-z0-9]Tests?$)",
    re.I,
)
_TEST_FOLDER = re.compile(
    r"(?:unit)?tests?|testing|benchmarks?|bench|examples?|samples?|fuzz", re.I
)
_FOREIGN = frozenset(
    {"_deps", "deps", "third_party", "third-party", "thirdparty", "3rdparty", "vendor", "vendored"}
    | {"extern", "external", "externals", "subprojects", "submodules"}
)
_NO_PRODUCTS = frozenset(
    {".o", ".obj", ".lo", ".debug", ".dbg", ".stripped", ".map", ".ko", ".pdb", ".rlib"}
)
# Installed images and static libraries, other images and static libraries, images of dependencies
# and of tests. A static library is a product only if the build has no image of a better rank.
OWN, OWN_ARCHIVE, MAYBE, OTHER_ARCHIVE, FOREIGN, TEST = range(6)
WORDS = {MAYBE: "not installed", FOREIGN: "of a dependency", TEST: "of tests"}
# Compilers for an operating system mark the stack in each object.
_HOSTED = ".note.GNU-stack"


@dataclass(frozen=True, slots=True)
class FoundImage:
    """An image that a build linked.

    link:       the build system's entry for it
    path:       the file by its shortest name: libwords.so for libwords.so.1.2.3
    rank:       OWN, OWN_ARCHIVE, MAYBE, OTHER_ARCHIVE, FOREIGN or TEST
    is_library: whether it is not a program
    target:     machine and system, such as x86_64-linux
    sizes:      today's
    shipped:    its stripped copy that the build makes, too
    """

    link: LinkedFile
    path: Path
    rank: int
    is_library: bool
    target: str
    sizes: Sizes
    shipped: Path | None = None


def find_images(
    build: BuildFolder, tracked: frozenset[Path], others: Iterable[Path]
) -> list[FoundImage]:
    """Find the images: those that the build lists as linked, else those in the folder.

    tracked: files of the repository, which no build made
    others: build folders of other systems, which are separate

    A file that cannot be read is left out, and so are static libraries if there is an image of a
    better rank, since such libraries are its parts.
    """
    links = build.linked
    if links is None:
        links = tuple(map(LinkedFile, _lying_there(build.folder, frozenset(others))))
    images: list[FoundImage] = []
    archives: list[tuple[LinkedFile, int]] = []
    for link in links:
        if link.path in tracked or not link.path.is_file():
            continue
        rank = _rank(link, build.folder)
        if _is_archive(link.path):
            archives.append((link, rank))
            continue
        image = _found(link, _short_name(link.path), rank)
        if image is not None:
            images.append(image)
    best = min((image.rank for image in images), default=TEST + 1)
    for link, rank in archives:
        as_archive = {OWN: OWN_ARCHIVE, MAYBE: OTHER_ARCHIVE}.get(rank, best)
        image = _found(link, link.path, as_archive) if as_archive < best else None
        if image is not None:
            images.append(image)
    unique = {image.path.resolve(): image for image in images}
    return sorted(unique.values(), key=lambda each: (-each.sizes.load, str(each.path)))


def _is_archive(path: Path) -> bool:
    try:
        return image_format(path) == ARCHIVE
    except (InputError, OSError):
        return False


def _lying_there(folder: Path, others: frozenset[Path]) -> Iterator[Path]:
    for path in files_of_build(folder):
        if path.is_symlink() or path.suffix in _NO_PRODUCTS or path.name.startswith("lt-"):
            continue
        if not any(path.is_relative_to(other) for other in others):
            yield path


def _found(link: LinkedFile, path: Path, rank: int) -> FoundImage | None:
    try:
        if not path.stat().st_size:
            return None
        format_ = image_format(path)
        if format_ not in MEASURED:
            return None
        told = _kind(path, format_)
        if told is None:
            return None
        is_library, target = told
        sizes = measure(path)
    except (InputError, OSError):
        return None
    return FoundImage(link, path, rank, is_library, target, sizes)


def _kind(path: Path, format_: str) -> tuple[bool, str] | None:
    """Return whether it is a library, and its machine; None if it cannot be an app's image."""
    if format_ == ARCHIVE:
        machine = "" if is_thin(path) or is_before_lto(path) else _target_of_members(path)
        return (True, machine) if machine else None
    if format_ == ELF:
        elf = read_elf(path)
        if elf.type in (ET_REL, ET_CORE):
            return None
        return _is_library(elf, path), f"{elf.machine}-{_system(elf)}"
    if format_ == MACHO:
        file = read_macho_file(path)
        image = file.images[0] if isinstance(file, FatFile) else file
        return None if image.is_object else (path.suffix == ".dylib", f"{image.arch}-macos")
    if format_ == PE:
        return path.suffix.lower() == ".dll", f"{read_sectioned(path, format_).arch}-windows"
    return False, "wasm"


def _target_of_members(archive: Path) -> str:
    """Return the target of an archive's first object.

    Raises InputError if it has none.
    """
    first = next(unpacked_images(archive))
    format_ = image_format(first)
    if format_ == ELF:
        elf = read_elf(first)
        is_hosted = any(section.name == _HOSTED for section in elf.sections)
        return f"{elf.machine}-{'linux' if is_hosted else 'none'}"
    if format_ == MACHO:
        file = read_macho_file(first)
        return f"{(file.images[0] if isinstance(file, FatFile) else file).arch}-macos"
    return f"{read_sectioned(first, format_).arch}-windows" if format_ == COFF else "wasm"


def _system(elf: Elf) -> str:
    """Return "none" for firmware and kernels, by the names of GCC's targets.

    They lack what a program of an operating system has: a loader, thread-locals, or the note of
    glibc's start code.
    """
    is_hosted = any(each.type in (PT_INTERP, PT_DYNAMIC, PT_TLS) for each in elf.segments)
    is_hosted |= any(each.name == ".note.ABI-tag" for each in elf.sections)
    return "linux" if is_hosted else "none"


def _is_library(elf: Elf, path: Path) -> bool:
    if elf.type != ET_DYN or any(segment.type == PT_INTERP for segment in elf.segments):
        return False
    return ".so" in path.suffixes or path.name.startswith("lib")


def _rank(link: LinkedFile, folder: Path) -> int:
    inside = _inside(link.path, folder)
    # A dependency's static library can be in a common folder, its objects are in its own.
    own = [part for each in link.objects if each.is_dir() for part in _inside(each, folder)]
    if _FOREIGN & {*inside[:-1], *own}:
        return FOREIGN
    if link.is_installed:
        return OWN
    is_test_name = _TEST.search(link.path.name.split(".")[0]) is not None
    in_tests = any(_TEST_FOLDER.fullmatch(part) for part in inside[:-1])
    return TEST if link.is_test or is_test_name or in_tests else MAYBE


def _inside(path: Path, folder: Path) -> tuple[str, ...]:
    """Return the parts of a path below a folder; only the name of one elsewhere."""
    return path.relative_to(folder).parts if path.is_relative_to(folder) else (path.name,)


def _short_name(path: Path) -> Path:
    """Return the symbolic link in the same folder with the shortest name, else the file itself."""
    stem = path.name.split(".so")[0].split(".dylib")[0].split(".")[0]
    real = path.resolve()
    try:
        names = [
            each
            for each in path.parent.iterdir()
            if each.is_symlink() and each.name.startswith(stem) and each.resolve() == real
        ]
    except OSError:
        names = []
    return min((path, *names), key=lambda each: (len(each.name), each.name))
