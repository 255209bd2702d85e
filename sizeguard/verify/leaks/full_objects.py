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
    """Return the given full build, or that beside a build's folder, made by the same tools."""
    folder = evidence.image.path.parent
    own = folder / RECORD
    given = evidence.full
    record = given.image.parent / RECORD if given is not None else folder.parent / FULL / RECORD
    if record == own or not record.is_file() or not own.is_file():
        return None
    try:
        full, mine = given or read_build(record), read_build(own)
    except InputError:
        return None
    has_all = all(path.is_file() for path in full.objects)
    return full if has_all and tools_of(full) == tools_of(mine) else None


def tools_of(build: Build) -> tuple[str, ...]:
    """Return the tools and options that decide the code of a build."""
    return build.target, build.toolchain, f"-O{build.optimize}", build.lto and f"lto {build.lto}"


def read_full(evidence: Evidence) -> Objects | None:
    """Read the objects of the full build next to an image; None if there is none."""
    full = full_build(evidence)
    if full is None:
        return None
    read = read_macho_objects if isinstance(evidence.image, MachoImage) else read_objects
    paths: tuple[Path, ...] = full.objects
    return read(paths, full.image.parent)
