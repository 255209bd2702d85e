"""Turns two analyses into what made the load change: operator, dtype, symbol and source, the largest change first."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.diff import diff
from sizeguard.attribution.diff_result import CAUSES
from sizeguard.attribution.names import short_name
from sizeguard.gate.measure import Measurement
from sizeguard.gate.result import Cause, Growth

SHOWN = 200  # causes by name; the rest is one row
_UNWIND = frozenset({"unwind", "unwind index", "exception table"})
_PADDING = frozenset({"padding", "page slack", "section gap"})
_LEVELS = ("operator", "dtype", "symbol", "object", "kind")
_MEMBER = re.compile(r".*\((.+)\)")


def growth_by_operator(old: Measurement, new: Measurement) -> tuple[Growth, ...]:
    """Loaded bytes of operators that changed; they sum to the change of the load."""
    before, now = old.tables["operator"], new.tables["operator"]
    rows = [Growth(name, before.get(name, 0), now.get(name, 0)) for name in {*before, *now}]
    return tuple(sorted((row for row in rows if row.old != row.new), key=lambda row: (row.old - row.new, row.operator)))


def causes_by_operator(growth: Iterable[Growth]) -> tuple[Cause, ...]:
    """All that a baseline can say."""
    rows = [Cause(row.operator, "", "", row.old, row.new, kind="other", cause="grew" if row.new > row.old else "shrank") for row in growth]
    return tuple(sorted(rows, key=lambda cause: (-abs(cause.delta), cause.operator)))


@dataclass(slots=True)
class _Sum:
    """A row of causes while it is summed. largest: the part that the row's cause is taken from."""

    old: int = 0
    new: int = 0
    largest: int = 0
    cause: str = ""


def causes_between(old: Analysis, new: Analysis, sources: Sources) -> tuple[Cause, ...]:
    """They sum to the change of the load."""
    found = diff(old, new, _LEVELS)
    sums: dict[tuple[str, str, str, str, str], _Sum] = {}
    for i in range(len(found)):
        operator, dtype, symbol, object_, kind = found.keys(i)
        key = ("", "", "", "", "unwind") if kind in _UNWIND else ("", "", "", "", "padding") if kind in _PADDING else None
        if key is None:
            named = bool(symbol) and not symbol.startswith("(")
            key = (operator, dtype, symbol, object_, "symbol") if named else (operator, "", "", "", "other")
        row = sums.setdefault(key, _Sum())
        row.old += int(found.old[i])
        row.new += int(found.new[i])
        if abs(int(found.delta[i])) >= row.largest:
            row.largest, row.cause = abs(int(found.delta[i])), CAUSES[int(found.cause[i])]
    changed = [item for item in sums.items() if item[1].old != item[1].new]
    changed.sort(key=lambda item: (-abs(item[1].new - item[1].old), item[0]))
    causes = [_cause(key, row, sources) for key, row in changed[:SHOWN]]
    rest = changed[SHOWN:]
    if rest:
        causes.append(Cause("", "", "", sum(row.old for _, row in rest), sum(row.new for _, row in rest), kind="other"))
    return tuple(causes)


def _cause(key: tuple[str, str, str, str, str], row: _Sum, sources: Sources) -> Cause:
    operator, dtype, symbol, object_, kind = key
    grew = row.new > row.old
    # The largest part gives the cause, unless the whole went the other way.
    fits = row.cause in ("moved", "padding") or grew == (row.cause in ("grew", "added", "more_instances"))
    cause = row.cause if fits else "grew" if grew else "shrank"
    shown = short_name(symbol) if symbol else ""
    return Cause(operator, dtype, shown, row.old, row.new, kind, cause, sources.place(object_, symbol) if symbol else "")


@dataclass
class Sources:
    """The sources of the runtime, which objects are named after."""

    root: Path
    lines: dict[str, list[str]] = field(default_factory=dict)

    @cached_property
    def paths(self) -> dict[str, list[str]]:
        """Paths from the root, by file name."""
        found: dict[str, list[str]] = {}
        for path in sorted((self.root / "native").rglob("*.cpp")):
            found.setdefault(path.name, []).append(path.relative_to(self.root).as_posix())
        return found

    def place(self, object_: str, symbol: str) -> str:
        """native/operators/kernels/convolution.cpp:88 of libsg_kernels.a(convolution.cpp.o); empty if no source is meant for sure."""
        member = _MEMBER.fullmatch(object_)
        source = (member[1] if member else object_).removesuffix(".o")
        known = self.paths.get(Path(source).name, [])
        fitting = known if len(known) == 1 else [path for path in known if _ending(path, source) >= 2]
        if len(fitting) != 1:
            return ""
        line = self._line(fitting[0], symbol)
        return f"{fitting[0]}:{line}" if line else fitting[0]

    def _line(self, path: str, symbol: str) -> int:
        """Where the function of that name begins, if the file has one such beginning alone: we have no better word than the text's."""
        name = re.search(r"([A-Za-z_]\w*)(?:<.*>)?$", short_name(symbol))
        if not name:
            return 0
        if path not in self.lines:
            self.lines[path] = (self.root / path).read_text(encoding="utf-8", errors="replace").split("\n")
        begins = re.compile(rf"^(?:[A-Za-z_][^=;(){{}}]*[\s*&:]){re.escape(name[1])}\s*\((?!.*;\s*$)")
        found = [i + 1 for i, line in enumerate(self.lines[path]) if begins.match(line)]
        return found[0] if len(found) == 1 else 0


def _ending(path: str, source: str) -> int:
    """How many parts two paths have in common at their ends."""
    count = 0
    for a, b in zip(reversed(path.split("/")), reversed(source.split("/")), strict=False):
        if a != b:
            break
        count += 1
    return count
