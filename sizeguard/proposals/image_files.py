"""Find the files that belong to an image, and its missing parts."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import SizeguardError
from sizeguard.formats.elf import Elf, has_debug_information, read_elf
from sizeguard.formats.linkmap import read_link_map
from sizeguard.formats.linkmap.fit import check_fit
from sizeguard.formats.sniff import ARCHIVE, ELF, MACHO, image_format
from sizeguard.proposals.build_folder import BUILD_ID, DEBUG, MAP, SECTIONS, SYMBOLS
from sizeguard.proposals.found_images import FoundImage

_OBJECTS_LOOKED_AT = 8  # the others have the same flags
_OWN_SECTION = re.compile(r"\.text\.(?!(?:unlikely|startup|exit|hot|sorted|unknown)\.?$)\S")
_VERSIONED = re.compile(
    r"\.so\.[\d.]+\.p$"
)  # Meson's folder of objects, with the library's version
_LARGEST_MAP = 256 << 20


@dataclass(frozen=True, slots=True)
class ImageParts:
    """The files of an image in the build folder.

    objects: globs, relative to the folder's root; missing: its missing parts
    """

    map: Path | None
    debug: Path | None
    shipped: Path | None
    objects: tuple[str, ...]
    missing: tuple[str, ...]


def parts_of(image: FoundImage, in_tree: Callable[[Path], str]) -> ImageParts:
    """Find the files that belong to an image.

    in_tree: returns a build folder's file relative to the project's root; empty for other files
    """
    path = image.path
    format_ = image_format(path)
    if format_ == ARCHIVE:
        return ImageParts(None, None, None, (), ())  # its members are its objects
    if format_ not in (ELF, MACHO):
        shipped = image.shipped or _first(path, (".stripped",))
        return ImageParts(None, None, shipped, (), ())  # their own tables have the names
    elf = read_elf(path) if format_ == ELF else None
    map_ = _map(image, elf)
    debug = _first(path, (".debug", ".dbg", ".dSYM"))
    objects = tuple(_globs(image.link.objects, in_tree))
    missing = list(_missing(image, elf))
    if map_ is None:
        missing.append(MAP)
    if debug is not None:
        missing = [part for part in missing if part not in (SYMBOLS, DEBUG)]
    shipped = image.shipped or _first(path, (".stripped",))
    return ImageParts(map_, debug, shipped, objects, tuple(missing))


def _first(path: Path, suffixes: tuple[str, ...]) -> Path | None:
    names = [path.with_name(path.name + suffix) for suffix in suffixes]
    return next((name for name in names if name.exists()), None)


def _map(image: FoundImage, elf: Elf | None) -> Path | None:
    """Find the map of the image: beside it, by its name, else by any name."""
    path = image.path
    stem = path.name.removesuffix(".exe").removesuffix(".elf").split(".so")[0]
    stems = dict.fromkeys((path.name, image.link.path.name, stem, stem.removeprefix("lib")))
    named = [path.with_name(f"{each}{suffix}") for each in stems for suffix in (".map", ".MAP")]
    others = sorted({*path.parent.glob("*.map"), *path.parent.glob("*.MAP")} - {*named})
    for place in (*named, *others):
        if place.is_file() and _fits(place, path, elf, sure=place in named):
            return place
    return None


def _fits(place: Path, path: Path, elf: Elf | None, *, sure: bool) -> bool:
    try:
        if place.stat().st_size > _LARGEST_MAP:
            return sure
        link_map = read_link_map(place)
        if elf is None:
            return sure
        sections = [
            (section.name, section.address, section.size, section.is_executable)
            for section in elf.sections
            if section.is_allocated and section.address and section.size
        ]
        check_fit(path, sections, link_map, place)
    except (SizeguardError, OSError):
        return False
    return True


def _globs(objects: tuple[Path, ...], in_tree: Callable[[Path], str]) -> Iterator[str]:
    """Yield globs of an image's objects; a folder stands for all objects below it."""
    for path in objects:
        name = in_tree(path)
        if not name or not path.exists():
            continue
        if not path.is_dir():
            yield glob.escape(name)
            continue
        for suffix in (".o", ".obj"):
            if next(path.rglob(f"*{suffix}"), None) is not None:
                yield f"{_VERSIONED.sub('.so*.p', glob.escape(name))}/**/*{suffix}"


def _missing(image: FoundImage, elf: Elf | None) -> Iterator[str]:
    if elf is None:
        return
    if elf.is_stripped:
        yield SYMBOLS
    elif not has_debug_information(elf.sections):
        yield DEBUG
    # A linker script has no place for the note, which would then move a vector table.
    if not elf.build_id and not image.target.endswith("-none"):
        yield BUILD_ID
    if _has_sections(image.link.objects) is False:
        yield SECTIONS


def _has_sections(objects: tuple[Path, ...]) -> bool | None:
    """Return whether each function has its own section; None if the objects do not show it.

    Inline functions and templates have their own sections with any flags, so code in .text decides.
    Assemblers, which leave no .comment, put all code there.
    """
    files = [file for path in objects if path.is_dir() for file in sorted(path.rglob("*.o"))]
    files += [path for path in objects if path.suffix == ".o"]
    owns: set[bool] = set()
    for file in files[:_OBJECTS_LOOKED_AT]:
        try:
            sections = read_elf(file).sections if image_format(file) == ELF else ()
        except (SizeguardError, OSError):
            continue
        code = [section for section in sections if section.is_executable and section.size]
        names = {section.name for section in code}
        if ".text" in names and any(section.name == ".comment" for section in sections):
            return False
        if code:
            owns.add(any(map(_OWN_SECTION.match, names)))
    return any(owns) if owns else None
