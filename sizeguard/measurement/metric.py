"""Measure a metric path (load, operator/aten::add.Tensor, symbol/*gemm*) in an analysis.

Totals (load, ram, file, page_slack) are those of build.json. All other metrics are loaded bytes of
the rows with that name on that level, or the memory of a section of zeros; region/NAME is the used
part of a memory region, with initialized data in both of its regions. Operators are named with
their overload, and no name means several; symbols are named in any spelling, or by a pattern for
the sum of its matches.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from sizeguard.attribution.alias_rows import with_their_aliases
from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.filters import symbol_names
from sizeguard.attribution.group import group
from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.columns.sums import sum_by
from sizeguard.columns.texts import Int
from sizeguard.measurement.metric_kinds import NAMED, TOTALS
from sizeguard.measurement.nameless_code import nameless_code

_PAGE_SLACK = "page slack"  # their kind in a ledger

# Partitions of the load into buckets: a bisect enters a range if any bucket differs at its ends.
PARTITIONS = (("operator", "dtype"), ("component",), ("section",))

Vector = Mapping[tuple[str, ...], int]


@dataclass(frozen=True, slots=True, order=True)
class Metric:
    """A metric; str() returns the path that parse_metric reads.

    kind: one of TOTALS, or of NAMED
    name: empty for TOTALS
    """

    kind: str
    name: str = ""

    def __str__(self) -> str:
        """Return the path."""
        return f"{self.kind}/{self.name}" if self.name else self.kind

    def column(self, *analyses: Analysis) -> str:
        """Return the column of analyses that the metric sums.

        A section or region of zeros has no loaded bytes; of it, the memory counts.
        """
        if self.kind in ("section", "region") and any(_is_of_zeros(a, self) for a in analyses):
            return "ram"
        return {"ram": "ram", "file": "file", "page_slack": "file"}.get(self.kind, "load")

    @property
    def filters(self) -> tuple[str, ...]:
        """The filters of reports and diffs that keep the metric's rows."""
        if self.kind == "page_slack":
            return (f"kind=/^{_PAGE_SLACK}$/",)
        if self.kind in TOTALS:
            return ()
        if self.kind == "symbol":
            return (f"symbol=={self.name}",)
        return (rf"{self.kind}=/^(?:{re.escape(self.name)})\Z/",)


def parse_metric(text: str, where: str) -> Metric:
    """Parse a path.

    An operator that no image has is valid, with 0 bytes. Raises InputError that begins with
    `where`, such as file:line:column or --metric.
    """
    kind, slash, name = text.partition("/")
    if kind in TOTALS and not slash:
        return Metric(kind)
    if kind in NAMED and name:
        return Metric(kind, name)
    if kind in NAMED:
        raise InputError(f"{where}: metric '{text}' lacks a name; nearest is '{kind}/NAME'")
    if kind in TOTALS:
        raise InputError(f"{where}: metric '{kind}' takes no name; nearest is '{kind}'")
    near = difflib.get_close_matches(kind, (*TOTALS, *NAMED), n=1)
    if not near:
        raise InputError(
            f"{where}: unknown metric '{text}'; there are {', '.join(TOTALS)},"
            f" {', '.join(f'{each}/NAME' for each in NAMED)}"
        )
    guess = near[0] if near[0] in TOTALS else f"{near[0]}/{name}" if name else f"{near[0]}/NAME"
    raise InputError(f"{where}: unknown metric '{text}'; nearest is '{guess}'")


def nearest_metric(metric: Metric, known: Iterable[str]) -> str:
    """Find the known path of the same kind that is most similar; empty if none is."""
    of_kind = [each for each in known if each.startswith(f"{metric.kind}/")]
    near = difflib.get_close_matches(str(metric), of_kind, n=1)
    return near[0] if near else ""


def known_metrics(analysis: Analysis) -> list[str]:
    """List the paths of all totals and of all names in the image except symbols, sorted."""
    found = list(TOTALS)
    found += [f"region/{region.name}" for region in analysis.image.regions or ()]
    for level in NAMED:
        if level not in ("symbol", "region"):
            found += [
                f"{level}/{row.keys[0]}" for row in group(analysis, (level,)).rows if row.keys[0]
            ]
    return sorted(found)


