"""Functions and debug information of LTO objects."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sizeguard.formats.lto_object import functions_of, has_debug_information

SOURCE = """
extern "C" int puts(const char*);
namespace { struct A { [[gnu::noinline]] int f(int a) { return puts("x") + a; } }; }
[[gnu::noinline]] static int local(int a) { return puts("y") * a; }
int labelled(int a) asm("plain_helper");
[[gnu::noinline]] int labelled(int a) { return local(a); }
template <typename T> [[gnu::noinline]] T made(T a) { return a + puts("z"); }
extern "C" int c(int a) { A x; return x.f(a) + labelled(a) + made<int>(a); }
int declared(int); int data[4] = {1}; [[gnu::weak]] int weak() { return declared(data[1]); }
"""
FUNCTIONS = {"_ZN12_GLOBAL__N_11A1fEi", "_ZL5locali", "plain_helper", "_Z4madeIiET_S0_", "c"}
COMPILERS = (
    ["g++"],
    ["clang++-19"],
    ["clang++-19", "-flto=thin"],
    ["clang++-19", "--target=arm64-apple-macos11"],
    ["clang++-19", "--target=aarch64-linux-gnu"],
)


def compiled(folder: Path, *command: str) -> bytes:
    (folder / "a.cpp").write_text(SOURCE)
    made = folder / "a.o"
    lto = () if any(word.startswith("-flto") for word in command) else ("-flto",)
    subprocess.run([*command, *lto, "-O1", "-c", folder / "a.cpp", "-o", made], check=True)
    return made.read_bytes()


@pytest.mark.native
@pytest.mark.parametrize("command", COMPILERS, ids=" ".join)
def test_defined_functions_are_listed_local_ones_too(tmp_path: Path, command: list[str]) -> None:
    data = compiled(tmp_path, *command)
    assert functions_of(data) - {"data"} == {*FUNCTIONS, "_Z4weakv"}
    assert not has_debug_information(data)
    assert has_debug_information(compiled(tmp_path, *command, "-g"))


@pytest.mark.native
@pytest.mark.parametrize("command", COMPILERS[1:3], ids=" ".join)
def test_llvm_nm_lists_the_same_functions(tmp_path: Path, command: list[str]) -> None:
    data = compiled(tmp_path, *command)
    listed = subprocess.run(
        ["llvm-nm-19", "--defined-only", tmp_path / "a.o"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows = [line.split() for line in listed.stdout.splitlines()]
    assert functions_of(data) == {row[-1] for row in rows if row[-2] in "TtWw"}


@pytest.mark.native
def test_damaged_bitcode_has_no_functions(tmp_path: Path) -> None:
    data = compiled(tmp_path, "clang++-19")
    for end in range(0, len(data), 7):
        assert functions_of(data[:end] if end >= 4 else b"BC\xc0\xde") <= functions_of(data)
    assert functions_of(b"BC\xc0\xde" + b"\xff" * 64) == frozenset()
