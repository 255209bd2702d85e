"""Libraries that are preloaded into builds, compiled on first use with the machine's cc."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

RECORD_LINKS = Path(__file__).with_name("record_links.c")
_FLAGS = ("-O2", "-fPIC", "-shared", "-w")
_COMPILERS = ("cc", "gcc", "clang")
# ld.so splits LD_PRELOAD at these characters and supports no quoting.
_UNLOADABLE = (" ", ":", "\n", "\t")


def preload_library(cache: Path | None = None, source: Path = RECORD_LINKS) -> Path | None:
    """Return the compiled library of a source, from the cache if it contains it.

    cache: folder of compiled libraries; None for the user's

    Returns None where preloading is impossible: on systems other than Linux, or without a compiler.
    """
    if sys.platform != "linux":
        return None
    compiler = next(filter(None, map(shutil.which, _COMPILERS)), None)
    if compiler is None:
        return None
    content = source.read_bytes()
    key = hashlib.sha256(
        b"\0".join([content, os.fsencode(os.path.realpath(compiler)), *map(str.encode, _FLAGS)])
    ).hexdigest()[:20]
    for folder in filter(None, (cache, _of_user(), _of_machine())):
        library = folder / f"{source.stem}-{key}.so"
        if any(character in str(library) for character in _UNLOADABLE):
            continue
        if library.is_file() or _compile(compiler, source, library):
            return library
    return None


def _of_user() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cache) if cache else Path.home() / ".cache") / "sizeguard" / "tools"


def _of_machine() -> Path:
    """Return a folder for temporary files that belongs only to this user."""
    return Path(tempfile.gettempdir()) / f"sizeguard-{os.getuid()}"


def _compile(compiler: str, source: Path, library: Path) -> bool:
    """Compile the library; False if that fails."""
    try:
        library.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if library.parent.stat().st_uid != os.getuid():
            return False  # another user could put code there, which the build would run
        with tempfile.TemporaryDirectory(dir=library.parent) as name:
            made = Path(name) / "made.so"
            command = [compiler, *_FLAGS, str(source), "-o", str(made), "-ldl"]
            done = subprocess.run(
                command, capture_output=True, check=False, env=_environment(), timeout=60
            )
            if done.returncode != 0 or not made.is_file():
                return False
            made.replace(library)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return True


def _environment() -> dict[str, str]:
    """Return the environment without the compiler flags of the recorded build."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
