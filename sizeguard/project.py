"""Turns the current folder into the source tree that a command works on."""

from __future__ import annotations

from pathlib import Path

from sizeguard.errors import InputError


def project_root() -> Path:
    """The folder with native/CMakeLists.txt: the current one or one above it, else the one this package lies in."""
    here = Path.cwd()
    for folder in (here, *here.parents, Path(__file__).resolve().parent.parent):
        if (folder / "native" / "CMakeLists.txt").is_file() and (folder / "native" / "runtime").is_dir():
            return folder
    raise InputError(f"{here}: not inside of a sizeguard source tree (no native/CMakeLists.txt here or above)")
