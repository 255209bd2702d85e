"""Write a report for a terminal: the image, the largest rows, the others in one row, the sum."""

from __future__ import annotations

from collections.abc import Iterator

from sizeguard.attribution.size_report import ByteSums, Report
from sizeguard.ledger.ledger import ImageInfo
from sizeguard.report.sizes.size_tree import (
    Rest,
    RowGroup,
    SizeTree,
    aliases_of,
    metric_of,
    tree_of,
)
from sizeguard.report.writers.printable import printable, shown
from sizeguard.report.writers.style import BAR, KIB, Style, bar, kib, share


def report_lines(report: Report, limit: int, style: Style) -> Iterator[str]:
    """Write the lines of the report.

    limit: rows of the first level, 0 for all
    """
    for line in _Table(report, style).lines(tree_of(report, limit)):
        yield style.finish(line)


def head_line(image: ImageInfo, style: Style) -> str:
    """Write the first line: what was measured, and its sizes.

    vision  x86_64-linux  gcc 12.2 -Os  id 8f3c2d10        load 41,204   ram 1,312   file 41,984
    """
    title = printable(image.title)
    arch = "" if image.arch in title else f"  {printable(image.arch)}"
    left = f"{title}{arch}  id {image.id[:8] or 'none'}"
    right = f"load {image.load:,}   ram {image.ram:,}   file {image.file:,}"
    return f"{style.bold(left)}{' ' * max(style.width - len(left) - len(right), 2)}{right}"


class _Table:
    """The table of a report, with the widths of its columns."""

    def __init__(self, report: Report, style: Style) -> None:
        self.report = report
        self.style = style
        self.metric = metric_of(report)
        image = report.image
        self.whole: int = {"load": image.load, "file": image.file, "ram": image.ram}[self.metric]
        self.has_shares = report.exclusive is not None
        self.running = 0
        # Wide enough for the sum, so that no two numbers touch.
        self.size_width = max(12, len(f"{self.whole:,}") + 2)
        self.count_width = max(9, len(f"{int(report.count.sum()):,}") + 2)
        numbers = self.size_width + KIB + 7 + 1 + BAR + 7 + self.count_width + 2
        self.name_width = max(style.width - numbers - (24 if self.has_shares else 0), 16)

    def lines(self, tree: SizeTree) -> Iterator[str]:
        report, style = self.report, self.style
        yield head_line(report.image, style)
        if report.rules is not None:
            rules = f"rules: {report.rules}" if report.rules else "rules: none fits these names"
            yield style.dim(rules)
        if report.filters:
            yield style.dim(f"only rows with {' and '.join(map(printable, report.filters))}")
        yield ""
        shares = f"{'exclusive':>12}{'shared':>12}" if self.has_shares else ""
        numbers = (
            f"{self.metric:>{self.size_width}}{'':>{KIB}}{'share':>7}"
            f" {'':<{BAR}}{'total':>7}{'n':>{self.count_width}}"
        )
        head = f"{numbers}  {' / '.join(report.by):<{self.name_width}}{shares}"
        yield style.dim(head)
        for group in tree.top:
            yield from self._group(group)
        if tree.rest is not None:
            yield self._rest(tree.rest, self._count(tree.rest, report.by[0]), 0)
        yield from self._others(tree.others)
        if tree.unattributed is not None:
            yield self._row(tree.unattributed.sums, "unattributed", 0)
            if "unattributed" not in report.filters:
                yield style.dim(
                    f"{'':>{style.width - self.name_width}}  --by section,symbol --filter"
                    " unattributed"
                )
        if report.left_out is not None:
            yield self._row(report.left_out, "left out by the filter", 0)
        total = ByteSums(report.image.file, report.image.load, report.image.ram, 0)
        size, all_ = self._size(total), "100.0%" if self.whole else ""
        yield style.bold(
            f"{size:>{self.size_width},}{kib(size):>{KIB}}{all_:>7}"
            f" {'':<{BAR + 7 + self.count_width}}  = sum of rows"
        )

    def _size(self, sums: ByteSums) -> int:
        return {"load": sums.load, "file": sums.file, "ram": sums.ram}[self.metric]

    def _row(self, sums: ByteSums, name: str, depth: int) -> str:
        size = self._size(sums)
        count = f"{sums.count:,}" if sums.count else ""
        shares = (
            f"{_number(sums.exclusive):>12}{_number(sums.shared):>12}" if self.has_shares else ""
        )
        if depth:
            space = " " * (KIB + 7 + 1 + BAR + 7)
            numbers = f"{size:>{self.size_width},}{space}{count:>{self.count_width}}"
            line = f"{numbers}  {'  ' * depth}{name:<{self.name_width - 2 * depth}}{shares}"
            return self.style.dim(line) if depth > 1 else line
        self.running += size
        percent = (
            f"{share(size, self.whole):>7}"
            f" {bar(size, self.whole)}{share(self.running, self.whole):>7}"
        )
        return (
            f"{size:>{self.size_width},}{kib(size):>{KIB}}{percent}{count:>{self.count_width}} "
            f" {name:<{self.name_width}}{shares}"
        )

    def _rest(self, rest: Rest, what: str, depth: int) -> str:
        return self._row(rest.sums, f"{what}, at most {rest.largest:,} each", depth)

    @staticmethod
    def _count(rest: Rest, level: str) -> str:
        return (
            f"{rest.groups:,} smaller"
            f" {level}{'' if rest.groups == 1 or level == 'analyzer' else 's'}"
        )

    def _group(self, group: RowGroup, depth: int = 0) -> Iterator[str]:
        aliases = aliases_of(self.report, group)
        width = self.name_width - 2 * depth - len(aliases)
        yield self._row(group.sums, shown(group.level, group.text, width) + aliases, depth)
        yield from self._children(group, depth + 1)

    def _children(self, group: RowGroup, depth: int) -> Iterator[str]:
        for child in group.children:
            yield from self._group(child, depth)
        if group.rest is not None:
            yield self._rest(group.rest, f"{group.rest.groups:,} more", depth)

    def _others(self, others: tuple[RowGroup, ...]) -> Iterator[str]:
        """Write rows that are not operators, on one line if it fits.

        not an operator: core 17,143 · shared helpers 4,250
        """
        if not others:
            return
        sizes = [self._size(group.sums) for group in others]
        names = [group.text.strip("()") or "without a name" for group in others]
        text = "not an operator: " + " · ".join(
            f"{printable(name)} {size:,}" for name, size in zip(names, sizes, strict=True) if size
        )
        fits = len(text) <= self.name_width and not any(group.children for group in others)
        sums = ByteSums(
            *(
                sum(getattr(group.sums, name) for group in others)
                for name in ("file", "load", "ram", "count")
            )
        )
        yield self._row(sums, text if fits else "not an operator", 0)
        if not fits:
            for name, group in zip(names, others, strict=True):
                yield self._row(group.sums, shown("operator", name, self.name_width - 2), 1)
                yield from self._children(group, 2)


def _number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
