"""PE, COFF and WebAssembly files for tests, compiled and linked from one small source."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.support.tools import tool

MACHINES = ("x86_64", "aarch64", "i686")

_SOURCE = """
static const int table[64] = {1, 2, 3};
int counter = 5;
static int zeros[100];
#define OUT_OF_LINE __attribute__((noinline))
OUT_OF_LINE int square(int x) { return x * x + table[x & 63]; }
OUT_OF_LINE int grow(int x) { zeros[x % 100] += x; return square(x) + counter; }
EXPORTED int entry(int x) { return grow(x) + square(x + 1); }
"""


@dataclass(frozen=True)
class WindowsSamples:
    """An object and a DLL for each of MACHINES."""

    folder: Path

    def object(self, machine: str) -> Path:
        return self.folder / f"{machine}.obj"

    def image(self, machine: str) -> Path:
        return self.folder / f"{machine}.dll"


@dataclass(frozen=True)
class WebSamples:
    """A module, its stripped twin, and the object of both."""

    object: Path
    module: Path
    stripped: Path


def build_windows(folder: Path) -> WindowsSamples:
    """Build the samples; takes about 0.5 s."""
    samples = WindowsSamples(folder)
    source = folder / "source.c"
    source.write_text(_SOURCE)
    for machine in MACHINES:
        object_, image = samples.object(machine), samples.image(machine)
        exported = "-DEXPORTED=__declspec(dllexport)"
        target = f"--target={machine}-pc-windows-msvc"
        tool("clang-19", target, "-O1", exported, "-c", source, "-o", object_)
        flags = ("/dll", "/noentry", "/nodefaultlib", "/safeseh:no")
        tool("lld-link-19", *flags, object_, f"/out:{image}")
    return samples


def build_web(folder: Path) -> WebSamples:
    """Build the samples; takes about 0.2 s."""
    source = folder / "source.c"
    source.write_text(_SOURCE)
    samples = WebSamples(folder / "a.o", folder / "a.wasm", folder / "stripped.wasm")
    exported = '-DEXPORTED=__attribute__((export_name("entry")))'
    target = "--target=wasm32"
    tool("clang-19", target, "-O1", exported, "-c", source, "-o", samples.object)
    for module, flags in ((samples.module, ()), (samples.stripped, ("--strip-all",))):
        tool("wasm-ld-19", "--no-entry", *flags, samples.object, "-o", module)
    return samples
