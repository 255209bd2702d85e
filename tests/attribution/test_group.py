"""Test rows of a report: bytes count once, equal strings share a row, filters keep the sums."""

from __future__ import annotations

import csv
import io
import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.attribution.group import group
from sizeguard.attribution.levels import SORTS
from sizeguard.attribution.size_report import Report
from sizeguard.base.errors import InputError
from sizeguard.columns.text_hash import hash_texts
from sizeguard.columns.texts import Texts
from sizeguard.report.sizes.render import report_chunks
from sizeguard.report.writers.style import Style
from sizeguard.report.writers.table import csv_cell
from tests.support.drawn import LEVELS
from tests.support.images.made_up import MadeUp, Part, parts, table

pytestmark = pytest.mark.native


def text_of(report: Report, format_: str, limit: int = 0, style: Style | None = None) -> str:
    return "".join(report_chunks(report, format_, limit, style))


@given(parts(), LEVELS, st.booleans(), st.sampled_from(SORTS))
def test_rows_are_the_sums_of_their_parts(
    made: list[Part], by: list[str], doubled: bool, sort: str
) -> None:
    analysis = MadeUp(made, doubled=doubled)
    report = group(analysis, by, sort=sort)
    rows = {row.keys: [row.file, row.load, row.ram, row.count] for row in report.rows}
    assert len(rows) == len(report)
    assert rows == table(analysis, by)


@given(parts(), LEVELS, st.sampled_from(SORTS))
def test_rows_do_not_depend_on_the_order_of_the_parts(
    made: list[Part], by: list[str], sort: str
) -> None:
    assert (
        group(MadeUp(made), by, sort=sort).rows
        == group(MadeUp(made[::-1], doubled=True), by, sort=sort).rows
    )


@pytest.mark.parametrize("sort", ["load", "file", "ram", "count"])
@given(parts())
def test_rows_are_sorted(sort: str, made: list[Part]) -> None:
    column = getattr(group(MadeUp(made), ["symbol"], sort=sort), sort)
    assert (np.diff(column) <= 0).all()


@given(
    parts(),
    st.sampled_from(
        [
            "operator=aten::",
            "symbol=/^[fg]$/",
            "kind!=code",
            "object=?.o",
            "symbol=*add*",
            "unattributed",
        ]
    ),
)
def test_what_a_filter_leaves_out_is_stated(made: list[Part], text: str) -> None:
    analysis = MadeUp(made)
    report = group(analysis, ["operator", "symbol"], [text])
    tests = {
        "operator=aten::": lambda v: "aten::" in v["operator"],
        "symbol=/^[fg]$/": lambda v: v["symbol"] in ("f", "g"),
        "kind!=code": lambda v: "code" not in v["kind"],
        "object=?.o": lambda v: re.fullmatch(r"..o", v["object"]),
        "symbol=*add*": lambda v: "add" in v["symbol"],
        "unattributed": lambda v: v["operator"] == "unattributed",
    }
    kept = [part for part in made if tests[text](part.values)]
    assert int(report.load.sum()) == sum(part.load for part in kept)
    assert report.left_out is not None
    for name in ("file", "load", "ram"):
        assert int(getattr(report, name).sum()) + getattr(report.left_out, name) == getattr(
            report.image, name
        )


def test_a_symbol_is_filtered_as_it_is_shown() -> None:
    made = [Part({"symbol": "_ZN2sg7kernels3addERNS_7ContextE"}, 5), Part({"symbol": "add"}, 7)]
    assert group(MadeUp(made), ["symbol"], ["symbol=kernels::add("]).load.tolist() == [5]


