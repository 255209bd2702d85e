"""What a report is: rows that sum to the image. How it is made and how it is shown is elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

LEVELS = ("operator", "kernel", "dtype", "kind", "section", "symbol", "object")
OUTSIDE = "(headers, tables, padding)"

# Rows of the level operator that are none.
CORE = "(core)"
SHARED = "(shared by operators)"


@dataclass(frozen=True, slots=True)
class Row:
    """keys: a value for each level asked for. count: spans. Bytes."""

    keys: tuple[str, ...]
    file: int
    load: int
    count: int


@dataclass(frozen=True, slots=True)
class Report:
    """What there is to know of one image. The rows' file and load sum to the totals."""

    path: Path
    title: str
    arch: str
    id: str
    file: int
    load: int
    ram: int
    by: tuple[str, ...]
    rows: tuple[Row, ...]
