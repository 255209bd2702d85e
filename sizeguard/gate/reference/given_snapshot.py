"""Sizes that growth is counted from: a snapshot of the base that was handed in."""

from __future__ import annotations

from pathlib import Path

from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.gate.policy.checks import SizeReference
from sizeguard.gate.reference.reference import MeasuredApp
from sizeguard.measurement.measured_analysis import measurement_of
from sizeguard.snapshots.magic import is_snapshot
from sizeguard.snapshots.snapshot import read_snapshot


def snapshot_reference(path: Path, subject: MeasuredApp) -> SizeReference:
    """Read a snapshot, or an image, that stands for the base.

    Raises InputError for a file that is neither.
    """
    analysis = read_snapshot(path) if is_snapshot(path) else analysis_of(path)
    then, now = analysis.image, subject.now.analysis
    text = f"snapshot {path.name}"
    if now is not None and (then.format, then.arch) != (now.image.format, now.image.arch):
        why = (
            f"{path} is of {then.format} for {then.arch}, the image of {now.image.format} for"
            f" {now.image.arch}: give the base's own snapshot with --base-snapshot"
        )
        return SizeReference(text, None, why)
    return SizeReference(text, measurement_of(analysis, subject.patterns))
