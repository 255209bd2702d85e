"""Check metric paths, and find the nearest existing one.

load, ram, file, page_slack; component/NAME, operator/NAME, kernel/NAME, dtype/NAME, section/NAME,
image/NAME, object/NAME, archive/NAME, region/NAME, symbol/GLOB.
* and ? match any part of a name. Such a path means every metric with a matching name, except
symbol/GLOB, which is one sum.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

from sizeguard.attribution.size_report import CORE, OUTSIDE, SHARED
from sizeguard.base.nearest import nearest_names
from sizeguard.measurement.metric_kinds import NAMED, OPEN, TOTALS
from sizeguard.names.find_operators import find_operators
from sizeguard.operators.dtypes import SCALAR_TYPES
from sizeguard.runtimes.known import source_tree


def split_metric(path: str) -> tuple[str, str]:
    """Split a path into level and name.

    operator/aten::add.Tensor is (operator, aten::add.Tensor), load is (load, empty).
    """
    level, _, name = path.partition("/")
    return level, name


def is_family(path: str) -> bool:
    """Return whether the path means several metrics."""
    level, name = split_metric(path)
    return level != "symbol" and level not in TOTALS and ("*" in name or "?" in name)


def matches(pattern: str, path: str) -> bool:
    """Return whether a metric equals the pattern or belongs to its family.

    Only * and ? are special: C++ names contain brackets.
    """
    return pattern == path or (
        is_family(pattern) and fnmatch.fnmatchcase(path, pattern.replace("[", "[[]"))
    )


class MetricNames:
    """The names of metrics in the runtime of a source tree.

    They are read on first use, because most policies name no kernel.
    """

    def __init__(self, root: Path | None) -> None:
        """Use the runtime of the source tree at `root`; without one, only images have names."""
        self.root = root

    def names(self, level: str) -> tuple[str, ...]:
        """List the names of a level; sections and symbols are not known before a build."""
        if self.root is None:
            return ()
        return self.known[level] if level in ("component", "dtype") else self.of_operators[level]

    @cached_property
    def known(self) -> Mapping[str, tuple[str, ...]]:
        """Names of components and dtypes; the list of operators takes 0.1 s to read."""
        rules = source_tree(self.root or Path())[0].rules
        components = {rule.component for rule in rules.rules if rule.component}
        return {"component": tuple(sorted(components)), "dtype": (*SCALAR_TYPES, "neutral")}

    @cached_property
    def of_operators(self) -> Mapping[str, tuple[str, ...]]:
        """Names of operators and kernels."""
        tree = source_tree(self.root or Path())[1]
        operators = tree.operators()
        kernels = {operator.kernel for operator in operators.values()} | tree.switches().keys()
        return {"operator": (*operators, CORE, SHARED, OUTSIDE), "kernel": tuple(sorted(kernels))}

    def problem(self, path: str) -> str:
        """Describe the error of the path and the nearest one; empty for a valid path."""
        if path in TOTALS:
            return ""
        level, name = split_metric(path)
        if level not in NAMED:
            return f"unknown metric '{path}'{self._hint(path)}"
        if not name:
            return f"'{path}' names no {level}; write {level}/NAME, or {level}/* for each"
        if self.only_images_know(path):
            return ""
        if is_family(path):
            return (
                ""
                if name == "*" or fnmatch.filter(self.names(level), name.replace("[", "[[]"))
                else f"'{path}' matches no {level}"
            )
        # A switch over two dtypes has branches such as Float+Bool
        parts = name.split("+") if level == "dtype" else [name]
        if all(part in self.names(level) for part in parts):
            return ""
        if level == "operator" and find_operators(name, self.names(level)):
            return ""
        return f"unknown metric '{path}'{self._hint(path)}"

    def only_images_know(self, path: str) -> bool:
        """Return whether no source of a runtime lists the names of the path's level."""
        return self.root is None or split_metric(path)[0] in OPEN

    def nearest_of_unknown(self, path: str) -> str | None:
        """Return the nearest metric of an unknown exact name, empty if none is near.

        Return None for any other path. The image or the base may still have the name.
        """
        level, name = split_metric(path)
        if level not in NAMED or self.only_images_know(path) or not name or is_family(path):
            return None
        return self._nearest(path) if self.problem(path) else None

    def _hint(self, path: str) -> str:
        """End a message on an unknown metric: name the nearest, else all kinds of metrics."""
        near = self._nearest(path)
        if near:
            return f"; nearest is '{near}'"
        if split_metric(path)[0] in NAMED:
            return ""
        return f"; there are {', '.join([*TOTALS, *(f'{table}/NAME' for table in NAMED)])}"

    def _nearest(self, path: str) -> str:
        level, name = split_metric(path)
        if not name:
            return _closest(level, [*TOTALS, *(f"{table}/…" for table in NAMED)])
        table = level if level in NAMED else _closest(level, NAMED)
        if not table or self.only_images_know(table):
            return f"{table}/{name}" if table else ""
        closest = _closest(name, self.names(table))
        return f"{table}/{closest}" if closest else ""


def _closest(name: str, among: Iterable[str]) -> str:
    """Find the nearest name; empty if none is near.

    The first overload of `name` in the list of operators, else the shortest name that begins with
    it, else the most similar one.
    """
    names = list(among)
    overloads = [each for each in names if each.startswith(f"{name}.")]
    longer = overloads or sorted((each for each in names if each.startswith(name)), key=len)
    return next(iter(longer or nearest_names(name, names)), "")
