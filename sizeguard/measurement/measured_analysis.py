"""Compute the numbers for limits from an analysis of an image."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.filters import symbol_names
from sizeguard.builds.sizes import Sizes
from sizeguard.measurement.measurement import (
    ASKED_LEVELS,
    LEVELS,
    OF_LINK,
    OF_NAMES,
    Measurement,
)
from sizeguard.measurement.metric import Metric, metric_value, symbol_bytes
from sizeguard.measurement.metric_names import split_metric
from sizeguard.measurement.nameless_code import lost_places, nameless_code, sourceless_code
from sizeguard.names.resolve_names import KnownNames


def measurement_of(
    analysis: Analysis,
    metrics: Iterable[str],
    sizes: Sizes | None = None,
    levels: Collection[str] = LEVELS,
    rules: str = "",
) -> Measurement:
    """Measure an analysis.

    metrics: of limits; symbols, objects, archives and images are measured if one names them
    sizes: of the build, if the image is of a build
    levels: those whose sizes by name are needed
    rules: text of the project's own rules
    """
    if sizes is None:
        sizes = sizes_of(analysis)
    asked: dict[str, list[str]] = defaultdict(list)
    for level, name in map(split_metric, metrics):
        asked[level].append(name)
    symbols, unmatched, zeros = _symbols(analysis, asked["symbol"])
    named = _NamedBytes(analysis)
    for level in asked.keys() & {"operator", "kernel", "dtype", "component", *ASKED_LEVELS}:
        zeros |= named.zeros(level)
    wanted = {*levels, *(level for level in ASKED_LEVELS if level in asked)}
    image = analysis.image
    return Measurement(
        sizes,
        _tables(named, wanted),
        symbols,
        analysis,
        unmatched,
        image.needed,
        0 if asked.keys().isdisjoint(OF_NAMES) else nameless_code(analysis),
        f"{image.format} {image.arch}".strip(),
        image.kind,
        {} if asked.keys().isdisjoint((*OF_LINK, "component")) else lost_places(analysis, rules),
        sourceless_code(analysis, rules) if "component" in asked else {},
        zeros,
    )


def sizes_of(analysis: Analysis) -> Sizes:
    """Return the sizes of an analysed image; takes a tenth of the time of its tables."""
    image = analysis.image
    slack = metric_value(analysis, Metric("page_slack"))
    return Sizes(image.load, image.ram, image.file, slack)


class _NamedBytes:
    """Loaded bytes and bytes in memory of the names of an analysis, by level.

    Reports also order and count their rows, which takes four times as long; a gate asks for five
    levels of each app and target.
    """

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self._found: dict[str, Mapping[str, tuple[int, int]]] = {}

    def of(self, level: str) -> Mapping[str, tuple[int, int]]:
        """Return the bytes of each name, sorted by name; those without any are left out."""
        if level not in self._found:
            label = self.analysis.label(level)
            sums = self.analysis.sums_by(label.ids, len(label.texts))
            found: dict[str, tuple[int, int]] = {}
            for i in np.flatnonzero((sums.load != 0) | (sums.ram != 0)).tolist():
                name = label.texts[i]
                load, ram = found.get(name, (0, 0))
                found[name] = load + int(sums.load[i]), ram + int(sums.ram[i])
            self._found[level] = {name: found[name] for name in sorted(found) if name}
        return self._found[level]

    def table(self, level: str) -> Mapping[str, int]:
        """Return the bytes of names for limits."""
        # A section of zeros has no loaded bytes, so a limit for it would pass at any size.
        of_zeros = level == "section"
        sizes = {name: load or ram * of_zeros for name, (load, ram) in self.of(level).items()}
        return {name: size for name, size in sizes.items() if size}

    def zeros(self, level: str) -> Mapping[str, int]:
        """Return the bytes in memory of names without loaded bytes, by metric."""
        named = self.of(level).items()
        return {f"{level}/{name}": ram for name, (load, ram) in named if ram and not load}


def _tables(named: _NamedBytes, levels: Collection[str]) -> Mapping[str, Mapping[str, int]]:
    wanted = [level for level in (*LEVELS, *ASKED_LEVELS) if level in levels]
    found = {level: named.table(level) for level in wanted}
    # Without a map nothing names the objects; that is not an image without them
    unknown = [level for level in found if level in OF_LINK and not found[level]]
    if unknown and not (found.get("object") or named.table("object")):
        found = {level: table for level, table in found.items() if level not in unknown}
    regions = named.analysis.image.regions
    if regions is not None:
        found["region"] = {region.name: region.used for region in regions}
    return found


def _symbols(
    analysis: Analysis, patterns: Iterable[str]
) -> tuple[Mapping[str, int], Mapping[str, str], dict[str, int]]:
    """Return the loaded bytes by pattern, and the nearest name for each pattern without a match.

    The third mapping has the bytes in memory of patterns without loaded bytes, by metric.
    """
    asked = sorted({*patterns})
    if not asked:
        return {}, {}, {}
    known = KnownNames(symbol_names(analysis))
    found = {pattern: known.resolve(pattern) for pattern in asked}
    sizes = {
        pattern: symbol_bytes(analysis, each.names, analysis.load)
        for pattern, each in found.items()
    }
    zeros = {
        f"symbol/{pattern}": symbol_bytes(analysis, each.names, analysis.ram)
        for pattern, each in found.items()
        if not sizes[pattern]
    }
    unmatched = {pattern: each.nearest for pattern, each in found.items() if not each.names}
    return sizes, unmatched, zeros
