"""Turns a path, of a binary or a build, into what is known of it: an Analysis."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sizeguard.attribution.analyse import SpanAnalysis
from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.attribute import evidence_of_build, evidence_of_file
from sizeguard.build.record import RECORD, read_build


def analysis_of(
    path: Path,
    *,
    objects: Sequence[Path] = (),
    map_: Path | None = None,
    debug_file: Path | None = None,
    preset: str = "auto",
    rules: Path | None = None,
) -> Analysis:
    """Of a folder or a build.json: its shipped file, with all that the build knows. Of anything else: the file, with what is named.

    objects, map_: of the link that made the image; debug_file: the same build with symbols or debug information.
    preset: the rules that read names, auto for those that fit; rules: a file of rules that come before them.
    """
    if path.is_dir() or path.name == RECORD:
        build = read_build(path)
        title = f"{build.app or build.variant}  {build.target}  {build.toolchain} -O{build.optimize}"
        return SpanAnalysis(evidence_of_build(build.image, build.shipped, map_ or build.map, objects or build.objects, title))
    return SpanAnalysis(evidence_of_file(path))
