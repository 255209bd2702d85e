"""Folders of link records; find the record of an image in them.

An image is found by its path. If it was installed, moved or stripped into another file, its build
id or a hash of its loaded bytes identifies it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.digest import digest
from sizeguard.base.errors import InputError
from sizeguard.base.files import write_atomic
from sizeguard.builds.link_record import (
    LINK_SUFFIX,
    ImageIdentity,
    LinkRecord,
    image_identity,
    read_link_record,
    write_link_record,
)
from sizeguard.builds.open_build import INDEX, usual_folders
from sizeguard.builds.open_build import LINK_RECORDS as LINK_RECORDS

_LONGEST_NAME = 80  # bytes of an output's name in that of its record
COPIES = "files"  # folder of copies, by content
HOW_TO_RECORD = "record its build with `sizeguard record -- BUILD COMMAND`"


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """The record of an image, or the reason why there is none.

    record: path of the file; None if no record belongs to the image
    why:    the reason, and how to get a record; empty if there is one
    """

    record: Path | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Entry:
    """Entry of the index: the output, the file of its record, and the output's identity."""

    output: Path
    file: str
    image: ImageIdentity | None


def record_name(output: Path) -> str:
    """Return the file name of an output's record; a later link of the same output overwrites it."""
    number = digest([os.fsencode(output)])[:16]
    name = os.fsencode(output.name)[:_LONGEST_NAME].decode(errors="ignore")
    return f"{name}-{number}{LINK_SUFFIX}"


def write_records(folder: Path, records: Iterable[LinkRecord]) -> list[Path]:
    """Write records of links into a folder, each in place of an earlier record of its output.

    Removes earlier records of missing outputs, and copies that no record names.
    """
    entries = {entry.output: entry for entry in _entries(folder) if os.path.lexists(entry.output)}
    written = []
    for record in records:
        if record.output is None:
            continue
        path = folder / record_name(record.output)
        write_link_record(path, record)
        written.append(path)
        entries[record.output] = _Entry(record.output, path.name, record.image)
    content = [
        {
            "output": str(entry.output),
            "record": entry.file,
            "image": {"build_id": entry.image.build_id, "loaded": entry.image.loaded}
            if entry.image
            else None,
        }
        for entry in entries.values()
    ]
    write_atomic(folder / ".gitignore", "*\n")
    write_atomic(folder / INDEX, json.dumps(content, indent=1) + "\n")
    _remove_others(folder, {entry.file for entry in entries.values()})
    return written


def _remove_others(folder: Path, files: set[str]) -> None:
    """Remove records that the index does not name or that are damaged, and copies of none."""
    used: set[Path] = set()
    for path in folder.glob(f"*{LINK_SUFFIX}"):
        record = _readable(path) if path.name in files else None
        if record is None:
            path.unlink(missing_ok=True)
            continue
        used.update(copy.parent for copy in record.copies.values())
        used.update(record.map.parent for _ in range(1) if record.map is not None)
    for copies in (folder / COPIES).glob("*"):
        if copies not in used:
            shutil.rmtree(copies, ignore_errors=True)


def _readable(path: Path) -> LinkRecord | None:
    try:
        return read_link_record(path)
    except InputError:
        return None


def _entries(folder: Path) -> list[_Entry]:
    """Read the index of a folder; empty if there is none, or a damaged one."""
    try:
        content = json.loads((folder / INDEX).read_text())
    except (OSError, ValueError, RecursionError):
        return []
    return [
        _Entry(Path(output), file, _identity(found.get("image")))
        for found in (content if isinstance(content, list) else ())
        if isinstance(found, dict)
        and isinstance(output := found.get("output"), str)
        and isinstance(file := found.get("record"), str)
    ]


def _identity(content: object) -> ImageIdentity | None:
    if not isinstance(content, Mapping):
        return None
    return ImageIdentity(str(content.get("build_id", "")), str(content.get("loaded", "")))


def find_record(image: Path, folders: Iterable[Path] = ()) -> FoundRecord:
    """Find the record of an image: next to it, in given folders, or in the usual folders.

    The usual folders are .sizeguard/links in the image's folder, the current folder, and all
    folders above them.

    Raises InputError for an image that cannot be read.
    """
    beside = image.with_name(f"{image.name.removesuffix('.stripped')}{LINK_SUFFIX}")
    if beside.is_file():
        return FoundRecord(beside)
    path = Path(os.path.realpath(image))
    other: _Entry | None = None
    indexes = {folder: _entries(folder) for folder in (*folders, *usual_folders(image))}
    # Hashing 434 MB takes 0.3 s, so hash only if there are records to compare with.
    identity = image_identity(image) if any(indexes.values()) else ImageIdentity("", "")
    for folder, entries in indexes.items():
        same = [entry for entry in entries if Path(os.path.realpath(entry.output)) == path]
        alike = [entry for entry in entries if entry.image and entry.image.is_of(identity)]
        for entry in [entry for entry in same if entry in alike] + alike:
            if (folder / entry.file).is_file():
                return FoundRecord(folder / entry.file)
        other = other or next(iter(same), None)
    if other is not None:
        return FoundRecord(
            None,
            f"{image}: it was linked again after its link was recorded; {HOW_TO_RECORD}",
        )
    return FoundRecord(None, f"{image}: no record of its link is known; {HOW_TO_RECORD}")
