"""Write a prediction in any format: terminal, json, csv, markdown, html."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from sizeguard.predict.prediction import PredictedSaving, Prediction
from sizeguard.report.screen.fit import screen_lines
from sizeguard.report.screen.grid import Column, GridRow, RowName, grid_lines
from sizeguard.report.writers.printable import printable
from sizeguard.report.writers.style import Style
from sizeguard.report.writers.table import csv_rows, markdown_cell

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
        yield from csv_rows(_COLUMNS, _csv(prediction))
    elif format_ == "markdown":
        yield "".join(f"{line}\n" for line in _markdown(prediction, limit))
    elif format_ == "html":
        # Imported here: it takes 0.04 s, and no other format needs it.
        from sizeguard.report.writers.markdown_page import markdown_page

        text = "".join(f"{line}\n" for line in _markdown(prediction, 0))
        yield from markdown_page(f"Predicted size of {prediction.selection}", text, _WORDS)
    else:
        lines = screen_lines(_terminal(prediction, limit, style), style)
        yield "".join(f"{line}\n" for line in lines)


_WORDS = ("load", "ram", "exclusive", "shared", "saving", "dtype")
_COLUMNS = ["operator", "exclusive", "shared", "tag", "dtype", "saving", "low", "high", "feature"]


def _csv(prediction: Prediction) -> Iterator[tuple[str, ...]]:
    """Yield a row for each operator, dtype branch and feature; an unknown saving is empty."""
    for row in prediction.per_operator:
        sizes = str(row.exclusive), str(row.shared)
        yield row.operator, *sizes, "", "", *_numbers(row.saving), ""
    for branch in prediction.per_dtype:
        yield "", "", "", branch.tag, branch.dtype, *_numbers(branch.saving), ""
    for feature in prediction.per_feature:
        yield "", "", "", "", "", *_numbers(feature.price), feature.feature


def _numbers(saving: PredictedSaving | None) -> tuple[str, str, str]:
    if saving is None:
        return "", "", ""
    return str(saving.bytes), str(saving.low), str(saving.high)


def _saving_cells(saving: PredictedSaving | None) -> tuple[str, str]:
    """Write a saving and its interval; there is no number without one."""
    if saving is None:
        return "unknown", ""
    return f"{saving.bytes:,}", f"{saving.low:,} … {saving.high:,}"


def _headline(prediction: Prediction, selection: str) -> str:
    """Sum up the prediction. selection: its name, as the format shows names."""
    margin = f" ± {prediction.margin:,}" if prediction.margin else ""
    before = f"{prediction.before:,} → " if prediction.changes else ""
    return f"{selection}  load {before}{prediction.load:,}{margin}   ram {prediction.ram:,}"


_WIDE = "   (a margin wider than for gcc -Os, for which the model is calibrated)"
NOTE = "prediction from the full build's section graph; nothing was compiled"


def _terminal(prediction: Prediction, limit: int, style: Style) -> Iterator[str]:
    name = printable(prediction.selection)
    yield f"{style.bold(_headline(prediction, name))}   ({NOTE})"
    if prediction.margin and not prediction.is_calibrated:
        yield _WIDE
    for change in prediction.changes:
        new = f"   {', '.join(map(printable, change.new))}" if change.new else ""
        yield f"  {printable(change.what):40} {change.delta:>+9,}{new}"
    for names, columns, rows in _tables(prediction, limit):
        yield ""
        yield from grid_lines(columns, names, rows, style)
    if prediction.per_dtype and prediction.handler:
        yield f"  {_handler_note(prediction)}"
    yield from (f"  {printable(reason)}" for reason in prediction.unknown)


_SAVING = (Column("saving"), Column("interval", drop=1))
_PRICE = (Column("price"), Column("interval", drop=1))
_Table = tuple[str, Sequence[Column], list[GridRow]]  # the head of the names, columns, rows


def _tables(prediction: Prediction, limit: int) -> Iterator[_Table]:
    """Yield each table that has rows."""
    if prediction.per_model:
        yield (
            "without the model",
            (Column("frees"), Column("own operators", drop=1)),
            [
                _row(model.model, f"{model.marginal:,}", f"{len(model.operators):,}")
                for model in prediction.per_model
            ],
        )
    yield _operator_table(prediction, limit)
    if prediction.per_dtype:
        yield _dtype_table(prediction, limit)
    if prediction.per_feature:
        yield (
            "build feature",
            _PRICE,
            [
                _row(
                    f"{row.feature}, {_KEPT if row.is_kept else _LEFT_OUT}",
                    *_saving_cells(row.price),
                )
                for row in prediction.per_feature
            ],
        )


def _operator_table(prediction: Prediction, limit: int) -> _Table:
    rows = [
        _row(row.operator, f"{row.exclusive:,}", f"{row.shared:,}", *_saving_cells(row.saving))
        for row in prediction.per_operator[: limit or None]
    ]
    rest = prediction.per_operator[len(rows) :]
    if rest:
        left = f"{sum(row.exclusive for row in rest):,}"
        rows.append(_row(f"{len(rest):,} more operators", left, "", "", ""))
    return "operator", (Column("exclusive"), Column("shared", drop=2), *_SAVING), rows


def _dtype_table(prediction: Prediction, limit: int) -> _Table:
    rows = [
        _row(f"{row.tag}:{row.dtype}", *_saving_cells(row.saving))
        for row in prediction.per_dtype[: limit or None]
    ]
    more = len(prediction.per_dtype) - len(rows)
    if more:
        rows.append(_row(f"{more:,} more dtype branches", "", ""))
    return "dtype branch", _SAVING, rows


def _row(name: str, *cells: str) -> GridRow:
    return GridRow(cells, RowName(printable(name)))


_KEPT, _LEFT_OUT = "kept", "left out"


def _handler_note(prediction: Prediction) -> str:
    return (
        f"each saving of a dtype is {prediction.handler:,} smaller: the first deselected dtype "
        f"adds the handler of deselected dtypes"
    )


def _markdown(prediction: Prediction, limit: int) -> Iterator[str]:
    yield f"{_headline(prediction, markdown_cell(prediction.selection))} ({NOTE})"
    yield from _markdown_changes(prediction)
    yield "| operator | exclusive | shared | saving | interval |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for row in prediction.per_operator[: limit or None]:
        yield (
            f"| {markdown_cell(row.operator)} | {row.exclusive:,} | {row.shared:,} |"
            f" {_cells(row.saving)} |"
        )
    rest = prediction.per_operator[limit:] if limit else ()
    if rest:
        left = sum(row.exclusive for row in rest)
        yield f"| {len(rest):,} more operators | {left:,} | | | |"
    if prediction.per_dtype:
        yield ""
        yield "| dtype branch | saving | interval |"
        yield "| --- | ---: | ---: |"
        for branch in prediction.per_dtype[: limit or None]:
            yield f"| {markdown_cell(f'{branch.tag}:{branch.dtype}')} | {_cells(branch.saving)} |"
        if limit and len(prediction.per_dtype) > limit:
            yield f"| {len(prediction.per_dtype) - limit:,} more dtype branches | | |"
        if prediction.handler:
            yield ""
            yield _handler_note(prediction)
    if prediction.per_feature:
        yield ""
        yield "| build feature | | price | interval |"
        yield "| --- | --- | ---: | ---: |"
        for feature in prediction.per_feature:
            state = _KEPT if feature.is_kept else _LEFT_OUT
            yield f"| {markdown_cell(feature.feature)} | {state} | {_cells(feature.price)} |"
    for reason in prediction.unknown:
        yield ""
        yield markdown_cell(reason)


def _markdown_changes(prediction: Prediction) -> Iterator[str]:
    """Write what --add and --drop change, and what each model costs."""
    if prediction.margin and not prediction.is_calibrated:
        yield _WIDE.strip()
    yield ""
    if prediction.changes:
        yield "| change | load | new |"
        yield "| --- | ---: | --- |"
        for change in prediction.changes:
            new = ", ".join(map(markdown_cell, change.new))
            yield f"| {markdown_cell(change.what)} | {change.delta:+,} | {new} |"
        yield ""
    if prediction.per_model:
        yield "| without the model | frees | operators that only it uses |"
        yield "| --- | ---: | ---: |"
        for model in prediction.per_model:
            yield f"| {markdown_cell(model.model)} | {model.marginal:,} | {len(model.operators)} |"
        yield ""


def _cells(saving: PredictedSaving | None) -> str:
    if saving is None:
        return "unknown |"
    return f"{saving.bytes:,} | {saving.low:,} … {saving.high:,}"
