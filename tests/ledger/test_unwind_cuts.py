"""Test cuts by unwind data against plain loops: exception tables, and code with records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.formats.elf import Elf, parse_elf
from sizeguard.formats.elf.exception_tables import table_ends
from sizeguard.formats.elf.unwind import FDE, UnwindRecords
from sizeguard.ledger.elf.owner_table import Line
from sizeguard.ledger.elf.unwind_owners import Unwinding, _exceptions, described_code
from sizeguard.ledger.ledger import NONE
from tests.support.images.made_elf import Form, MadeSection, make_elf

ALLOC, EXECUTE = 2, 4
TABLE = b"\xff\xff\x01\x00"  # without types and call sites

PIECES = st.sampled_from([TABLE, bytes(1), bytes(2), bytes(3), bytes(4), b"\1", b"\xff\x00\x02"])


def image_of(*sections: MadeSection) -> Elf:
    return parse_elf(Path("made"), make_elf(Form(), sections))


@given(st.lists(PIECES, min_size=1, max_size=8).map(b"".join), st.data())
def test_exception_tables_are_cut_at_their_ends(content: bytes, data: st.DataObject) -> None:
    first = MadeSection(".text", flags=ALLOC | EXECUTE, content=b"\x90" * 5)
    image = image_of(first, MadeSection(".gcc_except_table", 1, ALLOC, 64, content))
    line = Line.of(image)
    around = st.one_of(st.integers(60, 70 + len(content)), st.just(-1))
    lsda = data.draw(st.lists(around, max_size=8))
    tables = _exceptions(image, line, np.array(lsda, np.int64))
    places = sorted({at - 64 for at in lsda if 64 <= at < 64 + len(content)})
    if not places:
        assert tables == []
        return
    limits = np.array([*places[1:], len(content)], np.int64)
    ends = table_ends(image.view(image.sections[2]), np.array(places, np.int64), limits)
    expected = []
    reached = 0
    for place, end in [*zip(places, ends.tolist(), strict=True), (len(content), len(content))]:
        gap = content[reached:place]
        if gap:
            is_zero = len(gap) < 4 and place % 4 == 0 and not any(gap)
            expected.append((int(line.at[2]) + reached, NONE, is_zero))
        if place < end:
            expected.append((int(line.at[2]) + place, lsda.index(place + 64), False))
        reached = end
    (cut,) = tables
    columns = (cut.start, cut.function, cut.is_zero)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected


@given(st.lists(st.tuples(st.integers(-3, 60), st.integers(-2, 30)), max_size=10))
def test_code_with_records_ends_with_its_section(records: list[tuple[int, int]]) -> None:
    places = ((20, 15), (0, 10))  # addresses and sizes of sections of code
    image = image_of(
        *(MadeSection(f".text{at}", 1, ALLOC | EXECUTE, at, b"\x90" * size) for at, size in places)
    )
    line = Line.of(image)
    function, extent = np.array(records, np.int64).reshape(-1, 2).T.copy()
    zeros = np.zeros(len(records), np.int64)
    kind = np.full(len(records), FDE, np.int8)
    frames = UnwindRecords(zeros, zeros, kind, function, zeros, extent, zeros[:0], zeros[:0])
    rows = np.argsort(function, kind="stable")
    read = Unwinding(None, [(image.sections[1], frames, rows)], [])
    expected = []
    for index, (address, size) in enumerate(places, 1):
        for at, many in sorted(records, key=lambda record: record[0]):
            if many > 0 and address <= at < address + size:
                start = int(line.at[index]) + at - address
                expected.append((start, min(start + many, int(line.at[index]) + size)))
    expected.sort(key=lambda span: span[0])
    start, end = described_code(image, line, read)
    assert list(zip(start.tolist(), end.tolist(), strict=True)) == expected
