"""Pair images with their stripped copies: a build can make both app_unstripped and app."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sizeguard.formats.elf import read_elf
from sizeguard.formats.sniff import ELF, image_format
from sizeguard.proposals.found_images import FoundImage


def paired(images: Sequence[FoundImage]) -> list[FoundImage]:
    """Drop stripped copies of images, and name the one of the best rank in its image.

    A copy has the same allocated sections at the same addresses.
    """
    elves = [image for image in images if image_format(image.path) == ELF]
    stripped = {image.path for image in elves if read_elf(image.path).is_stripped}
    loads = {image.sizes.load for image in elves if image.path in stripped}
    loaded = {image.path: _digest(image.path) for image in elves if image.sizes.load in loads}
    with_symbols = {digest for path, digest in loaded.items() if path not in stripped}
    copies: dict[bytes, FoundImage] = {}
    for image in sorted(elves, key=lambda each: (each.rank, len(str(each.path)))):
        if image.path in stripped:
            copies.setdefault(loaded[image.path], image)
    found = []
    for image in images:
        digest = loaded.get(image.path, b"")
        copy = copies.get(digest) if digest in with_symbols else None
        if copy is None:
            found.append(image)
        elif image.path not in stripped:
            found.append(replace(image, shipped=copy.path, rank=min(image.rank, copy.rank)))
    return found


def _digest(path: Path) -> bytes:
    """Return a hash of what the image loads."""
    elf = read_elf(path)
    found = hashlib.sha256()
    for section in elf.sections:
        if section.is_allocated:
            found.update(f"{section.name} {section.address} {section.size}\0".encode())
            found.update(elf.view(section).tobytes())
    return found.digest()
