"""Named ranges of Mach-O sections, over drawn symbols, STABs and map rows, against plain loops."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from sizeguard.columns.texts import Texts
from sizeguard.formats.macho import constants as c
from sizeguard.ledger.ledger import NONE
from sizeguard.ledger.macho import named_ranges as module
from sizeguard.ledger.macho.name_refs import NameRefs
from sizeguard.ledger.macho.named_ranges import MAP, NEXT, SOURCES, STAB, START, stabs

EXPORTED, LOCAL = c.N_SECT | c.N_EXT, c.N_SECT
BODY, NOP = 0xCC, 0x90
BASE = 0x1000


class Entry(NamedTuple):
    """A row of the symbol table. section: 0 for none."""

    name: str
    value: int
    type: int = EXPORTED
    section: int = 1


def table_of(entries: Sequence[Entry]) -> Any:
    """Return an image of which only the symbols are known."""
    symbols = SimpleNamespace(
        type=np.array([each.type for each in entries], np.int64),
        section=np.array([each.section for each in entries], np.int64),
        value=np.array([each.value for each in entries], np.int64),
        names=Texts.of(each.name for each in entries),
    )
    return SimpleNamespace(symbols=symbols)


def section_of(index: int, address: int, size: int, **flags: Any) -> Any:
    known = {
        "name": "__text", "segment_name": "__TEXT", "type": 0, "is_code": True,
        "file_size": size, "offset": address - BASE,
    }  # fmt: skip
    return SimpleNamespace(index=index, address=address, size=size, **{**known, **flags})


class Range(NamedTuple):
    """A range, as a test reads it."""

    address: int
    size: int
    padding: int
    section: int
    source: str
    names: tuple[str, ...]


def found(
    monkeypatch: pytest.MonkeyPatch,
    sections: Sequence[Any],
    entries: Sequence[Entry] = (),
    *,
    rows: Mapping[int, tuple[int, str]] | None = None,
    starts: Sequence[int] = (),
    data: bytes = b"",
    cpu: int = c.CPU_X86_64,
    filetype: int = 2,
) -> list[Range]:
    """Find the ranges of sections. rows: of the map, by address: size and name."""
    monkeypatch.setattr(module, "function_starts", lambda _: np.array(starts, np.int64))
    content = np.frombuffer(data or bytes([BODY]) * 4096, np.uint8)
    image: Any = SimpleNamespace(sections=sections, data=content, cpu=cpu, filetype=filetype)
    names = table_of(entries)
    refs = NameRefs(Texts.of(["before"]), names.symbols.names)
    inputs: Any = [
        SimpleNamespace(address=address, size=size, name=name)
        for address, (size, name) in (rows or {}).items()
    ]
    ranges = module.named_ranges(image, names, inputs, refs, 1)
    texts = refs.texts()
    return [
        Range(
            int(ranges.address[i]), int(ranges.size[i]), int(ranges.padding[i]),
            int(ranges.section[i]), SOURCES[ranges.source[i]],
            tuple(texts[k] for k in ranges.member[ranges.first[i] : ranges.first[i + 1]].tolist()),
        )
        for i in range(len(ranges))
    ]  # fmt: skip


def test_stabs_state_sizes_and_objects() -> None:
    entries = [
        Entry("f0", 0x10, c.N_FUN),  # before any object
        Entry("", 8, c.N_FUN, 0),
        Entry("a.o", 0, c.N_OSO, 0),
        Entry("f1", 0x20, c.N_FUN),
        Entry("line", 0x21, c.N_GSYM),
        Entry("", 16, c.N_FUN, 0),
        Entry("", 99, c.N_FUN, 0),  # without a function
        Entry("b.o", 0, c.N_OSO, 0),
        Entry("f2", 0x40, c.N_FUN),
        Entry("f3", 0x50, c.N_FUN),  # the size of f2 is missing
        Entry("", 4, c.N_FUN, 0),
    ]
    told = stabs(table_of(entries))
    assert told.sizes == {0x10: 8, 0x20: 16, 0x50: 4}
    assert told.objects == {0x20: "a.o", 0x40: "b.o", 0x50: "b.o"}
    at_zero = stabs(table_of([Entry("f", 0, c.N_FUN), Entry("", 5, c.N_FUN, 0)]))
    assert at_zero.sizes == {0: 5}  # of an object


def expected(
    section: Any,
    symbols: Mapping[int, str],
    sizes: Mapping[int, int],
    rows: Mapping[int, tuple[int, str]],
    starts: Sequence[int],
) -> list[Range]:
    """Return the ranges of a section of code or data, without padding, one after the other."""
    end = section.address + section.size
    known = {*symbols, *rows, *(sizes if section.is_code else ()),
             *(starts if section.is_code else ())}  # fmt: skip
    here = sorted(each for each in known if section.address <= each < end)
    ranges = []
    for address, following in zip(here, [*here[1:], end], strict=False):
        room = following - address
        row_size, row_name = rows.get(address, (room, ""))
        stated = sizes.get(address, 0) if section.is_code else 0
        size = min(stated or row_size, room)
        if stated:
            source = STAB
        elif address in rows:
            source = MAP
        else:
            source = NEXT if address in symbols else START
        is_name = bool(row_name) and " " not in row_name
        names = (symbols[address],) if address in symbols else (row_name,) if is_name else ()
        padding = room - size if address in rows and not section.is_code else 0
        ranges.append(Range(address, size, padding, section.index, source, names))
    return ranges


@pytest.mark.parametrize("seed", range(80))
def test_ranges_end_at_their_size_or_at_the_next_one(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    draw = random.Random(seed)
    code = section_of(0, BASE, 256)
    data = section_of(1, BASE + 256 + draw.choice([0, 64]), 128, is_code=False, name="__data")
    places = draw.sample(range(BASE - 8, BASE + 470), draw.randint(0, 12))
    symbols = {each: f"_f{each}" for each in draw.sample(places, len(places) // 2)}
    in_code = [each for each in places if code.address <= each < code.address + code.size]
    sizes = {each: draw.choice([0, 1, 3, 500]) for each in in_code if draw.random() < 0.4}
    rows = {
        each: (draw.choice([1, 2, 7, 300]), draw.choice(["_m", "literal string: x", ""]))
        for each in places
        if draw.random() < 0.4
    }
    starts = sorted(each for each in places if draw.random() < 0.4)
    entries = [Entry(name, address) for address, name in symbols.items()]
    for address, size in sizes.items():
        entries += [Entry("f", address, c.N_FUN), Entry("", size, c.N_FUN, 0)]
    draw.shuffle(sections := [code, data])
    ranges = found(monkeypatch, sections, entries, rows=rows, starts=starts)
    assert ranges == [
        *expected(code, symbols, sizes, rows, starts),
        *expected(data, symbols, sizes, rows, starts),
    ]


@pytest.mark.parametrize(
    ("changed", "counts"),
    [
        ({}, True),
        ({"size": 0}, False),
        ({"type": c.S_CSTRING_LITERALS}, False),  # cut into strings
        ({"type": c.S_SYMBOL_STUBS}, False),
        ({"name": "__unwind_info"}, False),
        ({"name": "__eh_frame"}, False),
        ({"segment_name": "__DWARF"}, False),
    ],
)
def test_sections_that_are_cut_otherwise_have_no_ranges(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], counts: bool
) -> None:
    section = section_of(3, BASE, 16)
    section.__dict__.update(changed)
    ranges = found(monkeypatch, [section], [Entry("_f", BASE)])
    assert ranges == ([Range(BASE, 16, 0, 3, NEXT, ("_f",))] if counts else [])
    assert found(monkeypatch, [section], [Entry("_f", BASE)], filetype=c.MH_DSYM) == []


@pytest.mark.parametrize(
    ("entries", "names"),
    [
        ([Entry("_a", BASE, LOCAL), Entry("_b", BASE)], ("_b", "_a")),  # exported first
        ([Entry("_b", BASE), Entry("_a", BASE)], ("_b", "_a")),  # then in the table's order
        ([Entry("_a", BASE), Entry("_a", BASE, LOCAL)], ("_a",)),
        ([Entry("ltmp0", BASE, LOCAL), Entry("_a", BASE, LOCAL)], ("_a",)),
        ([Entry("ltmp0", BASE, LOCAL), Entry("ltmp1", BASE, LOCAL)], ("ltmp0",)),
        ([Entry("ltmp0", BASE, LOCAL)], ("ltmp0",)),
        ([Entry("l_.str.4", BASE, LOCAL), Entry("_text", BASE)], ("_text",)),
        ([Entry("lookup", BASE), Entry("_a", BASE)], ("lookup", "_a")),
        ([Entry("", BASE), Entry("_a", BASE)], ("_a",)),
        ([Entry("", BASE)], ()),
        ([Entry("_u", BASE, c.N_UNDF | c.N_EXT, 0), Entry("_a", BASE)], ("_a",)),
        ([Entry("_abs", BASE, c.N_ABS | c.N_EXT, 0), Entry("_a", BASE)], ("_a",)),
        ([Entry("_g", BASE, c.N_GSYM), Entry("_a", BASE)], ("_a",)),
        ([Entry("_a", BASE + 16), Entry("_b", BASE), Entry("_b", BASE + 16)], ("_b",)),
    ],
)
def test_names_of_a_place(
    monkeypatch: pytest.MonkeyPatch, entries: list[Entry], names: tuple[str, ...]
) -> None:
    first, *more = found(monkeypatch, [section_of(0, BASE, 32)], entries)
    assert (first.address, first.names) == (BASE, names)
    assert [each.names for each in more] in ([], [("_a", "_b")])
    assert first.source == (NEXT if names else START)


def test_a_name_may_be_at_several_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Local functions of two objects; temporary names drop beside them at each place."""
    entries = [
        Entry("_a", BASE), Entry("_b", BASE), Entry("ltmp0", BASE, LOCAL),
        Entry("_a", BASE + 8, LOCAL), Entry("ltmp1", BASE + 8, LOCAL),
        Entry("ltmp2", BASE + 16, LOCAL), Entry("ltmp0", BASE + 16, LOCAL),
        Entry("_c", BASE + 24), Entry("_a", BASE + 24, LOCAL), Entry("_c", BASE + 24, LOCAL),
    ]  # fmt: skip
    ranges = found(monkeypatch, [section_of(0, BASE, 32)], entries)
    assert [each.names for each in ranges] == [("_a", "_b"), ("_a",), ("ltmp2",), ("_c", "_a")]


