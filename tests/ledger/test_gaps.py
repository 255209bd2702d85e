"""Test that strings and padding in gaps are those that plain loops find."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.formats.elf import parse_elf
from sizeguard.ledger.elf.gaps import PADDING, STRING, look_into
from sizeguard.ledger.elf.owner_table import Line
from tests.support.images.made_elf import SHT_NOBITS, SHT_PROGBITS, Form, MadeSection, make_elf

ALLOC, WRITE, EXECUTE, STRINGS = 2, 1, 4, 0x30
FLAGS = {
    "code": ALLOC | EXECUTE,
    "rodata": ALLOC,
    "data": ALLOC | WRITE,
    "nobits": ALLOC | WRITE,
    "strings": ALLOC | STRINGS,
}

NOPS = bytes.fromhex("00cc90662e0f1f404480842003d5")
TEXT = b"\t\n\r\x1b" + bytes(range(0x20, 0x7F))

# Runs of bytes: text, zeros, fillers, nops and others.
PIECES = st.one_of(
    st.sampled_from([b"text", b"some text\0", b"\tab\n\0", b"abc\0", b"\x01", b"\x7f", b"\xc8"]),
    st.builds(
        lambda byte, n: bytes([byte]) * n, st.sampled_from(b"\0\xcc\x90A"), st.integers(1, 99)
    ),
    st.lists(st.sampled_from(NOPS), max_size=12).map(bytes),
    st.binary(max_size=8),
)
SECTIONS = st.tuples(
    st.sampled_from(sorted(FLAGS)),
    st.lists(PIECES, min_size=1, max_size=8).map(b"".join),
    st.integers(0, 70),  # its address
)


def strings_in(content: bytes) -> list[tuple[int, int]]:
    """Return runs of strings: four bytes of text or more, between NULs or from the start."""
    runs: list[tuple[int, int]] = []
    at = 0
    while (end := content.find(b"\0", at)) >= 0:
        if end - at >= 4 and all(byte in TEXT for byte in content[at:end]):
            first = runs.pop()[0] if runs and runs[-1][1] == at else at
            runs.append((first, end + 1))
        at = end + 1
    return runs


def is_padding(kind: str, content: bytes, boundary: int) -> bool:
    size = len(content)
    if kind == "code" and size < 16 and boundary % 16 == 0:
        return True
    reach = min(1 << size.bit_length(), 4096)
    if boundary % reach or size >= (4096 if kind == "code" else 64):
        return False
    if kind == "nobits":
        return True
    if kind != "code":
        return not any(content)
    is_nops = size < 64 and all(byte in NOPS for byte in content)
    return is_nops or (len(set(content)) == 1 and content[0] in b"\0\xcc\x90")


def look(kind: str, content: bytes, address: int) -> list[tuple[int, int, int]] | None:
    """Return what a gap contains; None if it is entirely padding."""
    if kind == "strings":
        return [(0, len(content), STRING)]
    runs = strings_in(content) if kind == "rodata" else []
    if not runs:
        return None if is_padding(kind, content, address + len(content)) else []
    found = [(start, end, STRING) for start, end in runs]
    starts, ends = zip(*runs, strict=True)
    for start, end in zip([0, *ends], [*starts, len(content)], strict=True):
        if start < end and is_padding(kind, content[start:end], address + end):
            found.append((start, end, PADDING))
    return sorted(found)


@given(st.lists(SECTIONS.filter(lambda section: len(section[1]) > 0), max_size=4), st.data())
def test_gaps_have_strings_and_padding(
    drawn: list[tuple[str, bytes, int]], data: st.DataObject
) -> None:
    made = [
        MadeSection(
            f".{kind}",
            SHT_NOBITS if kind == "nobits" else SHT_PROGBITS,
            FLAGS[kind],
            address,
            b"" if kind == "nobits" else content,
            size=len(content),
        )
        for kind, content, address in drawn
    ]
    image = parse_elf(Path("made"), make_elf(Form(), made))
    line = Line.of(image)
    gaps, whole, ranges = [], [], []
    for index, (kind, content, address) in enumerate(drawn, 1):
        places = st.lists(st.integers(0, len(content)), min_size=2, max_size=6, unique=True)
        edges = sorted(data.draw(places))
        for low, high in zip(edges[::2], edges[1::2], strict=False):
            at = int(line.at[index])
            found = look(kind, content[low:high], address + low)
            if found is None:
                whole.append(len(gaps))
            ranges += [(at + low + a, at + low + b, what) for a, b, what in found or []]
            gaps.append((at + low, at + high, index))
    start, end, section = np.array(gaps, np.int64).reshape(-1, 3).T.copy()
    ours, found_ = look_into(image, line, start, end, section)
    assert ours.tolist() == whole
    columns = (found_.start, found_.end, found_.what)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == ranges
