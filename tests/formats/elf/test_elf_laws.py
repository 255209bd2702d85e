"""Laws of an ELF ledger on generated images, against oracles that look at each byte.

The images have every class and byte order.
"""

from __future__ import annotations

import random
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.base.errors import InputError
from sizeguard.formats.elf import Elf, parse_elf
from sizeguard.formats.linkmap.link_map import InputSection
from sizeguard.ledger.elf import elf_ledger
from sizeguard.ledger.kinds import ANALYZER
from sizeguard.ledger.ledger import Ledger
from tests.soak.images.mutate import mutated
from tests.soak.images.mutations.elf import TARGETS
from tests.support.drawn import at_least
from tests.support.images.made_elf import (
    ET_DYN,
    ET_EXEC,
    ET_REL,
    SHT_NOBITS,
    SHT_STRTAB,
    SHT_SYMTAB,
    Form,
    MadeSection,
    MadeSegment,
    MadeSymbol,
    make_elf,
)
from tests.support.whole_products import choose

FORMS = [Form(is_64, order) for is_64 in (False, True) for order in "<>"]
NAMES = (
    ".text", ".text.f", ".rodata", ".data", ".eh_frame", ".eh_frame_hdr", ".gcc_except_table",
    ".got", ".plt", ".init_array", ".comment",
)  # fmt: skip
BASE = 0x1000


@st.composite
def images(draw: st.DrawFn) -> tuple[Form, bytes]:
    """Draw sections and segments anywhere, even overlapping, and any symbols and relocations."""
    form = draw(st.sampled_from(FORMS))
    small = st.integers(0, 96)
    sections = []
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=6)):
        content = draw(
            st.binary(max_size=48) | st.just(b"hello\0you\0\0\0\0\0") | st.just(bytes(24))
        )
        nobits = draw(st.integers(0, 5)) == 0
        sections.append(
            MadeSection(
                name,
                SHT_NOBITS if nobits else draw(st.sampled_from((1, 1, 1, 7, 14))),
                draw(st.sampled_from((0, 2, 3, 6, 2, 6, 0x403, 0x32))),
                BASE + draw(small) if draw(st.booleans()) else BASE + 64 * len(sections),
                b"" if nobits else content,
                draw(st.integers(0, 200)) if draw(st.integers(0, 3)) == 0 else None,
                draw(small) if nobits else None,
                alignment=draw(st.sampled_from((1, 4, 16))),
            )
        )
    count = len(sections)
    symbol = st.builds(
        MadeSymbol,
        st.sampled_from(("", "f", "g", "_ZTV1A", "$x", ".L1", "long_name_of_a_function", "f")),
        st.integers(0, 300).map(lambda at: BASE + at) | small,
        st.sampled_from((0, 1, 8, 16, 1 << 31)) | small,
        st.sampled_from((0, 1, 2, 3, 4, 6, 10)),
        st.sampled_from((0, 1, 2)),
        st.sampled_from((0, 1, 2, 3, 5, count, 0xFFF1, 0xFFFF)),
    )
    table, strings = form.symbols(draw(st.lists(symbol, max_size=12)))
    for kind, name in ((SHT_SYMTAB, ".symtab"), (11, ".dynsym")):
        if draw(st.booleans()):
            sections.append(
                MadeSection(
                    name,
                    kind,
                    0 if kind == SHT_SYMTAB else 2,
                    BASE + 500,
                    table,
                    link=len(sections) + 2,
                )
            )
            sections.append(MadeSection(".strtab", SHT_STRTAB, content=strings))
    relocation = st.tuples(
        st.integers(0, 300).map(lambda at: BASE + at),
        st.integers(0, 14),
        st.integers(0, 8),
        st.integers(-100, BASE + 200),
    )
    for kind, addend in ((4, True), (9, False)):
        if draw(st.booleans()):
            rows = form.relocations(draw(st.lists(relocation, max_size=6)), addend=addend)
            sections.append(
                MadeSection(
                    ".rela.dyn",
                    kind,
                    2,
                    BASE + 600,
                    rows,
                    link=count + 1,
                    info=draw(st.integers(0, 5)),
                )
            )
    if draw(st.booleans()):
        content = draw(st.binary(max_size=40))
        kind = draw(st.sampled_from((5, 19, 0x60000002, 0x6FFFFFF6, 0x6FFFFFFF)))
        sections.append(
            MadeSection(
                ".table", kind, 2, BASE + 700, content, link=draw(st.integers(0, count + 2))
            )
        )
    place = st.integers(0, 300)
    segment = st.builds(
        lambda offset, address, size, more, flags: MadeSegment(
            offset, BASE + address, size, size + more, 1, flags
        ),
        place,
        place,
        st.integers(0, 120),
        st.sampled_from((0, 0, 8, 100)),
        st.integers(0, 7),
    )
    segments = draw(st.lists(segment, max_size=3))
    type_ = draw(st.sampled_from((ET_REL, ET_EXEC, ET_DYN)))
    machine = draw(st.sampled_from((62, 3, 183, 40, 21)))
    data = make_elf(
        form, sections, segments, type_=type_, machine=machine, tail=draw(st.binary(max_size=8))
    )
    return form, data


