"""Find the settings of CMakeCache.txt that a new build needs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.files import text_of_file
from sizeguard.proposals.build_folder import NO_IMAGES, files_of_build

_ENTRY = re.compile(r'^"?([^#/\s"][^:"]*?)"?:([A-Z]+)=(.*)$')
# Also matches cmake_dependent_option, and a project's own macros with such a name
_OPTION = re.compile(r'\b\w*option\s*\(\s*(\w+)\s+"(?:[^"\\]|\\.)*"\s*([^\s)]*)', re.S | re.I)
_CACHED = re.compile(r'\bset\s*\(\s*(\w+)\s+("(?:[^"\\]|\\.)*"|[^\s)"]+)\s+CACHE\s', re.S | re.I)
_LANGUAGE_FLAGS = re.compile(r"CMAKE_(C|CXX|ASM|OBJC|CUDA|Fortran)_FLAGS")
_CONFIG_FLAGS = re.compile(r"CMAKE_(C|CXX)_FLAGS_(\w+)")
_LINKER_FLAGS = re.compile(r"CMAKE_(EXE|SHARED|MODULE)_LINKER_FLAGS")
_COMPILER = re.compile(r"CMAKE_(C|CXX)_COMPILER")
_USUAL_FLAGS = {
    "DEBUG": "-g",
    "RELEASE": "-O3 -DNDEBUG",
    "RELWITHDEBINFO": "-O2 -g -DNDEBUG",
    "MINSIZEREL": "-Os -DNDEBUG",
}
_ALWAYS = frozenset(
    {"BUILD_SHARED_LIBS", "CMAKE_TOOLCHAIN_FILE", "CMAKE_INTERPROCEDURAL_OPTIMIZATION"}
    | {"CMAKE_POSITION_INDEPENDENT_CODE", "CMAKE_CXX_STANDARD", "CMAKE_C_STANDARD"}
    | {"CMAKE_PREFIX_PATH", "CMAKE_SYSTEM_NAME", "CMAKE_SYSROOT", "CMAKE_LINKER_TYPE"}
    | {"CMAKE_OSX_ARCHITECTURES", "CMAKE_OSX_DEPLOYMENT_TARGET", "ANDROID_ABI"}
    | {"ANDROID_PLATFORM", "ANDROID_STL", "CMAKE_ANDROID_NDK"}
)
# Settings of the user's workflow, which do not change the outputs.
_NEVER = frozenset(
    {"CMAKE_EXPORT_COMPILE_COMMANDS", "CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER"}
    | {"CMAKE_INSTALL_PREFIX", "CMAKE_COLOR_DIAGNOSTICS", "CMAKE_VERBOSE_MAKEFILE"}
    | {"CMAKE_BUILD_TYPE", "CMAKE_MAKE_PROGRAM"}
)
_TRUE = frozenset({"ON", "TRUE", "YES", "Y", "1"})
_FALSE = frozenset({"OFF", "FALSE", "NO", "N", "0", ""})
_GIVEN = "//No help, variable specified on the command line."
_MOST_FILES = 2000  # CMake files that are read for their options


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """An entry of the cache.

    kind:     BOOL, STRING, PATH, FILEPATH, INTERNAL, STATIC or UNINITIALIZED
    is_given: whether it comes from the command line or a preset, and no project file declares it
    """

    kind: str
    value: str
    is_given: bool = False


def read_cache(path: Path) -> Mapping[str, CacheEntry]:
    """Read CMakeCache.txt."""
    found: dict[str, CacheEntry] = {}
    is_given = False
    for line in text_of_file(path).splitlines():
        if line.startswith("//"):
            is_given = line == _GIVEN
        elif each := _ENTRY.match(line):
            found[each[1]] = CacheEntry(each[2], each[3], is_given)
            is_given = False
    return found


def given_settings(
    cache: Mapping[str, CacheEntry], source: Path, folder: Path
) -> Iterator[tuple[str, str]]:
    """Yield the settings that differ from the defaults of CMake and of the project's files."""
    defaults = _defaults(source, folder)
    for name, entry in cache.items():
        if name in _NEVER or entry.kind in ("INTERNAL", "STATIC") or name.endswith("-ADVANCED"):
            continue
        if entry.value.endswith("-NOTFOUND"):
            continue
        if _is_given(name, entry, defaults, "CMAKE_TOOLCHAIN_FILE" in cache):
            yield name, _compiler(entry.value) if _COMPILER.fullmatch(name) else entry.value


def _is_given(
    name: str, entry: CacheEntry, defaults: Mapping[str, str], has_toolchain: bool
) -> bool:
    if config := _CONFIG_FLAGS.fullmatch(name):
        return entry.value.strip() != _USUAL_FLAGS.get(config[2], entry.value.strip())
    if _LANGUAGE_FLAGS.fullmatch(name) or _LINKER_FLAGS.fullmatch(name) or name in _ALWAYS:
        return bool(entry.value.strip())
    if _COMPILER.fullmatch(name):
        return not has_toolchain and not _is_usual_compiler(name, entry.value)
    if name in defaults:
        return not _is_same(defaults[name], entry.value)
    return (
        entry.is_given
        or entry.kind == "UNINITIALIZED"
        or (name == "BUILD_TESTING" and entry.value == "OFF")
    )


def _is_usual_compiler(name: str, path: str) -> bool:
    usual = "cc" if name == "CMAKE_C_COMPILER" else "c++"
    found = shutil.which(usual)
    same = found is not None and Path(path).resolve() == Path(found).resolve()
    return Path(path).name == usual or same


def _compiler(path: str) -> str:
    """Name a compiler as PATH finds it, so that ccache can wrap it."""
    name = Path(path).name
    found = shutil.which(name)
    return name if found is not None and Path(found).resolve() == Path(path).resolve() else path


def _is_same(default: str, value: str) -> bool:
    one, other = default.upper(), value.upper()
    both = (one, other)
    if all(each in _TRUE for each in both) or all(each in _FALSE for each in both):
        return True
    return default == value


def _defaults(source: Path, folder: Path) -> Mapping[str, str]:
    """Read the options that the project's files declare; a computed default is returned as text."""
    found: dict[str, str] = {}
    read = 0
    skipped = NO_IMAGES | ({folder.name} if folder != source else set())
    for path in files_of_build(source, skipped=frozenset(skipped)):
        if path.name != "CMakeLists.txt" and path.suffix != ".cmake":
            continue
        read += 1
        if read > _MOST_FILES:
            break
        text = text_of_file(path)
        found |= {each[1]: each[2].strip('"') for each in _OPTION.finditer(text)}
        found |= {each[1]: each[2].strip('"') for each in _CACHED.finditer(text)}
    return found
