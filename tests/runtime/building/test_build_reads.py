"""Rebuilds after changes of any file that a tool reads, even hidden changes, on real builds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from sizeguard.builds.build_record import Build
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import Variant
from sizeguard.toolchains.toolchain import Toolchain
from tests.support.whole_products import choose, is_whole

pytestmark = pytest.mark.native

CONTEXT = "native/runtime/context.cpp"
OLD = 1_000_000_000  # a time in 2001, in seconds since 1970


def grown(size: int) -> str:
    """Return code that no linker removes."""
    return (
        "#pragma once\n"
        f"static const char grown[{size}] = {{1}};\n"
        "__attribute__((constructor)) static void keep_grown() {\n"
        '  asm volatile("" : : "r"(grown));\n'
        "}\n"
    )


# Variables that compilers read
VARIABLES = ("CXXFLAGS", "CPATH", "CPLUS_INCLUDE_PATH")


@dataclass
class Tree:
    """A copy of the sources, and the tools that build it."""

    root: Path
    toolchain: Toolchain

    def build(self) -> Build:
        return build(self.root, Variant("core"), self.toolchain, self.root / "build" / "core")

    def write(self, path: str, text: str) -> None:
        """Write a file with an old modification time."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.utime(file, (OLD, OLD))

    def include(self, what: str) -> None:
        with (self.root / CONTEXT).open("a") as file:
            file.write(f"\n#include {what}\n")


@pytest.fixture(scope="module")
def built_tree(
    tmp_path_factory: pytest.TempPathFactory, root: Path, toolchain: Toolchain
) -> Iterator[Tree]:
    folder = tmp_path_factory.mktemp("reads") / "tree"
    ignored = shutil.ignore_patterns("models", "examples", "fuzzing")
    shutil.copytree(root / "native", folder / "native", ignore=ignored)
    tree = Tree(folder, toolchain)
    tree.build()
    yield tree


@pytest.fixture
def tree(built_tree: Tree, tmp_path: Path) -> Iterator[Tree]:
    """Yield the tree, and restore it afterwards."""
    saved = tmp_path / "saved"
    shutil.copytree(built_tree.root / "native", saved)
    yield replace(built_tree)
    for path in built_tree.root.iterdir():
        if path.name == "native":
            shutil.rmtree(path)
        elif path.name != "build":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(saved, built_tree.root / "native")


def test_everything_that_was_read_is_recorded(built_tree: Tree, root: Path) -> None:
    inputs = built_tree.build().inputs
    assert inputs
    names = set(inputs.files)
    own = {path for path in names if path.startswith(f"{built_tree.root}/")}
    assert {
        f"{built_tree.root}/native/{path}"
        for path in ("CMakeLists.txt", "cmake/Flags.cmake", "runtime/program.fbs", "apps/npy.h")
    } <= own
    package = root / "sizeguard"
    generator = ("operators/library.py", "operators/schema.py", "cli/build/codegen.py")
    assert {str(package / path) for path in generator} <= names
    assert any(path.endswith("/crti.o") for path in names)
    assert {"/usr/include/stdint.h"} <= names
    assert not any(path.startswith(f"{built_tree.root}/build/") for path in names)
    tools = {Path(path).name for path in inputs.tools}
    assert {"g++", "cc1plus", "as", "ld.bfd", "ar", "strip", "cmake", "flatc"} <= tools
    again = built_tree.build()
    assert again.inputs == inputs


def edited_include(tree: Tree) -> Callable[[], None]:
    tree.write("native/runtime/table.inc", "")
    tree.include('"native/runtime/table.inc"')
    return lambda: tree.write("native/runtime/table.inc", grown(3000))


def edited_outside(tree: Tree) -> Callable[[], None]:
    tree.write("extra/more.h", "")
    tree.include('"../../extra/more.h"')
    return lambda: tree.write("extra/more.h", grown(3000))


def edited_by_absolute_path(tree: Tree) -> Callable[[], None]:
    tree.write(".gitignore", "ignored/\n")
    tree.write("ignored/more.h", "")
    tree.include(f'"{tree.root}/ignored/more.h"')
    return lambda: tree.write("ignored/more.h", grown(3000))


def shadowed_by_a_neighbour(tree: Tree) -> Callable[[], None]:
    at = "native/runtime/native/runtime/context.h"
    text = f'#include "{tree.root}/native/runtime/context.h"\n{grown(3000)}'
    return lambda: tree.write(at, text)


def shadowed_in_the_root(tree: Tree) -> Callable[[], None]:
    tree.include("<ctime>")
    return lambda: tree.write("ctime", f"#include_next <ctime>\n{grown(3000)}")


def asked_for_and_missing(tree: Tree) -> Callable[[], None]:
    tree.include('"native/runtime/tensor.h"\n#if __has_include("plugin.h")\n#include "plugin.h"')
    with (tree.root / CONTEXT).open("a") as file:
        file.write("#endif\n")
    return lambda: tree.write("plugin.h", grown(3000))


