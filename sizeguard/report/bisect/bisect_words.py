"""Sentences about a bisect that its formats share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sizeguard.attribution.size_report import CORE
from sizeguard.base.errors import listed
from sizeguard.bisect.bisect_result import BisectResult, Culprit
from sizeguard.diff.diff_result import DiffRow
from sizeguard.git.commits import Commit
from sizeguard.report.writers.printable import at_most, counted, printable, shown


def verdict(result: BisectResult) -> str:
    """Sum up the bisect: aten::convolution grew 2,412 bytes in 48 commits: 3 changes did it."""
    name = printable(result.metric.name or result.metric.kind.replace("_", " "))
    commits = counted(len(result.points) - 1, "commit")
    moved = (
        "did not change"
        if not result.delta
        else f"{'grew' if result.delta > 0 else 'shrank'} {counted(abs(result.delta), 'byte')}"
    )
    found = len(result.culprits) + result.smaller.count
    if not found:
        return f"{name} {moved} in {commits}: none changed it"
    both = ", there and back" if not result.delta else ""
    return f"{name} {moved} in {commits}: {counted(found, 'change')} did it{both}"


def effort(result: BisectResult) -> str:
    """Sum up the work: built 11 of 48, 29 share inputs."""
    builds = result.builds
    parts = [f"built {builds.done} of {len(result.points)}"]
    if builds.failed:
        parts.append(f"{builds.failed} of them failed")
    if builds.reused:
        parts.append(f"{builds.reused} known before")
    if result.equal_inputs:
        parts.append(f"{result.equal_inputs} share inputs")
    return ", ".join(parts)


def failures_text(culprit: Culprit) -> str:
    """Sum up a range with commits that do not build.

    3 commits, the first 2 do not build (main.c:1: error: …)
    """
    failed = len(culprit.failures)
    which = f"{failed} of them {'does' if failed == 1 else 'do'} not build"
    return (
        f"{counted(len(culprit.commits), 'commit')}, {which}"
        f" ({printable(culprit.failures[0].message)})"
    )


class ShownNames(NamedTuple):
    """The names of a row, as they are shown."""

    operator: str
    dtype: str
    symbol: str


class ShownRows(NamedTuple):
    """The rows to show, and the number and the bytes of the others."""

    rows: Sequence[DiffRow]
    others: int
    other_bytes: int


def row_texts(row: DiffRow, width: int) -> ShownNames:
    """Return the names to show; width: most characters of the symbol.

    A symbol of the core says enough: a program without a runtime has no core.
    """
    operator, dtype, symbol = row.keys
    return ShownNames(
        "" if symbol and operator == CORE else shown("operator", operator, 40),
        shown("dtype", dtype) if dtype else "",
        shown("symbol", symbol, width),
    )


def by_dtype(rows: Sequence[DiffRow]) -> str:
    """Sum by dtype and show the three that changed most: Float -410  Double -330.

    Without a row of an operator, the types of C++ code are not dtypes.
    """
    if not any(row.keys[0] and not row.keys[0].startswith("(") for row in rows):
        return ""
    sums: dict[str, int] = {}
    for row in rows:
        sums[row.keys[1]] = sums.get(row.keys[1], 0) + row.delta
    named = sorted(
        ((abs(size), dtype, size) for dtype, size in sums.items() if dtype and size),
        key=lambda each: (-each[0], each[1]),
    )
    return "  ".join(f"{printable(dtype)} {size:+,}" for _, dtype, size in named[:3])


def shown_rows(rows: Sequence[DiffRow], limit: int) -> ShownRows:
    """Choose the first rows; all if the limit is 0."""
    kept = rows if limit == 0 else rows[:limit]
    return ShownRows(kept, len(rows) - len(kept), sum(row.delta for row in rows[len(kept) :]))


def short_subject(commit: Commit, width: int) -> str:
    """Write a commit's subject in at most `width` characters."""
    return at_most(printable(commit.subject), width)


def notes_of(result: BisectResult) -> Iterator[str]:
    """Write notes on the search, and the command that shows the largest change."""
    if result.nearest or result.is_unknown:
        near = f"; nearest is {printable(result.nearest)}" if result.nearest else ""
        yield f"neither end has {printable(str(result.metric))}{near}"
    if result.neutral:
        named = listed([commit.id[:7] for commit in result.neutral], 3)
        yield (
            f"{counted(len(result.neutral), 'commit')} moved bytes inside the image, but did not "
            f"change {result.metric}: {named}"
        )
    if result.failures:
        yield (
            f"{result.failures:,} of the tried commits "
            f"{'does' if result.failures == 1 else 'do'} not build"
        )
    if result.blind_spot:
        yield f"note: {result.blind_spot}"
    if result.culprits:
        worst = max(result.culprits, key=lambda culprit: abs(culprit.delta))
        yield f"see the largest: git show {worst.commits[-1].id[:12]}"
