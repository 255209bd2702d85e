"""Test that images that are mapped, not read, have the same rows as a small image."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.attribution.group import group
from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.columns.joined_texts import JoinedTexts
from sizeguard.columns.text_hash import hash_texts
from sizeguard.columns.texts import Texts
from tests.support.images.made_elf import (
    SHT_STRTAB,
    SHT_SYMTAB,
    Form,
    MadeSection,
    MadeSegment,
    MadeSymbol,
    make_elf,
)

pytestmark = pytest.mark.native

FORM = Form()
MIB = 1 << 20


def image(path: Path, filler: int, *, names_first: bool) -> Path:
    """Write an image with code, data, and a debug section of `filler` bytes.

    names_first: the symbols' tables come before the debug section, not after it"""
    symbols, strings = FORM.symbols([MadeSymbol("f", 0x1000, 16), MadeSymbol("g", 0x1020, 8)])
    code = MadeSection(".text", flags=6, address=0x1000, content=bytes(range(64)), alignment=16)
    data = MadeSection(".rodata.cst", flags=2, address=0x1040, content=b"\1" * 24)
    symtab = MadeSection(".symtab", SHT_SYMTAB, content=symbols, link=4, entry_size=24)
    strtab = MadeSection(".strtab", SHT_STRTAB, content=strings)
    extra = MadeSection(".debug_extra", content=bytes(filler))
    sections = [code, data, symtab, strtab]
    # The names of sections come last; the names of symbols are before or after the filler.
    sections = [*sections, extra] if names_first else [code, data, extra, symtab, strtab]
    if not names_first:
        sections[3] = MadeSection(".symtab", SHT_SYMTAB, content=symbols, link=5, entry_size=24)
    segment = MadeSegment(0, 0x1000, 64, 64)
    path.write_bytes(make_elf(FORM, sections, [segment], tail=bytes(filler and 2 * MIB)))
    return path


def rows(path: Path) -> dict[str, int]:
    report = group(analysis_of(path), ["symbol"], sort="name")
    return {row.keys[0]: row.load for row in report.rows}


def test_rows_of_a_large_image_have_the_names_of_a_small_one(tmp_path: Path) -> None:
    """Section names are not in the last MiB of the file; names such as (.text) are not in it."""
    for names_first in (False, True):
        small = image(tmp_path / "small", 0, names_first=names_first)
        large = image(tmp_path / "large", 70 * MIB, names_first=names_first)
        expected, found = rows(small), rows(large)
        assert found.pop("(.debug_extra)") == 0
        # The end of the file is not in a section.
        found.pop("(no section)", None)
        assert "(.text)" in found
        assert {name: found[name] for name in expected if name in found} == found
        assert set(expected) - set(found) <= {"(.debug_extra)", "(no section)"}


@given(
    st.lists(st.tuples(st.integers(0, 6 * MIB), st.integers(0, 3 * MIB)), max_size=6),
    st.lists(st.text(max_size=5), max_size=3),
    st.data(),
)
def test_texts_stay_when_others_are_added(
    places: list[tuple[int, int]], more: list[str], data: st.DataObject
) -> None:
    """Read one by one, together, from the joined buffer, and selected."""
    buffer = np.zeros(7 * MIB, np.uint8)
    buffer[:] = np.arange(len(buffer), dtype=np.uint32) >> 3
    start = np.array([min(at, len(buffer)) for at, _ in places], np.int64)
    end = np.array([min(at + size, len(buffer)) for at, size in places], np.int64)
    texts = Texts(buffer, start, end)
    expected = texts.all_raw() + [text.encode() for text in more]
    joined = JoinedTexts(texts, Texts.of(more))
    assert [joined.raw(i) for i in range(len(joined))] == joined.all_raw() == expected
    assert [raw for table in joined.tables() for raw in table.all_raw()] == expected
    assert joined.lengths().tolist() == [len(raw) for raw in expected]
    whole = Texts(joined.buffer, joined.start, joined.end)
    assert whole.all_raw() == expected

    chosen = data.draw(st.lists(st.integers(0, len(expected) - 1)) if expected else st.just([]))
    some = JoinedTexts(texts, Texts.of(more)).take(chosen)
    wanted = [expected[i] for i in chosen]
    assert len(some) == len(wanted)
    assert [some.raw(i) for i in range(len(some))] == some.all_raw() == wanted
    assert some.lengths().tolist() == [len(raw) for raw in wanted]
    again = data.draw(st.lists(st.integers(0, len(wanted) - 1)) if wanted else st.just([]))
    assert some.take(again).all_raw() == [wanted[i] for i in again]
    assert Texts(some.buffer, some.start, some.end).all_raw() == wanted
    assert hash_texts(some).tolist() == hash_texts(Texts.of(wanted)).tolist()
