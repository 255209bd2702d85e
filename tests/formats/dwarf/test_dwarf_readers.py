"""Read functions, ranges and sources of hand-made units."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import pytest

from sizeguard.formats.dwarf.debug_info import Info
from sizeguard.formats.dwarf.entry_names import NONE
from sizeguard.formats.dwarf.inline_tree import InlineTree, read_tree
from sizeguard.formats.dwarf.sources import from_here, unit_sources

CODE = [(0x1000, 0x2000)]
UNIT, PLAIN, OUTER, INLINED, ABSTRACT = range(1, 6)
# Tag, whether it has children, and pairs of attribute and form. The frame base of gcc's functions
# and the line of an inlined call differ in size.
SHAPES = {
    UNIT: (0x11, 1, ()),
    PLAIN: (0x2E, 0, ((0x11, 0x01), (0x12, 0x07), (0x40, 0x18))),
    OUTER: (0x2E, 1, ((0x3F, 0x19), (0x11, 0x01), (0x12, 0x07), (0x40, 0x18), (0x01, 0x13))),
    INLINED: (0x1D, 0, ((0x31, 0x13), (0x11, 0x01), (0x12, 0x06), (0x59, 0x0F))),
    ABSTRACT: (0x2E, 0, ((0x03, 0x08),)),
}


def abbreviations() -> bytes:
    found = bytearray()
    for code, (tag, has_children, attributes) in SHAPES.items():
        found += bytes([code, tag, has_children])
        for attribute, form in (*attributes, (0, 0)):
            found += bytes([attribute, form])
    return bytes(found + b"\0")


def block(size: int) -> bytes:
    return bytes([size]) + bytes(size)


def sections() -> tuple[dict[str, bytes], int, list[int]]:
    """Return a unit's sections, the place of the inlined function, and those of all others."""
    body, places = bytearray(bytes([UNIT])), []

    def entry(code: int, content: bytes) -> int:
        places.append(11 + len(body))  # after the unit's header
        body.extend(bytes([code]) + content)
        return places[-1]

    abstract = entry(ABSTRACT, b"callee\0")
    entry(PLAIN, struct.pack("<QQ", 0x1000, 0x20) + block(1))
    entry(PLAIN, struct.pack("<QQ", 0x1020, 0x10) + block(9))
    outer = struct.pack("<QQ", 0x1100, 0x80) + block(3)
    start = entry(OUTER, outer + bytes(4))
    entry(INLINED, struct.pack("<IQI", abstract, 0x1110, 0x8) + b"\x05")
    entry(INLINED, struct.pack("<IQI", abstract, 0x1120, 0x4) + b"\x85\x01")
    body += b"\0"
    sibling = start + 1 + len(outer) - 11
    struct.pack_into("<I", body, sibling, 11 + len(body))
    entry(PLAIN, struct.pack("<QQ", 0x1200, 0) + block(1))  # without bytes
    entry(PLAIN, struct.pack("<QQ", 0x10, 0x20) + block(1))  # removed by the linker
    body += b"\0"
    header = struct.pack("<HIB", 4, 0, 8)
    info = struct.pack("<I", len(header) + len(body)) + header + bytes(body)
    return {"info": info, "abbrev": abbreviations()}, abstract, places


def rows(tree: InlineTree) -> list[tuple[int, int, int, int]]:
    """Return the parent, the entry and the range of each node."""
    columns = (column.tolist() for column in (tree.low, tree.high, tree.node))
    return [
        (int(tree.parent[node]), int(tree.entry[node]), low, high)
        for low, high, node in zip(*columns, strict=True)
    ]


def test_functions_that_differ_in_size_are_read() -> None:
    content, abstract, places = sections()
    _, first, second, outer, *_ = places
    assert rows(read_tree(Info(content, "little"), CODE)) == [
        (NONE, first, 0x1000, 0x1020),
        (NONE, second, 0x1020, 0x1030),
        (NONE, outer, 0x1100, 0x1180),
        (2, abstract, 0x1110, 0x1118),
        (2, abstract, 0x1120, 0x1124),
    ]


def test_a_removed_function_is_longer_than_code_at_0() -> None:
    """Code that was inlined into it counted as code of a vector table at 0."""
    content, _, places = sections()
    for end, found in ((0x20, []), (0x30, [(NONE, places[-1], 0, 0x2F)])):
        info = bytearray(content["info"])
        struct.pack_into("<QQ", info, places[-1] + 1, 0, 0x2F)
        read = read_tree(Info(content | {"info": bytes(info)}, "little"), [(0, end)])
        assert rows(read) == found


def test_ranges_of_a_skeleton_count_from_the_start_of_the_section() -> None:
    """DW_AT_GNU_ranges_base is for the entries of the .dwo file."""
    shape = bytes((1, 0x4A, 0, 0x55, 0x17, 0xB2, 0x42, 0x17, 0, 0, 0))  # ranges, their base
    unit = struct.pack("<HIBBII", 4, 0, 8, 1, 16, 16)
    ranges = struct.pack("<6Q", 0x1000, 0x1010, 0x2000, 0x2010, 0, 0)
    info = {"info": struct.pack("<I", len(unit)) + unit, "abbrev": shape, "ranges": ranges}
    sources = unit_sources(info, is_big=False)
    assert list(zip(sources.start.tolist(), sources.end.tolist(), strict=True)) == [
        (0x2000, 0x2010)
    ]


def test_units_at_0_were_not_linked() -> None:
    """lld puts 0 in place of the address of a unit that it removed; firmware has code there."""
    shape = bytes((1, 0x11, 0, 0x11, 0x01, 0x12, 0x06, 0, 0, 0))
    units = b"".join(struct.pack("<IHIBBQI", 20, 4, 0, 8, 1, low, 0x20) for low in (0, 0x100))
    sources = unit_sources({"info": units, "abbrev": shape}, is_big=False)
    assert list(zip(sources.start.tolist(), sources.end.tolist(), strict=True)) == [(0x100, 0x120)]


def test_units_that_share_a_table_prepare_it_once() -> None:
    """dwz lets thousands of units share a table; a file with 4,000 units took 109 s."""
    count = 3_000
    shapes = [bytes((1, 0x11, 0, 0, 0))]
    for code in range(2, count):
        number = bytes((code,)) if code < 0x80 else bytes((code & 0x7F | 0x80, code >> 7))
        shapes.append(number + bytes((0x2E, 0, 0x11, 0x01, 0x12, 0x07, 0, 0)))
    unit = struct.pack("<IHIBB", 8, 4, 0, 8, 1)
    content = {"info": unit * count, "abbrev": b"".join(shapes) + b"\0"}
    start = time.monotonic()
    assert not rows(read_tree(Info(content, "little"), CODE))
    assert time.monotonic() - start < 5


def test_sources_of_the_gates_worktrees_are_those_of_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    here = Path.cwd()
    assert from_here(f"{here}/src/a.c") == "src/a.c"
    assert from_here(f"{here}/.sizeguard/worktrees/tree-01/src/a.c") == "src/a.c"
    elsewhere = "/other/.sizeguard/worktrees/tree-01/src/a.c"
    assert from_here(elsewhere) == elsewhere
