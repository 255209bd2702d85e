"""Remove folders of builds, which may be read-only, such as those of Go's modules."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def remove_folder(folder: Path) -> None:
    """Remove a folder with all its files. Raises OSError."""
    try:
        shutil.rmtree(folder)
    except PermissionError:
        make_writable(folder)
        shutil.rmtree(folder)


def make_writable(top: Path) -> None:
    """Let the user write in a folder and in all folders below it."""
    top.chmod(top.stat().st_mode | 0o700)
    for place, folders, _ in os.walk(top):
        for folder in (Path(place, name) for name in folders):
            if not folder.is_symlink():
                folder.chmod(folder.stat().st_mode | 0o700)
