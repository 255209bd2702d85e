"""Write rows of text as a table for the terminal, in Markdown or in CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from sizeguard.report.screen.cells import cells, padded
from sizeguard.report.writers.printable import inert, plain_text, printable
from sizeguard.report.writers.style import NONE

_PIECE = 10_000  # rows
_GAP = "  "
_LEAST = 8  # characters of a column that is shortened
_NUMBER = re.compile(r"[+-]?\d+")
# Characters that csv_cell changes, besides unprintable ones.
_RISKY = ("=", "+", "-", "@", "::", "#")


def format_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    format_: str,
    width: int | None = None,
    right: Collection[int] = (),
) -> str:
    """Write the table, without a final newline.

    format_: terminal, markdown or csv
    width:   the terminal's width, to which the widest names are shortened; None for whole names
    right:   numbers of the columns that are aligned at the right
    """
    if format_ == "csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(
            [columns, *(map(_harmless, row) for row in rows)]
        )
        return text.getvalue().rstrip("\n")
    if format_ == "markdown":
        from sizeguard.report.writers.markdown import prose  # 5 ms
        from sizeguard.report.writers.markdown import row as markdown_row

        texts = ([prose(cell) if cell else "" for cell in row] for row in rows)
        return "\n".join(map(markdown_row, [columns, ["---"] * len(columns), *texts]))
    shown = [[*columns], *([printable(cell) for cell in row] for row in rows)]
    if width is not None:
        _shorten(shown, width)
    widths = [max(map(cells, column)) for column in zip(*shown, strict=True)]
    lines = (
        _GAP.join(
            padded(cell, most, right=i in right)
            for i, (cell, most) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in shown
    )
    return plain_text(lines)


def _shorten(rows: list[list[str]], width: int) -> None:
    """Shorten the cells of the widest columns until a row has at most `width` cells.

    Different cells of a column stay different. Columns are not narrowed below 8 characters.
    """
    # Imported on call: only terminals need it.
    from sizeguard.report.screen.grid import RowName, distinct

    for _ in rows[0]:
        widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
        excess = sum(widths) + len(_GAP) * (len(widths) - 1) - width
        widest = widths.index(max(widths))
        room = max(widths[widest] - excess, _LEAST)
        if excess <= 0 or room >= widths[widest]:
            return
        texts = distinct([RowName(row[widest]) for row in rows], room)
        for row, text in zip(rows, texts, strict=True):
            row[widest] = text


def csv_cell(text: str) -> str:
    """Write a text in one line that neither a spreadsheet nor a CI runner executes.

    Text that looks like a formula gets an apostrophe before it.
    """
    shown = inert(printable(text))
    return f"'{shown}" if shown[:1] in ("=", "+", "-", "@") and shown else shown


def csv_rows(head: list[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """Write CSV by RFC 4180: CRLF, quotes where needed; names are made harmless."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(head)
    for number, row in enumerate(rows):
        writer.writerow([_harmless(cell) if type(cell) is str else cell for cell in row])
        if number % _PIECE == 0:
            yield out.getvalue()
            out.seek(0)
            out.truncate()
    yield out.getvalue()


def _harmless(text: str) -> str:
    """Write a name as csv_cell does; numbers and ordinary names stay unchanged."""
    if text.isprintable() and not text.lstrip().startswith(_RISKY) and "##[" not in text:
        return text
    return text if _NUMBER.fullmatch(text) else csv_cell(text)


def markdown_cell(text: str) -> str:
    """Write a name as code; the sign for an empty value stays."""
    from sizeguard.report.writers.markdown import code  # 5 ms

    return text if text == NONE else code(text)
