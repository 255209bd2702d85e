"""Write a prediction in any format: terminal, json, csv, markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from sizeguard.predict.prediction import Prediction
from sizeguard.report.writers.printable import printable
from sizeguard.report.writers.size_rows import csv_rows, markdown_cell
from sizeguard.report.writers.style import Style

SCHEMA_VERSION = 1


def prediction_chunks(
    prediction: Prediction, format_: str, limit: int, style: Style
) -> Iterator[str]:
    """Write the prediction in pieces that end with a line.

    limit: operators shown by terminal and markdown, 0 for all
    """
    if format_ == "json":
        yield json.dumps({"schema_version": SCHEMA_VERSION, **asdict(prediction)}, indent=2) + "\n"
    elif format_ == "csv":
        rows = [
            (row.operator, str(row.exclusive), str(row.shared)) for row in prediction.per_operator
        ]
        yield from csv_rows(["operator", "exclusive", "shared"], rows)
    elif format_ == "markdown":
        yield "".join(f"{line}\n" for line in _markdown(prediction, limit))
    else:
        yield "".join(f"{style.finish(line)}\n" for line in _terminal(prediction, limit, style))


def _headline(prediction: Prediction) -> str:
    margin = f" ± {prediction.margin:,}" if prediction.margin else ""
    before = f"{prediction.before:,} → " if prediction.changes else ""
    return (
        f"{printable(prediction.selection)}  load {before}{prediction.load:,}{margin}   ram"
        f" {prediction.ram:,}"
    )


_WIDE = "   (a margin wider than for gcc -Os, for which the model is calibrated)"
NOTE = "prediction from the full build's section graph; nothing was compiled"


def _terminal(prediction: Prediction, limit: int, style: Style) -> Iterator[str]:
    yield f"{style.bold(_headline(prediction))}   ({NOTE})"
    if prediction.margin and not prediction.is_calibrated:
        yield _WIDE
    for change in prediction.changes:
        new = f"   {', '.join(change.new)}" if change.new else ""
        yield f"  {change.what:40} {change.delta:>+9,}{new}"
    if prediction.per_model:
        yield ""
        yield f"  {'without the model':40} {'frees':>9}"
        for model in prediction.per_model:
            yield (
                f"  {printable(model.model):40} {model.marginal:>9,}   {len(model.operators)}"
                " operators that only it uses"
            )
    yield ""
    yield f"  {'operator':52} {'exclusive':>9} {'shared':>9}"
    shown = prediction.per_operator[: limit or None]
    for row in shown:
        yield f"  {printable(row.operator):52} {row.exclusive:>9,} {row.shared:>9,}"
    if len(shown) < len(prediction.per_operator):
        rest = prediction.per_operator[len(shown) :]
        yield f"  {f'{len(rest)} more operators':52} {sum(row.exclusive for row in rest):>9,}"


def _markdown(prediction: Prediction, limit: int) -> Iterator[str]:
    yield f"{_headline(prediction)} ({NOTE})"
    yield ""
    yield "| operator | exclusive | shared |"
    yield "| --- | ---: | ---: |"
    for row in prediction.per_operator[: limit or None]:
        yield f"| {markdown_cell(row.operator)} | {row.exclusive:,} | {row.shared:,} |"