def ledger_of(data: bytes) -> tuple[Elf, Ledger] | None:
    """Return None if the image is refused; check that the error is one line."""
    try:
        image = parse_elf(Path("made"), data)
        return image, elf_ledger(image)
    except InputError as error:
        assert "\n" not in str(error)
        return None


@pytest.mark.native
@at_least(100)
@given(images())
def test_each_byte_belongs_to_one_row_and_sums_are_exact(made: tuple[Form, bytes]) -> None:
    read = ledger_of(made[1])
    if read is None:
        return
    image, ledger = read
    file = ledger.file
    assert (
        file.start[0] == 0
        and (np.diff(file.start, append=file.size) > 0).all()
        and file.size == len(made[1])
    )
    assert (file.owner >= 0).all() and (file.owner < len(ledger.owners)).all()
    assert ledger.file_bytes.sum() == image.size
    assert ledger.load.sum() == image.load == ledger.image.load
    assert ledger.ram.sum() == image.ram == ledger.image.ram
    sums = np.zeros(len(ledger.owners), np.int64)
    np.add.at(sums, file.owner, np.diff(file.start, append=file.size))
    assert sums.tolist() == ledger.file_bytes.tolist()
    assert (ledger.count >= 1).all()


@pytest.mark.native
@at_least(100)
@given(images())
def test_loaded_bytes_do_not_depend_on_how_the_others_are_cut(made: tuple[Form, bytes]) -> None:
    read = ledger_of(made[1])
    if read is None:
        return
    image, ledger = read
    loaded = elf_ledger(parse_elf(Path("made"), made[1]), loaded_only=True)
    assert loaded.file_bytes.sum() == image.size
    assert loaded_sums(loaded) == loaded_sums(ledger)


def loaded_sums(ledger: Ledger) -> dict[tuple[str, int, int, int], tuple[int, int]]:
    """Sum the bytes loaded and in memory by name, section, kind and analyzer."""
    owners, sums = ledger.owners, dict[tuple[str, int, int, int], tuple[int, int]]()
    columns = (owners.symbol, owners.section, owners.kind, owners.analyzer)
    for *key, load, ram in zip(*columns, ledger.load, ledger.ram, strict=True):
        if load or ram:
            symbol, section, kind, analyzer = map(int, key)
            name = ledger.symbols[symbol] if symbol >= 0 else ""
            before = sums.get((name, section, kind, analyzer), (0, 0))
            sums[name, section, kind, analyzer] = before[0] + int(load), before[1] + int(ram)
    return sums


