"""Tell whether a build makes code for the processor that it runs on (-march=native).

Machines that share a store may have unlike processors; their measurements cannot be compared.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.git.git import git_finds
from sizeguard.toolchains.host import host_toolchain, processor

# gcc, clang, rustc, cargo, Zig; Intel's compilers
_NATIVE = "(march|mcpu|mtune|target-cpu|cpu)[ =:,\"']*native|[-/]Q?xHost"
_PAGES = (":(exclude)*.md", ":(exclude)*.rst")


def tools_of(repository: Path, commit: str, told: Iterable[str]) -> str:
    """Hash the tools that commands find, and the processor if it decides what compilers make.

    told: the commands of the build, and the values of variables
    """
    return f"{host_toolchain()} {processor_of(repository, commit, told)}".rstrip()


def processor_of(repository: Path, commit: str, told: Iterable[str], folder: str = ".") -> str:
    """Hash the processor if it decides what compilers make, else return an empty string.

    told: the commands of the build, and the values of variables
    folder: with the sources
    """
    is_told = any(re.search(_NATIVE, each) for each in told)
    return processor() if is_told or _names_native(repository, commit, folder) else ""


@functools.lru_cache(64)
def _names_native(repository: Path, commit: str, folder: str) -> bool:
    """Return whether a file of a commit's folder has such an option."""
    words = ("grep", "-q", "-I", "-E", "-e", _NATIVE, commit, "--", folder, *_PAGES)
    try:
        return git_finds(repository, *words)
    except InputError:
        return True  # unknown
