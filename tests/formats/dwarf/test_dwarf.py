"""Compare inline frames with llvm-symbolizer at random addresses, and functions with nm."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sizeguard.base.errors import InconclusiveError
from sizeguard.builds.build_record import Build
from sizeguard.formats.dwarf import InlineFrames, inline_frames
from sizeguard.formats.elf import has_debug_information, read_elf
from tests.support.images.dwarf_image import FLAGS, SOURCE, code_of, make
from tests.support.links.map_links import STUBS, run
from tests.support.places import LLVM

pytestmark = pytest.mark.native

SEEDS = (0, 1, 2)


def symbolized(file: Path, addresses: Sequence[int], *flags: str) -> list[list[tuple[str, str]]]:
    """Return llvm-symbolizer's frames at each address: (function, place), innermost first."""
    command = ["llvm-symbolizer-19", "--inlines", "--no-demangle", *flags, "-e", str(file)]
    text = "".join(f"{address:#x}\n" for address in addresses)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    blocks = [block.split("\n") for block in done.strip("\n").split("\n\n")]
    return [list(zip(block[::2], block[1::2], strict=True)) for block in blocks]


def covering(image: Path, types: str = "") -> list[tuple[int, int, str]]:
    """Return nm's symbols with a size: begin, end and name; types: letters of nm, or all."""
    found = []
    for line in run("nm", "-S", "--defined-only", image, cwd=image.parent).splitlines():
        row = line.split()
        if len(row) == 4 and (not types or row[2] in types):
            found.append((int(row[0], 16), int(row[0], 16) + int(row[1], 16), row[3]))
    return found


def disagreements(
    frames: InlineFrames, image: Path, seed: int, count: int
) -> list[tuple[int, list[str], tuple[str, ...]]]:
    """Return addresses where frames differ from llvm-symbolizer's, or the function from nm's."""
    start, size = code_of(image)
    random_ = random.Random(seed)
    addresses = [random_.randrange(start, start + size) for _ in range(count)]
    symbols, weak = covering(image), covering(image, "W")
    wrong = []
    for address, found in zip(addresses, symbolized(image, addresses), strict=True):
        ours = frames.at(address)
        theirs = [name for name, _ in found]
        if len(found) == 1 and found[0][1].startswith("??"):
            continue  # no debug information: llvm-symbolizer has only the symbol table
        # Any name of several functions at one address is accepted. gcc has one entry for a
        # function and its cold part.
        names = {name for low, high, name in symbols if low <= address < high}
        # Several units may describe a COMDAT function, each as it was compiled there. We show what
        # any of them inlined, llvm-symbolizer what one did.
        is_shared = any(low <= address < high for low, high, _ in weak)
        inlined = list(ours[:-1])
        agree = set(theirs[:-1]) <= set(inlined) if is_shared else inlined == theirs[:-1]
        if not agree or (names and ours[-1] not in names):
            wrong.append((address, theirs, ours))
    return wrong


@pytest.mark.parametrize("seed", SEEDS)
def test_frames_of_the_runtime_are_llvms(full_build: Build, seed: int) -> None:
    wrong = disagreements(inline_frames(full_build.image), full_build.image, seed, 2000)
    print(f"seed {seed}: {len(wrong)} of 2000 differ")
    assert wrong == []


@pytest.mark.parametrize("compiler", ["g++", "clang++-19"])
@pytest.mark.parametrize("version", ["-gdwarf-3", "-gdwarf-4", "-gdwarf-5"])
def test_frames_of_a_dtype_switch_are_llvms(folder: Path, compiler: str, version: str) -> None:
    image = make(folder, f"switch{compiler}{version}", compiler, version)
    frames = inline_frames(image)
    for seed in SEEDS:
        assert disagreements(frames, image, seed, 300) == []


def test_ranges_do_not_overlap_and_lie_in_code(full_build: Build) -> None:
    frames = inline_frames(full_build.image)
    assert bool(np.all(frames.start < frames.end))
    assert bool(np.all(frames.end[:-1] <= frames.start[1:]))
    assert bool(np.all(frames.depth >= 1))
    assert bool(np.all((frames.frame >= 0) & (frames.frame < len(frames.names))))
    start, size = code_of(full_build.image)
    covered = int(
        np.minimum(frames.end, start + size).sum() - np.maximum(frames.start, start).sum()
    )
    assert covered > 0.97 * size


