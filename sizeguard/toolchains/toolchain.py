"""Find a compiler and a linker for a target on this machine, with their versions."""

from __future__ import annotations

import functools
import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import BuildError, InputError
from sizeguard.base.fingerprint import version_of
from sizeguard.toolchains.environment import android_ndk
from sizeguard.toolchains.targets import TargetMachine, find_target

COMPILERS = ("gcc", "clang")
LINKERS = ("bfd", "gold", "lld", "mold", "lld-14", "lld-22")
DEFAULT_LLD = "19"

# Debian's packages of the tools.
PACKAGES = {
    "cmake": "cmake",
    "ninja": "ninja-build",
    "flatc": "flatbuffers-compiler",
    "gcc": "gcc",
    "g++": "g++",
    "strip": "binutils",
    "ld.bfd": "binutils",
    "ld.gold": "binutils",
    "mold": "mold",
    "clang-19": "clang-19",
    "clang++-19": "clang-19",
    "llvm-ar-19": "llvm-19",
    "llvm-strip-19": "llvm-19",
    "llvm-install-name-tool-19": "llvm-19",
    "dsymutil-19": "llvm-19",
}


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler with a linker, for a target.

    linker:          as requested, such as lld-22
    headers:         folder of C and C++ headers for a target without installed headers; else None
    headers_version: such as ziglang 0.17.0; empty without headers
    """

    compiler: str
    linker: str
    target: str
    cc: str
    cxx: str
    compiler_version: str
    linker_version: str
    headers: Path | None = None
    headers_version: str = ""

    @property
    def name(self) -> str:
        """The key of baselines: gcc-12.2-bfd-2.40."""
        linker, version = self.linker.partition("-")[0], _short(self.linker_version)
        return f"{self.compiler}-{_short(self.compiler_version)}-{linker}-{version}"


def find_toolchain(
    compiler: str | None, linker: str | None, target: str | None = None
) -> Toolchain:
    """Find the tools.

    Defaults: gcc with bfd, lld with clang, clang for macOS, and this machine's target.

    Raises InputError for combinations that do not work, BuildError with the packages to install.
    """
    what = find_target(target)
    compiler, linker = _choice(what, compiler, linker)
    cc, cxx = (
        (f"{what.tool_prefix}gcc", f"{what.tool_prefix}g++")
        if compiler == "gcc"
        else ("clang-19", "clang++-19")
    )
    ld = _linker_command(what, linker)
    ndk = android_ndk() if what.is_android else None
    if ndk is not None:
        cc, cxx, ld = (_ndk_tool(ndk, name) for name in ("clang", "clang++", "ld.lld"))
    require(cc, cxx, ld, what.strip, *_more_tools(what))
    is_borrowed = what.is_llvm_only and ndk is None
    headers, headers_version = _headers(what) if is_borrowed else (None, "")
    return Toolchain(
        compiler,
        linker,
        what.name,
        _path(cc),
        _path(cxx),
        _version(cc),
        _version(ld),
        headers,
        headers_version,
    )


def _more_tools(target: TargetMachine) -> tuple[str, ...]:
    """Name the programs that builds for a target need besides compiler, linker and strip."""
    if target.is_macho:
        return "llvm-ar-19", "dsymutil-19", "llvm-install-name-tool-19"
    if target.is_android:
        return ("llvm-ar-19",)
    if target.is_native:
        return ()
    # Clang uses libc, start files and archives of gcc's cross toolchain.
    return f"{target.tool_prefix}gcc", f"{target.tool_prefix}ar"


def _choice(target: TargetMachine, compiler: str | None, linker: str | None) -> tuple[str, str]:
    """Fill in the defaults, and check that compiler and linker work for the target."""
    compiler = compiler or ("clang" if target.is_llvm_only else "gcc")
    if compiler not in COMPILERS:
        raise InputError(f"unknown compiler {compiler}; there are {', '.join(COMPILERS)}")
    linker = linker or ("bfd" if compiler == "gcc" else "lld")
    if linker not in LINKERS:
        raise InputError(f"unknown linker {linker}; there are {', '.join(LINKERS)}")
    if target.is_llvm_only and compiler != "clang":
        raise InputError(f"{compiler} does not build for {target.name}; clang does")
    if target.is_llvm_only and not linker.startswith("lld"):
        raise InputError(f"{linker} does not link for {target.name}; lld does")
    return compiler, linker


def _linker_command(target: TargetMachine, linker: str) -> str:
    """Return the command of a linker."""
    if linker.startswith("lld"):
        program = "ld64.lld" if target.is_macho else "ld.lld"
        return f"{program}-{linker.partition('-')[2] or DEFAULT_LLD}"
    return "mold" if linker == "mold" else f"{target.tool_prefix}ld.{linker}"


def _headers(target: TargetMachine) -> tuple[Path, str]:
    """Return the lib folder of the Python package ziglang, and its version.

    It has the headers of libSystem, musl and libc++, which Debian does not package.
    """
    found = importlib.util.find_spec("ziglang")
    if found is None or not found.submodule_search_locations:
        raise BuildError(
            f"ziglang not found; builds for {target.name} need its headers; install with: pip"
            " install ziglang"
        )
    return (
        Path(found.submodule_search_locations[0]) / "lib",
        f"ziglang {version_of('ziglang')}",
    )


def _ndk_tool(ndk: Path, name: str) -> str:
    """Return the path of a tool of the NDK. Raises BuildError if it does not exist."""
    found = sorted(ndk.glob(f"toolchains/llvm/prebuilt/*/bin/{name}"))
    if not found:
        raise BuildError(f"{ndk}: no {name} in this Android NDK; unset ANDROID_NDK to do without")
    return str(found[0])


def require(*tools: str) -> None:
    """Raise BuildError that names all missing tools and the command that installs them."""
    missing = [tool for tool in dict.fromkeys(tools) if shutil.which(tool) is None]
    if missing:
        packages = sorted({_package(tool) for tool in missing})
        raise BuildError(
            f"{', '.join(missing)} not found; install with: apt-get install {' '.join(packages)}"
        )


def _package(tool: str) -> str:
    """Return the package of a tool; names of lld's and of cross tools contain it."""
    if match := re.fullmatch(r"ld(?:64)?\.lld-(\d+)", tool):
        return f"lld-{match[1]}"
    if match := re.fullmatch(r"(\w+)-linux-gnu-(.+)", tool):
        machine = f"{match[1].replace('_', '-')}-linux-gnu"
        return f"{match[2]}-{machine}" if match[2] in ("gcc", "g++") else f"binutils-{machine}"
    return PACKAGES[tool]


