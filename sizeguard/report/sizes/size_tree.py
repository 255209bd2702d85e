"""Choose the rows of a report to show: the largest groups, their parts, and a row for the rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.size_report import UNATTRIBUTED, ByteSums, Report
from sizeguard.base.dataclass import dataclass
from sizeguard.columns.label import Label
from sizeguard.columns.sums import sum_by

Rows = npt.NDArray[np.int64]
CHILDREN = 6  # parts to show of each group


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows with one value of one level.

    children: the largest groups of the next level, if worth showing
    rest: the other groups
    aliases: number of other names of a symbol's bytes
    """

    level: str
    text: str
    sums: ByteSums
    children: tuple[RowGroup, ...] = ()
    rest: Rest | None = None
    aliases: int = 0


@dataclass(frozen=True, slots=True)
class Rest:
    """The groups that are not shown.

    groups:  their number
    largest: bytes of the largest
    sums:    of all
    """

    groups: int
    largest: int
    sums: ByteSums


def rest_text(what: str, rest: Rest) -> str:
    """Name the groups that are not shown, and the largest unless the row's bytes say it."""
    is_known = rest.groups == 1 or not rest.largest
    return what if is_known else f"{what}, at most {rest.largest:,} each"


@dataclass(frozen=True, slots=True)
class SizeTree:
    """The groups of the first level.

    top, rest:    the level's values
    others:       rows of the level operator that are not operators
    unattributed: bytes without an owner
    """

    top: tuple[RowGroup, ...]
    rest: Rest | None
    others: tuple[RowGroup, ...]
    unattributed: RowGroup | None


def aliases_of(group: RowGroup) -> str:
    """Write the number of other names of a symbol's bytes; empty for none."""
    return f" (+{count_of_aliases(group.aliases)})" if group.aliases else ""


def count_of_aliases(count: int) -> str:
    """Write 1 alias or 2 aliases."""
    return f"{count} alias{'' if count == 1 else 'es'}"


def metric_of(report: Report) -> str:
    """Choose the metric that orders the rows: the report's order if it is a size, else load."""
    return report.sort if report.sort in ("file", "ram") else "load"


def tree_of(report: Report, limit: int) -> SizeTree:
    """Group the report; `limit` groups of the first level are shown, 0 for all."""
    rows = np.arange(len(report), dtype=np.int64)
    level = report.by[0]
    texts = report.labels[0].texts
    special = (
        [i for i in _used(report.labels[0].ids) if _is_special(level, texts.raw(i))]
        if level == "operator"
        else []
    )
    special += [] if level == "operator" else _unattributed(report)
    is_special = np.zeros(len(texts) + 1, np.bool_)
    is_special[special] = True
    mask = is_special[report.labels[0].ids] if len(report) else np.zeros(0, np.bool_)
    top, rest = _groups(report, rows[~mask], 0, limit)
    others, _ = _groups(report, rows[mask], 0, 0)
    unattributed = next((group for group in others if group.text == UNATTRIBUTED), None)
    return SizeTree(
        top, rest, tuple(group for group in others if group is not unattributed), unattributed
    )


def _used(ids: npt.NDArray[np.int32]) -> list[int]:
    found: list[int] = np.unique(ids, return_counts=True)[0].tolist()
    return found


def _is_special(level: str, text: bytes) -> bool:
    return not text or text[:1] == b"(" or text == UNATTRIBUTED.encode()


def _unattributed(report: Report) -> list[int]:
    """Find the id of unattributed among the texts of the first level.

    Lengths are compared first, because there may be half a million texts.
    """
    texts = report.labels[0].texts
    wanted = UNATTRIBUTED.encode()
    candidates = np.flatnonzero(texts.lengths() == len(wanted))
    found = zip(candidates.tolist(), texts.take(candidates).all_raw(), strict=True)
    return [i for i, text in found if text == wanted]


def _groups(
    report: Report, rows: Rows, depth: int, limit: int
) -> tuple[tuple[RowGroup, ...], Rest | None]:
    """Group the rows by the values of a level, the largest first (or as the report is sorted)."""
    if not len(rows):
        return (), None
    label = report.labels[depth]
    # Rows are sorted, so in a report with one level each row is a group.
    single = len(report.labels) == 1
    of_rows = getattr(report, metric_of(report))[rows]
    if single:
        ids, index, size = rows, np.arange(len(rows)), of_rows
        order = index
    else:
        ids, index = np.unique(label.ids[rows], return_inverse=True)
        size = sum_by(of_rows, index, len(ids))
        first = np.full(len(ids), len(rows), np.int64)
        np.minimum.at(first, index, np.arange(len(rows)))
        order = (
            first.argsort()
            if report.sort == "name"
            else np.lexsort([first, -_key(report, rows, index, len(ids), size)])
        )
    shown = order[:limit] if limit else order
    members = _members(rows, index, shown, single)
    counts = _alias_counts(report, depth, [int(label.ids[some[0]]) for some in members])
    groups = tuple(
        _group(report, some, depth, count) for some, count in zip(members, counts, strict=True)
    )
    left = order[len(shown) :]
    if not len(left):
        return groups, None
    is_left = np.zeros(len(ids), np.bool_)
    is_left[left] = True
    return groups, Rest(len(left), int(size[left].max()), report.sums(rows[is_left[index]]))


def _key(report: Report, rows: Rows, index: npt.NDArray[np.intp], groups: int, size: Rows) -> Rows:
    if report.sort != "count":
        return size
    return sum_by(report.count[rows], index, groups)


def _members(
    rows: Rows, index: npt.NDArray[np.intp], shown: npt.NDArray[np.intp], single: bool
) -> Sequence[Rows]:
    if single:
        return [rows[i : i + 1] for i in shown.tolist()]
    order = np.argsort(index, kind="stable")
    start = np.searchsorted(index[order], shown)
    end = np.searchsorted(index[order], shown, side="right")
    return [rows[order[a:b]] for a, b in zip(start.tolist(), end.tolist(), strict=True)]


def _alias_counts(report: Report, depth: int, ids: Sequence[int]) -> list[int]:
    """Return the number of other names of the symbols with these ids; 0 at other levels.

    One search for all symbols takes as long as a search for one.
    """
    if report.aliases is None or report.by[depth] != "symbol":
        return [0] * len(ids)
    symbols = Label(np.array(ids, np.int32), report.labels[depth].texts)
    return [len(others) for others in report.aliases.of_rows(symbols)]


def _group(report: Report, rows: Rows, depth: int, aliases: int) -> RowGroup:
    label = report.labels[depth]
    text = label.texts[int(label.ids[rows[0]])]
    children: tuple[RowGroup, ...] = ()
    rest = None
    if depth + 1 < len(report.by):
        children, rest = _groups(report, rows, depth + 1, CHILDREN)
        # A single group takes no more room than a row for the rest
        if rest is not None and rest.groups == 1:
            children, rest = _groups(report, rows, depth + 1, CHILDREN + 1)
        if rest is None and len(children) == 1 and not children[0].text:
            children = children[0].children
    return RowGroup(report.by[depth], text, report.sums(rows), children, rest, aliases)
