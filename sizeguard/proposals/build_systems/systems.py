"""The known build systems, and the build folders below a project."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from sizeguard.proposals.build_folder import NO_IMAGES, BuildSystem
from sizeguard.proposals.build_systems.cargo import Cargo
from sizeguard.proposals.build_systems.cmake import CMake
from sizeguard.proposals.build_systems.make import Make
from sizeguard.proposals.build_systems.meson import Meson
from sizeguard.proposals.build_systems.ninja import Ninja

# Generators come first, because CMake and Meson write build.ninja and Makefiles.
SYSTEMS: tuple[BuildSystem, ...] = (CMake(), Meson(), Cargo(), Ninja(), Make())
_DEPTH = 3  # depth of folders below a project to search for builds


def built_folders(start: Path) -> Iterator[tuple[BuildSystem, Path]]:
    """Yield the build folders at and below a folder.

    The search goes on only below folders that make built. If there is no build folder, the nearest
    one above is used, up to the root of the git worktree.
    """
    below = list(_below(start.resolve()))
    yield from below or _above(start.resolve())


def system_of(folder: Path) -> BuildSystem | None:
    """Return the system that built a folder."""
    return next((each for each in SYSTEMS if each.recognises(folder)), None)


def _above(start: Path) -> Iterator[tuple[BuildSystem, Path]]:
    top = next((each for each in (start, *start.parents) if (each / ".git").exists()), start)
    for folder in start.parents:
        if not folder.is_relative_to(top):
            return
        system = system_of(folder)
        if system is not None:
            yield system, folder
            return


def _below(root: Path) -> Iterator[tuple[BuildSystem, Path]]:
    for at, folders, _ in os.walk(root):
        here = Path(at)
        folders[:] = sorted(name for name in folders if name not in NO_IMAGES)
        if len(here.relative_to(root).parts) >= _DEPTH:
            folders.clear()
        system = system_of(here)
        if system is None:
            continue
        yield system, here
        if system.name != "Make":
            folders.clear()
