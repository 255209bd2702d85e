"""Builds that tests/generators/recorded_builds.py recorded, to test verdicts without a compiler."""

from __future__ import annotations

import functools
import io
import lzma
import tarfile
from dataclasses import dataclass
from pathlib import Path

from sizeguard.attribution.analysis import Analysis
from sizeguard.builds.build_record import RECORD, Build, read_build
from sizeguard.builds.open_build import Files
from sizeguard.snapshots.snapshot import read_snapshot
from tests.support.places import DATA

RECORDED = DATA / "recorded"


@dataclass(frozen=True)
class RecordedRuntime:
    """A recorded build.

    Root: a tree with the runtime's sources. build: with the selection mlp.yaml.
    """

    root: Path
    build: Build


def unpack(name: str, folder: Path, part: str = "") -> Path:
    """Unpack an archive, or one folder in it, into a folder of its name."""
    place = folder / name
    with tarfile.open(fileobj=io.BytesIO(_tar(name))) as archive:
        # Debian 12 has Python 3.11.2, whose extractall() has no filter.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        members = [m for m in archive if not part or m.name.startswith(f"{part}/")]
        assert members, f"{name} has no folder {part}"
        archive.extractall(place, members)
    return place


@functools.cache
def _tar(name: str) -> bytes:
    """Decompress an archive once; 25 fixtures unpack the largest, which takes 0.1 s."""
    return lzma.decompress((RECORDED / f"{name}.tar.xz").read_bytes())


def recorded_runtime(folder: Path) -> RecordedRuntime:
    root = unpack("runtime", folder)
    place = root / "build" / "mlp"
    record = place / RECORD
    record.write_text(record.read_text().replace("@ROOT@", str(root)))
    return RecordedRuntime(root, read_build(place))


def recorded_images(folder: Path) -> Path:
    """Unpack Mach-O, PE, COFF and WebAssembly files; return their folder."""
    return unpack("images", folder)


def files_of_program(folder: Path, *, twin: bool = True) -> Files:
    """List all recorded files of one program."""
    return Files(
        folder / "program",
        folder / "program.stripped" if twin else None,
        (folder / "program.o",),
        folder / "program.map",
        None,
        folder,
    )


def recorded_analysis(name: str) -> Analysis:
    """Return the analysis of a recorded build: core, mlp or mlp_and_erf."""
    return read_snapshot(RECORDED / f"{name}.snapshot")


def program_with(folder: Path, name: str, added: bytes = b"", at: int | None = None) -> Files:
    """Unpack a program; write bytes at an offset of its image, or behind everything."""
    files = files_of_program(unpack("programs", folder, name) / name)
    for path in (files.image, files.twin):
        assert path is not None
        data = bytearray(path.read_bytes())
        start = len(data) if at is None else at
        data[start : start + len(added)] = added
        path.write_bytes(data)
    return files
