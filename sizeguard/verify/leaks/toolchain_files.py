"""Recognise files that compilers link by themselves, by their paths."""

from __future__ import annotations

import re

# Files that a compiler's driver links by itself, wherever it is installed.
_START_FILE = re.compile(r"\w{0,3}crt(?:1|i|n|begin\w?|end\w?|fastmath)(?:-\w+)?\.o")
_LIBRARY = re.compile(
    r"(?:lib(?:c|m|g|gcc|gcc_eh|gcov|stdc\+\+|supc\+\+|c\+\+|c\+\+abi|unwind"
    r"|pthread|dl|rt|util|mvec|atomic|ssp|ssp_nonshared|c_nonshared|pthread_nonshared"
    r"|clang_rt\.[\w.-]+|compiler_rt|System\.B)\.a)"
)
_SYSTEM = ("/usr/", "/lib/", "/lib64/", "/opt/")


def is_of_toolchain(path: str) -> bool:
    """Return whether a file is one that compilers link by themselves.

    A library with such a name must be in a system's folder; start-up files may have been moved.
    """
    name = path.rpartition("/")[2]
    is_system = path.startswith(_SYSTEM) or "/ziglang/" in path
    is_library = is_system and _LIBRARY.fullmatch(name) is not None
    return is_library or _START_FILE.fullmatch(name) is not None
