"""Images with debug information: two compilers, DWARF versions, compressed, and a dSYM."""

from __future__ import annotations

from pathlib import Path

from sizeguard.attribution.owners.inlined import inlined_branches
from sizeguard.formats.dwarf import inline_frames
from sizeguard.runtimes.known import runtime_named
from tests.support.links.map_links import STUBS, run
from tests.support.places import DATA, LLVM

SOURCE = DATA / "dwarf" / "dtypes.cpp"
SWITCHES = SOURCE.with_name("switch_lambdas.cpp")


def _seeds(folder: Path) -> list[Path]:
    flags = ["-std=c++20", "-g", "-O2", "-ffunction-sections", "-Wl,--gc-sections"]
    run("g++", *flags, "-gdwarf-4", SOURCE, "-o", "gcc", cwd=folder)
    run("clang++-19", *flags, SOURCE, "-o", "clang", cwd=folder)
    run("objcopy", "--compress-debug-sections=zlib", "gcc", "compressed", cwd=folder)
    (folder / "libSystem.tbd").write_text(
        STUBS.replace("_puts,", "_puts, _abort, ___stack_chk_fail, ___stack_chk_guard,")
    )
    run(
        "clang++-19",
        "-target",
        "arm64-apple-macos13",
        *flags[:3],
        "-c",
        SOURCE,
        "-o",
        "x.o",
        cwd=folder,
    )
    target = ["-arch", "arm64", "-platform_version", "macos", "15.0", "15.0"]
    run(str(LLVM / "ld64.lld"), *target, "x.o", "libSystem.tbd", "-o", "app", cwd=folder)
    run("dsymutil-19", "--flat", "app", "-o", "app.dwarf", cwd=folder)
    return [folder / name for name in ("gcc", "clang", "compressed", "app.dwarf")]


def _switches(folder: Path) -> list[Path]:
    for compiler in ("g++", "clang++-19"):
        run(compiler, "-std=c++20", "-g", "-Os", SWITCHES, "-o", compiler, cwd=folder)
    return [folder / compiler for compiler in ("g++", "clang++-19")]


def _branches(path: Path) -> object:
    return inlined_branches(path, None, runtime_named("executorch").rules)


TARGETS = {"dwarf": (_seeds, inline_frames), "switches": (_switches, _branches)}
