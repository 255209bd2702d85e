"""Turns the names of a compiler and a linker into tools on this machine, with their versions."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from dataclasses import dataclass

from sizeguard.errors import BuildError, InputError

COMPILERS = ("gcc", "clang")
LINKERS = ("bfd", "lld")

# What Debian calls the packages.
PACKAGES = {
    "cmake": "cmake",
    "ninja": "ninja-build",
    "flatc": "flatbuffers-compiler",
    "gcc": "gcc",
    "g++": "g++",
    "strip": "binutils",
    "ld.bfd": "binutils",
    "clang-19": "clang-19",
    "clang++-19": "clang-19",
    "ld.lld-19": "lld-19",
}


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler with a linker. name is what baselines are keyed by: gcc-12.2-bfd-2.40."""

    compiler: str
    linker: str
    target: str
    cc: str
    cxx: str
    compiler_version: str
    linker_version: str

    @property
    def name(self) -> str:
        return f"{self.compiler}-{_short(self.compiler_version)}-{self.linker}-{_short(self.linker_version)}"


def find_toolchain(compiler: str, linker: str | None) -> Toolchain:
    """The tools, bfd with gcc and lld with clang unless told. Raises BuildError with what to install."""
    if compiler not in COMPILERS:
        raise InputError(f"unknown compiler {compiler}; there are {', '.join(COMPILERS)}")
    linker = linker or ("bfd" if compiler == "gcc" else "lld")
    if linker not in LINKERS:
        raise InputError(f"unknown linker {linker}; there are {', '.join(LINKERS)}")
    cc, cxx = ("gcc", "g++") if compiler == "gcc" else ("clang-19", "clang++-19")
    ld = "ld.bfd" if linker == "bfd" else "ld.lld-19"
    require(cc, cxx, ld)
    target = f"{platform.machine()}-{platform.system().lower()}"
    return Toolchain(compiler, linker, target, _path(cc), _path(cxx), _version(cc), _version(ld))


def require(*tools: str) -> None:
    """Raise BuildError that names all missing tools and the one command that installs them."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        packages = sorted({PACKAGES[tool] for tool in missing})
        raise BuildError(f"{', '.join(missing)} not found; install with: apt-get install {' '.join(packages)}")


def _path(tool: str) -> str:
    path = shutil.which(tool)
    if path is None:
        raise BuildError(f"{tool} not found")
    return path


def _version(tool: str) -> str:
    """12.2.0 of `gcc (Debian 12.2.0-14) 12.2.0`, 2.40 of `GNU ld (GNU Binutils for Debian) 2.40`."""
    text = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False).stdout.split("\n", 1)[0]
    # What stands in brackets is the distribution's, and would shadow the version.
    versions = re.findall(r"\d+(?:\.\d+)+", re.sub(r"\(.*?\)", "", text))
    if not versions:
        raise BuildError(f"{tool} --version says no version: {text}")
    return str(versions[0])


def _short(version: str) -> str:
    return ".".join(version.split(".")[:2])
