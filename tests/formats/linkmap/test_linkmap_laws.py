"""Laws of linker maps, on generated maps in each linker's grammar."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.formats.linkmap import read_link_map
from sizeguard.formats.linkmap.link_map import LinkMap, nearest_first

pytestmark = pytest.mark.native

TITLES = {"gnu": "\nLinker script and memory map\n\n", "gold": "\nMemory map\n\n"}
BASE = 0x401000

# Names that are hard to parse: with blanks, brackets, a colon, or parts like numbers.
FILES = ("main.o", "a dir (2)/libx.a(y z.o)", "0x12 0x3/odd.o", "c:(d)/e.o")
SECTIONS = (".text", ".text._Z3foov", ".text.a_name_that_is_longer_than_sixteen", ".t")
NAMES = ("main", "f(int, char) const", "operator()(A::B*)", "std::pair<int, 0x1> g<1>()")


@dataclass(frozen=True)
class Row:
    gap: int
    size: int
    section: str
    file: str
    symbols: tuple[tuple[int, str], ...]  # offset in the row, name


@st.composite
def row(draw: st.DrawFn) -> Row:
    size = draw(st.integers(1, 300))
    offsets = draw(st.lists(st.integers(0, size - 1), max_size=3))
    symbols = tuple((offset, draw(st.sampled_from(NAMES))) for offset in sorted(offsets))
    return Row(
        draw(st.integers(0, 20)),
        size,
        draw(st.sampled_from(SECTIONS)),
        draw(st.sampled_from(FILES)),
        symbols,
    )


def written(linker: str, rows: list[Row]) -> str:
    """Write a map with one output section of these rows and three bytes of padding at its end."""
    total = sum(row.gap + row.size for row in rows) + 3
    lines = []
    gnu = linker in TITLES
    if gnu:
        lines.append(f"{'.text':<16}0x{BASE:016x} {total:#10x}")
    elif linker == "lld":
        lines += [
            "             VMA              LMA     Size Align Out     In      Symbol",
            f"{BASE:16x} {BASE:16x} {total:8x}    16 .text",
        ]
    else:
        lines += [
            "               VMA       Size Align Out     In      Symbol",
            f"{BASE:#18x} {total:10} {16:5} .text",
        ]
    place = BASE
    for row in rows:
        place += row.gap
        if gnu:
            head = f" {row.section:<15}" if len(row.section) < 15 else f" {row.section}\n{'':16}"
            lines.append(f"{head}0x{place:016x} {row.size:#10x} {row.file}")
            lines += [
                f"{'':16}0x{place + offset:016x}{'':16}{name}" for offset, name in row.symbols
            ]
        elif linker == "lld":
            lines.append(
                f"{place:16x} {place:16x} {row.size:8x} {16:5} {'':8}{row.file}:({row.section})"
            )
            lines += [
                f"{place + o:16x} {place + o:16x} {0:8x} {1:5} {'':16}{name}"
                for o, name in row.symbols
            ]
        else:
            lines.append(f"{place:#18x} {row.size:10} {16:5} {'':8}{row.file}:({row.section})")
            lines += [f"{place + o:#18x} {0:10} {0:5} {'':16}{name}" for o, name in row.symbols]
        place += row.size
    return (
        TITLES.get(linker, "")
        + "\n".join(lines)
        + ("\n\nOUTPUT(x elf64-x86-64)\n" if linker == "gnu" else "\n")
    )


def parsed(linker: str, rows: list[Row]) -> LinkMap:
    with tempfile.NamedTemporaryFile("w", suffix=".map") as file:
        file.write(written(linker, rows))
        file.flush()
        return read_link_map(Path(file.name))


@pytest.mark.parametrize("linker", ["gnu", "gold", "lld", "mold"])
@given(rows=st.lists(row(), min_size=1, max_size=8))
def test_what_was_written_is_read(linker: str, rows: list[Row]) -> None:
    map_ = parsed(linker, rows)
    assert [(r.name, r.file, r.size) for r in map_.placed] == [
        (r.section, r.file, r.size) for r in rows
    ]
    starts = np.cumsum([r.gap + r.size for r in rows]) - [r.size for r in rows] + BASE
    assert [r.address for r in map_.placed] == starts.tolist()
    expected = [
        (int(start) + o, name, i)
        for i, (start, r) in enumerate(zip(starts, rows, strict=True))
        for o, name in r.symbols
    ]
    assert [(s.address, s.name, s.input) for s in map_.symbols] == expected


@pytest.mark.parametrize("linker", ["gnu", "gold", "lld", "mold"])
@given(rows=st.lists(row(), min_size=1, max_size=8))
def test_rows_and_fills_sum_to_the_section(linker: str, rows: list[Row]) -> None:
    map_ = parsed(linker, rows)
    (output,) = map_.outputs
    assert sum(r.size for r in map_.placed) + sum(f.size for f in map_.fills) == output.size
    covered = sorted(
        [(r.address, r.size) for r in map_.placed] + [(f.address, f.size) for f in map_.fills]
    )
    place = output.address
    for address, size in covered:
        assert address == place
        place += size


PATHS = st.text("ab/.", max_size=6)


@given(st.lists(PATHS, max_size=4), PATHS)
def test_the_file_with_the_longest_common_end_is_first(files: list[str], name: str) -> None:
    def common_end(file: str) -> int:
        lengths = range(min(len(file), len(name)) + 1)
        return max(n for n in lengths if file.endswith(name[len(name) - n :]))

    order = list(nearest_first(range(len(files)), files.__getitem__, name))
    assert order == sorted(range(len(files)), key=lambda k: (-common_end(files[k]), k))
