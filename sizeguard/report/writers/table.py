"""Write rows of text as a table for the terminal, in Markdown or in CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from sizeguard.report.writers.markdown import prose
from sizeguard.report.writers.markdown import row as markdown_row


def format_table(columns: Sequence[str], rows: Sequence[Sequence[str]], format_: str) -> str:
    """Write the table, without a newline at its end.

    format_: terminal, markdown or csv
    """
    if format_ == "csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([columns, *rows])
        return text.getvalue().rstrip("\n")
    if format_ == "markdown":
        cells = ([prose(cell) if cell else "" for cell in row] for row in rows)
        return "\n".join(map(markdown_row, [columns, ["---"] * len(columns), *cells]))
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    lines = [
        [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        for row in (columns, *rows)
    ]
    return "\n".join("  ".join(line).rstrip() for line in lines)
