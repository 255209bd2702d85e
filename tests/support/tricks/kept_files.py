"""Files of a build whose changes only a hash of their content shows."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sizeguard.base.kept.hash_cache import SETTLED


@contextmanager
def changed_byte(path: Path) -> Iterator[None]:
    """Change the last byte of a file, but not its size and times; restore it after the block."""
    saved = path.with_name(f"{path.name}.saved")
    shutil.copy2(path, saved)
    about = path.stat()
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    try:
        yield
    finally:
        saved.replace(path)


def settle() -> None:
    """Wait until a write would change the times of files that exist now."""
    time.sleep(2 * SETTLED / 1e9)
