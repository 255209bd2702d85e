"""Open a build by its folder or build.json, or a bare image, as the files of one link."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.base import OWN_FOLDER
from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.files import is_folder, is_there
from sizeguard.base.input_files import read_input
from sizeguard.builds import LINK_SUFFIX, RECORD
from sizeguard.formats.magics import SNAPSHOT
from sizeguard.formats.sniff import ELF, image_format, names_member

if TYPE_CHECKING:
    from sizeguard.builds.build_record import Build

LINK_RECORDS = Path(OWN_FOLDER) / "links"  # below the folder where `sizeguard record` runs
INDEX = "index.json"  # of a folder of link records

_PIECE = 1 << 18  # bytes that are compared at a time


@dataclass(frozen=True, slots=True)
class Files:
    """The known files of one link.

    image:       with symbols, if there is such a file
    twin:        its stripped form, which ships
    objects:     the linked objects; with LTO, the objects that the linker generated
    link_map, gc_log: written by the linker
    folder:      the linker's working directory; maps and logs name objects relative to it
    link_record: the linker's command line
    debug_file:  the same build with symbols or debug information
    build:       the record that names these files; None for a bare image
    scripts:     linker scripts that the user gives
    """

    image: Path
    twin: Path | None = None
    objects: tuple[Path, ...] = ()
    link_map: Path | None = None
    gc_log: Path | None = None
    folder: Path | None = None
    link_record: Path | None = None
    debug_file: Path | None = None
    build: Build | None = None
    scripts: tuple[Path, ...] = ()


def is_build(path: Path) -> bool:
    """Check that a path names a build: its folder, or build.json."""
    return path.name == RECORD or is_folder(path)


def _is_snapshot(path: Path) -> bool:
    if not is_there(path) or not path.is_file():
        return False  # its reader reports it
    return read_input(path, len(SNAPSHOT)) == SNAPSHOT


def open_build(path: Path, given: Files | None = None) -> Files:
    """Return the files of a build or a bare image; `given` files replace those of the record.

    Raises InputError for a damaged build.json, or a folder without one.
    """
    if is_build(path):
        from sizeguard.builds.build_record import read_build  # 6 ms, which bare images save

        return files_of(read_build(path), given)
    if names_member(path):
        image_format(path)  # unpacks it
    elif _is_snapshot(path):
        raise InputError(f"{path}: a snapshot, not an image; sizeguard report and diff read it")
    return replace(given, image=path) if given is not None else Files(path)


def record_beside(path: Path) -> Path | None:
    """Return the build.json beside an image that names it, or names it as what ships; else None."""
    record = path.with_name(RECORD)
    if not (is_there(path) and path.is_file() and record.is_file()):
        return None
    from sizeguard.builds.build_record import read_build  # 6 ms, which other images save

    build = read_build(record)
    own = (each for each in (build.image, build.shipped) if each.is_file())
    return record if any(map(path.samefile, own)) else None


def files_of(build: Build, given: Files | None = None) -> Files:
    """Return the files that a record names; `given` files replace them."""
    given = given or Files(build.image)
    return Files(
        image=build.image,
        twin=given.twin or build.shipped,
        objects=given.objects or build.objects,
        link_map=given.link_map or build.map,
        gc_log=given.gc_log or build.gc_log,
        folder=given.folder or build.image.parent,
        link_record=build.link_command,
        debug_file=given.debug_file,
        build=build,
        scripts=given.scripts,
    )


def has_records(image: Path) -> bool:
    """Return quickly whether any links were recorded where the record of an image may be."""
    beside = image.with_name(f"{image.name.removesuffix('.stripped')}{LINK_SUFFIX}")
    return beside.is_file() or any(True for _ in usual_folders(image))


def usual_folders(image: Path) -> Iterator[Path]:
    """Yield the folders of link records above an image and above the current folder."""
    for start in (Path(os.path.realpath(image)).parent, Path.cwd()):
        for folder in (start, *start.parents):
            if (folder / LINK_RECORDS / INDEX).is_file():
                yield folder / LINK_RECORDS


def open_alike(old: Path, new: Path) -> bool:
    """Return whether two paths give equal analyses: one path twice, or equal ELF files.

    False for copies in formats whose readers look at neighbouring files, and for copies with
    recorded links, since the records may differ.
    """
    if old == new:
        return True
    is_bare = all(
        is_there(path) and path.is_file() and image_format(path) == ELF and not has_records(path)
        for path in (old, new)
    )
    return is_bare and old.stat().st_size == new.stat().st_size and _have_equal_bytes(old, new)


def _have_equal_bytes(old: Path, new: Path) -> bool:
    """Compare two files of one size; two copies of libtorch_cpu.so take 0.17 s."""
    with old.open("rb") as one, new.open("rb") as other:
        while piece := one.read(_PIECE):
            if piece != other.read(_PIECE):
                return False
    return True
