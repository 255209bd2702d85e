"""Recognise files that compilers link by themselves, and libraries of systems, by their paths."""

from __future__ import annotations

import re

# Files that a compiler's driver links by itself, wherever it is installed.
_START_FILE = re.compile(r"\w{0,3}crt(?:1|i|n|begin\w?|end\w?|fastmath)(?:-\w+)?\.o")
MOST_START_CODE = 1024  # musl's rcrt1.o has 502 bytes, glibc's gcrt1.o and gcc's crtbegin.o less
# libm.a of glibc for x86-64 is a script that names libm-2.36.a.
_LIBRARY = re.compile(
    r"(?:lib(?:c|m(?:-\d+\.\d+)?|g|gcc|gcc_eh|gcov|stdc\+\+|supc\+\+|c\+\+|c\+\+abi|unwind"
    r"|pthread|dl|rt|util|mvec|atomic|ssp|ssp_nonshared|c_nonshared|pthread_nonshared"
    r"|clang_rt\.[\w.-]+|compiler_rt|System\.B)\.a)"
)
_SHARED = re.compile(
    r"(?:lib(?:c|m|gcc_s|stdc\+\+|c\+\+|c\+\+abi|c\+\+_shared|unwind|pthread|dl|rt|util|mvec|atomic"
    r"|log|android|clang_rt\.[\w.-]+)|ld-[\w-]+)\.so(?:\.\d+)*"
)
_SYSTEM = ("/usr/", "/lib/", "/lib64/", "/opt/")
_MACHO_SYSTEM = ("/usr/lib/", "/System/Library/")  # install names


def is_of_system(path: str) -> bool:
    """Return whether a file is one that compilers link by themselves, in a system's folder."""
    name = path.rpartition("/")[2]
    is_system = path.startswith(_SYSTEM) or "/ziglang/" in path
    return is_system and bool(_LIBRARY.fullmatch(name) or _START_FILE.fullmatch(name))


def is_installed(path: str) -> bool:
    """Return whether a system or a compiler has brought a file, which is no part of a project."""
    name = path.rpartition("/")[2]
    is_known = _LIBRARY.fullmatch(name) or _START_FILE.fullmatch(name)
    return path.startswith(_SYSTEM) or is_known is not None


def is_of_toolchain(path: str, code: int = 0) -> bool:
    """Return whether a file is the toolchain's: one of a system, or a start-up file elsewhere.

    code: bytes of the file that run; start-up files are small
    """
    is_start = _START_FILE.fullmatch(path.rpartition("/")[2]) is not None
    return is_of_system(path) or (is_start and code <= MOST_START_CODE)


def is_system_library(path: str) -> bool:
    """Return whether a shared library comes with the system or the compiler.

    path: of the file that the linker read; of a dylib its install name
    """
    name = path.rpartition("/")[2]
    if ".so" not in name:
        return path.startswith(_MACHO_SYSTEM)
    return path.startswith(_SYSTEM) or "/sysroot/" in path or _SHARED.fullmatch(name) is not None
