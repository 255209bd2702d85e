"""Turns a path, of a binary or a build, into a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sizeguard.attribution.group import group
from sizeguard.attribution.result import Report
from sizeguard.attribution.sources import analysis_of
from sizeguard.build.record import RECORD, Build


def report_of(path: Path, by: Sequence[str]) -> Report:
    """Of a folder or a build.json: its shipped file, with all that the build knows. Of anything else: the file alone."""
    return group(analysis_of(path), by)


def report_of_build(build: Build, by: Sequence[str]) -> Report:
    return report_of(build.image.parent / RECORD, by)
