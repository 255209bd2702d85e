"""Wide characters take two cells of a terminal; tables and broken lines count cells."""

from __future__ import annotations

import re

import pytest

from sizeguard.cli.lazy_group import LEAST_WIDTH
from sizeguard.report.gate.render import gate_text
from sizeguard.report.screen.cells import cells, first_cells, fitting, last_cells, padded
from sizeguard.report.screen.fit import fit, wrapped
from sizeguard.report.screen.grid import Column, GridRow, RowName, distinct, grid_lines
from sizeguard.report.writers.printable import inert, middle, shown
from sizeguard.report.writers.style import Style
from sizeguard.report.writers.table import format_table
from tests.support.results.gate_samples import SAMPLES

LONG = "名前の長い関数" * 8
NAMES = (LONG, LONG[:-1] + "終", "plain::name", "e\u0301" * 50, "😀" * 30, "中文<テスト>::函数")


def test_cells_of_texts() -> None:
    assert [cells(text) for text in ("", "ab", "名前", "e\u0301", "😀", "█", "…")] == [
        *(0, 2, 4, 1, 2, 1, 1)
    ]
    assert (fitting("名前x", 3), fitting("名前x", 9), fitting("abc", -1)) == (1, 3, 0)
    assert (first_cells("名前", 3), last_cells("x名前", 3)) == ("名", "前")
    assert (padded("名", 4), padded("名", 4, right=True)) == ("名  ", "  名")


@pytest.mark.parametrize("width", [12, 13, 40, 60, 100])
def test_shortened_names_fit_and_differ(width: int) -> None:
    texts = distinct([RowName(name) for name in NAMES], width)
    assert len(set(texts)) == len(NAMES)
    assert max(map(cells, texts)) <= width
    assert all(cells(middle(name, width)) <= width for name in NAMES)


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
def test_no_row_of_a_table_is_wider_than_the_terminal(width: int, ascii_only: bool) -> None:
    columns = [Column("load"), Column("部品", is_right=False)]
    rows = [GridRow([f"{number:,}", "個"], RowName(name)) for number, name in enumerate(NAMES)]
    style = Style(width=width, ascii=ascii_only)
    lines = [style.finish(line) for line in grid_lines(columns, "name", rows, style)]
    assert max(map(cells, lines)) <= width
    if not ascii_only:
        assert {
            cells(line[: line.index(name[:2])]) for line, name in zip(lines[1:], NAMES, strict=True)
        } == {12}


def test_columns_of_plain_tables_align() -> None:
    lines = format_table(["name", "size"], [["名前", "1"], ["ab", "2"]], "terminal").splitlines()
    assert [cells(line) for line in lines] == [10, 7, 7]
    shown_lines = format_table(["name", "size"], [[LONG, "1"]], "terminal", width=40).splitlines()
    assert max(map(cells, shown_lines)) <= 40


def test_sentences_break_at_cells() -> None:
    line = f"  {LONG} {LONG} ends"
    assert max(map(cells, fit([line], Style(width=50)))) <= 50
    assert max(map(cells, wrapped(line, 0, Style(width=50)))) <= 50


def test_a_symbol_is_shortened_in_its_middle() -> None:
    assert shown("symbol", "a" * 99 + "Z", 9) == "aa…aaaaaZ"


def test_bars_of_ascii_are_no_commands() -> None:
    assert inert("  ####  12") == "  ####  12"
    assert inert("##[a ##vso[b ###[c") == "# #[a # #vso[b # # #[c"


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("width", [LEAST_WIDTH, 44, 59, 60])
def test_a_gate_fits_narrow_terminals(name: str, width: int) -> None:
    lines = gate_text(SAMPLES[name](), "terminal", Style(width=width)).splitlines()
    wide = [line for line in lines if cells(line) > width]
    assert all("sizeguard " in line or "Size-Accept: " in line for line in wide)  # to be copied
    labels = [line for line in lines if line.startswith(("  models", "  selection", "  elimin"))]
    assert all(re.match(r"  [a-z]+ +[^ ]", line) for line in labels)
