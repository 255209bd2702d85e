"""A container and its members, whatever its format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from sizeguard.base.errors import InputError
from sizeguard.formats import magics

MOST_MEMBERS = 1 << 18
# What may be unpacked of one container: code compresses to a tenth at best, debug information to a
# hundredth. A container of zeros would fill the disk.
MOST_RATIO = 200
FREE_BYTES = 64 << 20
MOST_BYTES = 16 << 30
DEEPEST = 4  # containers in containers


class MemberContent(Protocol):
    """A member's content, read from the front."""

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes; none at the end."""

    def close(self) -> None:
        """Give up what it holds."""


@dataclass(frozen=True, slots=True)
class ContainerMember:
    """A file in a container.

    size:   of its content, in bytes
    stored: bytes that the container's file has for it
    head:   the first bytes of its content, magics.HEAD at most
    open:   returns its content
    """

    name: str
    size: int
    stored: int
    head: bytes
    open: Callable[[], MemberContent]

    @property
    def format(self) -> str:
        """The format of the content, as sniff has it."""
        return magics.format_of(self.head, self.size)

    @property
    def is_native(self) -> bool:
        """Return whether it is an image or an object that has a size."""
        return self.format in magics.IMAGES

    @property
    def is_container(self) -> bool:
        """Return whether it holds members itself."""
        return self.format in magics.CONTAINERS


@dataclass(frozen=True, slots=True)
class Container:
    """A container, with its members in its own order.

    format: zip, archive, deb, universal or folder
    size:   bytes of its file, or of a folder's files
    loads_one: only one of its images is ever loaded, as of universal binaries
    """

    path: Path
    format: str
    size: int
    members: tuple[ContainerMember, ...]
    loads_one: bool = False

    def member(self, name: str) -> ContainerMember:
        """Return the member of that name. Raises InputError with the nearest name."""
        for each in self.members:
            if each.name == name:
                return each
        import difflib  # 7 ms

        near = difflib.get_close_matches(name, [each.name for each in self.members], n=1, cutoff=0)
        hint = f"; nearest is {near[0]}" if near else ": it is empty"
        raise InputError(f"{self.path}: no member {name}{hint}")


def chunks(member: ContainerMember, budget: int) -> Iterator[bytes]:
    """Yield a member's content.

    Raises InputError beyond `budget` bytes: its header may say less than what comes.
    """
    with closing(member.open()) as file:
        while piece := file.read(1 << 20):
            budget -= len(piece)
            if budget < 0:
                raise InputError(f"{member.name}: its content is larger than its header says")
            yield piece


def check_total(path: Path, size: int, unpacked: int) -> None:
    """Refuse a container whose members are far larger than it is."""
    if unpacked > MOST_BYTES or unpacked > FREE_BYTES + MOST_RATIO * size:
        raise InputError(f"{path}: not unpacked: {unpacked:,} bytes in a file of {size:,} bytes")


def without_twins(names: list[str]) -> list[str]:
    """Return the names, those that come again with #2, #3 … behind."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return found


def suffix_of(name: str) -> str:
    """Return the end of a name from its last dot on, in lower case."""
    return PurePosixPath(name).suffix.lower()
