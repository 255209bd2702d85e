"""Print a table of recorded cases, operator × dtype × passed, after a test run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from _pytest.terminal import TerminalReporter

# Names of the recorded properties, which also reach the summary from parallel workers.
TABLE = "operator_table"  # [operator, {dtype: [passed, cases]}]
ACCEPTS_MORE = "accepts_more"  # [operator, [what PyTorch refuses and we do not]]

COLUMNS = (
    "Byte", "Char", "Short", "Int", "Long", "Half", "BFloat16", "Float", "Double", "Bool", "number",
)  # fmt: skip


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    rows = dict(recorded(terminalreporter, TABLE))
    if rows:
        terminalreporter.section(
            "operator × dtype: cases equal to PyTorch's, of all (· no such case)"
        )
        for line in table(rows):
            terminalreporter.write_line(line)
    more = {name: items for name, items in recorded(terminalreporter, ACCEPTS_MORE) if items}
    if more:
        terminalreporter.section("accepted here, refused by PyTorch")
        for name, items in sorted(more.items()):
            terminalreporter.write_line(f"{name}: {len(items)}, such as {items[0]}")


def recorded(reporter: TerminalReporter, key: str) -> Iterator[Any]:
    """Return the values of a property in the reports of all tests."""
    for reports in reporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == key and getattr(report, "when", "") == "call":
                    yield value


def table(rows: dict[str, dict[str, list[int]]]) -> list[str]:
    """Return the lines of the table: operators by name, and a sum at the end."""
    width = max(map(len, rows))
    lines = [" " * width + "".join(f"{column:>10}" for column in COLUMNS)]
    for name in sorted(rows):
        lines.append(
            f"{name:<{width}}"
            + "".join(f"{cell(rows[name].get(column)):>10}" for column in COLUMNS)
        )
    sums = {
        column: [sum(row[column][i] for row in rows.values() if column in row) for i in (0, 1)]
        for column in COLUMNS
    }
    lines.append(f"{'all':<{width}}" + "".join(f"{cell(sums[column]):>10}" for column in COLUMNS))
    return lines


def cell(counts: list[int] | None) -> str:
    if not counts or not counts[1]:
        return "·"
    passed, total = counts
    return str(total) if passed == total else f"{passed}/{total}"
