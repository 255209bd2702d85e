"""A container and its members, in any format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import Protocol

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.nearest import nearest_is
from sizeguard.formats import magics

MOST_MEMBERS = 1 << 18
# The largest ratio to unpack: code compresses to a tenth at best, debug information to a hundredth.
# A container of zeros would fill the disk.
MOST_RATIO = 200
FREE_BYTES = 64 << 20
MOST_BYTES = 16 << 30
DEEPEST = 4  # nesting of containers
_TWIN = "#"  # before the number of a repeated name


class MemberContent(Protocol):
    """A member's content, read from the beginning."""

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes; empty at the end."""

    def close(self) -> None:
        """Release its resources."""


@dataclass(frozen=True, slots=True)
class ContainerMember:
    """A file in a container.

    size:   size of the content in bytes
    stored: bytes that it takes in the container's file
    head:   the first bytes of its content, at most magics.HEAD
    open:   returns its content
    """

    name: str
    size: int
    stored: int
    head: bytes
    open: Callable[[], MemberContent]

    @property
    def format(self) -> str:
        """The format of the content, as in sniff."""
        return magics.format_of(self.head, self.size)

    @property
    def is_native(self) -> bool:
        """Return whether it is an image or an object that can be measured."""
        return self.format in magics.IMAGES

    @property
    def is_container(self) -> bool:
        """Return whether it contains members itself."""
        return self.format in magics.CONTAINERS


@dataclass(frozen=True, slots=True)
class Container:
    """A container, with its members in the stored order.

    format: zip, archive, deb, universal or folder
    size:   bytes of its file, or of a folder's files
    loads_one: whether only one of its images is ever loaded, as in universal binaries
    """

    path: Path
    format: str
    size: int
    members: tuple[ContainerMember, ...]
    loads_one: bool = False

    def member(self, name: str) -> ContainerMember:
        """Return the member of that name. Raises InputError that suggests the nearest name."""
        for each in self.members:
            if each.name == name:
                return each
        names = [each.name for each in self.members]
        inside = [each for each in names if name and each.endswith(f"/{name}")]
        hint = f"; nearest is '{inside[0]}'" if inside else nearest_is(name, names)
        if not name:
            raise InputError(f"{self.path}!: names no member after '!'{hint}")
        raise InputError(f"{self.path}: no member '{name}'{hint or ': it is empty'}")

    def only_member(self, name: str) -> ContainerMember:
        """Return the member of that name.

        Raises InputError as `member`, and if there are two of the name: some programs take the
        first, such as linkers, and others the last, such as unzip.
        """
        found = self.member(name)
        if any(each.name == f"{name}{_TWIN}2" for each in self.members):
            raise InputError(f"{self.path}: two members are named '{name}'")
        return found


def chunks(member: ContainerMember, budget: int) -> Iterator[bytes]:
    """Yield a member's content.

    Raises InputError after more than `budget` bytes, since the header may state fewer.
    """
    with closing(member.open()) as file:
        while piece := file.read(1 << 20):
            budget -= len(piece)
            if budget < 0:
                raise InputError(f"{member.name}: its content is larger than its header states")
            yield piece


def check_total(path: Path, size: int, unpacked: int) -> None:
    """Refuse a container whose members are much larger than its file."""
    if unpacked > MOST_BYTES or unpacked > FREE_BYTES + MOST_RATIO * size:
        raise InputError(f"{path}: not unpacked: {unpacked:,} bytes in a file of {size:,} bytes")


def without_twins(names: list[str]) -> list[str]:
    """Return the names; repeated ones get #2, #3 … as a suffix."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name}{_TWIN}{seen[name]}")
    return found


def suffix_of(name: str) -> str:
    """Return the end of a name from its last dot, in lower case."""
    return PurePosixPath(name).suffix.lower()