def has_name(analysis: Analysis, metric: Metric) -> bool:
    """Return whether an image has the name of a metric.

    A pattern may match nothing, unless only some of its scopes are missing. In a stripped image
    that is unknown.
    """
    if metric.kind in TOTALS:
        return True
    if metric.kind == "symbol":
        found = symbol_names(analysis).meant(metric.name)
        may_match = found.is_glob and not found.nearest
        return bool(found.names) or (may_match and not nameless_code(analysis))
    return str(metric) in known_metrics(analysis)


def metric_value(analysis: Analysis, metric: Metric) -> int:
    """Return the bytes of a metric; 0 for a name that the image lacks."""
    if metric.kind in ("load", "ram", "file"):
        return int(getattr(analysis.image, metric.kind))
    if metric.kind == "page_slack":
        return _sum(analysis, "kind", analysis.file, lambda text: text == _PAGE_SLACK)
    if metric.kind == "symbol":
        names = symbol_names(analysis).meant(metric.name).names
        return symbol_bytes(analysis, names, analysis.load)
    if metric.kind == "region":
        regions = analysis.image.regions or ()
        return sum(region.used for region in regions if region.name == metric.name)
    return _of_rows(analysis, metric, getattr(analysis, metric.column(analysis)))


def beside_rows(analysis: Analysis, metric: Metric, column: str) -> int:
    """Return the bytes of a region that none of its rows has.

    These are data that run in the region and are stored in another one, which has their rows, and
    gaps for alignment.
    """
    return metric_value(analysis, metric) - _of_rows(analysis, metric, getattr(analysis, column))


def has_rows(analysis: Analysis, metric: Metric) -> bool:
    """Return whether any row of an image is in a region."""
    label = analysis.label(metric.kind)
    return any(label.texts[i] == metric.name for i in np.unique(label.ids).tolist())


def _of_rows(analysis: Analysis, metric: Metric, column: Int) -> int:
    return _sum(analysis, metric.kind, column, lambda text: text == metric.name)


def _is_of_zeros(analysis: Analysis, metric: Metric) -> bool:
    load, ram = (_of_rows(analysis, metric, each) for each in (analysis.load, analysis.ram))
    return not load and ram > 0


def symbol_bytes(analysis: Analysis, names: Iterable[str], column: Int) -> int:
    """Sum a column over symbols; bytes with several names match by any of them."""
    meant = frozenset(names)
    if not meant:
        return 0
    label = analysis.label("symbol")
    texts = (label.texts[i] for i in range(len(label.texts)))
    good = np.fromiter((text in meant for text in texts), np.bool_, len(label.texts))
    return int(column[with_their_aliases(analysis, good[label.ids])].sum())


def _sum(analysis: Analysis, level: str, column: Int, matches: Callable[[str], bool]) -> int:
    """Sum the rows with a matching text; each text with bytes is matched once."""
    label = analysis.label(level)
    sums = sum_by(column, label.ids, len(label.texts))
    return sum(int(sums[i]) for i in np.flatnonzero(sums).tolist() if matches(label.texts[i]))


def bucket_vector(analysis: Analysis) -> Vector:
    """Return the bytes of all buckets that are not 0.

    (load,), (ram,), (file,), (operator, NAME, dtype, NAME), (component, NAME), (section, NAME) and
    (ram, SECTION).

    The buckets of each of PARTITIONS sum to the load. Those of (ram, SECTION) sum to the ram,
    because sections of zeros have no loaded bytes.
    """
    image = analysis.image
    vector: dict[tuple[str, ...], int] = {
        ("load",): image.load,
        ("ram",): image.ram,
        ("file",): image.file,
    }
    for levels in PARTITIONS:
        for row in group(analysis, levels).rows:
            if row.load:
                vector[
                    tuple(word for pair in zip(levels, row.keys, strict=True) for word in pair)
                ] = row.load
            if row.ram and levels == ("section",):
                vector["ram", row.keys[0]] = row.ram
    return vector
