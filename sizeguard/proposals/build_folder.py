"""Interface to build systems: read a build folder, and propose commands for it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from sizeguard.base import OWN_FOLDER
from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import SizeguardError
from sizeguard.base.files import path_below
from sizeguard.formats.sniff import MACHO, image_format
from sizeguard.git.git import git

# Parts that init reports if they are missing.
SECTIONS, MAP, BUILD_ID, SYMBOLS = "-ffunction-sections", "map", "build id", "symbols"
DEBUG = "debug information"

# Folders without images of the project: compiler checks, other tools' files.
NO_IMAGES = frozenset(
    {".git", ".hg", OWN_FOLDER, "CMakeFiles", "CMakeScratch", "meson-private", "meson-logs"}
    | {"node_modules", ".venv", "autom4te.cache", "conftest.dir", "__pycache__"}
)


@dataclass(frozen=True, slots=True)
class LinkedFile:
    """A file that a build links, as the build system lists it.

    target:       the build system's name for it; empty if it has none
    is_installed: whether an installation includes it
    is_test:      whether the build system's tests run it
    objects:      folders of its objects, and archives that it is linked from
    configuration: Release, Debug …, if one build folder has several
    """

    path: Path
    target: str = ""
    is_installed: bool = False
    is_test: bool = False
    objects: tuple[Path, ...] = ()
    configuration: str = ""


@dataclass(frozen=True, slots=True)
class BuildFolder:
    """A folder that a build system built.

    source: the folder with its description, such as CMakeLists.txt
    linked: the files that it links; None if the build system does not list them
    facts: strings that its commands need, by name
    """

    source: Path
    folder: Path
    linked: tuple[LinkedFile, ...] | None = None
    facts: Mapping[str, str] | None = None

    def fact(self, name: str) -> str:
        """Return a fact; empty if unknown."""
        return (self.facts or {}).get(name, "")


@dataclass(frozen=True, slots=True)
class Place:
    """The folder in which the commands of sizeguard.yaml build.

    root:           the project's folder; the commands run in it
    source, folder: paths from the root
    is_fresh:       whether a worktree starts without outputs of the checkout's own build
    """

    root: Path
    source: str
    folder: str
    is_fresh: bool


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands that build images. notes: steps that the user has to add."""

    setup: str = ""
    build: str = ""
    notes: tuple[str, ...] = ()


class BuildSystem(Protocol):
    """A build system. packages: Debian packages that it needs."""

    @property
    def name(self) -> str:
        """The display name."""

    @property
    def packages(self) -> tuple[str, ...]:
        """Debian packages that a build needs."""

    def recognises(self, folder: Path) -> bool:
        """Return whether a folder is a build folder of this system."""

    def read(self, folder: Path) -> BuildFolder:
        """Read the build system's own files in a build folder."""

    def commands(self, build: BuildFolder, place: Place, images: Sequence[LinkedFile]) -> Commands:
        """Return the commands that build images from scratch in a worktree."""

    def advice(self, missing: str, build: BuildFolder, image: LinkedFile) -> str:
        """Return the change of the build that adds a missing part of an image."""


def map_option(image: LinkedFile, place: str) -> str:
    """Return the option with which the linker of an image writes a map."""
    is_macho = image.path.is_file() and image_format(image.path) == MACHO
    return f"-map,{place}" if is_macho else f"-Map={place}"


def path_from(folder: Path, path: Path) -> str:
    """Return a path from a folder; a file elsewhere by its name."""
    return path_below(path, folder) or path.name


def shell_words(words: Sequence[str], root: Path) -> str:
    """Join words into a command of /bin/sh; paths below the root begin with $PWD."""
    return " ".join(_word(word, str(root)) for word in words)


# A path follows nothing, a separator as in -DX=/a;/b, or a flag as in -I/a.
_BEFORE_PATH = r"(?:^|[=:;,\s'\"])(?:-(?:[A-Za-z]|isystem|iquote|include))?"


def _word(word: str, root: str) -> str:
    pattern = rf"({_BEFORE_PATH}){re.escape(root)}(?=$|[/=:;,\s'\"])"
    places = [(each.end(1), each.end()) for each in re.finditer(pattern, word)]
    if not places or root == "/":
        return shlex.quote(word)
    starts, ends = [0, *(end for _, end in places)], [*(start for start, _ in places), len(word)]
    pieces = [word[start:end] for start, end in zip(starts, ends, strict=True)]
    return '"$PWD"'.join(shlex.quote(piece) if piece else "" for piece in pieces)


def files_of_build(folder: Path, *, skipped: frozenset[str] = NO_IMAGES) -> Iterator[Path]:
    """Yield the files below a folder, except in folders without anything to measure."""
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if name not in skipped and not Path(at, name, "pyvenv.cfg").exists()
        )
        yield from (Path(at, name) for name in sorted(files))


def is_tracked(path: Path) -> bool:
    """Return whether git tracks a file; True outside git."""
    try:
        return bool(git(path.parent, "ls-files", "--", path.name))
    except SizeguardError:
        return True


def untracked(folder: Path, name: str) -> tuple[str, ...]:
    """Tell that the command which writes a file is unknown: worktrees do not have the file."""
    if is_tracked(folder / name):
        return ()
    scripts = (each for each in ("configure", "configure.py") if (folder / each).is_file())
    hint = next((f", such as ./{each}" for each in scripts), "")
    return (f"git does not track {name}: set the command that writes it as setup{hint}",)