@pytest.mark.native
@at_least(80)
@given(images())
def test_each_byte_of_the_file_is_of_the_smallest_section_there(made: tuple[Form, bytes]) -> None:
    read = ledger_of(made[1])
    if read is None:
        return
    image, ledger = read
    row = np.repeat(ledger.file.owner, np.diff(ledger.file.start, append=ledger.file.size))
    for offset in range(image.size):
        name = ledger.sections[ledger.owners.section[row[offset]]]
        if any(
            start <= offset < start + size
            for start, size in (image.header, image.program_headers, image.section_headers)
        ):
            assert name == "(headers)"
            continue
        here = [
            (s.size, s.index, s.name)
            for s in image.sections
            if s.offset <= offset < s.offset + s.file_size
        ]
        if here:
            assert name == min(here)[2]
        else:
            assert name.startswith("(")


@pytest.mark.native
@at_least(80)
@given(images())
def test_the_memory_of_segments_is_covered_once(made: tuple[Form, bytes]) -> None:
    read = ledger_of(made[1])
    if read is None:
        return
    image, ledger = read
    loads = sorted(
        (s.address, s.offset, s.file_size, s.memory_size)
        for s in image.segments
        if s.type == 1 and s.memory_size
    )
    expected: dict[int, int] = {}  # address → file offset of its byte, -1 for none
    reached = -1
    for address, offset, size, memory in loads:
        for i in range(memory):
            if address + i > reached:
                expected[address + i] = offset + i if i < size else -1
        reached = max(reached, address + memory - 1)
    in_file = np.repeat(ledger.file.owner, np.diff(ledger.file.start, append=ledger.file.size))
    memory_ = ledger.memory
    given_: dict[int, int] = {}
    for address, size, owner in zip(
        memory_.address.tolist(), memory_.size.tolist(), memory_.owner.tolist(), strict=True
    ):
        for i in range(size):
            assert address + i not in given_
            given_[address + i] = owner
    assert given_.keys() == expected.keys()
    for address, offset in expected.items():
        if offset >= 0:
            assert given_[address] == in_file[offset]
        else:
            assert ledger.file_bytes[given_[address]] == 0


@at_least(80)
@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(0, 20), st.sampled_from("abcdef")), max_size=10
    ),
    st.sampled_from(FORMS),
)
def test_a_byte_of_code_is_of_the_smallest_symbol_there(
    rows: list[tuple[int, int, str]], form: Form
) -> None:
    """Of several symbols of one size, one owns the byte, or all if they are aliases."""
    symbols = [MadeSymbol(name, BASE + at, size) for at, size, name in rows]
    table, strings = form.symbols(symbols)
    sections = [
        MadeSection(".text", 1, 6, BASE, bytes(range(1, 65))),
        MadeSection(".symtab", SHT_SYMTAB, content=table, link=3),
        MadeSection(".strtab", SHT_STRTAB, content=strings),
    ]
    read = ledger_of(make_elf(form, sections))
    assert read is not None
    image, ledger = read
    row = np.repeat(ledger.file.owner, np.diff(ledger.file.start, append=ledger.file.size))
    names = [ledger.symbols[i] for i in range(len(ledger.symbols))]
    for at in range(64):
        owner = int(row[image.sections[1].offset + at])
        symbol, group = int(ledger.owners.symbol[owner]), int(ledger.owners.group[owner])
        here = [s for s in symbols if s.size and s.address <= BASE + at < s.address + s.size]
        if not here:
            assert symbol < 0 or ledger.owners.analyzer[owner] == ANALYZER["label"]
            continue
        best = [s for s in here if s.size == min(s.size for s in here)]
        assert names[symbol] in {s.name for s in best}
        same = {
            s.name
            for s in symbols
            if s.size == best[0].size and any(s.address == b.address for b in best)
        }
        if group >= 0:
            first, last = ledger.groups.first[group : group + 2]
            members = {names[i] for i in ledger.groups.member[first:last]}
            assert len(members) > 1 and members <= same and names[symbol] in members


