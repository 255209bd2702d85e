"""Open any container: a folder, or a file that its first bytes identify."""

from __future__ import annotations

import os
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_read, is_folder
from sizeguard.base.input_files import read_input, readable, recognizable
from sizeguard.formats import magics
from sizeguard.formats.archive import Archive, members
from sizeguard.formats.containers.container import (
    MOST_MEMBERS,
    Container,
    ContainerMember,
    MemberContent,
    without_twins,
)
from sizeguard.formats.containers.file_slice import FileSlice
from sizeguard.formats.containers.packages import open_deb, open_zip
from sizeguard.formats.macho.reader import read_slices
from sizeguard.formats.mapped import mapped


def open_container(path: Path) -> Container | None:
    """Return the members of a container; None for anything else.

    Raises InputError for a file that cannot be read or is damaged.
    """
    if is_folder(path):
        return _folder(path)
    format_ = _format(path)
    if format_ == magics.ZIP:
        return open_zip(path)
    if format_ == magics.DEBIAN:
        return open_deb(path)
    if format_ == magics.ARCHIVE:
        return _archive(path)
    return _universal(path) if format_ == magics.FAT else None


def _format(path: Path) -> str:
    head = read_input(path, magics.HEAD)
    return magics.FAT if magics.is_fat(head) else magics.format_of(head)


def _archive(path: Path) -> Container:
    """Open an ar archive; members of a thin archive are separate files, but count as part of it."""
    found = members(path)
    if len(found) > MOST_MEMBERS:
        raise InputError(f"{path}: {len(found)} members, more than {MOST_MEMBERS}")
    archive = Archive(path, found, None)
    names = without_twins([member.name for member in found])
    rows: list[ContainerMember] = []
    size = readable(path).stat().st_size
    for name, member in zip(names, found, strict=True):
        content = archive.content(member)
        head = content[: magics.HEAD].tobytes()
        if member.file != path:
            size += member.size
        rows.append(
            ContainerMember(name, member.size, member.size, head, FileSlice.maker(content.data))
        )
    return Container(path, magics.ARCHIVE, size, tuple(rows))


def _universal(path: Path) -> Container:
    data = mapped(path, "Mach-O")
    slices = read_slices(path, data)
    contents = [data[each.offset : each.offset + each.size] for each in slices]
    names = without_twins([each.arch for each in slices])
    rows = (
        ContainerMember(
            name,
            len(content),
            len(content),
            content[: magics.HEAD].tobytes(),
            FileSlice.maker(content.data),
        )
        for name, content in zip(names, contents, strict=True)
    )
    return Container(path, magics.FAT, len(data), tuple(rows), loads_one=True)


def _folder(path: Path) -> Container:
    """List the files in a folder, each once, without following links."""
    rows: list[ContainerMember] = []
    size = 0
    seen: set[tuple[int, int]] = set()
    for place, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            file = Path(place) / name
            if file.is_symlink() or not file.is_file():
                continue
            about = file.stat()
            if (about.st_dev, about.st_ino) in seen:
                continue
            seen.add((about.st_dev, about.st_ino))
            if len(rows) >= MOST_MEMBERS:
                raise InputError(f"{path}: more than {MOST_MEMBERS} files")
            size += about.st_size
            rows.append(_file(file, file.relative_to(path).as_posix(), about.st_size))
    return Container(path, magics.FOLDER, size, tuple(rows))


def _file(path: Path, name: str, size: int) -> ContainerMember:
    def opened() -> MemberContent:
        try:
            return readable(path).open("rb")
        except OSError as error:
            raise cannot_read(path, error) from error

    try:
        with recognizable(path).open("rb") as file:
            head = file.read(magics.HEAD)
    except OSError as error:
        raise cannot_read(path, error) from error
    return ContainerMember(name, size, size, head, opened)
