"""Find the files of a recorded link by its image: objects, map and record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sizeguard.base.errors import InconclusiveError
from sizeguard.builds.build_record import IMAGE
from sizeguard.builds.link_record import read_link_record
from sizeguard.builds.open_build import Files
from sizeguard.builds.recorded_links import find_record
from sizeguard.formats.sniff import ELF, image_format
from sizeguard.linkgraph.inputs.link_inputs import LinkInputs
from sizeguard.linkgraph.inputs.lto import without_lto
from sizeguard.linkgraph.inputs.recorded_link import link_of

# Folders of the toolchain's files contain one of these; the map names the files in use.
_START_FILES = ("crt1.o", "Scrt1.o", "crti.o", "crtbegin.o", "crtbeginS.o", "libgcc.a", "libc.a")


def with_record(files: Files) -> Files:
    """Add the files in the record of an image's link; given files stay.

    The record lists all objects of the link. So they replace those that sizeguard.yaml names for a
    build, which may be some of them. Nothing is added to a native build, or if objects are given.

    Raises InconclusiveError if the link's inputs have changed since it was recorded.
    """
    build = files.build
    if build is not None and not (build.variant == IMAGE and files.link_record):
        return files
    named = build.objects if build is not None else ()
    if files.objects != named or image_format(files.image) != ELF:
        return files
    path = files.link_record or find_record(files.image).record
    if path is None:
        return files
    record = read_link_record(path)
    inputs = without_lto(link_of(record, str(path)))
    return replace(
        files,
        link_record=path,
        objects=_own_objects(inputs),
        link_map=files.link_map or record.link_map,
        # The linker's map names objects relative to the linker's working directory
        folder=record.folder if files.build is not None else files.folder or record.folder,
    )


def with_recorded_map(files: Files) -> Files:
    """Add the map in the record of an image's link, which may have unmodelled options."""
    path = files.link_record or find_record(files.image).record
    link_map = read_link_record(path).link_map if path is not None else None
    return replace(files, link_map=files.link_map or link_map)


def missing_record(image: Path) -> str:
    """Explain why an image has no record of its link, and how to get one."""
    return find_record(image).why


def _own_objects(inputs: LinkInputs) -> tuple[Path, ...]:
    """List the objects and archives of the link that are not the toolchain's."""
    found = [file for file in inputs.files if file.kind in ("object", "archive")]
    folders = {file.path.parent.resolve() for file in found if file.path.name in _START_FILES}
    own = [file.content for file in found if file.path.parent.resolve() not in folders]
    if not own:
        raise InconclusiveError(f"{inputs.output}: its link has only objects of the toolchain")
    return tuple(dict.fromkeys(own))
