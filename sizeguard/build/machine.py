"""Turns a runnable image into all else that its results can depend on: emulator, libraries, processor."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from sizeguard.build.targets import QEMU_SYSROOT, run_prefix
from sizeguard.errors import InconclusiveError

_LOADED = re.compile(r"(?:=> )?(/\S+) \(0x[0-9a-f]+\)")
_TIMEOUT = 60  # seconds for the loader to list what it would load


def run_environment() -> dict[str, str]:
    """What a model is run with: nothing of the caller's but where libraries are."""
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return {"LC_ALL": "C", **kept}


def machine_files(image: Path, target: str) -> tuple[Path, ...]:
    """The emulator, and the libraries that the loader takes for the image. Raises InconclusiveError if the target does not run here."""
    prefix = run_prefix(target)
    if prefix is None:
        raise InconclusiveError(f"{image}: {target} does not run here")
    found = []
    environment = {**run_environment(), "LD_TRACE_LOADED_OBJECTS": "1"}
    command = [str(image)]
    sysroot = Path("/")
    if prefix:
        emulator = shutil.which(prefix[0])
        if emulator is None:
            raise InconclusiveError(f"{prefix[0]} not found, which runs {target} here; install with: apt-get install qemu-user")
        found.append(Path(emulator))
        # The emulator itself is started by this machine's loader: only its guest must see the variable.
        environment = run_environment()
        command = [emulator, *prefix[1:], "-E", "LD_TRACE_LOADED_OBJECTS=1", str(image)]
        sysroot = Path(QEMU_SYSROOT)
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=environment, timeout=_TIMEOUT)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InconclusiveError(f"{image}: what it loads cannot be listed: {error}") from error
    # A static program starts instead of being listed, and says how it is used: nothing of that looks like a library.
    for name in _LOADED.findall(done.stdout):
        inside = sysroot / name.removeprefix("/")
        found.append(inside if inside.is_file() else Path(name))
    return tuple(dict.fromkeys(found))


@functools.cache
def processor() -> str:
    """The hash of what the processor says of itself: libraries choose code by it."""
    text = platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0].splitlines()
    except OSError:
        lines = []
    kept = [line for line in lines if line.split("\t")[0].strip() in ("vendor_id", "cpu family", "model", "flags", "Features", "CPU part")]
    return hashlib.sha256("\n".join([text, *kept]).encode()).hexdigest()
