"""Turns the name of a target into what building and running for it takes on this machine."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

from sizeguard.errors import InputError

QEMU_SYSROOT = "/usr/aarch64-linux-gnu"


@dataclass(frozen=True, slots=True)
class Target:
    """A machine and system to build for.

    triple:     what Debian's cross tools begin with, and clang's --target
    is_macho:   macOS, and not ELF
    """

    name: str
    triple: str
    is_macho: bool = False

    @property
    def is_native(self) -> bool:
        return self.name == host_target()

    @property
    def tool_prefix(self) -> str:
        """What the names of binutils begin with: nothing for this machine's own."""
        return "" if self.is_native or self.is_macho else f"{self.triple}-"

    @property
    def strip(self) -> str:
        return "llvm-strip-19" if self.is_macho else f"{self.tool_prefix}strip"

    def cmake_file(self, root: Path) -> Path | None:
        """The CMake toolchain file; None for this machine."""
        return None if self.is_native else root / "native" / "cmake" / "toolchains" / f"{self.name}.cmake"


TARGETS = {
    target.name: target
    for target in (
        Target("x86_64-linux", "x86_64-linux-gnu"),
        Target("aarch64-linux", "aarch64-linux-gnu"),
        Target("arm64-macos", "arm64-apple-macos13.0", is_macho=True),
        Target("x86_64-macos", "x86_64-apple-macos13.0", is_macho=True),
    )
}


def host_target() -> str:
    """x86_64-linux"""
    return f"{platform.machine()}-{platform.system().lower()}"


def find_target(name: str | None) -> Target:
    """A target by its name, this machine's if None. Raises InputError for a name that is unknown."""
    host = host_target()
    if name is None:
        name = host
    if name in TARGETS:
        return TARGETS[name]
    if name == host:
        return Target(name, f"{platform.machine()}-linux-gnu")
    raise InputError(f"unknown target {name}; there are {', '.join(TARGETS)}")


def run_prefix(target: str) -> list[str] | None:
    """What stands before the path of an executable to run it here: an emulator, or nothing. None if it cannot be run."""
    if target == host_target():
        return []
    return ["qemu-aarch64", "-L", QEMU_SYSROOT] if target == "aarch64-linux" else None
