"""Libraries that the machine's C compiler makes on first use, and that are kept for this user.

Only a folder that belongs to this user, and that nobody else can write to, is used: whoever puts a
library there runs code in this process, or in a build.
"""

from __future__ import annotations

import os
import stat
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

FLAGS = ("-O2", "-fPIC", "-shared", "-w")
_COMPILERS = ("cc", "gcc", "clang")
_TIMEOUT = 60  # seconds for one library; the largest takes two


def compiled_library(
    sources: Sequence[Path],
    flags: Sequence[str] = FLAGS,
    *,
    folders: Sequence[Path] = (),
    unusable: str = "",
) -> Path | None:
    """Return a library made of C files, compiled if it is not kept yet.

    sources:  the files; those that end with .h are only included by the others
    flags:    of the compiler
    folders:  to try before those of the user
    unusable: characters that the library's path must not have

    Returns None if no folder can be used, or if the compiler is missing or fails.
    """
    content = [source.read_bytes() for source in sources]
    key = _key([*content, *map(os.fsencode, (*flags, *_machine()))])
    for folder in _folders(folders):
        library = folder / f"{sources[0].stem}-{key}.so"
        if set(unusable) & set(str(library)):
            continue
        if (_is_own(folder) and library.is_file()) or _compile(sources, flags, library):
            return library
    return None


def _folders(first: Sequence[Path]) -> Iterator[Path]:
    yield from first
    yield _of_user()
    yield _of_machine()


def _key(parts: Sequence[bytes]) -> str:
    """Return the length and two checksums of what a library is made from.

    hashlib would load OpenSSL, which takes 5 ms of the 200 that a small report takes.
    """
    content = b"".join(b"%d:%b" % (len(part), part) for part in parts)
    return f"{len(content):x}-{zlib.crc32(content):08x}{zlib.adler32(content):08x}"


def _machine() -> tuple[str, str, str]:
    """Return what a library depends on besides its source, for a home that machines share."""
    try:
        libc = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (OSError, ValueError):
        libc = ""
    return sys.platform, os.uname().machine, libc


def _of_user() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if cache:
        return Path(cache) / "sizeguard" / "tools"
    return Path(os.path.expanduser("~")) / ".cache" / "sizeguard" / "tools"  # noqa: PTH111


def _of_machine() -> Path:
    """Return a folder for temporary files that belongs only to this user."""
    import tempfile  # 4 ms; most users can write to their home

    return Path(tempfile.gettempdir()) / f"sizeguard-{os.getuid()}"


def _is_own(folder: Path) -> bool:
    """Return whether only this user can put files into a folder."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    others = stat.S_IWGRP | stat.S_IWOTH
    return (
        stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & others
    )


def _compile(sources: Sequence[Path], flags: Sequence[str], library: Path) -> bool:
    """Compile a library; return False if that fails."""
    import shutil  # 6 ms each; kept libraries need none of them
    import subprocess
    import tempfile

    compiler = next(filter(None, map(shutil.which, _COMPILERS)), None)
    if compiler is None:
        return False
    units = [str(source) for source in sources if source.suffix == ".c"]
    try:
        library.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not _is_own(library.parent):
            return False
        with tempfile.TemporaryDirectory(dir=library.parent) as name:
            made = Path(name) / "made.so"
            done = subprocess.run(
                [compiler, *flags, *units, "-o", str(made), "-ldl"],
                capture_output=True,
                check=False,
                env=_environment(),
                timeout=_TIMEOUT,
            )
            if done.returncode != 0 or not made.is_file():
                return False
            made.replace(library)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return True


def _environment() -> dict[str, str]:
    """Return the environment without the compiler flags of a build."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
