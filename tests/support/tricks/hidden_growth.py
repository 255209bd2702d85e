"""Ways of growth that no list of sources detects, for one prepared tree.

Each way keeps old file times. None edits a file with a usual suffix in `native/`, except the ways
that hide the edit from git.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

OLD = 1_000_000_000  # seconds since 1970: in 2001
CONTEXT = "native/runtime/context.cpp"
TABLE = "native/runtime/table.inc"
SIZE = 6000  # bytes

HOOKS = """
#include "native/runtime/table.inc"
#include "native/runtime/linked.inc"
#include "../../extra/more.h"
#include <ctime>
#if __has_include("plugin.h")
#include "plugin.h"
#endif
#if __has_include("../../ignored/more.h")
#include "../../ignored/more.h"
#endif
#ifndef BY_OPTIONS
#define BY_OPTIONS 1
#endif
extern "C" __attribute__((visibility("hidden"))) const char sg_embedded[];
asm(".pushsection .rodata.sg_embedded,\\"a\\"\\n.globl sg_embedded\\nsg_embedded:\\n"
    ".incbin \\"../../extra/blob.bin\\"\\n.incbin \\"second.bin\\"\\n.popsection");
static const char by_macros[BY_CMAKE + BY_SWITCH + BY_SCRIPT + BY_OPTIONS] = {1};
"""
# Functions that every program has; a start-up function would be a leftover.
TAKE = "void* Context::take(int64_t header, int64_t bytes) {\n"
GIVE = "void Context::give(void* memory, int64_t size) {\n"
USED = '  asm volatile("" : : "r"(sg_embedded), "r"(by_macros));\n'
SCRIPT = """
file(READ "${SG_ROOT}/extra/size.txt" by_cmake)
string(STRIP "${by_cmake}" by_cmake)
file(READ SIZE by_plain)
file(READ "${SG_ROOT}/extra/a,(b).txt" by_odd)
file(GLOB by_pattern "${SG_ROOT}/extra/*.once")
list(LENGTH by_pattern by_pattern)
aux_source_directory("${SG_ROOT}/extra" by_folder)
list(LENGTH by_folder by_folder)
find_path(by_search found.h PATHS "${SG_ROOT}/extra" NO_DEFAULT_PATH)
string(REGEX REPLACE ".*NOTFOUND" 0 by_search "${by_search}")
string(REGEX REPLACE ".*/extra" 1 by_search "${by_search}")
set(by_module 0)
include(module_more OPTIONAL)
math(EXPR by_cmake "${by_cmake} + ${by_plain} + ${by_odd} + ${by_module}")
math(EXPR by_cmake "${by_cmake} + (${by_pattern} + ${by_folder} + ${by_search}) * 6000")
set(by_script 1)
include("${SG_ROOT}/extra/more.cmake" OPTIONAL)
set(by_switch 1)
if(EXISTS "${SG_ROOT}/extra/switch")
  set(by_switch 6000)
endif()
target_compile_definitions(sg_flags INTERFACE
  BY_CMAKE=${by_cmake} BY_SCRIPT=${by_script} BY_SWITCH=${by_switch})
target_compile_options(sg_flags INTERFACE "@${SG_ROOT}/extra/flags.rsp"
  "SHELL:-Wa,-I,${SG_ROOT}/extra/first -Wa,-I${SG_ROOT}/extra")
"""


def grown(name: str = "grown") -> str:
    """Return code that no linker removes."""
    return (
        "#pragma once\n"
        f"static const char {name}[{SIZE}] = {{1}};\n"
        f"__attribute__((constructor)) static void keep_{name}() {{\n"
        f'  asm volatile("" : : "r"({name}));\n'
        "}\n"
    )


def write(root: Path, path: str, text: str) -> None:
    """Write a file with an old time."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    os.utime(file, (OLD, OLD))


def insert(root: Path, head: str, function: str, body: str) -> None:
    """Insert text before the namespace of context.cpp, and into one of its functions."""
    text = (root / CONTEXT).read_text()
    assert text.count(function) == text.count("\nnamespace sg {\n") == 1
    text = text.replace("\nnamespace sg {\n", f"{head}\nnamespace sg {{\n")
    (root / CONTEXT).write_text(text.replace(function, function + body))


def prepare(root: Path) -> None:
    """Make the sources in a folder read every file that a way of growth changes."""
    for path, text in {
        TABLE: "",
        "native/runtime/large.inc": grown(),
        "extra/more.h": "",
        "extra/blob.bin": "x",
        "extra/second.bin": "x",
        "extra/size.txt": "1\n",
        "extra/flags.rsp": "-DBY_NOBODY=1\n",
        "extra/a,(b).txt": "0\n",
        "native/SIZE": "0\n",
        ".gitignore": "/build/\n/ignored/\n.sizeguard/\n",
        "README.md": "A runtime.\n",
    }.items():
        write(root, path, text)
    (root / "native/runtime/linked.inc").symlink_to("table.inc")
    insert(root, HOOKS, TAKE, USED)
    with (root / "native/CMakeLists.txt").open("a") as file:
        file.write(SCRIPT)


