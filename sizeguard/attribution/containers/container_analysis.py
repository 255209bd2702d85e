"""Open the members of a container, and join their analyses."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

from sizeguard.attribution.containers.joined import (
    JoinedAnalysis,
    JoinedMember,
    OpenedAnalysis,
    OtherBytes,
)
from sizeguard.base.errors import InputError
from sizeguard.base.input_files import forget, stand_in
from sizeguard.formats import magics
from sizeguard.formats.containers.container import DEEPEST, Container, ContainerMember
from sizeguard.formats.containers.member_files import unpacked
from sizeguard.formats.containers.open_container import open_container
from sizeguard.formats.describe import ZIP_FILE, describe_file
from sizeguard.formats.link_kind import OBJECT
from sizeguard.ledger.ledger import ImageInfo

OTHER_FILES = "(other files)"
REST = "(headers, alignment)"
_MOST_IMAGES = 1 << 14
_MOST_NOTES = 3

Open = Callable[[Path, str], OpenedAnalysis]


def container_analysis(path: Path, open_image: Open, depth: int = 0) -> JoinedAnalysis:
    """Join the analyses of a container's native members, including those of nested containers.

    open_image: analyses the image at a path, with a title

    Raises InputError for a damaged container and for one without native members.
    """
    container = open_container(path)
    if container is None:
        raise InputError(f"{path}: has no members")
    members: list[JoinedMember] = []
    unread: list[OtherBytes] = []
    errors: list[InputError] = []
    others = files = 0
    for member in container.members:
        analysis = _opened(container, member, open_image, depth, errors)
        if analysis is not None:
            members.append(JoinedMember(member.name, member.stored, analysis))
        elif member.is_native:
            unread.append(OtherBytes(member.name, "unattributed", member.stored, 1))
        else:
            others += member.stored
            files += 1
        if len(members) > _MOST_IMAGES:
            raise InputError(f"{path}: more than {_MOST_IMAGES} images")
    _tell(path, errors)
    if not members:
        raise _without_images(container, len(unread))
    known = sum(member.stored for member in members) + sum(row.file for row in unread)
    rest = container.size - others - known
    rows = [
        *unread,
        OtherBytes(OTHER_FILES, "other", others, files),
        OtherBytes(REST, "header", rest, 1),
    ]
    archive = path.name if container.format == magics.ARCHIVE else ""
    return JoinedAnalysis(_image(container, members), members, rows, archive)


def _without_images(container: Container, unread: int) -> InputError:
    path, count = container.path, len(container.members)
    if container.format == magics.ZIP and (model := describe_file(path)) != ZIP_FILE:
        return InputError(f"{path}: contains no image: {model}")
    what = f"none of its {count:,} files is native code" if count else "it is empty"
    if unread:
        what = f"none of its {unread:,} native files can be read"
    elif any(magics.format_of(member.head) == magics.BITCODE for member in container.members):
        what += "; LLVM bitcode has no code size before it is linked"
    return InputError(f"{path}: contains no image: {what}")


def _tell(path: Path, errors: list[InputError]) -> None:
    """Print a note of each member that could not be read, and of the number of others.

    An import library of Windows has 10,672 members without sections.
    """
    for error in errors[:_MOST_NOTES]:
        print(f"note: not measured: {error}", file=sys.stderr)
    more = len(errors) - _MOST_NOTES
    if more > 0:
        print(f"note: not measured: {path}: {more:,} more members", file=sys.stderr)


def _image(container: Container, members: list[JoinedMember]) -> ImageInfo:
    images = [member.analysis.image for member in members]
    machines = sorted({arch for image in images for arch in image.arch.split("+")})
    ids = [image.id for image in images if image.id]
    # A loader loads nothing for objects that are not yet linked
    is_of_objects = container.format == magics.ARCHIVE and all(i.kind == OBJECT for i in images)
    return ImageInfo(
        str(container.path),
        container.path.name or str(container.path),
        container.format,
        "+".join(machines),
        ",".join(ids) if container.loads_one else "",
        container.size,
        sum(image.load for image in images),
        sum(image.ram for image in images),
        () if is_of_objects else _needed(container, images),
    )


def _needed(container: Container, images: list[ImageInfo]) -> tuple[str, ...] | None:
    """List what the images of a universal binary need; None for other containers."""
    needed = [image.needed for image in images if image.needed is not None]
    if not container.loads_one or len(needed) < len(images):
        return None
    return tuple(sorted({name for names in needed for name in names}))


def _opened(
    container: Container,
    member: ContainerMember,
    open_image: Open,
    depth: int,
    errors: list[InputError],
) -> OpenedAnalysis | None:
    """Analyse a member; None if it is not native code and does not contain any.

    errors: gets the error of native code that cannot be read
    """
    if not member.is_native and not (member.is_container and depth < DEEPEST):
        return None
    path = Path(f"{container.path}{magics.MEMBER}{member.name}")
    kept: list[IO[bytes]] = []
    # Readers map what they read, so no descriptor stays open; an archive can have a thousand
    # members.
    stand_in(path, unpacked(container, member, kept))
    try:
        if member.is_container:
            return container_analysis(path, open_image, depth + 1)
        return open_image(path, member.name)
    except InputError as error:
        if member.is_native:
            errors.append(error)
        return None
    finally:
        forget(path)
        for file in kept:
            file.close()
