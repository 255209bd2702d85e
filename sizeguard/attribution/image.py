"""Turns a path, of a binary or a build, into a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sizeguard.attribution.attribute import attribute, evidence_of_build, evidence_of_file
from sizeguard.attribution.result import Report
from sizeguard.build.record import RECORD, Build, read_build


def report_of(path: Path, by: Sequence[str]) -> Report:
    """Of a folder or a build.json: its shipped file, with all that the build knows. Of anything else: the file alone."""
    if path.is_dir() or path.name == RECORD:
        return report_of_build(read_build(path), by)
    return attribute(evidence_of_file(path), by)


def report_of_build(build: Build, by: Sequence[str]) -> Report:
    title = f"{build.app or build.variant}  {build.target}  {build.toolchain} -O{build.optimize}"
    return attribute(evidence_of_build(build.image, build.shipped, build.map, build.objects, title), by)