@pytest.mark.parametrize("text", ["", "add", "opertor=add", "operator", "symbol=/(/", "=x"])
def test_what_is_no_filter_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^--filter "):
        group(MadeUp([]), ["symbol"], [text])


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ([], "no level"),
        (["opertor"], "unknown level 'opertor'; did you mean 'operator'"),
        (["kind", "kind"], "twice"),
    ],
)
def test_what_are_no_levels_is_refused(by: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        group(MadeUp([]), by)
    with pytest.raises(InputError, match="unknown order"):
        group(MadeUp([]), ["kind"], sort="size")


@given(st.lists(st.binary(max_size=40), max_size=30), st.binary(max_size=9))
def test_equal_texts_have_equal_hashes_and_others_others(texts: list[bytes], before: bytes) -> None:
    made = Texts.of([before, *texts, *texts[::-1]]).take(np.arange(1, 1 + 2 * len(texts)))
    hashes = hash_texts(made)
    assert (hashes[: len(texts)] == hashes[len(texts) :][::-1]).all()
    assert len(set(hashes.tolist())) == len(set(texts))


def test_hashes_of_near_texts_differ() -> None:
    texts = [b"x" * i for i in range(300)] + [
        b"x" * i + b"y" + b"x" * (200 - i) for i in range(200)
    ]
    texts += [bytes([i, j]) for i in range(256) for j in range(256)]
    swapped = [bytes(a) + bytes(b) for a, b in [(range(8), range(8, 16)), (range(8, 16), range(8))]]
    assert len(set(hash_texts(Texts.of(texts + swapped)).tolist())) == len({*texts, *swapped})


@given(parts(), LEVELS, st.integers(0, 3))
def test_every_format_states_the_same_sum(made: list[Part], by: list[str], limit: int) -> None:
    analysis = MadeUp(made)
    report = group(analysis, by)
    content = json.loads(text_of(report, "json"))
    rows = [tuple(str(row[key]) for key in row) for row in content["rows"]]
    assert (
        sum(row["load"] for row in content["rows"])
        == content["totals"]["load"]
        == analysis.image.load
    )
    read = list(csv.reader(io.StringIO(text_of(report, "csv"), newline="")))
    assert read[0] == [*by, "file", "load", "ram", "count"]
    harmless = [tuple(map(csv_cell, row[: len(by)])) + row[len(by) :] for row in rows]
    assert [tuple(row) for row in read[1:]] == harmless
    text, _, legend = text_of(report, "terminal", limit).partition("= sum of rows\n")
    assert legend.startswith("\nload: ")
    lines = text.splitlines()
    assert lines[-1].split()[0] == f"{analysis.image.load:,}"
    outer = [line for line in lines[3:-1] if "%" in line]  # inner rows have no percentage
    assert sum(int(line.split()[0].replace(",", "")) for line in outer) == analysis.image.load
    assert max(map(len, lines)) <= 120
    cells = [
        line.split("|")
        for line in text_of(report, "markdown", limit).splitlines()
        if line.startswith("| ") and "&emsp;" not in line
    ]
    numbers = [int(row[1].strip(" *").replace(",", "")) for row in cells[1:]]
    assert sum(numbers[:-1]) == numbers[-1] == analysis.image.load


def test_names_cannot_steer_the_terminal_or_leave_a_table() -> None:
    hostile = "a\x1b[31m|b`c\n\u202e</script>"
    report = group(MadeUp([Part({"symbol": hostile}, 5, 5)], title=hostile), ["symbol"])
    terminal = text_of(report, "terminal")
    assert "\x1b" not in terminal
    assert "\u202e" not in terminal
    assert len(terminal.partition("= sum of rows\n")[0].splitlines()) == 5
    rows = text_of(report, "markdown").splitlines()[4:]
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 6 for row in rows)
    assert json.loads(text_of(report, "json"))["rows"][0]["symbol"] == hostile
    assert (
        next(csv.reader(io.StringIO(text_of(report, "csv").partition("\r\n")[2], newline="")))[0]
        == "a\\x1b[31m|b`c\\n\\u202e</script>"
    )


def test_ascii_and_colour() -> None:
    made = [Part({"symbol": "é" * 200}, 50, 60, count=2), Part({"symbol": "f"}, 30, 60)]
    report = group(MadeUp(made), ["symbol"])
    assert text_of(report, "terminal", 1, Style(ascii=True)).isascii()
    assert "\x1b[" in text_of(report, "terminal", 1, Style(colour=True))
    plain = re.sub(r"\x1b\[\d*m", "", text_of(report, "terminal", 1, Style(colour=True)))
    assert [line.rstrip() for line in plain.splitlines()] == text_of(
        report, "terminal", 1
    ).splitlines()
