"""Find the copies of images that a build makes: app from app_unstripped, server and sentinel."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from sizeguard.formats.elf import read_elf
from sizeguard.formats.sniff import ELF, image_format
from sizeguard.proposals.found_images import FoundImage


class Originals(NamedTuple):
    """Images without their copies.

    copies: the path of each copy under another name, and of what it is a copy
    """

    images: list[FoundImage]
    copies: list[tuple[Path, Path]]


def originals(images: Sequence[FoundImage], *, is_listed: bool) -> Originals:
    """Drop copies of images, and name the stripped copy of the best rank in its image.

    A stripped copy has the same allocated sections at the same addresses. Of equal files, the one
    in the outermost folder is the product, of these the oldest. Files are not compared if the build
    lists what it links.
    """
    linked, copies = (list(images), []) if is_listed else _without_equal_files(images)
    loaded = _loaded(linked)
    stripped = {path for path in loaded if read_elf(path).is_stripped}
    with_symbols = {digest for path, digest in loaded.items() if path not in stripped}
    shipped: dict[bytes, FoundImage] = {}
    for image in sorted(linked, key=lambda each: (each.rank, len(str(each.path)))):
        if image.path in stripped:
            shipped.setdefault(loaded[image.path], image)
    found = []
    for image in linked:
        digest = loaded.get(image.path, b"")
        copy = shipped.get(digest) if digest in with_symbols else None
        if copy is None:
            found.append(image)
        elif image.path not in stripped:
            found.append(replace(image, shipped=copy.path, rank=min(image.rank, copy.rank)))
    return Originals(found, copies)


def _without_equal_files(
    images: Sequence[FoundImage],
) -> tuple[list[FoundImage], list[tuple[Path, Path]]]:
    first: dict[bytes, FoundImage] = {}
    copies = []
    for image in sorted(images, key=_distance):
        original = first.setdefault(hashlib.sha256(image.path.read_bytes()).digest(), image)
        if original is not image:
            copies.append((image.path, original.path))
    gone = {path for path, _ in copies}
    return [image for image in images if image.path not in gone], copies


def _distance(image: FoundImage) -> tuple[int, int, int]:
    return image.rank, len(image.path.parts), image.path.stat().st_mtime_ns


def _loaded(images: Sequence[FoundImage]) -> dict[Path, bytes]:
    """Return hashes of what ELF images load, of those whose load another one has, too."""
    by_load: dict[int, list[Path]] = {}
    for image in images:
        if image_format(image.path) == ELF:
            by_load.setdefault(image.sizes.load, []).append(image.path)
    return {path: _digest(path) for each in by_load.values() if len(each) > 1 for path in each}


def _digest(path: Path) -> bytes:
    """Return a hash of what the image loads."""
    elf = read_elf(path)
    found = hashlib.sha256()
    for section in elf.sections:
        if section.is_allocated:
            found.update(f"{section.name} {section.address} {section.size}\0".encode())
            found.update(elf.view(section).tobytes())
    return found.digest()
