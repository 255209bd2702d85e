"""The numbers for limits: bytes by metric path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from sizeguard.base.dataclass import dataclass
from sizeguard.builds.sizes import Sizes
from sizeguard.measurement.metric_kinds import TOTALS
from sizeguard.measurement.metric_names import split_metric

if TYPE_CHECKING:
    from sizeguard.attribution.analysis import Analysis

LEVELS = ("operator", "kernel", "dtype", "component", "section")
# Levels that are measured only for a limit, since an image can have thousands of objects.
ASKED_LEVELS = ("image", "archive", "object")
OF_NAMES = ("operator", "kernel", "dtype", "component", "symbol")  # levels read from symbols
OF_LINK = ("archive", "object")  # levels whose names are those of the link's inputs


@dataclass(frozen=True, slots=True)
class Measurement:
    """Bytes of one image.

    tables:   loaded bytes by level and name; bytes in memory for sections of zeros, and used bytes
              for memory regions, if known
    symbols:  by pattern, for the patterns that were requested
    analysis: the source; None for a baseline
    needed:   libraries, search paths and interpreter of the image; None if not recorded
    unmatched: symbol patterns without a match, each with the nearest name or an empty string
    nameless: bytes of code without a name, if a level of names was requested; its sums lack them
    lost: what the image does not tell of metrics or levels that are named by places
    sourceless: by metric that is named by sources: bytes of code without a known source
    zeros:    by metric without loaded bytes: bytes in memory, as of .bss
    region_lengths: sizes of memory regions, if a baseline records them
    machine: the image's format and machine, such as elf x86_64; empty if not recorded
    kind:    kind of the image's file, such as shared library; empty if not recorded
    """

    sizes: Sizes
    tables: Mapping[str, Mapping[str, int]]
    symbols: Mapping[str, int]
    analysis: Analysis | None = None
    unmatched: Mapping[str, str] = field(default_factory=dict)
    needed: tuple[str, ...] | None = None
    nameless: int = 0
    machine: str = ""
    kind: str = ""
    lost: Mapping[str, str] = field(default_factory=dict)
    sourceless: Mapping[str, int] = field(default_factory=dict)
    zeros: Mapping[str, int] = field(default_factory=dict)
    region_lengths: Mapping[str, int] = field(default_factory=dict)

    def knows(self, metric: str) -> bool:
        """Return whether the image has the name of a metric."""
        level, name = split_metric(metric)
        if level == "symbol":
            return name not in self.unmatched and (
                self.analysis is not None or bool(self.symbols.get(name))
            )
        return level in TOTALS or name in self.tables.get(level, {}) or metric in self.zeros

    def value(self, metric: str) -> int | None:
        """Return the bytes of a metric; 0 for a name that the image lacks.

        None if this is a baseline without the metric, or an image without known operators.
        """
        level, name = split_metric(metric)
        if level in TOTALS:
            return int(getattr(self.sizes, level))
        if level == "symbol":
            return self.symbols.get(name)
        table = self.tables.get(level)
        if table is None or (level == "operator" and name not in table and _has_kernels(table)):
            return None
        return table.get(name, 0)

    def region_size(self, name: str) -> int:
        """Return the size of a memory region; 0 if it has no end, or an unknown one."""
        if self.analysis is None:
            return self.region_lengths.get(name, 0)
        regions = self.analysis.image.regions or ()
        return next((region.length for region in regions if region.name == name), 0)

    def names(self, level: str) -> Iterable[str]:
        """Return the names of a level, also those that have zeros alone."""
        zeros = (name for kind, name in map(split_metric, self.zeros) if kind == level)
        return dict.fromkeys((*self.tables.get(level, {}), *zeros))


def _has_kernels(operators: Mapping[str, int]) -> bool:
    """Return whether only kernels are known, not operators.

    Then no registration table was read, as in macOS images. A limit of 0 bytes for an operator
    would always pass.
    """
    return any(name.startswith("kernel ") for name in operators)
