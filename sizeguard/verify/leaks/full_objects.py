"""Find and read the objects of the full build next to a selective one."""

from __future__ import annotations

from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.builds import FULL, RECORD
from sizeguard.builds.build_record import Build, read_build
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.macho import MachoImage
from sizeguard.verify.evidence.macho_objects import read_macho_objects
from sizeguard.verify.evidence.object_evidence import Objects, read_objects


def full_build(evidence: Evidence) -> Build | None:
    """Return the full build next to a build's folder, made by the same tools; else None."""
    folder = evidence.image.path.parent
    record = folder.parent / FULL / RECORD
    own = folder / RECORD
    if record == own or not record.is_file() or not own.is_file():
        return None
    try:
        full, mine = read_build(record), read_build(own)
    except InputError:
        return None
    same = (full.target, full.toolchain, full.optimize, full.lto) == (
        mine.target,
        mine.toolchain,
        mine.optimize,
        mine.lto,
    )
    return full if same and all(path.is_file() for path in full.objects) else None


def read_full(evidence: Evidence) -> Objects | None:
    """Read the objects of the full build next to an image; None if there is none."""
    full = full_build(evidence)
    if full is None:
        return None
    read = read_macho_objects if isinstance(evidence.image, MachoImage) else read_objects
    paths: tuple[Path, ...] = full.objects
    return read(paths, full.image.parent)
