"""Functions of stripped images: one row for each, from unwind records and Go's table."""

from __future__ import annotations

import re
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.attribution.size_report import CORE
from sizeguard.diff.compare import diff_of
from sizeguard.formats.elf import parse_elf
from sizeguard.formats.gopclntab import go_functions
from sizeguard.ledger.elf.disjoint_symbols import DisjointSymbols
from sizeguard.ledger.elf.nameless_functions import nameless_functions
from sizeguard.ledger.elf.owner_table import Line
from sizeguard.ledger.kinds import ANALYZERS
from sizeguard.measurement.nameless_code import nameless_code
from tests.support.images.made_elf import Form, MadeSection, make_elf
from tests.support.tools import tool

_SOURCE = """
#include <string>
#include <vector>
__attribute__((noinline)) static int twice(int x) { return x * 2 + %d; }
__attribute__((noinline)) static std::string text(int x) { return std::to_string(x); }
int main(int count, char **) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) all.push_back(text(twice(i)));
  return all.empty() ? 1 : static_cast<int>(all.back().size());
}
"""


def stripped(folder: Path, name: str, number: int) -> Path:
    (folder / "a.cpp").write_text(_SOURCE % number)
    tool("g++", "-O1", folder / "a.cpp", "-o", folder / name)
    tool("strip", folder / name)
    return folder / name


def sizes(analysis: Analysis) -> dict[str, int]:
    label, load = analysis.label("symbol"), analysis.load
    found: dict[str, int] = {}
    for row, text in enumerate(label.ids.tolist()):
        name = label.texts[text]
        found[name] = found.get(name, 0) + int(load[row])
    return found


@pytest.mark.native
def test_a_stripped_image_has_a_row_for_each_unwind_record(tmp_path: Path) -> None:
    path = stripped(tmp_path, "a", 1)
    frames = re.findall(
        r"FDE cie=\S+ pc=([0-9a-f]+)\.\.([0-9a-f]+)", tool("readelf", "--debug-dump=frames", path)
    )
    sections = re.findall(
        r"\] (\.text)\s+PROGBITS\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)",
        tool("readelf", "-SW", path),
    )
    start, size = int(sections[0][1], 16), int(sections[0][2], 16)
    code = {
        f"(function at {int(low, 16):#x})": int(high, 16) - int(low, 16)
        for low, high in frames
        if start <= int(low, 16) < start + size
    }
    found = sizes(analysis_of(path))
    assert len(code) > 5 and {name: found.get(name) for name in code} == code


@pytest.mark.native
def test_functions_without_a_name_are_one_in_a_diff(tmp_path: Path) -> None:
    old, new = stripped(tmp_path, "a", 1), stripped(tmp_path, "b", 1 << 20)
    found = diff_of(lambda: analysis_of(old), lambda: analysis_of(new), ("symbol",), (), "load")
    names = [label.texts[int(i)] for label in found.labels for i in label.ids]
    assert sum("function at" in name for name in names) == 0
    assert names.count("(functions without a name)") == 1
    assert int((found.new - found.old).sum()) == found.new_image.load - found.old_image.load


def go_table(order: str, width: int, version: int, functions: dict[str, int]) -> bytes:
    """Make a table as Go's linker writes it.

    functions: name → address; the last address is the end of the code
    """
    names = b"".join(name.encode() + b"\0" for name in functions)
    starts = list(functions.values())
    word = "I" if width == 4 else "Q"
    entry = (
        "I" if version >= 0xFFFFFFF0 and version != 0xFFFFFFFB and version != 0xFFFFFFFA else word
    )
    count = len(functions) - 1
    table_at = 8 + 8 * width + len(names)
    records_at = struct.calcsize(f"{order}{2 * count + 1}{entry}")
    offsets, records, at = [], b"", 0
    for name, start in list(functions.items())[:-1]:
        offsets.append(records_at + len(records))
        records += struct.pack(f"{order}{entry}I", start, at)
        at += len(name) + 1
    pairs = [value for pair in zip(starts, offsets, strict=False) for value in pair]
    table = struct.pack(f"{order}{2 * count + 1}{entry}", *pairs, starts[-1])
    head = struct.pack(f"{order}IHBB", version, 0, 1, width)
    text = 0x1000 if entry == "I" and version != 0xFFFFFFFA else 0
    names_at = 8 + 8 * width
    if version == 0xFFFFFFFA:
        fields = [count, 0, names_at, 0, 0, 0, table_at, 0]
    else:
        fields = [count, 0, text, names_at, 0, 0, 0, table_at]
    return head + struct.pack(f"{order}8{word}", *fields) + names + table + records


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("width", [4, 8])
@pytest.mark.parametrize("version", [0xFFFFFFFA, 0xFFFFFFF0, 0xFFFFFFF1])
def test_go_names_all_functions(order: str, width: int, version: int) -> None:
    functions = {"main.main": 0x0, "runtime.gc": 0x40, "fmt.Println": 0x90, "": 0x100}
    content = go_table(order, width, version, functions)
    found = go_functions(content, 0x5000)
    assert found is not None
    shift = 0 if version == 0xFFFFFFFA else 0x1000
    assert found.names == [b"main.main", b"runtime.gc", b"fmt.Println"]
    assert (found.start - shift).tolist() == [0, 0x40, 0x90]
    assert (found.end - shift).tolist() == [0x40, 0x90, 0x100]
    for cut in range(0, len(content) - 1, 3):
        go_functions(content[:cut], 0)
    for at in range(len(content)):
        go_functions(content[:at] + b"\xff" + content[at + 1 :], 0)


