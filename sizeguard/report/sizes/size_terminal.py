"""Write a report for a terminal: the image, the largest rows, the others in one row, the sum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sizeguard.attribution.size_report import ByteSums, Report
from sizeguard.ledger.ledger import ImageInfo
from sizeguard.ledger.region_use import RegionUse
from sizeguard.names.demangle import demangle
from sizeguard.report.screen.fit import screen_lines, wrapped
from sizeguard.report.screen.grid import (
    Column,
    GridRow,
    RowName,
    grid_lines,
    head_lines,
    shown_heads,
)
from sizeguard.report.screen.legend import legend_lines
from sizeguard.report.sizes.size_tree import (
    Rest,
    RowGroup,
    SizeTree,
    aliases_of,
    metric_of,
    rest_text,
    tree_of,
)
from sizeguard.report.writers.printable import NOTHING, printable
from sizeguard.report.writers.size_rows import short_id
from sizeguard.report.writers.style import Style, bar, share, size_text

# Without room, KiB are dropped first, then the running total, the count, the bar, the shares.
_COLUMNS = {"KiB": 6, "share": 0, "": 3, "total": 5, "n": 4}
_SHARES = {"exclusive": 1, "shared": 2}


def report_lines(report: Report, limit: int, style: Style) -> Iterator[str]:
    """Write the lines of the report.

    limit: rows of the first level, 0 for all
    """
    yield from screen_lines(_Table(report, style).lines(tree_of(report, limit)), style)


def _head(image: ImageInfo, style: Style) -> Iterator[str]:
    """Write the measured image and its sizes, in one line if there is room.

    vision  x86_64-linux  gcc 12.2 -Os  id 8f3c2d10        load 41,204   ram 1,312   file 41,984
    """
    title = printable(image.title)
    arch = "" if image.arch in title else f"  {printable(image.arch)}"
    left = f"{title}{arch}{short_id(image)}"
    right = f"load {image.load:,}   ram {image.ram:,}   file {image.file:,}"
    yield from head_lines(left, right, style)


class _Table:
    """The table of a report."""

    def __init__(self, report: Report, style: Style) -> None:
        self.report = report
        self.style = style
        self.metric = metric_of(report)
        image = report.image
        self.whole: int = {"load": image.load, "file": image.file, "ram": image.ram}[self.metric]
        self.has_shares = report.exclusive is not None
        self.running = 0
        self.largest = 0

    def lines(self, tree: SizeTree) -> Iterator[str]:
        report, style = self.report, self.style
        yield from _head(report.image, style)
        if report.rules is not None:
            rules = f"rules: {report.rules}" if report.rules else "rules: none match these names"
            yield style.dim(rules)
        for line in report.unknown:
            yield from map(style.dim, wrapped(f"unknown: {printable(line)}", 0, style))
        if report.filters:
            yield style.dim(f"only rows with {' and '.join(map(printable, report.filters))}")
        yield ""
        rows = list(self._rows(tree))
        drops = {**_COLUMNS, **(_SHARES if self.has_shares else {})}
        columns = [
            Column(self.metric),
            *(
                Column("" if head == "KiB" else head, is_right=head != "", drop=drop)
                for head, drop in drops.items()
            ),
        ]
        yield from grid_lines(columns, " / ".join(report.by), rows, style)
        regions = (report.image.regions or ()) if "region" in report.by else ()
        if regions:
            yield ""
            yield from _region_lines(regions, style)
        heads = shown_heads(columns, " / ".join(report.by), rows, style)
        words = [word for word in self._words(rows) if word in heads or word not in drops]
        words += ["stored", "runs"] if regions else []
        yield from legend_lines(words, style)

    def _rows(self, tree: SizeTree) -> Iterator[GridRow]:
        report = self.report
        special = [*tree.others, *([tree.unattributed] if tree.unattributed else [])]
        self.largest = max(
            [
                *(self._size(group.sums) for group in tree.top),
                self._size(tree.rest.sums) if tree.rest else 0,
                sum(self._size(group.sums) for group in special),
                self._size(report.left_out) if report.left_out else 0,
            ]
        )
        for group in tree.top:
            yield from self._group(group)
        if tree.rest is not None:
            what = smaller_text(tree.rest, report.by[0])
            yield self._row(tree.rest.sums, _rest_name(what, tree.rest, 0), 0)
        yield from self._others(tree.others)
        if tree.unattributed is not None:
            yield self._row(tree.unattributed.sums, RowName("unattributed"), 0)
            if "unattributed" not in report.filters:
                blank = [""] * len(self._cells("", "", "", "", "", ByteSums(0, 0, 0, 0)))
                hint = RowName("--by section,symbol --filter unattributed", short="see --filter")
                yield GridRow(blank, hint, "dim")
        if report.left_out is not None:
            yield self._row(report.left_out, RowName("left out by the filter"), 0)
        all_ = "100.0%" if self.whole else ""
        none = ByteSums(0, 0, 0, 0)
        cells = self._cells(f"{self.whole:,}", size_text(self.whole), all_, "", "", none)
        if self.has_shares:
            cells[-2:] = ["", ""]
        yield GridRow(cells, RowName("= sum of rows"), "bold")

    def _words(self, rows: list[GridRow]) -> list[str]:
        """List the words in the table that a new reader does not know."""
        names = [row.name.text for row in rows]
        words = [self.metric]
        # Rust has a crate of that name.
        is_of_runtime = not {"operator", "component"}.isdisjoint(self.report.by)
        has_core = any(name in ("core", "(core)") or "core " in name for name in names)
        words += ["core"] if is_of_runtime and has_core else []
        words += ["neutral"] if "neutral" in names else []
        words += ["exclusive", "shared"] if self.has_shares else []
        words += ["dtype"] if self.has_shares and "dtype" in self.report.by else []
        words += ["n"]
        words += ["–"] if NOTHING in names or any(NOTHING in row.cells for row in rows) else []
        return words

    def _size(self, sums: ByteSums) -> int:
        return {"load": sums.load, "file": sums.file, "ram": sums.ram}[self.metric]

    def _cells(
        self, size: str, kibs: str, part: str, drawn: str, total: str, sums: ByteSums
    ) -> list[str]:
        count = f"{sums.count:,}" if sums.count else ""
        drawn = "" if self.style.full else drawn.rstrip()
        cells = [size, kibs, part, drawn, total, count]
        if self.has_shares:
            cells += [_number(sums.exclusive), _number(sums.shared)]
        return cells

    def _row(self, sums: ByteSums, name: RowName, depth: int) -> GridRow:
        size = self._size(sums)
        if depth:
            cells = self._cells(f"{size:,}", "", "", "", "", sums)
            return GridRow(cells, name, "dim" if depth > 1 else "")
        self.running += size
        cells = self._cells(
            f"{size:,}",
            size_text(size),
            share(size, self.whole),
            bar(size, self.largest),
            share(self.running, self.whole),
            sums,
        )
        return GridRow(cells, name)

    def _name(self, level: str, text: str, depth: int, suffix: str = "") -> RowName:
        is_symbol = level == "symbol"
        name = printable(demangle(text) if is_symbol else text) if text else NOTHING
        return RowName(name, 2 * depth, suffix, is_symbol)

    def _group(self, group: RowGroup, depth: int = 0) -> Iterator[GridRow]:
        name = self._name(group.level, group.text, depth, aliases_of(group))
        yield self._row(group.sums, name, depth)
        yield from self._children(group, depth + 1)

    def _children(self, group: RowGroup, depth: int) -> Iterator[GridRow]:
        for child in group.children:
            yield from self._group(child, depth)
        if group.rest is not None:
            name = _rest_name(f"{group.rest.groups:,} more", group.rest, depth)
            yield self._row(group.rest.sums, name, depth)

    def _others(self, others: tuple[RowGroup, ...]) -> Iterator[GridRow]:
        """Write the rows that are not operators."""
        if not others:
            return
        sums = ByteSums(
            *(
                sum(getattr(group.sums, name) for group in others)
                for name in ("file", "load", "ram", "count")
            )
        )
        yield self._row(sums, RowName("not an operator"), 0)
        for group in others:
            name = group.text.strip("()") or "without a name"
            yield self._row(group.sums, self._name("operator", name, 1), 1)
            yield from self._children(group, 2)


def region_share(region: RegionUse) -> tuple[str, str]:
    """Write the size of a region and its used share; nothing for a region without an end."""
    if not region.length:
        return "", ""
    return f"{region.length:,}", share(region.used, region.length)


def _region_lines(regions: Iterable[RegionUse], style: Style) -> Iterator[str]:
    columns = [Column("used"), *map(Column, ("of", "share", "stored", "runs"))]
    rows = [
        GridRow(
            [f"{each.used:,}", *region_share(each), f"{each.stored:,}", f"{each.run:,}"],
            RowName(printable(each.name)),
        )
        for each in regions
    ]
    yield from grid_lines(columns, "memory region", rows, style)


def smaller_text(rest: Rest, level: str) -> str:
    """Count the rows that are not shown: 3 smaller directories."""
    many = "directories" if level == "directory" else f"{level}s"
    return f"{rest.groups:,} smaller {level if rest.groups == 1 else many}"


def _rest_name(what: str, rest: Rest, depth: int) -> RowName:
    return RowName(rest_text(what, rest), 2 * depth, short=what)


def _number(value: int | None) -> str:
    return NOTHING if value is None else f"{value:,}"
