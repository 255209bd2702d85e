"""CSV with hostile names: no formulas, and one line for each name; JSON has the exact names."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.report.writers.table import csv_rows

ORDINARY = [
    "_ZN2sg7kernels3addERNS_7ContextENS_6TensorE",
    "sg::add(int, char const*) const [clone .isra.0]",
    "(anonymous namespace)::f",
    "operator==(A const&)",
    "$s4main",
    "~Program",
    ".text.unlikely.",
    "größe",
    "-12",
    "+7",
    "",
]
HOSTILE = {
    "=1+2": "'=1+2",
    '@SUM("A1")': '\'@SUM("A1")',
    "-[Foo bar]": "'-[Foo bar]",
    "+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0",
    "a\nb\r\nc": "a\\nb\\r\\nc",
    "\t=1": "\\t=1",
    "\x1b[31mred": "\\x1b[31mred",
    "a\0b": "a\\x00b",
}


def cells(*texts: object) -> list[str]:
    (head, row) = list(csv.reader(io.StringIO("".join(csv_rows(["a"], [texts])), newline="")))
    assert head == ["a"]
    return row


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_names_and_numbers_stay(name: str) -> None:
    assert cells(name, -5, "x") == [name, "-5", "x"]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_harmless(name: str) -> None:
    assert cells(name) == [HOSTILE[name]]


@given(st.text(max_size=12))
def test_every_name_is_one_line_and_no_formula(name: str) -> None:
    (cell,) = cells(name) or [""]
    assert cell.isprintable()
    assert not cell.startswith(("=", "+", "-", "@")) or cell[1:].isdigit()


@pytest.mark.native
def test_reports_of_hostile_symbols(tmp_path: Path) -> None:
    (tmp_path / "a.s").write_text(
        '.globl "=1+2"\n.type "=1+2",@function\n"=1+2": .fill 40\n.size "=1+2", 40\n'
    )
    subprocess.run(["gcc", "-c", "a.s", "-o", "a.o"], cwd=tmp_path, check=True)
    run = [sys.executable, "-P", "-m", "sizeguard", "report", "a.o", "--by", "symbol", "--format"]
    texts = {
        format_: subprocess.run(
            [*run, format_], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout
        for format_ in ("csv", "json")
    }
    assert "'=1+2," in texts["csv"]
    assert '"=1+2"' in texts["json"]
