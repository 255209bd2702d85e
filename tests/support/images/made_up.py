"""Analyses made from plain rows, and a strategy for them.

They are for tests of reports, diffs and snapshots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from sizeguard.attribution.analysis import Aliases
from sizeguard.attribution.levels import DERIVED, LEVELS
from sizeguard.attribution.teams.team_levels import derived_label
from sizeguard.columns.label import Label
from sizeguard.columns.sums import WHAT, ColumnSums
from sizeguard.columns.texts import Int, Texts
from sizeguard.ledger.ledger import ImageInfo


@dataclass(frozen=True)
class Part:
    """A row of an analysis.

    names: all names of its bytes if there are several; values: of levels, empty if not given.
    """

    values: Mapping[str, str]
    load: int = 0
    file: int = 0
    ram: int = 0
    count: int = 1
    names: Sequence[str] = field(default=())


class MadeUp:
    """An Analysis of the parts.

    doubled: each row has its own text, so that equal texts have several ids.
    """

    rules = None
    users = None
    has_pieces = False

    def __init__(self, parts: Sequence[Part], title: str = "app", *, doubled: bool = False) -> None:
        self.parts = parts
        self.doubled = doubled
        self.file, self.load, self.ram, self.count = (
            np.array([getattr(part, name) for part in parts], np.int64)
            for name in ("file", "load", "ram", "count")
        )
        sums = (int(column.sum()) for column in (self.file, self.load, self.ram))
        self.image = ImageInfo(f"somewhere/{title}", title, "elf", "x86_64", "8f3c2d10aabb", *sums)

    def sums_by(self, ids: Int, count: int) -> tuple[Int, Int, Int, Int]:
        return ColumnSums({what: getattr(self, what) for what in WHAT}).by(ids, count)

    def label(self, level: str) -> Label:
        if level in DERIVED:
            return derived_label(level, self.label)
        if level == "isa":
            return Label(np.zeros(len(self.parts), np.int32), Texts.of([self.image.arch]))
        values = [part.values.get(level, "") for part in self.parts]
        texts = values if self.doubled else sorted(set(values))
        ids = range(len(values)) if self.doubled else [texts.index(value) for value in values]
        return Label(np.array(ids, np.int32), Texts.of(texts))

    def aliases(self) -> Aliases | None:
        groups = [part.names for part in self.parts if part.names]
        if not groups:
            return None
        number = iter(range(len(groups)))
        ids = [next(number) if part.names else -1 for part in self.parts]
        first = np.cumsum([0, *map(len, groups)], dtype=np.int64)
        return Aliases(
            np.array(ids, np.int32), first, Texts.of([name for names in groups for name in names])
        )


VALUES = {
    "operator": ("aten::add", "aten::mul", "(core)", "unattributed"),
    "kind": ("code", "rodata", "padding", "unwind"),
    "symbol": (
        "f",
        "g",
        "h",
        "_ZN2sg7kernels3addERNS_7ContextE",
        "f.cold",
        "g.constprop.0",
        "a name\nof two lines",
        "",
    ),
    "object": ("a.o", "b.o"),
    "dtype": ("", "Float"),
}


@st.composite
def parts(draw: st.DrawFn, most: int = 20) -> list[Part]:
    values = st.fixed_dictionaries(
        {level: st.sampled_from(texts) for level, texts in VALUES.items()}
    )
    size = st.integers(0, 300)
    rows = st.builds(Part, values=values, load=size, file=size, ram=size, count=st.integers(1, 3))
    return draw(st.lists(rows, max_size=most))


def table(analysis: MadeUp, by: Sequence[str]) -> dict[tuple[str, ...], list[int]]:
    """Return the rows of a report, computed in the slow way."""
    assert set(by) <= set(LEVELS)
    sums: dict[tuple[str, ...], list[int]] = {}
    for part in analysis.parts:
        row = sums.setdefault(tuple(part.values.get(level, "") for level in by), [0, 0, 0, 0])
        for i, name in enumerate(("file", "load", "ram", "count")):
            row[i] += getattr(part, name)
    return sums
