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
    tools = host_toolchain()
    is_native = any(re.search(_NATIVE, each) for each in told) or _names_native(repository, commit)
    return f"{tools} {processor()}" if is_native else tools


@functools.lru_cache(64)
def _names_native(repository: Path, commit: str) -> bool:
    """Return whether a file of a commit has such an option."""
    words = ("grep", "-q", "-I", "-E", "-e", _NATIVE, commit, "--", ".", *_PAGES)
    try:
        return git_finds(repository, *words)
    except InputError:
        return True  # unknown
