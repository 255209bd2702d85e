"""Find inputs of a build that are neither a project's nor installed on the machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from pathlib import Path

from sizeguard.base.fingerprint import PACKAGE
from sizeguard.builds.build_inputs import BuildInputs
from sizeguard.toolchains.environment import android_ndk, code_variables

# Where systems install programs and headers, which the builds of all commits share.
_FOLDERS = ("/usr", "/opt", "/lib", "/lib64", "/bin", "/sbin", "/nix")


# Lists of installed packages: they pin headers, libraries and tools whose versions are not checked.
_PACKAGES = ("/var/lib/dpkg/status", "/var/lib/rpm/rpmdb.sqlite", "/lib/apk/db/installed")


def package_lists() -> list[Path]:
    """Return the system's lists of installed packages; empty if there are none."""
    return [path for path in map(Path, _PACKAGES) if path.is_file()]


def is_installed(path: str, root: Path) -> bool:
    """Return whether a file belongs to the system, the interpreter, the NDK or this package.

    root: root of the project; the package counts as the project's if it is inside
    """
    return is_below_any(path, installed_folders(root))


def installed_folders(root: Path) -> tuple[str, ...]:
    """List the folders that is_installed checks, each with a slash at its end."""
    folders = [*_FOLDERS, sys.prefix, sys.base_prefix]
    ndk = android_ndk()
    if ndk is not None:
        folders += [str(Path.cwd() / ndk), os.path.realpath(ndk)]
    if not PACKAGE.is_relative_to(root):
        folders.append(str(PACKAGE))
    return tuple(f"{folder}/" for folder in folders)


def is_below_any(path: str, below: tuple[str, ...]) -> bool:
    """Return whether a path leads into one of some folders, by its spelling or through links."""
    # Following links takes 0.1 ms, and builds read 1,000 files; for most the spelling is enough.
    return path.startswith(below) or os.path.realpath(path).startswith(below)


def is_below(path: str, root: Path) -> bool:
    """Return whether a path leads into a folder, by its spelling or through links."""
    top = f"{root}/"
    if path.startswith(top) and "/." not in path:
        return True  # normpath takes 2 µs, and builds read 1,000 files
    return os.path.normpath(path).startswith(top) or os.path.realpath(path).startswith(
        f"{os.path.realpath(root)}/"
    )


def foreign_files(inputs: BuildInputs, root: Path) -> Collection[str]:
    """List the files and programs of a build that are neither inside a root nor installed."""
    below = installed_folders(root)
    # The spelling of most paths is enough, and asking it first saves following links.
    paths = (path for path in (*inputs.files, *inputs.tools) if not path.startswith(below))
    return [path for path in paths if not is_below(path, root) and not is_below_any(path, below)]


def foreign_inputs(inputs: BuildInputs, root: Path) -> tuple[str, ...]:
    """List variables that change code, and foreign files.

    Builds of other commits read their present content, so growth in them would not be seen.
    """
    names = code_variables(inputs.environment)
    return (*sorted(names), *sorted(foreign_files(inputs, root)))