@pytest.mark.native
@pytest.mark.parametrize("kept", [False, True])
def test_symbols_that_are_left_keep_their_bytes(tmp_path: Path, kept: bool) -> None:
    (tmp_path / "a.c").write_text(
        "__attribute__((noinline)) static int inner(int x) { return x * x + 9; }\n"
        "int outer(int x) { return inner(x) - inner(x + 1); }\n"
    )
    tool("gcc", "-O1", "-shared", "-fPIC", tmp_path / "a.c", "-o", tmp_path / "a.so")
    whole = sizes(analysis_of(tmp_path / "a.so"))
    tool("strip", *(["--strip-debug"] if kept else []), tmp_path / "a.so")
    found = sizes(analysis_of(tmp_path / "a.so"))
    assert found["outer"] == whole["outer"] and ("inner" in found) is kept
    nameless = [name for name in found if name.startswith("(function at")]
    assert bool(nameless) is not kept


@pytest.mark.native
@pytest.mark.parametrize(
    "words", [("strip", "-x"), ("objcopy", "--strip-symbol=_ZL5twicei")], ids=" ".join
)
def test_functions_whose_symbols_alone_were_removed_have_no_name(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    """A limit on symbols took their absence from the table for their absence from the image."""
    (tmp_path / "a.cpp").write_text(_SOURCE % 1)
    whole, path = tmp_path / "whole", tmp_path / "a"
    tool("g++", "-O1", "-static", tmp_path / "a.cpp", "-o", whole)
    shutil.copy(whole, path)
    tool(*words, path)
    known = analysis_of(whole)
    assert nameless_code(known) == 0
    assert nameless_code(analysis_of(path)) >= 5


def test_go_before_1_16_counts_records_from_the_start_of_the_table() -> None:
    """As in the esbuild 0.8.0 of npm, built by Go 1.15."""
    records = b"".join(
        struct.pack("<QI20x", start, name) for start, name in ((0x1000, 128), (0x1040, 138))
    )
    pairs = struct.pack("<5Q", 0x1000, 64, 0x1040, 96, 0x1090)
    content = struct.pack("<IHBBQ", 0xFFFFFFFB, 0, 1, 8, 2) + pairs + bytes(8) + records
    found = go_functions(content + b"main.main\0runtime.gc\0", 0)
    assert found is not None
    assert found.names == [b"main.main", b"runtime.gc"]
    assert list(zip(found.start.tolist(), found.end.tolist(), strict=True)) == [
        (0x1000, 0x1040),
        (0x1040, 0x1090),
    ]


def test_functions_of_c_in_a_program_of_go_come_from_unwind_records() -> None:
    """cgo links them behind the functions that Go's table lists."""
    functions = {"main.main": 0x0, "runtime.gc": 0x40, "": 0x90}
    table = go_table("<", 8, 0xFFFFFFF1, functions)
    sections = [
        MadeSection(".text", flags=6, address=0x1000, content=bytes(0x100)),
        MadeSection(".gopclntab", flags=2, address=0x2000, content=table),
    ]
    image = parse_elf(Path("x"), make_elf(Form(), sections))
    line, none = Line.of(image), np.zeros(0, np.int64)
    symbols = DisjointSymbols(none, none, *[none] * 3)
    described = np.array([0x10, 0xA0]), np.array([0x20, 0xB0])
    found = nameless_functions(image, line, symbols, described)
    starts = found.rows.start.tolist()
    assert list(zip(starts, found.names.all_raw(), strict=True)) == [
        (0, b"main.main"),
        (0x40, b"runtime.gc"),
        (0xA0, b"function at 0x10a0"),
    ]
    assert [ANALYZERS[i] for i in found.analyzers.tolist()] == [
        "function table",
        "function table",
        "function starts",
    ]


def test_functions_that_go_names_are_code_without_an_operator(tmp_path: Path) -> None:
    """Of a stripped caddy, 17.8 MB were headers, tables and padding."""
    table = go_table("<", 8, 0xFFFFFFF1, {"main.main": 0x0, "runtime.gc": 0x40, "": 0x100})
    sections = [
        MadeSection(".text", flags=6, address=0x1000, content=b"\x90" * 0x100),
        MadeSection(".gopclntab", flags=2, address=0x2000, content=table),
    ]
    (tmp_path / "app").write_bytes(make_elf(Form(), sections))
    analysis = analysis_of(tmp_path / "app")
    operator, found = analysis.label("operator"), sizes(analysis)
    assert found["main.main"] + found["runtime.gc"] == 0x100
    by_operator = np.bincount(operator.ids, analysis.load, len(operator.texts))
    assert by_operator[[*operator.texts].index(CORE)] == 0x100
