"""Link a small C++ program with each installed linker, with maps and logs."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.places import DATA

PROGRAM = DATA / "linkmaps" / "program"

# A folder name that a careless reader of maps would misread.
FOLDER = "a folder (1)"

LINKERS = ("bfd", "gold", "lld-14", "lld-16", "lld-19", "lld-22", "mold")
APPLE_LINKERS = ("14", "16", "19", "22")

FLAGS = (
    "-std=c++20",
    "-O2",
    "-ffunction-sections",
    "-fdata-sections",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-stack-protector",
)

STUBS = """--- !tapi-tbd
tbd-version:     4
targets:         [ x86_64-macos, arm64-macos ]
install-name:    '/usr/lib/libSystem.B.dylib'
current-version: 1.0
exports:
  - targets:         [ x86_64-macos, arm64-macos ]
    symbols:         [ _puts, dyld_stub_binder, __ZdlPv, __ZdlPvm, ___cxa_pure_virtual,
                     ___cxa_atexit, _memset_pattern16 ]
...
"""


@dataclass(frozen=True, slots=True)
class Link:
    """The results of a link: the image, its map, and the linker's output."""

    image: Path
    map: Path
    log: str


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command; return its output on both channels."""
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def linker_flags(linker: str) -> list[str]:
    """Return the compiler's flags for a linker; lld-19 is -fuse-ld=lld in its own folder."""
    name, _, version = linker.partition("-")
    return [f"-fuse-ld={name}", *([f"-B/usr/lib/llvm-{version}/bin"] if version else [])]


def make_objects(folder: Path, *flags: str, compiler: str = "g++") -> list[Path]:
    """Make main.o and libshapes.a, relative to `folder`."""
    place = Path(FOLDER)
    (folder / place).mkdir(parents=True, exist_ok=True)
    for source in ("main", "shapes", "twins"):
        run(
            compiler,
            *FLAGS,
            *flags,
            "-c",
            PROGRAM / f"{source}.cpp",
            "-o",
            place / f"{source}.o",
            cwd=folder,
        )
    (folder / place / "libshapes.a").unlink(missing_ok=True)
    run("ar", "rcD", place / "libshapes.a", place / "shapes.o", place / "twins.o", cwd=folder)
    return [place / "main.o", place / "libshapes.a"]


def link(
    folder: Path,
    linker: str,
    objects: list[Path],
    *flags: str,
    name: str = "",
    compiler: str = "g++",
) -> Link:
    """Link with a map and both logs, with identical code folding if the linker supports it."""
    name = name or linker
    printed = [
        "--gc-sections",
        "--print-gc-sections",
        *([] if linker == "bfd" else ["--icf=all", "--print-icf-sections"]),
    ]
    wanted = [
        f"-Wl,{flag}" for flag in (f"-Map={name}.map", "--no-demangle", "--build-id=none", *printed)
    ]
    log = run(
        compiler, *objects, *linker_flags(linker), *wanted, *flags, "-o", f"{name}.out", cwd=folder
    )
    return Link(folder / f"{name}.out", folder / f"{name}.map", log)


def link_apple(folder: Path, version: str, arch: str) -> Link:
    """Link the same program for macOS with ld64.lld, against stubs."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "libSystem.tbd").write_text(STUBS)
    for source in ("main", "shapes", "twins"):
        target = ["-target", f"{arch}-apple-macos13"]
        files = ["-c", PROGRAM / f"{source}.cpp", "-o", f"{source}-{arch}.o"]
        run("clang++-19", *target, *FLAGS, *files, cwd=folder)
    archive = f"libshapes-{arch}.a"
    (folder / archive).unlink(missing_ok=True)
    members = [f"shapes-{arch}.o", f"twins-{arch}.o"]
    run("llvm-ar-19", "--format=darwin", "rcsD", archive, *members, cwd=folder)
    name = f"apple-{version}-{arch}"
    platform = ["-platform_version", "macos", "15.0", "15.0"]
    inputs = [f"main-{arch}.o", archive, "libSystem.tbd"]
    options = ["-dead_strip", "--icf=all", "-map", f"{name}.map", "-o", f"{name}.out"]
    linker = f"/usr/lib/llvm-{version}/bin/ld64.lld"
    log = run(linker, "-arch", arch, *platform, *inputs, *options, cwd=folder)
    return Link(folder / f"{name}.out", folder / f"{name}.map", log)
