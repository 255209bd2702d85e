"""Store the record of an image's link, with its inputs, before the worktree is cleaned."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.builds.image_tools import files_of_thin, is_thin
from sizeguard.builds.link_record import (
    LINK_INPUTS,
    LINK_SUFFIX,
    LinkRecord,
    read_link_record,
    write_link_record,
)
from sizeguard.builds.recorded_links import find_record
from sizeguard.git.worktrees import Worktree

_MAP = "link.map"
_RECORDS = ".links"


def records_of_tree(tree: Worktree) -> Path:
    """Return the folder of the links of a worktree's build."""
    return tree.made / _RECORDS


def keep_link(image: Path, tree: Path, records: Path, folder: Path) -> Path | None:
    """Store the record of an image's link beside its copy, with the inputs from the worktree.

    tree:    the worktree; files elsewhere, such as system libraries, are not copied
    records: folder with the records of the worktree's build
    folder:  folder of the image's copy

    Returns None if the link was not recorded, or one of its inputs no longer exists.
    """
    try:
        found = find_record(image, [records]).record
        if found is None or found.parent != records:
            return None
        record = read_link_record(found)
        if record.changed_inputs():
            return None
        kept = _with_copies(record, tree.resolve(), folder / LINK_INPUTS)
    except (InputError, OSError):
        return None
    place = folder / f"{image.name}{LINK_SUFFIX}"
    write_link_record(place, kept)
    return place


def _with_copies(record: LinkRecord, tree: Path, folder: Path) -> LinkRecord:
    copies = {}
    for number, path in enumerate(dict.fromkeys((*record.inputs, *record.copies))):
        source = record.copies.get(path, path)
        is_ours = source.resolve().is_relative_to(tree)
        if is_ours and is_thin(source):
            copies[path] = _copied_archive(source.resolve(), tree, folder / str(number))
        elif is_ours or path in record.copies:
            copies[path] = _copied_to(source, folder / str(number) / path.name)
    link_map = record.link_map
    if link_map is not None:
        link_map = _copied_to(link_map, folder / _MAP)
    return replace(record, copies=copies, map=link_map, map_state=None)


def _copied_archive(archive: Path, tree: Path, folder: Path) -> Path:
    """Copy a thin archive with the files that it names by their paths from its own folder.

    Raises InputError if it names a file outside the worktree, or by its whole path.
    """
    for name, file in files_of_thin(archive):
        place = Path(os.path.normpath(file))
        if Path(name).is_absolute() or not place.is_relative_to(tree):
            raise InputError(f"{archive}: a copy of it would name {place}")
        _copied_to(place, folder / place.relative_to(tree))
    return _copied_to(archive, folder / archive.relative_to(tree))


def _copied_to(file: Path, to: Path) -> Path:
    """Copy a file, and return the copy."""
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, to)
    return to
