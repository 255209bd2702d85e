"""Targets: machines and systems to build for, and how to run their programs here."""

from __future__ import annotations

import platform

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError

QEMU_SYSROOT = "/usr/aarch64-linux-gnu"


@dataclass(frozen=True, slots=True)
class TargetMachine:
    """A machine and system to build for.

    triple:     the prefix of Debian's cross tools, and clang's --target
    is_macho:   whether it is macOS or iOS, instead of ELF
    is_android: whether it is ELF for bionic, instead of glibc
    """

    name: str
    triple: str
    is_macho: bool = False
    is_android: bool = False

    @property
    def is_native(self) -> bool:
        """Return whether it is this machine."""
        return self.name == host_target()

    @property
    def is_llvm_only(self) -> bool:
        """Return whether only clang and lld build for it, with headers of another system."""
        return self.is_macho or self.is_android

    @property
    def tool_prefix(self) -> str:
        """The prefix of binutils' names; empty for this machine."""
        return "" if self.is_native or self.is_llvm_only else f"{self.triple}-"

    @property
    def strip(self) -> str:
        """The command that strips images."""
        return "llvm-strip-19" if self.is_llvm_only else f"{self.tool_prefix}strip"


TARGETS = {
    target.name: target
    for target in (
        TargetMachine("x86_64-linux", "x86_64-linux-gnu"),
        TargetMachine("aarch64-linux", "aarch64-linux-gnu"),
        TargetMachine("arm64-macos", "arm64-apple-macos13.0", is_macho=True),
        TargetMachine("x86_64-macos", "x86_64-apple-macos13.0", is_macho=True),
        TargetMachine("arm64-android", "aarch64-linux-android30", is_android=True),
        TargetMachine("arm64-ios", "arm64-apple-ios15.0", is_macho=True),
    )
}


def host_target() -> str:
    """Return this machine's target, such as x86_64-linux."""
    return f"{platform.machine()}-{platform.system().lower()}"


def find_target(name: str | None) -> TargetMachine:
    """Return a target by its name; None means this machine's.

    Raises InputError for an unknown name.
    """
    host = host_target()
    if name is None:
        name = host
    if name in TARGETS:
        return TARGETS[name]
    if name == host:
        return TargetMachine(name, f"{platform.machine()}-linux-gnu")
    raise InputError(f"unknown target {name}; there are {', '.join(TARGETS)}")


def run_prefix(target: str) -> list[str] | None:
    """Return the command prefix that runs an executable here; empty if it needs none.

    Returns None if it cannot be run.
    """
    if target == host_target():
        return []
    return ["qemu-aarch64", "-L", QEMU_SYSROOT] if target == "aarch64-linux" else None