def link_to_another_file(tree: Tree) -> Callable[[], None]:
    tree.write("native/runtime/small.inc", "")
    tree.write("native/runtime/large.inc", grown(3000))
    link = tree.root / "native" / "runtime" / "table.inc"
    link.symlink_to("small.inc")
    tree.include('"native/runtime/table.inc"')

    def change() -> None:
        link.unlink()
        link.symlink_to("large.inc")

    return change


def another_compiler_of_the_same_name(tree: Tree) -> Callable[[], None]:
    tree.write("tools/more.h", grown(3000))
    wrapper = tree.root / "tools" / "g++"
    plain = f'#!/bin/sh\nexec {tree.toolchain.cxx} "$@"\n'
    tree.write("tools/g++", plain)
    wrapper.chmod(0o755)
    tree.toolchain = replace(tree.toolchain, cxx=str(wrapper))

    def change() -> None:
        more = f'case "$*" in *context.cpp*) set -- -include {tree.root}/tools/more.h "$@";; esac'
        tree.write("tools/g++", plain.replace("exec", f"{more}\nexec"))

    return change


WAYS = [
    edited_include,
    edited_outside,
    edited_by_absolute_path,
    shadowed_by_a_neighbour,
    shadowed_in_the_root,
    asked_for_and_missing,
    link_to_another_file,
    another_compiler_of_the_same_name,
]


@pytest.mark.parametrize(
    "way",
    choose([way for way in WAYS if way is not shadowed_in_the_root], WAYS),
    ids=lambda way: way.__name__,
)
def test_growth_is_in_the_next_build(tree: Tree, way: Callable[[Tree], Callable[[], None]]) -> None:
    change = way(tree)
    before = tree.build()
    change()
    after = tree.build()
    assert after.sizes.load - before.sizes.load >= 3000
    assert after.fingerprint != before.fingerprint


@pytest.mark.parametrize("name", choose(["CPATH"], VARIABLES))
def test_a_variable_that_reaches_the_compiler_is_an_input(
    tree: Tree, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tree.include("<ctime>")
    (tmp_path / "ctime").write_text(f"#include_next <ctime>\n{grown(3000)}")
    before = tree.build()
    monkeypatch.setenv(name, f"-isystem {tmp_path}" if name == "CXXFLAGS" else str(tmp_path))
    after = tree.build()
    assert after.sizes.load - before.sizes.load >= 3000
    if is_whole():
        monkeypatch.delenv(name)
        assert tree.build().sizes == before.sizes


def test_a_new_file_of_a_pattern_is_built_whatever_its_time(tree: Tree) -> None:
    tree.build()
    tree.write("native/runtime/aaa.cpp", "int aaa() { return 1; }\n")
    built = tree.build()
    assert built.inputs
    assert f"{tree.root}/native/runtime/aaa.cpp" in built.inputs.files


def test_a_change_of_one_source_compiles_that_source(tree: Tree) -> None:
    """The generator also reads the source, but its output does not change."""
    before = tree.build()
    tree.include('"native/runtime/table.inc"')
    tree.write("native/runtime/table.inc", grown(3000))
    after = tree.build()
    assert after.sizes.load - before.sizes.load >= 3000
    log = (after.image.parent / "build.log").read_text()
    assert "Generating operators_code" in log
    assert "Re-running CMake" not in log
    (line,) = (line for line in log.splitlines() if "Building C" in line)
    assert line.endswith("runtime/context.cpp.o")


def test_a_generated_file_that_is_gone_is_made_again(tree: Tree) -> None:
    before = tree.build()
    generated = before.image.parent / "operators/code/selected/classes.h"
    text = generated.read_text()
    generated.unlink()
    tree.include("<cctype>")
    assert tree.build().sizes == before.sizes
    assert generated.read_text() == text


def test_what_a_failed_build_left_is_not_trusted(tree: Tree) -> None:
    """A header grows, an object is compiled with it, the build fails, the header is restored."""
    tree.write("native/runtime/table.inc", "")
    tree.include('"native/runtime/table.inc"')
    before = tree.build()
    tree.write("native/runtime/table.inc", grown(3000))
    npy = (tree.root / "native" / "apps" / "npy.cpp").read_text()
    tree.write("native/apps/npy.cpp", f"{npy}\n#error no\n")
    with pytest.raises(Exception, match="error no"):
        tree.build()
    tree.write("native/runtime/table.inc", "")
    tree.write("native/apps/npy.cpp", npy)
    assert tree.build().sizes == before.sizes


def test_no_path_of_this_machine_is_shipped(
    built_tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_RUN_PATH", str(built_tree.root / "build"))
    built = built_tree.build()
    data = built.shipped.read_bytes()
    assert str(built_tree.root).encode() not in data
    assert os.fsencode(Path.home()) + b"/" not in data
