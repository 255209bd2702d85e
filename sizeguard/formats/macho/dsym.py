"""Find an image's dSYM: the file with its debug information, which has the same UUID."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.formats.macho.constants import N_SECT, N_STAB, N_TYPE
from sizeguard.formats.macho.image import MachO
from sizeguard.formats.macho.reader import FatFile, read_macho_file

_INSIDE = Path("Contents") / "Resources" / "DWARF"


def find_dsym(image: MachO, given: Path | None = None) -> MachO | None:
    """Return the dSYM `given`, a bundle or the file in it, else the one next to the image.

    Returns None if none fits.

    Raises InconclusiveError if the given dSYM belongs to another build. A damaged dSYM next to the
    image, or one of another build, is ignored.
    """
    if given is not None:
        files = list(_files(given))
        found = [part for file in files for part in _images(file)]
        fits = next((part for part in found if part.uuid and part.uuid == image.uuid), None)
        if fits is None:
            theirs = (
                ", ".join(f"{part.uuid or 'no UUID'} ({part.arch})" for part in found) or "no image"
            )
            ours = f"{image.uuid or 'no UUID'} ({image.arch})"
            raise InconclusiveError(
                f"{given}: debug information of another build: it has {theirs}, {image.path} has"
                f" {ours}"
            )
        return fits
    if not image.uuid:
        return None
    for file in _files(image.path.with_name(image.path.name + ".dSYM")):
        try:
            for part in _images(file):
                if part.uuid == image.uuid:
                    return part
        except InputError:
            continue
    return None


def companion(image: MachO, given: Path | None = None) -> MachO | None:
    """Return a file with more names of the image than the image itself; None if there is none.

    It is `given`, a dSYM or the image before it was stripped, or a dSYM next to a stripped image.

    Raises InconclusiveError if `given` belongs to another build.
    """
    found = find_dsym(image, given)
    return (
        found
        if given is not None or (found is not None and _named(found) > _named(image))
        else None
    )


def with_debug_information(image: MachO, given: Path | None = None) -> MachO | None:
    """Return the file with the image's debug information; None if there is none.

    It is the image itself, `given`, or the dSYM next to one of them.

    Raises InconclusiveError if `given` belongs to another build.
    """
    named = find_dsym(image, given) if given is not None else None
    beside = (find_dsym(part) for part in (named, image) if part is not None)
    return next(
        (part for part in (image, named, *beside) if part is not None and _has_debug(part)), None
    )


def _has_debug(image: MachO) -> bool:
    """Check for a section of debug information."""
    return any(section.name == "__debug_info" for section in image.sections)


def _named(image: MachO) -> int:
    """Count the symbols defined in sections."""
    kinds = image.symbols.type
    return int(np.count_nonzero(((kinds & N_STAB) == 0) & ((kinds & N_TYPE) == N_SECT)))


def _files(path: Path) -> Iterator[Path]:
    """Yield the files of a dSYM bundle, or the file itself."""
    folder = path / _INSIDE
    if folder.is_dir():
        yield from sorted(file for file in folder.iterdir() if file.is_file())
    elif path.is_file():
        yield path


def _images(path: Path) -> tuple[MachO, ...]:
    """Read all images of a file."""
    whole = read_macho_file(path)
    return whole.images if isinstance(whole, FatFile) else (whole,)