def test_a_row_of_the_map_names_a_place_without_symbols(monkeypatch: pytest.MonkeyPatch) -> None:
    section = section_of(0, BASE, 48, is_code=False)
    rows = {BASE: (8, "_row"), BASE + 16: (8, "literal string: x"), BASE + 32: (0, "_empty")}
    ranges = found(monkeypatch, [section], [Entry("", BASE), Entry("_s", BASE + 40)], rows=rows)
    assert ranges == [
        Range(BASE, 8, 8, 0, MAP, ("_row",)),
        Range(BASE + 16, 8, 16, 0, MAP, ()),
        Range(BASE + 40, 8, 0, 0, NEXT, ("_s",)),
    ]


def code_of(*parts: tuple[int, int]) -> bytes:
    """Return machine code: numbers of a function's bytes, and of nops after them."""
    return b"".join(bytes([BODY]) * body + bytes([NOP]) * nops for body, nops in parts)


@pytest.mark.parametrize(
    ("stated", "row", "body", "nops", "expected"),
    [
        (None, None, 10, 6, (10, 6)),
        (None, None, 16, 0, (16, 0)),
        (16, None, 10, 6, (10, 6)),  # a STAB counts the padding for the function
        (10, None, 10, 6, (10, 6)),
        (8, None, 10, 6, (8, 0)),  # what follows is not only padding
        (12, None, 10, 6, (10, 6)),
        (None, 16, 10, 6, (10, 6)),
        (None, 12, 10, 6, (10, 6)),
        (None, 8, 10, 6, (8, 0)),
        (None, None, 0, 16, (1, 15)),  # a function has at least one byte
    ],
)
def test_padding_of_code_belongs_to_no_function(
    monkeypatch: pytest.MonkeyPatch,
    stated: int | None,
    row: int | None,
    body: int,
    nops: int,
    expected: tuple[int, int],
) -> None:
    start = BASE + 64
    entries = [Entry("_f", start), Entry("_g", start + 16)]
    if stated is not None:
        entries += [Entry("_f", start, c.N_FUN), Entry("", stated, c.N_FUN, 0)]
    rows = {} if row is None else {start: (row, "_f")}
    data = code_of((60, 4), (body, nops), (16, 0))
    section = section_of(0, start, 32)
    first, second = found(monkeypatch, [section], entries, rows=rows, data=data)
    assert (first.size, first.padding) == expected
    assert (second.size, second.padding) == (16, 0)
    # Other machines have other nops
    first, _ = found(monkeypatch, [section], entries, rows=rows, data=data, cpu=7)
    assert (first.size, first.padding) == (min(stated or row or 16, 16), 0)


