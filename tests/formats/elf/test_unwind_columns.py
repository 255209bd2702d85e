"""Test unwind records and exception tables as columns against plain loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.formats.elf import parse_elf
from sizeguard.formats.elf.cie import pointer_forms, pointer_width
from sizeguard.formats.elf.exception_tables import table_ends
from sizeguard.formats.elf.unwind import CIE, END, FDE, NOWHERE, HeaderTable, read_frames
from tests.support.images.made_elf import ET_DYN, ET_REL, Form, MadeSection, make_elf

ADDRESS = 0x1000
FORMS = st.sampled_from([Form(), Form(is_64=False), Form(order=">"), Form(False, ">")])

# Encodings of pointers: known ones, one without a fixed width, and one with an unknown base.
ENCODINGS = st.sampled_from(
    [0x00, 0x03, 0x0A, 0x02, 0x04, 0x0B, 0x1B, 0x1C, 0x10, 0x01, 0x3B, 0xFF]
)


@st.composite
def sections(draw: st.DrawFn, form: Form) -> bytes:
    """Draw an .eh_frame: CIEs, FDEs that name any place, ends, and damage."""
    order = "little" if form.order == "<" else "big"
    content = bytearray()
    cies: list[int] = []
    for what in draw(st.lists(st.sampled_from("CCFFFFFEX"), max_size=8)):
        at = len(content)
        if what == "C":
            cies.append(at)
            pair = bytes([draw(ENCODINGS), draw(ENCODINGS)])
            text = draw(st.sampled_from([b"zRL", b"zLR", b"zRS", b"", b"zPLR", b"eh"]))
            body = bytes(4) + b"\x01" + text + b"\0\x01\x78\x10\x03" + pair + bytes(9)
        elif what == "F":
            cie = draw(st.sampled_from([*cies, at, -3]))
            drawn = draw(st.lists(st.sampled_from([0, 1, 4, 8, 127, 128, 255]), max_size=28))
            body = ((at + 4 - cie) % 2**32).to_bytes(4, order) + bytes(drawn)
        elif what == "E":
            body = b""
        else:
            content += draw(st.binary(max_size=6))
            continue
        content += len(body).to_bytes(4, order) + body
    return bytes(content)


def walked(content: bytes, order: str, low: int, high: int) -> list[tuple[int, int]]:
    found, at = [], low
    while at + 4 <= high:
        size = 4 + number(content, at, 4, order)
        if at + size > high or 4 < size < 8:
            break
        found.append((at, size))
        at += size
    return found


def number(content: bytes, at: int, width: int, order: str, *, is_signed: bool = False) -> int:
    """Read a number that fits int64; 0 if it is not inside the content."""
    if at < 0 or at + width > len(content):
        return 0
    raw = content[at : at + width]
    name = "little" if order == "<" else "big"
    return int.from_bytes(raw, name, signed=is_signed or width == 8)  # type: ignore[arg-type]


def records_of(content: bytes, order: str, listed: list[int]) -> list[tuple[int, int]]:
    """Trust listed records if they can be records, and walk the bytes between them."""
    known = sorted({at for at in listed if 0 <= at <= len(content) - 8})
    sizes = [4 + number(content, at, 4, order) for at in known]
    ends = [at + size for at, size in zip(known, sizes, strict=True)]
    stops = [*known, len(content)][1:]
    if min(sizes, default=8) < 8 or any(e > s for e, s in zip(ends, stops, strict=True)):
        known = sizes = ends = []
    found = list(zip(known, sizes, strict=True))
    for low, high in zip([0, *ends], [*known, len(content)], strict=True):
        found += walked(content, order, low, high)
    return sorted(found)


def decoded(
    content: bytes, form: Form, start: int, size: int, address: int
) -> tuple[int, int, int, int, int, int]:
    """Return kind, function, LSDA, extent, and the places of function and LSDA."""
    word = 8 if form.is_64 else 4
    order = form.order
    id_ = number(content, start + 4, 4, order)
    kind = END if size == 4 else FDE if id_ else CIE
    cie = start + 4 - id_
    function, lsda, extent, function_at, lsda_at = NOWHERE, NOWHERE, 0, NOWHERE, NOWHERE

    def pointer(at: int, form_: int, width: int) -> int:
        if form_ & 0x70 not in (0, 0x10):
            return NOWHERE
        value = number(content, at, width, order, is_signed=bool(form_ & 8))
        value += at + address if form_ & 0x70 else 0
        return (value + 2**63) % 2**64 - 2**63

    if kind == FDE and 0 <= cie <= len(content) - 12:
        of_function, of_lsda = pointer_forms(content[cie + 8 : cie + 256], word)
        width, lsda_width = (pointer_width(each, word) for each in (of_function, of_lsda))
        if width:
            function_at = start + 8
            function = pointer(function_at, of_function, width)
            extent = number(content, start + 8 + width, width, order)
            at = start + 8 + 2 * width
            length = content[at] if at < len(content) else 0
            fits = at + 1 + lsda_width <= start + size
            if lsda_width and lsda_width <= length < 128 and fits:
                lsda_at = at + 1
                if number(content, lsda_at, lsda_width, order):
                    lsda = pointer(lsda_at, of_lsda, lsda_width)
    return kind, function, lsda, extent, function_at, lsda_at


@given(FORMS, st.booleans(), st.data())
def test_records_are_those_of_a_plain_loop(
    form: Form, is_relocatable: bool, data: st.DataObject
) -> None:
    content = data.draw(sections(form))
    around = st.one_of(
        st.integers(-9, len(content) + 9),
        st.sampled_from([at for at, _ in walked(content, form.order, 0, len(content))] or [0]),
    )
    listed = data.draw(st.lists(around, max_size=5))
    address = 0 if is_relocatable else ADDRESS
    made = MadeSection(".eh_frame", flags=2, address=address, content=content)
    type_ = ET_REL if is_relocatable else ET_DYN
    image = parse_elf(__file__, make_elf(form, [made], type_=type_))  # type: ignore[arg-type]
    table = HeaderTable(np.array(listed, np.int64), np.array(listed, np.int64) + address)
    frames = read_frames(image, image.sections[1], table)
    theirs = records_of(content, form.order, listed)
    assert list(zip(frames.start.tolist(), frames.size.tolist(), strict=True)) == theirs
    expected = [decoded(content, form, start, size, address) for start, size in theirs]
    names = ("kind", "function", "lsda", "extent", "function_at", "lsda_at")
    for i, name in enumerate(names[: None if is_relocatable else 4]):
        assert getattr(frames, name).tolist() == [row[i] for row in expected], name


def uleb(content: bytes, at: int) -> tuple[int, int] | None:
    """Return a number of up to five bytes and the place after it; None if it is cut."""
    value = 0
    for i in range(5):
        if at + i >= len(content):
            return None
        value |= (content[at + i] & 127) << 7 * i
        if content[at + i] < 128:
            return value, at + i + 1
    return None


@given(
    st.lists(st.sampled_from([0, 1, 3, 9, 127, 128, 255]), min_size=1, max_size=24).map(bytes),
    st.data(),
)
def test_exception_tables_end_after_types_or_call_sites(
    content: bytes, data: st.DataObject
) -> None:
    starts = sorted(data.draw(st.sets(st.integers(0, len(content) - 1), min_size=1)))
    limits = [*starts[1:], len(content)]
    expected = []
    for start, limit in zip(starts, limits, strict=True):
        has_types = content[start + 1 : start + 2] not in (b"\xff", b"")
        found = uleb(content, start + 2 if has_types else start + 3)
        is_known = content[start] == 255 and found is not None and sum(found) <= limit
        expected.append(sum(found) if is_known and found is not None else limit)
    ends = table_ends(
        np.frombuffer(content, np.uint8), np.array(starts, np.int64), np.array(limits, np.int64)
    )
    assert ends.tolist() == expected
