"""The environment of builds: only variables that compilers, linkers and CMake use.

Variables that are not passed on cannot change a build, so the record is complete.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

# Variables in the tools' manuals: gcc (Environment Variables), clang, ld, CMake, ccache, Python.
_REACHES = re.compile(
    r"PATH|CC|CXX|CPP|AR|AS|LD|NM|RANLIB|STRIP|\w*FLAGS|\w*(CPATH|INCLUDE_PATH)"
    r"|(COMPILER|LIBRARY|PKG_CONFIG)_PATH|(LD|GCC|CCC|CLANG|LLVM|CMAKE|CCACHE|PYTHON|QEMU)_?\w*"
    r"|COLLECT_\w+|ANDROID_NDK(_HOME|_ROOT)?|SOURCE_DATE_EPOCH|SDKROOT|\w+_DEPLOYMENT_TARGET"
    r"|ZERO_AR_DATE|VIRTUAL_ENV"
)
# Passed on but not recorded: they name places and people, which are not inputs of a build.
# Without the last two, cargo of rustup finds no toolchain where an image of Docker has set them.
_PLACES = frozenset(
    {"HOME", "USER", "LOGNAME", "TMPDIR", "TZ", "SIZEGUARD_WORKTREE"}
    | {"CARGO_HOME", "RUSTUP_HOME"}
)
# Not passed on: they write additional files, or put the path of a machine into an image.
# The last two let ccache skip the preprocessor: see EXACT_CACHES.
_REFUSED = frozenset(
    {"LD_RUN_PATH", "DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"}
    | {"CCACHE_DIRECT", "CCACHE_DEPEND"}
)
# Without the preprocessor, caches do not see a new file that would be found before another one, or
# by __has_include, and return the object of a build without it.
EXACT_CACHES = {"CCACHE_NODIRECT": "1", "SCCACHE_DIRECT": "false"}
# Recorded, but with the same compilers and files another value does not change the code. They
# affect which tools CMake finds and what the generator writes, which shows when a build is
# configured again.
_NOT_OF_COMPILERS = re.compile(r"PATH|VIRTUAL_ENV|PKG_CONFIG_PATH|(PYTHON|QEMU)\w*")
# Compiler caches return the compiler's output. distcc and icecc are not listed: they compile on
# other machines, where compilers may differ.
_LAUNCHER = re.compile(r"CMAKE_(C|CXX|OBJC|OBJCXX|ASM)_COMPILER_LAUNCHER")
_CACHE = re.compile(r"(\S*/)?s?ccache")
# Variables of ccache that decide where and how it stores objects. CCACHE_BASEDIR rewrites paths,
# CCACHE_SLOPPINESS returns older objects, CCACHE_PREFIX and CCACHE_COMPILER run other programs, so
# they are not listed.
_OF_CACHE = re.compile(
    r"CCACHE_(DIR|TEMPDIR|MAXSIZE|MAXFILES|LIMIT_MULTIPLE|(NO)?COMPRESS|COMPRESSLEVEL|(NO)?STATS"
    r"|STATSLOG|LOGFILE|UMASK|(NO)?HARDLINK|(NO)?FILECLONE|(NO)?INODECACHE|DISABLE|RECACHE"
    r"|READONLY|NODIRECT|REMOTE_STORAGE|REMOTE_ONLY)"
)


def recorded_environment(given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables that can change a build; an empty one counts as missing."""
    return {
        name: value
        for name, value in given.items()
        if value and name not in _REFUSED and _REACHES.fullmatch(name)
    }


def build_environment(given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the whole environment of CMake, ninja and their child processes."""
    places = {name: given[name] for name in _PLACES if name in given}
    return {**recorded_environment(given), **places, "LC_ALL": "C.UTF-8", **EXACT_CACHES}


def android_ndk() -> Path | None:
    """Return the folder of the Android NDK that the environment names; None if it names none.

    native/cmake/toolchains/arm64-android.cmake reads the same variables in the same order.
    """
    names = ("ANDROID_NDK", "ANDROID_NDK_HOME", "ANDROID_NDK_ROOT")
    return next((Path(os.environ[name]) for name in names if os.environ.get(name)), None)


def code_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the recorded variables that can change code with the same tools, such as CPATH."""
    return {
        name: value
        for name, value in environment.items()
        if not (_NOT_OF_COMPILERS.fullmatch(name) or _is_of_cache(name, value))
    }


def command_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the recorded variables that can change what any project's commands build.

    Each build from scratch asks pkg-config for the places of libraries.
    """
    asked = {name: value for name, value in environment.items() if name == "PKG_CONFIG_PATH"}
    return code_variables(environment) | asked


def _is_of_cache(name: str, value: str) -> bool:
    is_launched = bool(_LAUNCHER.fullmatch(name) and _CACHE.fullmatch(value))
    return is_launched or bool(_OF_CACHE.fullmatch(name))
