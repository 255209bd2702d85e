"""Read drawn tables of abbreviations, also with numbers that have needless bytes."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.formats.dwarf.debug_info import DwarfError, Info
from tests.support.images.drawn_dwarf import leb
from tests.support.images.made_dwarf import unit_of

FORM_IMPLICIT = 0x21
FORMS = (0x01, 0x03, 0x08, 0x0B, 0x0D, 0x0E, 0x13, 0x16, 0x17, 0x18, 0x19, 0x1F01, FORM_IMPLICIT)


def number(value: int, needless: int = 0) -> bytes:
    """Encode a number as LEB128, with needless bytes of zeros at its end."""
    return leb(value, len(leb(value)) + needless)


def signed(value: int) -> bytes:
    """Encode a number as signed LEB128."""
    found = bytearray()
    while not (-64 <= value < 64):
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(found) + bytes([value & 0x7F])


@dataclass(frozen=True, slots=True)
class Drawn:
    """An abbreviation as it is written."""

    tag: int
    has_children: bool
    attributes: tuple[tuple[int, int, int], ...]
    needless: int

    def declaration(self) -> bytes:
        attributes = b"".join(
            number(attribute, self.needless)
            + number(form, self.needless)
            + (signed(constant) if form == FORM_IMPLICIT else b"")
            for attribute, form, constant in self.attributes
        )
        return number(self.tag, self.needless) + bytes([self.has_children]) + attributes + b"\0\0"


def table(data: bytes, offset: int) -> dict[int, tuple[int, bool, tuple[tuple[int, ...], ...]]]:
    """Read the table of a unit: tag, whether it has children, and attributes by code."""
    info = Info({"info": unit_of(b"", offset), "abbrev": data}, "little")
    first, count = info.tables[0].tolist()
    return {
        code: (tag, bool(has_children), tuple(info.attributes[at : at + size].tolist()))
        for code, _, tag, has_children, at, size in info.shapes[first : first + count].tolist()
    }


ATTRIBUTES = st.tuples(
    st.integers(1, 0x3FFF), st.sampled_from(FORMS), st.integers(-(1 << 40), 1 << 40)
)
DRAWN = st.builds(
    Drawn,
    st.integers(1, 0x4109),
    st.booleans(),
    st.lists(ATTRIBUTES, max_size=6).map(tuple),
    st.sampled_from((0, 0, 0, 1, 2)),
)


@given(st.lists(DRAWN, max_size=6), st.binary(max_size=8))
def test_a_table_is_read_as_it_is_written(drawn: list[Drawn], after: bytes) -> None:
    data = b"before" + b"".join(
        number(code, each.needless) + each.declaration() for code, each in enumerate(drawn, 1)
    )
    assert [*table(data + b"\0" + after, len(b"before")).values()] == [
        (
            each.tag,
            each.has_children,
            tuple(
                (a, f, constant if f == FORM_IMPLICIT else 0) for a, f, constant in each.attributes
            ),
        )
        for each in drawn
    ]


@given(st.lists(st.tuples(st.integers(1, 1 << 40), DRAWN), max_size=12, unique_by=lambda p: p[0]))
def test_codes_may_be_in_any_order(drawn: list[tuple[int, Drawn]]) -> None:
    data = b"".join(number(code) + each.declaration() for code, each in drawn)
    found = table(data + b"\0", 0)
    assert {code: tag for code, (tag, _, _) in found.items()} == {
        code: each.tag for code, each in drawn
    }
    assert [*found] == sorted(found)


def test_the_last_of_two_abbreviations_with_one_code_counts() -> None:
    data = b"\2\x2e\0\0\0" + b"\1\x11\1\0\0" + b"\2\x34\1\3\x08\0\0" + b"\0"
    assert table(data, 0) == {1: (0x11, True, ()), 2: (0x34, True, ((0x03, 0x08, 0),))}


@given(st.lists(DRAWN, min_size=1, max_size=3), st.data())
def test_a_cut_table_is_refused(drawn: list[Drawn], data: st.DataObject) -> None:
    whole = b"".join(number(i) + each.declaration() for i, each in enumerate(drawn, 1)) + b"\0"
    size = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(DwarfError, match="are cut"):
        table(whole[:size], 0)


def test_a_constant_of_zero_before_the_end_is_not_the_end() -> None:
    """The zeros after DW_FORM_implicit_const are a constant and the end: three, not two."""
    data = b"\1\x34\0" + b"\x3e\x21\0" + b"\0\0" + b"\2\x2e\1\0\0" + b"\0"
    assert {code: attributes for code, (_, _, attributes) in table(data, 0).items()} == {
        1: ((0x3E, FORM_IMPLICIT, 0),),
        2: (),
    }
