"""Measurements of built apps."""

from __future__ import annotations

from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.builds.build_record import RECORD, Build
from sizeguard.measurement.measured_analysis import measurement_of
from sizeguard.measurement.measurement import Measurement


def measured(built: Build, *metrics: str) -> Measurement:
    return measurement_of(analysis_of(built.image.parent / RECORD), metrics, built.sizes)
