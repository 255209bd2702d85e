"""Unpack members of containers into unnamed files, so that readers can map them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO

from sizeguard.base.errors import InputError, StorageError
from sizeguard.base.files import is_there
from sizeguard.base.input_files import forget, has_stand_in, stand_in
from sizeguard.formats import magics
from sizeguard.formats.containers.container import (
    DEEPEST,
    MOST_BYTES,
    Container,
    ContainerMember,
    chunks,
)

# Open as long as the program runs, since an unnamed file is deleted with its last descriptor.
_KEPT: list[IO[bytes]] = []
_NO_CONTAINER = "neither a package nor an archive nor a universal binary: it has no members"


def unpack_member(path: Path) -> None:
    """Unpack app.zip!lib/x.so, so that reading this path reads the member.

    Members may be containers themselves: app.apk!lib.jar!x.so. Each member is unpacked once.

    Raises InputError if the container or the member does not exist.
    """
    if has_stand_in(path):
        return
    outer, names = _split(path)
    if len(names) > DEEPEST:
        raise InputError(f"{path}: containers are nested more than {DEEPEST} deep")
    place = outer
    for name in names:
        inside = Path(f"{place}{magics.MEMBER}{name}")
        if not has_stand_in(inside):
            container = _opened(place)
            stand_in(inside, unpacked(container, container.member(name), _KEPT))
        place = inside


def copy_member(path: Path, to: Path) -> None:
    """Copy a member such as app.zip!lib/x.so as it is now, without what was unpacked earlier.

    Raises InputError if the container or the member does not exist, or if there are two.
    """
    place, names = _split(path)
    with tempfile.TemporaryDirectory(prefix="sizeguard-") as folder:
        for depth, name in enumerate(names):
            container = _container(place) if depth < DEEPEST else None
            if container is None:
                raise InputError(f"{place.name}: {_NO_CONTAINER}")
            kept: list[IO[bytes]] = []
            inside = Path(folder) / str(depth) / Path(name).name
            inside.parent.mkdir()
            try:
                shutil.copyfile(unpacked(container, container.only_member(name), kept), inside)
            finally:
                for file in kept:
                    file.close()
            place = inside
        shutil.copyfile(place, to)


def container_of(path: Path) -> Path:
    """Return the file that contains a member: app.zip for app.zip!lib/x.so."""
    return _split(path)[0]


@lru_cache(maxsize=4)
def _opened(path: Path) -> Container:
    """Open a container once for all of its members."""
    container = _container(path)
    if container is None:
        raise InputError(f"{path}: {_NO_CONTAINER}")
    return container


def _split(path: Path) -> tuple[Path, list[str]]:
    """Split at each `!` after the existing file."""
    parts = str(path).split(magics.MEMBER)
    for i in range(len(parts) - 1, 0, -1):
        outer = Path(magics.MEMBER.join(parts[:i]))
        if is_there(outer):
            return outer, parts[i:]
    raise InputError(f"{parts[0]}: cannot read: No such file or directory")


def unpacked(container: Container, member: ContainerMember, kept: list[IO[bytes]]) -> Path:
    """Write a member's content to a file; return a path that is valid while it is in `kept`.

    Raises InputError if there is more content than the container states.
    """
    if container.format == magics.FOLDER:
        return container.path / member.name
    file = tempfile.TemporaryFile(prefix="sizeguard-")  # noqa: SIM115
    try:
        for piece in chunks(member, min(member.size, MOST_BYTES)):
            file.write(piece)
        file.flush()
    except OSError as error:
        raise StorageError(f"{container.path}: cannot unpack {member.name}: {error}") from error
    kept.append(file)
    return Path(f"/proc/self/fd/{file.fileno()}")


def unpacked_images(path: Path, depth: int = 0) -> Iterator[Path]:
    """Yield a path for each native member, also in nested containers; valid until the next one.

    Raises InputError if there is none.
    """
    container = _container(path)
    if container is None:
        raise InputError(f"{path}: {_NO_CONTAINER}")
    found = False
    for member in container.members:
        is_inner = member.is_container and depth < DEEPEST
        if not member.is_native and not is_inner:
            continue
        inside = Path(f"{path}{magics.MEMBER}{member.name}")
        kept: list[IO[bytes]] = []
        stand_in(inside, unpacked(container, member, kept))
        try:
            if is_inner:
                yield from unpacked_images(inside, depth + 1)
            else:
                yield inside
        finally:
            forget(inside)
            for file in kept:
                file.close()
        found = True
    if not found and not depth:
        raise InputError(f"{path}: contains no image: none of its files is native code")


def container_members(path: Path) -> tuple[ContainerMember, ...]:
    """List the members of a container; empty for any other file."""
    container = _container(path)
    return tuple(container.members) if container is not None else ()


def _container(path: Path) -> Container | None:
    """Open a file if it is a container; None otherwise."""
    # Takes 65 ms with numpy, which a gate without any change does not need.
    from sizeguard.formats.containers.open_container import open_container

    return open_container(path)
