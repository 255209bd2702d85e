"""Name and copy images that are members of a package: app.aar!jni/arm64-v8a/libfoo.so."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.formats.containers.member_files import (
    container_members,
    container_of,
    copy_member,
)
from sizeguard.formats.magics import MEMBER
from sizeguard.formats.sniff import names_member

# The folder of a package's members has its name with this suffix.
MEMBERS = ".members"


def file_of_image(path: Path) -> Path:
    """Return the file with an image: the image itself, or the container of app.zip!lib/x.so."""
    try:
        return container_of(path) if names_member(path) else path
    except InputError:
        return path  # neither exists


def member_of(path: Path) -> str:
    """Return the member that a path such as app.zip!lib/x.so names; empty for a file."""
    return str(path).rpartition(MEMBER)[2] if names_member(path) else ""


def copy_of_member(path: Path, to: Path) -> None:
    """Copy a member as its container has it now, even if it was unpacked earlier.

    Raises InputError if the container has no such member.
    """
    copy_member(path, to)


def split_pattern(pattern: str) -> tuple[str, str]:
    """Split a glob at `!` into that of packages and that of members; the latter may be empty."""
    package, _, name = pattern.partition(MEMBER)
    return package, name


@dataclass(frozen=True, slots=True)
class Package:
    """A container that a build made.

    path:  its path in the folder `root`
    apart: paths of images in it, which have sizes of their own
    """

    root: Path
    path: str
    apart: frozenset[str]

    @classmethod
    def of(cls, root: Path, image: str, apart: Iterable[str]) -> Package | None:
        """Return the package that an image is a member of; None for a file."""
        if not names_member(root / image):
            return None
        return cls(root, image.rpartition(MEMBER)[0], frozenset((*apart, image)))

    def members(self) -> Iterator[str]:
        """Yield the names of its native members, except images of their own."""
        with tempfile.TemporaryDirectory(prefix="sizeguard-") as folder:
            file = self.root / self.path
            if MEMBER in self.path and not file.is_file():
                file = Path(folder) / PurePosixPath(self.path).name
                copy_of_member(self.root / self.path, file)
            names = [each.name for each in container_members(file) if each.is_native]
        for name in names:
            is_inside = ".." not in PurePosixPath(name).parts and not name.startswith("/")
            if is_inside and f"{self.path}{MEMBER}{name}" not in self.apart:
                yield name

    def copy(self, name: str, folder: Path) -> Path:
        """Copy a member into a folder, and return its path there."""
        to = folder / f"{self.path}{MEMBER}{name}".replace(MEMBER, f"{MEMBERS}/")
        to.parent.mkdir(parents=True, exist_ok=True)
        copy_of_member(self.root / f"{self.path}{MEMBER}{name}", to)
        return to