def _path(tool: str) -> str:
    """Return the path of a tool. Raises BuildError if it does not exist."""
    path = shutil.which(tool)
    if path is None:
        raise BuildError(f"{tool} not found")
    return path


def _version(tool: str) -> str:
    """Return a tool's version.

    12.2.0 for `gcc (Debian 12.2.0-14) 12.2.0`, 2.40 for `GNU ld (GNU Binutils for Debian) 2.40`.
    """
    path = Path(_path(tool))
    stat = path.stat()
    return _asked(str(path), stat.st_mtime_ns, stat.st_size)


@functools.lru_cache(maxsize=64)
def _asked(tool: str, modified: int, size: int) -> str:
    """Ask a tool for its version, once for each state of the file.

    A gate with 6 builds looks for its tools 24 times, 20 ms each.
    """
    text = subprocess.run(
        [tool, "--version"], capture_output=True, text=True, check=False
    ).stdout.split("\n", 1)[0]
    # Text in brackets is the distribution's, and would hide the version.
    versions = re.findall(r"\d+(?:\.\d+)+", re.sub(r"\(.*?\)", "", text))
    if not versions:
        raise BuildError(f"{tool} --version prints no version: {text}")
    return str(versions[0])


def _short(version: str) -> str:
    """Return the first two numbers of a version."""
    return ".".join(version.split(".")[:2])