@pytest.mark.parametrize("compiler", ["g++", "clang++-19"])
def test_dtypes_are_in_the_frames(folder: Path, compiler: str) -> None:
    frames = inline_frames(make(folder, f"dtypes{compiler}", compiler))
    low, high, _ = next(
        row for row in covering(folder / f"dtypes{compiler}") if row[2] == "_Z10square_outR6Tensor"
    )
    inside = [i for i in range(len(frames)) if low <= frames.start[i] < high]
    text = {name for i in inside for name in frames.at(int(frames.start[i]))}
    for number, letter in ((0, "h"), (3, "i"), (6, "f"), (7, "d")):
        assert f"_Z6squareI{letter}EvPT_i" in text
        # gcc `run_case<(ScalarType)6, …`, clang `_Z8run_caseIL10ScalarType6EZ…`
        assert any(
            re.search(rf"run_case.*ScalarType\)?{number}\b|run_case.*ScalarType{number}E", name)
            for name in text
        )


def test_dead_functions_are_left_out(image: Path) -> None:
    dump = run("llvm-dwarfdump-19", "--name=dead_kernel", image, cwd=image.parent)
    assert "DW_AT_low_pc\t(0x0000000000000000)" in dump
    frames = inline_frames(image)
    assert not any("dead_kernel" in frames.names[int(name)] for name in set(frames.frame.tolist()))
    start, size = code_of(image)
    assert bool(np.all((frames.start >= start) & (frames.end <= start + size)))


def test_a_dead_function_that_would_reach_into_the_code_hides_nothing(folder: Path) -> None:
    """Dead functions are at 0. A long one overlaps the real code, which begins at 0x1040."""
    body = "\n".join(f"  x = x * {i} + (x >> {i % 7});" for i in range(2000))
    (folder / "long.cpp").write_text(
        "inline __attribute__((always_inline)) int inner(int x) { return x * 7 + 1;"
        " }\n__attribute__((noinline)) int dead(int x) { volatile int y = inner(x); x ="
        f" y;\n{body}\n  return x; }}\n__attribute__((noinline)) int live(int x) {{ volatile int y"
        " = inner(x); return y; }\nint main(int c, char**) { return live(c); }\n"
    )
    run(
        "g++",
        "-g",
        "-O1",
        "-ffunction-sections",
        "-Wl,--gc-sections",
        "long.cpp",
        "-o",
        "long",
        cwd=folder,
    )
    frames = inline_frames(folder / "long")
    low = next(low for low, _, name in covering(folder / "long") if name == "_Z4livei")
    assert frames.at(low) == ("_Z5inneri", "_Z4livei")
    for seed in SEEDS:
        assert disagreements(frames, folder / "long", seed, 200) == []


STANDARD_LIBRARY = """
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
int main(int count, char** arguments) {
  std::map<std::string, std::vector<int>> lists;
  for (int i = 0; i < count; ++i) lists[arguments[i]].push_back(i);
  std::vector<std::string> names;
  for (const auto& [name, list] : lists) names.push_back(name + std::to_string(list.size()));
  std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) {
    return a.size() < b.size() || b < a;
  });
  std::function<int(int)> later = [&](int i) {
    return static_cast<int>(names.at(i).find("x")) + lists.begin()->second[i];
  };
  try {
    return later(count) + later(count + 1);
  } catch (const std::out_of_range& error) {
    std::puts(error.what());
  }
  return 1;
}
"""


@pytest.mark.parametrize("command", ["g++ -O2", "g++ -O2 -flto", "clang++-19 -O2"])
def test_frames_of_exceptions_lambdas_and_cold_parts_are_llvms(folder: Path, command: str) -> None:
    """Compare 20 levels of functions, split ranges, and functions of local classes."""
    (folder / "standard.cpp").write_text(STANDARD_LIBRARY)
    run(
        *command.split(),
        "-g",
        "-std=c++20",
        "-ffunction-sections",
        "-Wl,--gc-sections",
        "standard.cpp",
        "-o",
        "standard",
        cwd=folder,
    )
    frames = inline_frames(folder / "standard")
    assert int(frames.depth.max()) > 8
    for seed in SEEDS:
        assert disagreements(frames, folder / "standard", seed, 500) == []


