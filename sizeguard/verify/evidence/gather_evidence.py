"""Read the files of a link as evidence, and list the missing parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.builds.open_build import Files
from sizeguard.formats import sniff
from sizeguard.formats.binary import Binary
from sizeguard.formats.elf import ET_REL, Elf, read_elf
from sizeguard.formats.linkmap import read_link_map
from sizeguard.formats.linkmap.link_map import LinkMap
from sizeguard.verify.evidence.code_search import ImageBytes
from sizeguard.verify.evidence.evidence import Evidence, as_macho
from sizeguard.verify.evidence.linker_log import read_removed
from sizeguard.verify.evidence.object_evidence import ObjectFile, Objects, read_objects
from sizeguard.verify.evidence.placement import (
    Placement,
    missing_files,
    place,
    toolchain_files,
)


def _read_image(path: Path, is_macho: bool) -> Binary:
    if not is_macho:
        return read_elf(path)
    from sizeguard.verify.evidence.macho import read_macho_image  # 30 ms, which ELF saves

    return read_macho_image(path)


def _read_objects(files: Files, is_macho: bool) -> Objects:
    if not is_macho:
        return read_objects(files.objects, files.folder)
    from sizeguard.verify.evidence.macho_objects import read_macho_objects  # 30 ms, which ELF saves

    return read_macho_objects(files.objects, files.folder)


# More than 40 lines: each kind of missing evidence is named where it is looked for.
def gather(files: Files, hidden_prefixes: Sequence[str] = ()) -> Evidence:
    """Read all files of a link and check that they belong together.

    Raises InputError for damaged files, InconclusiveError for files of another build.
    """
    if files.twin is not None and not files.twin.is_file():
        raise InputError(f"{files.twin}: cannot read: No such file or directory")
    is_macho = sniff.image_format(files.image) == sniff.MACHO
    image = _read_image(files.image, is_macho)
    twin: Binary | None = None
    if isinstance(image, Elf) and image.is_debug_file:
        error = InputError if files.twin is None else InconclusiveError
        raise error(
            f"{image.path}: a debug file, without the code of its image; claims need the whole"
            " unstripped image"
        )
    if files.twin is not None:
        twin = _read_image(files.twin, is_macho)
        _check_twin(image, twin)
    objects = _read_objects(files, is_macho)
    own = len(objects.files)
    _check_machine(image, objects)
    link_map = read_link_map(files.link_map) if files.link_map else None
    gaps: list[str] = []
    if image.type == ET_REL:
        placement = Placement(objects, ImageBytes(image), {}, (), False)
        gaps.append("the image is a partial link (-r), from which nothing was removed yet")
    elif (macho := as_macho(image)) is not None:
        from sizeguard.verify.evidence.macho_placement import place_atoms  # 30 ms, which ELF saves

        placement = place_atoms(objects, macho, link_map, files.link_map)
        if own:
            gaps += _lost(list(placement.missing), objects)
    else:
        if own and link_map is not None:
            objects, lost = _with_toolchain(objects, image, link_map, files.folder)
            gaps += _lost(lost, objects)
        placement = place(objects, image, link_map, files.link_map, own)
    if own and not placement.address and image.type != ET_REL:
        raise InconclusiveError(
            f"{files.objects[0]}: no object has code that is in {image.path}; pass the objects of"
            " this image"
        )
    gaps += _missing(image, own, objects, link_map)
    removed = read_removed(objects, placement, link_map, files.gc_log)
    return Evidence(
        image,
        twin,
        objects,
        own,
        placement,
        link_map,
        removed,
        tuple(gaps),
        files.link_record,
        files.objects,
        tuple(hidden_prefixes),
        files.build.lto_inputs if files.build is not None else None,
    )


def _check_twin(image: Binary, twin: Binary) -> None:
    if image.build_id and twin.build_id and image.build_id != twin.build_id:
        raise InconclusiveError(
            f"{twin.path} is of another build (id {twin.build_id[:12]}…, {image.path} has"
            f" {image.build_id[:12]}…)"
        )
    for one, other in zip(_loaded(image), _loaded(twin), strict=False):
        if one != other:
            raise InconclusiveError(
                f"{twin.path} is not {image.path} stripped: {one[0] or other[0]} differs"
            )
    if len(_loaded(image)) != len(_loaded(twin)):
        raise InconclusiveError(
            f"{twin.path} is not {image.path} stripped: they have other sections"
        )


def _loaded(elf: Binary) -> list[tuple[str, int, bytes]]:
    return [(s.name, s.address, elf.content(s)) for s in elf.sections if s.is_allocated]


def _check_machine(image: Binary, objects: Objects) -> None:
    if objects.files and objects.files[0].elf.machine != image.machine:
        file = objects.files[0]
        raise InconclusiveError(
            f"{file.label} is for {file.elf.machine}, {image.path} for {image.machine}; pass the"
            " objects of this image"
        )


def _with_toolchain(
    objects: Objects, image: Binary, link_map: LinkMap, folder: Path | None
) -> tuple[Objects, list[str]]:
    """Add files that the linker read from elsewhere: start-up objects, members of libraries.

    Returns the names of files that the map names and that cannot be read, too.
    """
    missing = missing_files(objects, link_map)
    if not missing or folder is None:
        return objects, list(missing)
    paths, lost = toolchain_files(missing, folder)
    wanted = {_file(name) for name in missing}
    added: list[ObjectFile] = []
    for path in paths:
        try:
            read = read_objects([path])
        except InputError:
            lost.append(str(path))  # not an object, but bytes that the linker copied
            continue
        added += (
            f for f in read.files if _file(f.label) in wanted and f.elf.machine == image.machine
        )
        lost += (label for label in read.lto if _file(label) in wanted)
    return Objects((*objects.files, *added), objects.lto), lost


def _file(name: str) -> str:
    archive, bracket, member = name.partition("(")
    return f"{Path(archive).name}{bracket}{member}"


def _lost(missing: Iterable[str], objects: Objects) -> list[str]:
    names = list(missing)
    if not names:
        return []
    is_of_lto = any("ltrans" in name or ".lto." in name or name.startswith("lto") for name in names)
    if objects.lto and not objects.made_by_lto and is_of_lto:
        return []  # _missing reports it
    return [
        f"{len(names)} files that the map names were not given:"
        f" {', '.join(names[:3])}{' …' if len(names) > 3 else ''}"
    ]


def _missing(image: Binary, own: int, objects: Objects, link_map: LinkMap | None) -> list[str]:
    gaps = []
    if objects.lto and (link_map is None or not own or not objects.made_by_lto):
        gaps.append(
            f"{len(objects.lto)} LTO objects contain no machine code, such as {objects.lto[0]}:"
            " link with -save-temps and pass the objects that it keeps, too"
        )
    elif not own:
        gaps.append("no objects were given (--objects), and no link is recorded (sizeguard record)")
    if link_map is None and image.type != ET_REL:
        gaps.append("no linker map was given (--map)")
    if image.is_stripped:
        gaps.append("the image is stripped: pass its twin with symbols")
    return gaps
