"""Toolchains that made an image, and how each of them makes a change."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.formats.dwarf.sections import unpacked
from sizeguard.formats.elf import SHT_DYNAMIC, STT_FILE, Elf, Symbol
from sizeguard.names.scan.scopes import ScopeReader

_FOLDING = (
    " of lld or mold (gold does not fold functions that call each other); --icf=safe does not fold"
    " functions whose addresses may be compared"
)


@dataclass(frozen=True, slots=True)
class ImageToolchain:
    """The changes that a toolchain offers. An empty change means that it has none.

    strip, unwind, tables: changes for symbols, unwind tables and repeated tables
    exceptions:  what else must change if tables of exceptions are used
    link:        how an option gets to the linker, with {} in its place
    folding:     how identical functions are folded
    sections:    what puts each function into a section of its own, if that is not the default
    settings:    settings that save bytes that only a build can tell
    keeps:       whether libraries that it links keep their unwind tables
    recorded:    bytes of the image that depend on the build command, at most
    """

    name: str
    strip: str
    link: str
    unwind: str = ""
    exceptions: str = ""
    tables: str = ""
    folding: str = ""
    sections: str = ""
    settings: str = ""
    keeps: bool = False
    recorded: int = 0

    def linked(self, option: str) -> str:
        """Return how the linker gets an option; empty if it does not know this one."""
        return self.link.format(option)


C = ImageToolchain(
    name="C and C++",
    strip="-Wl,-s or strip",
    link="-Wl,{}",
    unwind="compile everything with -fno-asynchronous-unwind-tables -fno-unwind-tables"
    " -fno-exceptions; backtraces then need debug information",
    exceptions="exceptions are used: the code that throws and catches them must be rewritten",
    tables="inline constexpr instead of static const in headers (C++17), or extern const with"
    " one definition",
    folding="-ffunction-sections, and -Wl,--icf=all" + _FOLDING,
    sections="compile with -ffunction-sections -fdata-sections",
)
RUST = ImageToolchain(
    name="Rust",
    strip="strip = true in the Cargo profile, -C strip=symbols or strip",
    link="-C link-arg=-Wl,{}",
    unwind='panic = "abort" in the Cargo profile, and -C force-unwind-tables=no; the standard'
    " library keeps its tables unless it is built, too (-Z build-std); backtraces then need debug"
    " information",
    exceptions="panics unwind them: after the change, a panic ends the program",
    tables="one static that all uses name, instead of a const that each use copies",
    folding="-C link-arg=-Wl,--icf=all" + _FOLDING,
    settings='opt-level = "z", lto = true, codegen-units = 1 in the Cargo profile',
    keeps=True,
)
GO = ImageToolchain(
    name="Go",
    strip="go build -ldflags='-s -w'",
    link="go build -ldflags='-linkmode=external -extldflags=-Wl,{}'",
    keeps=True,
    recorded=256,
)
SWIFT = ImageToolchain(
    name="Swift",
    strip="-Xlinker -s or strip",
    link="-Xclang-linker -Wl,{}",
    settings="-Osize, -whole-module-optimization",
    keeps=True,
)
# Zig's own linker has no such options.
ZIG = ImageToolchain(
    name="Zig",
    strip="-fstrip",
    link="",
    unwind="-fno-unwind-tables; backtraces then need debug information",
    exceptions="C++ exceptions are used: the code that throws and catches them must be rewritten",
    settings="-O ReleaseSmall",
    keeps=True,
)

# Files in messages of Rust's panics. Distributions build the library in folders of their own.
_STANDARD_LIBRARY = re.compile(rb"/rustc/[0-9a-f]{40}/|library/(?:alloc|core|std)/src/[\w/]+\.rs")
_ZIG = re.compile(rb"\0zig \d")  # the producer in debug information
_C_FILE = re.compile(r".+\.(?:c|cc|cpp|cxx|C|m|mm)")
_START_UP = "crtstuff.c"


def toolchains_of(elf: Elf, defined: Iterable[Symbol]) -> tuple[ImageToolchain, ...]:
    """Return the toolchains of an image's code; C and C++ if no other is known.

    Marks are sections and strings that stripping keeps, except Zig's, and names of symbols.
    """
    names = {section.name for section in elf.sections}
    languages = {each.language for each in ScopeReader().read(s.name for s in defined)}
    found = []
    if "rust" in languages or _is_rust(elf):
        found.append(RUST)
    if names & {".go.buildinfo", ".note.go.buildid", ".gopclntab"}:
        found.append(GO)
    if any(name.startswith("swift5_") for name in names):
        found.append(SWIFT)
    if ".debug_str" in names and _ZIG.search(_content(elf, ".debug_str")):
        found.append(ZIG)
    if not found or "c++" in languages or _has_c_files(elf):
        found.append(C)
    return tuple(found)


def _is_rust(elf: Elf) -> bool:
    if b"rustc version" in _content(elf, ".comment"):
        return True
    return bool(_STANDARD_LIBRARY.search(_content(elf, ".rodata")))


def _has_c_files(elf: Elf) -> bool:
    """Return whether symbols name C or C++ files of the program.

    In a static image, these may be files of the C library.
    """
    if all(section.type != SHT_DYNAMIC for section in elf.sections):
        return False
    files = (symbol.name for symbol in elf.symbols if symbol.type == STT_FILE)
    return any(_C_FILE.fullmatch(f) and f != _START_UP for f in files)


def _content(elf: Elf, name: str) -> bytes:
    section = elf.section(name)
    try:
        return unpacked(elf, section) if section is not None else b""
    except InputError:
        return b""


def joined_changes(
    toolchains: tuple[ImageToolchain, ...], change: Callable[[ImageToolchain], str]
) -> str:
    """Return the change in each toolchain that has one, with its name if there are several."""
    found = [(each.name, text) for each in toolchains if (text := change(each))]
    if len(toolchains) == 1:
        return "".join(text for _, text in found)
    return "; ".join(f"{name}: {text}" for name, text in found)