@pytest.mark.parametrize(("nops", "counts"), [(63, True), (64, False)])
def test_padding_is_less_than_the_largest_alignment(
    monkeypatch: pytest.MonkeyPatch, nops: int, counts: bool
) -> None:
    data = code_of((16, nops), (16, 0))
    section = section_of(0, BASE, 32 + nops)
    entries = [Entry("_f", BASE), Entry("_g", BASE + 16 + nops)]
    first, _ = found(monkeypatch, [section], entries, data=data)
    assert (first.size, first.padding) == (16, nops if counts else 0)
    entries += [Entry("_f", BASE, c.N_FUN), Entry("", 16, c.N_FUN, 0)]
    first, _ = found(monkeypatch, [section], entries, data=data)
    assert (first.size, first.padding) == (16, nops if counts else 0)


def test_ranges_are_found_by_address(monkeypatch: pytest.MonkeyPatch) -> None:
    section = section_of(0, BASE, 48, is_code=False)
    refs = NameRefs()
    monkeypatch.setattr(module, "function_starts", lambda _: np.zeros(0, np.int64))
    image: Any = SimpleNamespace(sections=[section], data=np.zeros(99, np.uint8), cpu=7, filetype=2)
    rows: Any = [SimpleNamespace(address=BASE + at, size=8, name="_row") for at in (8, 32)]
    ranges = module.named_ranges(image, table_of([Entry("_f", BASE + 8)]), rows, refs, 0)
    places = np.array([0, BASE + 7, BASE + 8, BASE + 15, BASE + 16, BASE + 32, BASE + 40])
    assert ranges.at(places).tolist() == [NONE, NONE, 0, 0, NONE, 1, NONE]
    assert refs.texts().all_raw() == [b"_row"]
    assert ranges.has_name(np.array([NONE, 0, 1])).tolist() == [False, True, True]
    assert ranges.is_start(np.array([NONE, 0, 1])).tolist() == [False, False, False]
    empty = module.named_ranges(image, table_of([]), [], refs, 0)
    assert empty.at(places).tolist() == [NONE] * 7
    assert empty.is_start(np.array([NONE])).tolist() == [False]
    monkeypatch.setattr(module, "function_starts", lambda _: np.array([BASE, BASE + 9]))
    section.is_code = True
    section.file_size = 0
    ranges = module.named_ranges(image, table_of([Entry("_f", BASE + 9)]), [], refs, 0)
    assert ranges.is_start(np.array([NONE, 0, 1])).tolist() == [False, True, False]