@at_least(60)
@given(st.permutations(range(6)))
def test_the_order_of_map_rows_and_symbols_does_not_matter(order: list[int]) -> None:
    symbols = [
        MadeSymbol(name, BASE + at, size)
        for name, at, size in (
            ("a", 0, 8),
            ("b", 0, 8),
            ("c", 4, 8),
            ("d", 20, 0),
            ("e", 30, 4),
            ("f", 30, 4),
        )
    ]
    inputs = [
        InputSection(".text", f".text.{i}", f"{i % 3}.o", BASE + 9 * i, 11, i == 2)
        for i in range(6)
    ]

    def rows(order: list[int]) -> list[tuple[object, ...]]:
        table, strings = Form().symbols([symbols[i] for i in order])
        sections = [
            MadeSection(".text", 1, 6, BASE, bytes(range(1, 65))),
            MadeSection(".symtab", SHT_SYMTAB, content=table, link=3),
            MadeSection(".strtab", SHT_STRTAB, content=strings),
        ]
        ledger = elf_ledger(
            parse_elf(Path("made"), make_elf(Form(), sections)), None, [inputs[i] for i in order]
        )
        found = []
        at = ledger.sections.index(".text")
        for start, owner in zip(
            ledger.file.start.tolist(), ledger.file.owner.tolist(), strict=True
        ):
            if ledger.owners.section[owner] == at:
                symbol, input_ = int(ledger.owners.symbol[owner]), int(ledger.owners.input[owner])
                group = int(ledger.owners.group[owner])
                members = (
                    ledger.groups.member[slice(*ledger.groups.first[group : group + 2])].tolist()
                    if group >= 0
                    else []
                )
                name = ledger.symbols[symbol] if symbol >= 0 else ""
                found.append(
                    (
                        start,
                        name,
                        ledger.inputs[input_].name if input_ >= 0 else "",
                        [ledger.symbols[i] for i in members],
                    )
                )
        return found

    assert rows(order) == rows(list(range(6)))


@pytest.mark.native
@pytest.mark.parametrize("form", choose([Form(is_64=True, order="<")], FORMS), ids=str)
def test_more_sections_than_sixteen_bits_count(form: Form) -> None:
    """The first section header has their number; .symtab_shndx has the sections of symbols."""
    many = 66_000
    symbols, strings = form.symbols([MadeSymbol("last", BASE + 4, 4, section=0xFFFF)])
    sections = [
        MadeSection(f".text.{i % 7}", 1, 6, BASE, bytes(8) if i == many - 1 else b"")
        for i in range(many)
    ]
    sections.append(MadeSection(".symtab", SHT_SYMTAB, content=symbols, link=many + 2))
    sections.append(MadeSection(".strtab", SHT_STRTAB, content=strings))
    sections.append(
        MadeSection(
            ".symtab_shndx", 18, content=struct.pack(form.order + "II", 0, many), link=many + 1
        )
    )
    data = make_elf(form, sections)
    image = parse_elf(Path("made"), data)
    assert len(image.sections) == len(sections) + 2
    assert image.symbols[1].section == many
    ledger = elf_ledger(image)
    assert ledger.file_bytes.sum() == len(data)
    home = ledger.sections.index(f".text.{(many - 1) % 7}")
    rows = np.flatnonzero((ledger.owners.symbol >= 0) & (ledger.owners.section == home))
    assert ledger.file_bytes[rows].tolist() == [4]


@pytest.mark.native
def test_mutated_files_end_in_exact_sums_or_in_one_line(tmp_path: Path) -> None:
    """Mutate as tests/soak/images/mutate.py does, but fewer times."""
    read = TARGETS["elf"]
    seeds = [path.read_bytes() for path in read[0](tmp_path)]
    refused = 0
    for i in range(250):
        path = tmp_path / "mutated"
        path.write_bytes(mutated(seeds[i % len(seeds)], random.Random(i)))
        try:
            read[1](path)
        except InputError as error:
            assert "\n" not in str(error)
            refused += 1
    assert 60 < refused < 190
