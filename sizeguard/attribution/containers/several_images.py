"""Recognise paths that contain several images."""

from __future__ import annotations

from pathlib import Path

from sizeguard.base.files import is_folder
from sizeguard.base.input_files import readable
from sizeguard.builds import RECORD
from sizeguard.formats.magics import HEAD, is_fat
from sizeguard.formats.sniff import CONTAINERS, image_format


def has_several_images(path: Path) -> bool:
    """Check for an archive, a package, a universal binary, or a folder that is not a build.

    Raises InputError for a file that cannot be read.
    """
    if is_folder(path):
        return not (path / RECORD).exists()
    if image_format(path) in CONTAINERS:
        return True
    with readable(path).open("rb") as file:
        return is_fat(file.read(HEAD))
