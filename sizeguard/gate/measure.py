"""Turns an analysis, or a baseline, into the numbers that limits are about: bytes by metric path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.group import group
from sizeguard.attribution.metrics import TOTALS, Metric, metric_value
from sizeguard.build.sizes import Sizes
from sizeguard.gate.metric_names import split_metric
from sizeguard.gate.result import Baseline

LEVELS = ("operator", "kernel", "dtype", "component", "section")


@dataclass(frozen=True, slots=True)
class Measurement:
    """Bytes of one image.

    tables:   by level and name what is loaded; of sections that are all zero at the start what they take in memory
    symbols:  by pattern, of those that were asked for
    analysis: what it was made from; None for a baseline
    """

    sizes: Sizes
    tables: Mapping[str, Mapping[str, int]]
    symbols: Mapping[str, int]
    analysis: Analysis | None = None

    def value(self, metric: str) -> int | None:
        """None if this is a baseline that does not say, or an image whose operators cannot be told. What an image lacks has 0 bytes."""
        level, name = split_metric(metric)
        if level in TOTALS:
            return int(getattr(self.sizes, level))
        if level == "symbol":
            return self.symbols.get(name)
        table = self.tables.get(level)
        if table is None or (level == "operator" and name not in table and _has_kernels(table)):
            return None
        return table.get(name, 0)

    def names(self, level: str) -> Iterable[str]:
        return self.tables.get(level, {})


def measurement_of(analysis: Analysis, patterns: Iterable[str], sizes: Sizes | None = None) -> Measurement:
    """patterns: of symbols that limits name. sizes: of the build, if it is one."""
    image = analysis.image
    if sizes is None:
        sizes = Sizes(image.load, image.ram, image.file, metric_value(analysis, Metric("page_slack")))
    return Measurement(sizes, {level: _table(analysis, level) for level in LEVELS}, _symbols(analysis, patterns), analysis)


def _table(analysis: Analysis, level: str) -> Mapping[str, int]:
    rows = group(analysis, (level,)).rows
    # A table of zeros is in no loaded byte: a limit of its section would hold whatever comes.
    sizes = {row.keys[0]: row.load or (row.ram if level == "section" else 0) for row in rows if row.keys[0]}
    return {name: size for name, size in sorted(sizes.items()) if size}


def _symbols(analysis: Analysis, patterns: Iterable[str]) -> Mapping[str, int]:
    return {pattern: metric_value(analysis, Metric("symbol", pattern)) for pattern in sorted({*patterns})}


def _has_kernels(operators: Mapping[str, int]) -> bool:
    """Whether kernels stand for operators: no table of registrations was read, as in images of macOS. A pin to zero would always hold."""
    return any(name.startswith("kernel ") for name in operators)


def measurement_of_baseline(baseline: Baseline) -> Measurement:
    tables = dict(baseline.tables or {})
    symbols = tables.pop("symbol", {})
    sizes = Sizes(baseline.load, baseline.ram, baseline.file, baseline.page_slack)
    return Measurement(sizes, {**tables, "operator": baseline.operators}, symbols)
