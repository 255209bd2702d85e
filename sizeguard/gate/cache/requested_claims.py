"""The claims that a verification is asked to judge, and the full build that they are about."""

from __future__ import annotations

from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.builds import FULL, RECORD
from sizeguard.builds.build_record import Build, read_build


@dataclass(frozen=True, slots=True)
class RequestedClaims:
    """Claims to verify.

    selection:       None for the selection of the build itself
    absent, present: symbols and operators
    base:            an earlier image or build, whose names count as known
    unknown_ok:      whether a claim on an unknown name is decided
    full:            the full build, which has everything that can be selected; if None, the one
                     beside the build, else the stored names of an earlier one
    shared_with:     selections of other apps on the same kernels and runtime
    """

    selection: Path | None = None
    absent: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    base: Path | None = None
    unknown_ok: bool = False
    full: Build | None = None
    shared_with: tuple[Path, ...] = ()


def full_beside(build: Build) -> Build | None:
    """Return the full build for the same target beside a build, or a full build itself."""
    if build.variant == FULL:
        return build
    folder = build.image.parent.parent / FULL
    return read_build(folder) if (folder / RECORD).is_file() else None
