"""Turns a metric path (load, operator/aten::add.Tensor, symbol/*gemm*) into bytes of an analysis.

Totals (load, ram, file, page_slack) are those of build.json; all other metrics are loaded bytes of the rows whose level has that
name. Operators are named with their overload, and no name stands for several; only symbols are matched by a pattern.
"""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.group import group, sum_by
from sizeguard.attribution.names import demangled
from sizeguard.errors import InputError
from sizeguard.formats.texts import Int

TOTALS = ("load", "ram", "file", "page_slack")
NAMED = ("component", "operator", "kernel", "dtype", "section", "symbol")
_PAGE_SLACK = "page slack"  # the kind of these bytes in a ledger

# What one partition of the load sums to, whatever moved inside of it: a bisect enters a range if any of these differs at its ends.
PARTITIONS = (("operator", "dtype"), ("component",), ("section",))

Vector = Mapping[tuple[str, ...], int]


@dataclass(frozen=True, slots=True, order=True)
class Metric:
    """kind: of TOTALS, name empty then, or of NAMED. str() is the path that parse_metric reads."""

    kind: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}" if self.name else self.kind

    @property
    def column(self) -> str:
        """The column of an analysis that it counts."""
        return {"ram": "ram", "file": "file", "page_slack": "file"}.get(self.kind, "load")

    @property
    def filters(self) -> tuple[str, ...]:
        """The filters of reports and diffs that leave the rows it counts."""
        if self.kind == "page_slack":
            return (f"kind=/^{_PAGE_SLACK}$/",)
        if self.kind in TOTALS:
            return ()
        pattern = _glob(self.name) if self.kind == "symbol" else rf"^(?:{re.escape(self.name)})\Z"
        return (f"{self.kind}=/{pattern}/",)


def parse_metric(text: str, where: str, known: Iterable[str] = ()) -> Metric:
    """Read a path. where: what the message begins with, such as file:line:column or --metric.

    known: names of operators, kernels … as paths, which the nearest valid one is chosen from, and nothing else: a metric of an operator
    that no image has is valid, and 0 bytes. Raises InputError.
    """
    kind, slash, name = text.partition("/")
    if kind in TOTALS and not slash:
        return Metric(kind)
    if kind in NAMED and name:
        return Metric(kind, name)
    if kind in NAMED:
        raise InputError(f"{where}: metric '{text}' lacks a name; nearest is '{_nearest(f'{kind}/', known) or f'{kind}/NAME'}'")
    if kind in TOTALS:
        raise InputError(f"{where}: metric '{kind}' takes no name; nearest is '{kind}'")
    near = difflib.get_close_matches(kind, (*TOTALS, *NAMED), n=1)
    if not near:
        raise InputError(f"{where}: unknown metric '{text}'; there are {', '.join(TOTALS)}, {', '.join(f'{each}/NAME' for each in NAMED)}")
    guess = near[0] if near[0] in TOTALS else f"{near[0]}/{name}" if name else f"{near[0]}/NAME"
    raise InputError(f"{where}: unknown metric '{text}'; nearest is '{_nearest(guess, known) or guess}'")


def nearest_metric(metric: Metric, known: Iterable[str]) -> str:
    """The path of the known ones that a path is most like, of the same kind; empty if none is. For names that nothing has."""
    return _nearest(str(metric), known)


def _nearest(path: str, known: Iterable[str]) -> str:
    kind = path.partition("/")[0]
    near = difflib.get_close_matches(path, [each for each in known if each.startswith(f"{kind}/")], n=1)
    return near[0] if near else ""


def known_metrics(analysis: Analysis) -> list[str]:
    """The paths of all totals, and of all names that the image has, symbols left out. Sorted."""
    found = list(TOTALS)
    for level in NAMED:
        if level != "symbol":
            found += [f"{level}/{row.keys[0]}" for row in group(analysis, (level,)).rows if row.keys[0]]
    return sorted(found)


def metric_value(analysis: Analysis, metric: Metric) -> int:
    """Bytes: of an operator that the image lacks 0."""
    if metric.kind in ("load", "ram", "file"):
        return int(getattr(analysis.image, metric.kind))
    if metric.kind == "page_slack":
        return _sum(analysis, "kind", analysis.file, lambda text: text == _PAGE_SLACK)
    if metric.kind == "symbol":
        matches = re.compile(_glob(metric.name)).match
        return _sum(analysis, "symbol", analysis.load, lambda text: bool(matches(text) or matches(demangled(text))))
    return _sum(analysis, metric.kind, analysis.load, lambda text: text == metric.name)


def _glob(pattern: str) -> str:
    """A regular expression for a whole name, in which only * and ? mean something: names of C++ have brackets of their own."""
    return "^" + fnmatch.translate(pattern.replace("[", "[[]"))


def _sum(analysis: Analysis, level: str, column: Int, matches: Callable[[str], bool]) -> int:
    """Each text is judged once, and only if a row has bytes under it."""
    label = analysis.label(level)
    sums = sum_by(column, label.ids, len(label.texts))
    return sum(int(sums[i]) for i in np.flatnonzero(sums).tolist() if matches(label.texts[i]))


def bucket_vector(analysis: Analysis) -> Vector:
    """Bytes of all buckets: (load,), (ram,), (file,), (operator, NAME, dtype, NAME), (component, NAME), (section, NAME); none is 0.

    The buckets of each of PARTITIONS sum to the load. (ram, SECTION) sum to the ram: what is zero at the start is in no loaded byte.
    """
    image = analysis.image
    vector: dict[tuple[str, ...], int] = {("load",): image.load, ("ram",): image.ram, ("file",): image.file}
    for levels in PARTITIONS:
        for row in group(analysis, levels).rows:
            if row.load:
                vector[tuple(word for pair in zip(levels, row.keys, strict=True) for word in pair)] = row.load
            if row.ram and levels == ("section",):
                vector["ram", row.keys[0]] = row.ram
    return vector