@dataclass(frozen=True)
class Way:
    """A way.

    change:      applies it to a tree, whose build is in the second folder
    environment: additional variables; $ROOT is the tree, $PATH the old value
    git:         a git command before the change
    names:       a part of the change that the record reports
    is_shared:   whether a commit can contain it
    """

    names: str
    change: Callable[[Path, Path], None] = lambda root, folder: None
    environment: Mapping[str, str] = field(default_factory=dict)
    git: tuple[str, ...] = ()
    is_shared: bool = True

    def variables(self, root: Path) -> dict[str, str]:
        """Return the variables for a tree."""
        old = os.environ.get("PATH", "")
        return {
            name: value.replace("$ROOT", str(root)).replace("$PATH", old)
            for name, value in self.environment.items()
        }


def _writes(path: str, text: str) -> Callable[[Path, Path], None]:
    return lambda root, folder: write(root, path, text)


def _links(root: Path, folder: Path) -> None:
    link = root / "native/runtime/linked.inc"
    link.unlink()
    link.symlink_to("large.inc")


def _into_the_generated_folder(root: Path, folder: Path) -> None:
    write(folder, "operators/code/ctime", f"#include_next <ctime>\n{grown('generated')}")


def _sources_of_patterns(root: Path, folder: Path) -> None:
    write(root, "native/runtime/aaa.cpp", "namespace sg {\nint aaa() { return 1; }\n}\n")
    write(root, "native/prepacked/aaa.cpp", grown("prepacked").partition("\n")[2])


def _elsewhere(root: Path, folder: Path) -> None:
    write(root, "ignored/headers/ctime", f"#include_next <ctime>\n{grown('elsewhere')}")


def _compiler(root: Path, folder: Path) -> None:
    more = 'case "$*" in *context.cpp*) set -- "$@" -DBY_OPTIONS=6000;; esac'
    write(root, "ignored/bin/g++", f'#!/bin/sh\n{more}\nexec /usr/bin/g++ "$@"\n')
    (root / "ignored/bin/g++").chmod(0o755)


WAYS = {
    "a table": Way("table.inc", _writes(TABLE, grown())),
    "a header outside": Way("extra/more.h", _writes("extra/more.h", grown())),
    "a header that was missing": Way("plugin.h", _writes("plugin.h", grown())),
    "an ignored header": Way(
        "ignored", _writes("ignored/more.h", grown("ignored")), is_shared=False
    ),
    "assume-unchanged": Way(
        "table.inc",
        _writes(TABLE, grown()),
        git=("update-index", "--assume-unchanged", TABLE),
        is_shared=False,
    ),
    "skip-worktree": Way(
        "table.inc",
        _writes(TABLE, grown()),
        git=("update-index", "--skip-worktree", TABLE),
        is_shared=False,
    ),
    "a standard header in the root": Way(
        "ctime", _writes("ctime", f"#include_next <ctime>\n{grown()}")
    ),
    "a header in the folder of the source": Way(
        "native/runtime/native",
        _writes("native/runtime/native/runtime/table.inc", grown()),
    ),
    "a link": Way("linked.inc", _links),
    "an embedded file": Way("blob.bin", _writes("extra/blob.bin", "x" * SIZE)),
    "an embedded file in an earlier folder": Way(
        "extra/first", _writes("extra/first/second.bin", "x" * SIZE)
    ),
    "a script that CMake runs unasked": Way(
        "PreLoad.cmake",
        _writes(
            "native/PreLoad.cmake", f'set(CMAKE_CXX_FLAGS "-DBY_OPTIONS={SIZE}" CACHE STRING "")\n'
        ),
    ),
    "a file that CMake reads": Way("size.txt", _writes("extra/size.txt", f"{SIZE}\n")),
    "a script that was missing": Way(
        "more.cmake", _writes("extra/more.cmake", f"set(by_script {SIZE})\n")
    ),
    "a file of a plain name": Way("SIZE", _writes("native/SIZE", f"{SIZE}\n")),
    "a file of an odd name": Way("a,(b).txt", _writes("extra/a,(b).txt", f"{SIZE}\n")),
    "a file of a pattern that counts once": Way("*.once", _writes("extra/a.once", "")),
    "a source in a folder": Way("extra/*", _writes("extra/a.cpp", "")),
    "a header that was searched": Way("extra/found.h", _writes("extra/found.h", "")),
    "a module that was missing": Way(
        "native/cmake", _writes("native/cmake/module_more.cmake", f"set(by_module {SIZE})\n")
    ),
    "a file that CMake asks for": Way("extra/switch", _writes("extra/switch", "")),
    "a file of options": Way("flags.rsp", _writes("extra/flags.rsp", f"-DBY_OPTIONS={SIZE}\n")),
    "a source of a pattern": Way("native/runtime/*.cpp", _sources_of_patterns),
    "a generated header": Way("ctime", _into_the_generated_folder, is_shared=False),
    "CXXFLAGS": Way("CXXFLAGS", environment={"CXXFLAGS": f"-DBY_OPTIONS={SIZE}"}, is_shared=False),
    "CPATH": Way("CPATH", _elsewhere, {"CPATH": "$ROOT/ignored/headers"}, is_shared=False),
    "CPLUS_INCLUDE_PATH": Way(
        "CPLUS_INCLUDE_PATH",
        _elsewhere,
        {"CPLUS_INCLUDE_PATH": "$ROOT/ignored/headers"},
        is_shared=False,
    ),
    "another compiler": Way(
        "PATH", _compiler, {"PATH": "$ROOT/ignored/bin:$PATH"}, is_shared=False
    ),
}
