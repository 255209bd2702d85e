"""Make folders of wrappers that record links, for builds whose linkers cannot be preloaded."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

WRAPPER = Path(__file__).with_name("wrapper.sh")
# gcc and clang look for these in the folders of COMPILER_PATH.
_OF_COMPILERS = ("ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold")
_LINKER = re.compile(r"(.+-)?(ld|ld\.(bfd|gold|lld|mold)|mold|gold|ld64\.lld)(-[\d.]+)?")


def wrapper_folders(place: Path, given: Mapping[str, str]) -> dict[str, str]:
    """Make wrappers in a folder, and return the variables that put them before the linkers.

    given: the environment of the build

    A linker that is found by -B, or named by its path, precedes them and is not recorded.
    """
    path = given.get("PATH", os.defpath)
    compilers, programs = place / "wrappers" / "compilers", place / "wrappers" / "programs"
    _make(compilers, set(_OF_COMPILERS))
    _make(programs, _linkers_on(path))
    before = given.get("COMPILER_PATH", "")
    return {
        "PATH": f"{programs}{os.pathsep}{path}",
        "COMPILER_PATH": f"{compilers}{os.pathsep}{before}" if before else str(compilers),
    }


def _make(folder: Path, names: set[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    content = WRAPPER.read_text()
    for name in sorted(names):
        (folder / name).write_text(content)
        (folder / name).chmod(0o755)


def _linkers_on(path: str) -> set[str]:
    found: set[str] = set()
    for folder in path.split(os.pathsep):
        try:
            names = os.listdir(folder or ".")  # noqa: PTH208
        except OSError:
            continue
        found.update(name for name in names if _LINKER.fullmatch(name))
    return found
