"""Properties of this machine that results depend on: emulator, libraries, processor, compilers."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from sizeguard.base.errors import InconclusiveError
from sizeguard.base.fingerprint import files_key, fingerprint
from sizeguard.toolchains.targets import QEMU_SYSROOT, run_prefix

_VARIABLES = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "SOURCE_DATE_EPOCH")

# Commands that makefiles call by these names; running each for its version would take 10 ms.
_NAMED = ("gcc", "g++", "clang", "clang++", "rustc", "as", "ld.gold", "ld.lld", "mold")
_LOADED = re.compile(r"(?:=> )?(/\S+) \(0x[0-9a-f]+\)")
_TIMEOUT = 60  # seconds for the loader to list the libraries


def run_environment() -> dict[str, str]:
    """Return the environment for running models; from the caller, only the library paths."""
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return {"LC_ALL": "C", **kept}


def machine_files(image: Path, target: str) -> tuple[Path, ...]:
    """Return the emulator, if needed, and the libraries that the loader loads for the image.

    Raises InconclusiveError if the target does not run here.
    """
    prefix = run_prefix(target)
    if prefix is None:
        raise InconclusiveError(f"{image}: {target} does not run here")
    environment = {**run_environment(), "LD_TRACE_LOADED_OBJECTS": "1"}
    if not prefix:
        return _loaded(image, [str(image)], environment, Path("/"))
    emulator = shutil.which(prefix[0])
    if emulator is None:
        raise InconclusiveError(
            f"{prefix[0]} not found, which runs {target} here; install with: apt-get install"
            " qemu-user"
        )
    # This machine's loader starts the emulator itself; only its guest must see the variable.
    command = [emulator, *prefix[1:], "-E", "LD_TRACE_LOADED_OBJECTS=1", str(image)]
    libraries = _loaded(image, command, run_environment(), Path(QEMU_SYSROOT))
    return tuple(dict.fromkeys((Path(emulator), *libraries)))


def _loaded(
    image: Path, command: Sequence[str], environment: Mapping[str, str], sysroot: Path
) -> tuple[Path, ...]:
    """List the libraries that the loader prints for a command."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            env=environment,
            timeout=_TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InconclusiveError(f"{image}: cannot list its libraries: {error}") from error
    # A static program starts instead of being listed, and prints its usage, which contains no
    # libraries.
    found = []
    for name in _LOADED.findall(done.stdout):
        inside = sysroot / name.removeprefix("/")
        found.append(inside if inside.is_file() else Path(name))
    return tuple(dict.fromkeys(found))


@functools.cache
def processor() -> str:
    """Hash the description of the processor, since libraries select code by it."""
    text = platform.machine()
    try:
        lines = (
            Path("/proc/cpuinfo")
            .read_text(encoding="utf-8", errors="replace")
            .split("\n\n")[0]
            .splitlines()
        )
    except OSError:
        lines = []
    kept = [
        line
        for line in lines
        if line.split("\t")[0].strip()
        in ("vendor_id", "cpu family", "model", "flags", "Features", "CPU part")
    ]
    return hashlib.sha256("\n".join([text, *kept]).encode()).hexdigest()


@functools.cache
def host_toolchain() -> str:
    """Hash the tools that a build command finds.

    These are compilers and linker with their versions and programs, and the variables that
    configure them.
    """
    return fingerprint(
        {"tools": _tools(), "variables": {name: os.environ.get(name, "") for name in _VARIABLES}}
    )


def _tools() -> Mapping[str, list[str]]:
    """Return the versions and the hashes of the compilers and the linker, and hashes of others."""
    tools = {
        "cc": os.environ.get("CC") or "cc",
        "cxx": os.environ.get("CXX") or "c++",
        "ld": os.environ.get("LD") or "ld",
    }
    found = {name: [_version(command), *_programs(command)] for name, command in tools.items()}
    return found | {f"named {name}": _programs(name) for name in _NAMED}


def _programs(command: str) -> list[str]:
    """Hash the programs of a command, since a script can add options and keep the version."""
    try:
        found = map(shutil.which, shlex.split(command))
    except ValueError:
        return []
    return files_key(Path(path) for path in found if path)


def _version(command: str) -> str:
    """Return the first line of a tool's --version; "none" if it does not run."""
    try:
        done = subprocess.run(
            [*shlex.split(command), "--version"], capture_output=True, text=True, check=False
        )
    except (OSError, ValueError):
        return "none"
    return done.stdout.split("\n", 1)[0]
