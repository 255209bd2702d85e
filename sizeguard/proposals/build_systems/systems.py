"""The build systems that are known, and the folders below a project that they built."""

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

# Those that write files of others come first: CMake and Meson write build.ninja and Makefiles.
SYSTEMS: tuple[BuildSystem, ...] = (CMake(), Meson(), Cargo(), Ninja(), Make())
_DEPTH = 3  # folders below a project in which builds are looked for


def built_folders(start: Path) -> Iterator[tuple[BuildSystem, Path]]:
    """Yield the build folders at and below a folder; nothing within one but below sources."""
    root = start.resolve()
    for at, folders, _ in os.walk(root):
        here = Path(at)
        folders[:] = sorted(name for name in folders if name not in NO_IMAGES)
        if len(here.relative_to(root).parts) >= _DEPTH:
            folders.clear()
        system = next((each for each in SYSTEMS if each.recognises(here)), None)
        if system is None:
            continue
        yield system, here
        if system.name != "Make":
            folders.clear()
