"""Tables on a terminal and plots: lines fit, names stay distinct, and sizes are round."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.diff.diff_result import DiffRow
from sizeguard.report.bisect.bisect_words import row_texts
from sizeguard.report.history.history_words import part_text
from sizeguard.report.screen.grid import Column, GridRow, RowName, grid_lines, shown_heads
from sizeguard.report.writers.plot import Scale
from sizeguard.report.writers.style import Style, wants_colour
from sizeguard.report.writers.table import format_table

COLUMNS = [
    Column("load"),
    Column("KiB", drop=3),
    Column("", is_right=False, drop=1),
    Column("n", drop=2),
]
WORDS = st.sampled_from(
    ["aten::", "sg::kernels::", "conv_body", "<float, int>", "(Tensor const&)", "é", "a", "…", "1"]
)
NAMES = st.lists(WORDS, min_size=1, max_size=20).map("".join)


def rows_of(names: list[str]) -> list[GridRow]:
    return [
        GridRow([f"{1234 * i:,}", f"{i}.5 KiB", "█" * (i % 8), str(i)], RowName(name, 2 * (i % 2)))
        for i, name in enumerate(names)
    ]


def lines_of(names: list[str], style: Style) -> list[str]:
    return list(grid_lines(COLUMNS, "symbol", rows_of(names), style))


@given(st.lists(NAMES, unique=True, min_size=1, max_size=30), st.integers(40, 180))
def test_no_line_is_wider_and_no_two_names_are_alike(names: list[str], width: int) -> None:
    lines = lines_of(names, Style(width=width))
    assert max(map(len, lines)) <= width
    shown = [line.rsplit("  ", 1)[-1].strip() for line in lines[1:]]
    assert len(set(shown)) == len(names)


@given(st.lists(NAMES, unique=True, min_size=1, max_size=12))
def test_in_a_pipe_all_columns_and_names_are_whole(names: list[str]) -> None:
    lines = lines_of(names, Style(full=True))
    assert lines[0].split() == ["load", "KiB", "n", "symbol"]
    assert all(line.endswith(name) for line, name in zip(lines[1:], names, strict=True))


@given(st.lists(NAMES, unique=True, min_size=1, max_size=12), st.integers(40, 180))
def test_colours_add_nothing_but_colours(names: list[str], width: int) -> None:
    plain = lines_of(names, Style(width=width))
    coloured = lines_of(names, Style(width=width, colour=True))
    assert [re.sub(r"\x1b\[[\d;]*m", "", line).rstrip() for line in coloured] == plain


def test_columns_go_before_names_do() -> None:
    name = "a_name_of_thirty_four_characters_x"
    kept = [lines_of([name], Style(width=width))[0].split()[:-1] for width in (100, 58, 48, 40)]
    assert kept == [["load", "KiB", "n"], ["load", "KiB", "n"], ["load", "n"], ["load"]]
    assert all(name in lines_of([name], Style(width=width))[1] for width in (100, 58, 48, 40))


def test_firm_columns_go_before_names_have_less_than_32_characters() -> None:
    columns = [
        Column("change"),
        Column("old", drop=2, is_firm=True),
        Column("new", drop=1, is_firm=True),
    ]
    rows = [GridRow(["+1,000", "20,000", "21,000"], RowName("name" * 20))]
    heads = [shown_heads(columns, "symbol", rows, Style(width=width)) for width in (57, 55, 47, 40)]
    assert heads == [{"change", "old", "new"}, {"change", "new"}, {"change"}, {"change"}]


@pytest.mark.parametrize(
    ("variables", "is_terminal", "colour"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colour_follows_the_terminal_and_its_variables(
    variables: dict[str, str], is_terminal: bool, colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert wants_colour(is_terminal=is_terminal) == colour


@given(st.lists(st.tuples(NAMES, NAMES), unique=True, min_size=1, max_size=12), st.integers(40, 90))
def test_a_fitted_table_keeps_its_rows_apart(rows: list[tuple[str, str]], width: int) -> None:
    whole = format_table(("name", "of"), rows, "terminal").splitlines()
    fitted = format_table(("name", "of"), rows, "terminal", width).splitlines()
    assert len(fitted) == len(whole) and max(map(len, fitted)) <= width
    assert len(set(fitted)) == len(set(whole))
    if max(map(len, whole)) <= width:
        assert fitted == whole


def test_numbers_of_a_table_are_aligned_at_the_right() -> None:
    table = format_table(("app", "load"), [("a", "5"), ("bb", "1,234")], "terminal", None, (1,))
    assert table.splitlines() == ["app   load", "a        5", "bb   1,234"]


def test_only_shown_columns_have_a_meaning() -> None:
    rows = rows_of(["x" * 30])
    assert shown_heads(COLUMNS, "symbol", rows, Style(width=200)) == {"load", "KiB", "n"}
    assert "KiB" not in shown_heads(COLUMNS, "symbol", rows, Style(width=45))


def test_a_symbol_of_a_plain_program_is_named_without_its_scope() -> None:
    """Bisect called C++ code (core), and history cut its names in the middle of a parameter."""
    symbol = "_ZN3app4sortIiEEvPT_S2_S2_S2_S2_S2_S2_"
    name = "void app::sort<int>(int*, int*, int*, int*, int*, int*, int*)"
    row = DiffRow(("(core)", "", symbol), 0, 100, "added")
    assert row_texts(row, 20) == ("", "", "app::sort<int>")
    assert row_texts(row, 99).symbol == name
    assert part_text(DiffRow(("app", symbol), 0, 100, "added"), 20) == "app  app::sort<int>"
    assert part_text(DiffRow(("app", "_ZN3app4sortEPiS0_S0_S0_"), 0, 9, "added"), 12) == "app::sort"


@given(low=st.integers(0, 10**10), span=st.integers(16, 10**10))
def test_a_plot_has_two_to_six_round_sizes(low: int, span: int) -> None:
    sizes = Scale(2, low, low + span).round_sizes()
    assert 2 <= len(sizes) <= 6
    assert low <= sizes[0] <= sizes[-1] <= low + span
    assert str(sizes.step).rstrip("0") in ("1", "2", "5")
