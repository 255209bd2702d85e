"""Turns the text of a metric path into one that means something here, or says which is nearest.

load, ram, file, page_slack; component/NAME, operator/NAME, kernel/NAME, dtype/NAME, section/NAME, symbol/GLOB.
* and ? stand for any part of a name: such a path means each thing of that name. Only symbol/GLOB is one sum.
"""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

from sizeguard.attribution.dtypes import DTYPES
from sizeguard.attribution.metrics import NAMED, TOTALS
from sizeguard.attribution.preset import load_preset
from sizeguard.attribution.result import CORE, OUTSIDE, SHARED
from sizeguard.codegen.tags import scan_tags
from sizeguard.operator_library import read_operator_libraries


def split_metric(path: str) -> tuple[str, str]:
    """operator/aten::add.Tensor is (operator, aten::add.Tensor), load is (load, empty)."""
    level, _, name = path.partition("/")
    return level, name


def is_family(path: str) -> bool:
    """Whether it means each thing of that name, and not one number."""
    level, name = split_metric(path)
    return level != "symbol" and level not in TOTALS and ("*" in name or "?" in name)


def matches(pattern: str, path: str) -> bool:
    """Whether a metric is of a family, or is it. Only * and ? are special: names of C++ have brackets."""
    return pattern == path or (is_family(pattern) and fnmatch.fnmatchcase(path, pattern.replace("[", "[[]")))


class MetricNames:
    """What there is to measure in the runtime of a source tree. Read when asked for: most policies name no kernel."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def names(self, level: str) -> tuple[str, ...]:
        """Names of a level; sections and symbols are not known before a build."""
        return self.known[level] if level in ("component", "dtype") else self.of_operators[level]

    @cached_property
    def known(self) -> Mapping[str, tuple[str, ...]]:
        """What needs no list of operators, which takes 0.1 s to read."""
        components = {rule.component for rule in load_preset("sizeguard").rules if rule.component}
        return {"component": tuple(sorted(components)), "dtype": (*DTYPES, "neutral")}

    @cached_property
    def of_operators(self) -> Mapping[str, tuple[str, ...]]:
        native = self.root / "native"
        operators = read_operator_libraries(path for path in sorted(native.glob("*/operators.yaml")))
        kernels = {operator.kernel for operator in operators.values()} | scan_tags([native / "operators", native / "prepacked"]).keys()
        return {"operator": (*operators, CORE, SHARED, OUTSIDE), "kernel": tuple(sorted(kernels))}

    def problem(self, path: str) -> str:
        """Empty if the path means something; else what is wrong with it, and what is nearest."""
        if path in TOTALS:
            return ""
        level, name = split_metric(path)
        if level not in NAMED:
            return f"unknown metric '{path}'; nearest is '{self._nearest(path)}'"
        if not name:
            return f"'{path}' names no {level}; write {level}/NAME, or {level}/* for each"
        if level in ("section", "symbol"):
            return ""
        if is_family(path):
            return "" if name == "*" or fnmatch.filter(self.names(level), name.replace("[", "[[]")) else f"'{path}' matches no {level}"
        parts = name.split("+") if level == "dtype" else [name]  # a kernel of two dtypes has a branch Float+Bool
        if all(part in self.names(level) for part in parts):
            return ""
        return f"unknown metric '{path}'; nearest is '{self._nearest(path)}'"

    def _nearest(self, path: str) -> str:
        level, name = split_metric(path)
        if not name:
            return _closest(level, [*TOTALS, *(f"{table}/…" for table in NAMED)])
        table = level if level in NAMED else _closest(level, NAMED)
        return f"{table}/{name}" if table in ("section", "symbol") else f"{table}/{_closest(name, self.names(table))}"


def _closest(name: str, among: Iterable[str]) -> str:
    """An overload of it, the first in the list of operators; else the shortest that begins with it; else the most similar one."""
    names = list(among)
    overloads = [each for each in names if each.startswith(f"{name}.")]
    longer = overloads or sorted((each for each in names if each.startswith(name)), key=len)
    return longer[0] if longer else max(names, key=lambda each: difflib.SequenceMatcher(None, name, each).ratio())
