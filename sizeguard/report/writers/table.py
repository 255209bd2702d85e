"""Write rows of text as a table for the terminal, in Markdown or in CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from sizeguard.report.writers.markdown import prose
from sizeguard.report.writers.markdown import row as markdown_row
from sizeguard.report.writers.printable import inert, plain_text, printable


def format_table(columns: Sequence[str], rows: Sequence[Sequence[str]], format_: str) -> str:
    """Write the table, without a final newline.

    format_: terminal, markdown or csv
    """
    if format_ == "csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(
            [columns, *(map(csv_cell, row) for row in rows)]
        )
        return text.getvalue().rstrip("\n")
    if format_ == "markdown":
        cells = ([prose(cell) if cell else "" for cell in row] for row in rows)
        return "\n".join(map(markdown_row, [columns, ["---"] * len(columns), *cells]))
    shown = [columns, *([printable(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in shown
    )
    return plain_text(lines)


def csv_cell(text: str) -> str:
    """Write a text in one line that neither a spreadsheet nor a CI runner executes.

    Text that looks like a formula gets an apostrophe before it.
    """
    shown = inert(printable(text))
    return f"'{shown}" if shown[:1] in ("=", "+", "-", "@") and shown else shown
