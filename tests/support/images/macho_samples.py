"""Mach-O files for tests, compiled and linked from tests/data/macho.

No SDK is needed, because the library is a list of names.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sizeguard.formats.macho.fixups import fixups
from sizeguard.formats.macho.image import MachO
from tests.support.places import DATA
from tests.support.tools import tool

SOURCES = DATA / "macho"
TARGETS = {
    "arm64": "arm64-apple-macos13",
    "x86_64": "x86_64-apple-macos13",
    "arm64_32": "arm64_32-apple-watchos8",
}
OLD_TARGETS = {"i386": "i386-apple-macos10.13", "armv7": "armv7-apple-ios9"}
PLATFORMS = {"arm64": "macos", "x86_64": "macos", "arm64_32": "watchos"}

_KINDS = (
    "app", "app-g", "app-stripped", "app-S", "lib", "lib-g", "lib-stripped", "opcodes",
    "opcodes-stripped",
)  # fmt: skip
LINKED = (*(f"{kind}-{arch}" for arch in ("arm64", "x86_64") for kind in _KINDS), "app-arm64_32")
OBJECTS = (
    *(
        f"{name}-{arch}{debug}.o"
        for name in ("shapes", "main")
        for arch in TARGETS
        for debug in ("", "-g")
    ),
    *("main-i386.o", "main-armv7.o", "main-big_endian.o"),
)
FAT = ("fat", "fat64")
THIN = LINKED + OBJECTS


@dataclass(frozen=True)
class MachoSamples:
    """A folder with the files of THIN and FAT, maps of LINKED, and dSYMs.

    NAME.map belongs to an unstripped image; dSYMs are app-g-ARCH.dSYM.
    """

    folder: Path

    def path(self, name: str) -> Path:
        return self.folder / name

    def map_of(self, name: str) -> Path:
        """Return the path of the link's map, also for its stripped images."""
        return self.folder / f"{name.replace('-stripped', '').replace('-S-', '-g-')}.map"


def build_samples(folder: Path) -> MachoSamples:
    """Build the samples; takes about 1.5 s."""
    samples = MachoSamples(folder)
    _compile(folder)
    for arch in TARGETS:
        _link(samples, f"app-{arch}", arch, "", "-dead_strip")
    for arch in ("arm64", "x86_64"):
        _link(samples, f"app-g-{arch}", arch, "-g", "-dead_strip")
        _link(samples, f"lib-{arch}", arch, "", "-dylib", "-install_name", "@rpath/lib.dylib")
        _link(samples, f"lib-g-{arch}", arch, "-g", "-dylib", "-install_name", "@rpath/lib.dylib")
        _link(samples, f"opcodes-{arch}", arch, "", "-no_fixup_chains")
        for name in ("app", "opcodes"):
            tool(
                "llvm-strip-19", folder / f"{name}-{arch}", "-o", folder / f"{name}-stripped-{arch}"
            )
        tool("llvm-strip-19", "-x", folder / f"lib-{arch}", "-o", folder / f"lib-stripped-{arch}")
        tool("llvm-strip-19", "-S", folder / f"app-g-{arch}", "-o", folder / f"app-S-{arch}")
        tool("dsymutil-19", folder / f"app-g-{arch}", "-o", folder / f"app-g-{arch}.dSYM")
    apps = (folder / "app-arm64", folder / "app-x86_64")
    tool("llvm-lipo-19", "-create", *apps, "-output", folder / "fat")
    images = (folder / "app-g-arm64", folder / "lib-x86_64")
    tool("llvm-lipo-19", "-create", "-fat64", *images, "-output", folder / "fat64")
    yaml = tool("obj2yaml-19", folder / "main-x86_64.o").replace(
        "--- !mach-o", "--- !mach-o\nIsLittleEndian: false"
    )
    (folder / "big_endian.yaml").write_text(yaml)
    tool("yaml2obj-19", folder / "big_endian.yaml", "-o", folder / "main-big_endian.o")
    return samples


def _compile(folder: Path) -> None:
    """Compile for every machine; old machines have no debug information and no C++."""
    for arch, target in (TARGETS | OLD_TARGETS).items():
        for debug in ("", "-g"):
            flags = ("-target", target, "-ffreestanding", "-O2", *([debug] if debug else []), "-c")
            if arch in TARGETS or not debug:
                tool("clang-19", *flags, SOURCES / "main.c", "-o", folder / f"main-{arch}{debug}.o")
            if arch in TARGETS:
                cxx = ("-std=c++17", "-fexceptions", "-funwind-tables", SOURCES / "shapes.cpp")
                tool("clang++-19", *flags, *cxx, "-o", folder / f"shapes-{arch}{debug}.o")


def _link(samples: MachoSamples, output: str, arch: str, debug: str, *flags: str) -> None:
    platform = PLATFORMS[arch]
    version = "8.0" if platform == "watchos" else "13.0"
    objects = [samples.path(f"{name}-{arch}{debug}.o") for name in ("shapes", "main")]
    target = ("-arch", arch, "-platform_version", platform, version, version)
    out = ("-map", samples.path(f"{output}.map"), "-o", samples.path(output))
    tool("ld64.lld-19", *target, *objects, SOURCES / "libSystem.tbd", *flags, *out)


def fixup_rows(image: MachO) -> list[tuple[int, str, int]]:
    """Return each fix-up's address, its import if it has one, and its target or addend."""
    found = fixups(image)
    rows = zip(found.address.tolist(), found.symbol.tolist(), found.target.tolist(), strict=True)
    return [
        (address, found.imports[symbol] if symbol >= 0 else "", target)
        for address, symbol, target in rows
    ]
