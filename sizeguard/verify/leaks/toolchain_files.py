"""Recognise files that compilers link by themselves, and libraries of systems, by their paths."""

from __future__ import annotations

import re

# Files that a compiler's driver links by itself, wherever it is installed.
_START_FILE = re.compile(r"\w{0,3}crt(?:1|i|n|begin\w?|end\w?|fastmath)(?:-\w+)?\.o")
_LIBRARY = re.compile(
    r"(?:lib(?:c|m|g|gcc|gcc_eh|gcov|stdc\+\+|supc\+\+|c\+\+|c\+\+abi|unwind"
    r"|pthread|dl|rt|util|mvec|atomic|ssp|ssp_nonshared|c_nonshared|pthread_nonshared"
    r"|clang_rt\.[\w.-]+|compiler_rt|System\.B)\.a)"
)
_SHARED = re.compile(
    r"(?:lib(?:c|m|gcc_s|stdc\+\+|c\+\+|c\+\+abi|c\+\+_shared|unwind|pthread|dl|rt|util|mvec|atomic"
    r"|log|android|clang_rt\.[\w.-]+)|ld-[\w-]+)\.so(?:\.\d+)*"
)
_SYSTEM = ("/usr/", "/lib/", "/lib64/", "/opt/")
_MACHO_SYSTEM = ("/usr/lib/", "/System/Library/")  # install names


def is_of_toolchain(path: str) -> bool:
    """Return whether a file is one that compilers link by themselves.

    A library with such a name must be in a system's folder; start-up files may have been moved.
    """
    name = path.rpartition("/")[2]
    is_system = path.startswith(_SYSTEM) or "/ziglang/" in path
    is_library = is_system and _LIBRARY.fullmatch(name) is not None
    return is_library or _START_FILE.fullmatch(name) is not None


def is_system_library(path: str) -> bool:
    """Return whether a shared library comes with the system or the compiler.

    path: of the file that the linker read; of a dylib its install name
    """
    name = path.rpartition("/")[2]
    if ".so" not in name:
        return path.startswith(_MACHO_SYSTEM)
    return path.startswith(_SYSTEM) or "/sysroot/" in path or _SHARED.fullmatch(name) is not None