def test_a_cold_part_has_its_own_name(image: Path) -> None:
    cold = next((low, name) for low, _, name in covering(image) if name.endswith(".cold"))
    assert inline_frames(image).at(cold[0])[-1] == cold[1]


@pytest.mark.parametrize("kind", ["zlib", "zlib-gnu", "zstd"])
def test_compressed_sections(folder: Path, image: Path, kind: str) -> None:
    tool = "llvm-objcopy-19" if kind == "zstd" else "objcopy"
    run(tool, f"--compress-debug-sections={kind}", image, folder / kind, cwd=folder)
    assert (folder / kind).read_bytes() != image.read_bytes()
    same(inline_frames(folder / kind), inline_frames(image))
    assert has_debug_information(read_elf(folder / kind).sections)


def same(a: InlineFrames, b: InlineFrames) -> None:
    assert a.start.tolist() == b.start.tolist()
    assert a.end.tolist() == b.end.tolist()
    assert [a.at(int(s)) for s in a.start] == [b.at(int(s)) for s in b.start]


def test_a_separate_debug_file(folder: Path, image: Path) -> None:
    made = make(folder, "with-id", "g++", "-Wl,--build-id=sha1")
    run("objcopy", "--only-keep-debug", made, folder / "with-id.debug", cwd=folder)
    run("strip", "-o", "stripped", made, cwd=folder)
    whole = inline_frames(made)
    same(inline_frames(folder / "with-id.debug"), whole)
    parts = inline_frames(folder / "stripped", folder / "with-id.debug")
    assert [parts.at(int(s))[:-1] for s in whole.start] == [
        whole.at(int(s))[:-1] for s in whole.start
    ]
    with pytest.raises(InconclusiveError, match=r"stripped: no debug information: build with -g"):
        inline_frames(folder / "stripped")
    other = make(folder, "other", "g++", "-Wl,--build-id=sha1", "-O1")
    with pytest.raises(
        InconclusiveError,
        match=(
            r"other: debug information of another build: it has [0-9a-f]{40}, .*stripped has"
            r" [0-9a-f]{40}"
        ),
    ):
        inline_frames(folder / "stripped", other)


@pytest.mark.parametrize("arch", ["arm64", "x86_64"])
def test_frames_of_a_dsym_are_llvms(folder: Path, arch: str) -> None:
    place = folder / arch
    place.mkdir()
    stubs = STUBS.replace("_puts,", "_puts, _abort, ___stack_chk_fail, ___stack_chk_guard,")
    (place / "libSystem.tbd").write_text(stubs)
    run(
        "clang++-19",
        "-target",
        f"{arch}-apple-macos13",
        *FLAGS,
        "-c",
        SOURCE,
        "-o",
        "x.o",
        cwd=place,
    )
    target = ["-arch", arch, "-platform_version", "macos", "15.0", "15.0"]
    run(
        LLVM / "ld64.lld",
        *target,
        "x.o",
        "libSystem.tbd",
        "-dead_strip",
        "-o",
        "app",
        cwd=place,
    )
    with pytest.raises(
        InconclusiveError, match="no debug information: it is in the objects; make a dSYM"
    ):
        inline_frames(place / "app")
    run("dsymutil-19", "app", "-o", "app.dSYM", cwd=place)
    inner = place / "app.dSYM" / "Contents" / "Resources" / "DWARF" / "app"
    frames = inline_frames(place / "app")
    same(inline_frames(inner), frames)
    same(inline_frames(place / "app", place / "app.dSYM"), frames)
    low, high = int(frames.start[0]), int(frames.end[-1])
    checked = 0
    for seed in SEEDS:
        random_ = random.Random(seed)
        addresses = [random_.randrange(low, high) for _ in range(200)]
        for address, found in zip(addresses, symbolized(inner, addresses), strict=True):
            if found[0][1].startswith("??"):
                continue
            assert list(frames.at(address)) == [
                name.removeprefix("_") if name.startswith("__Z") else name for name, _ in found
            ]
            checked += 1
    assert checked > 400
