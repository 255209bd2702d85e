"""Mach-O ledgers cover each byte once; sizes agree with llvm-size, the map and the dSYM."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from sizeguard.base.errors import InputError
from sizeguard.formats.linkmap import read_map
from sizeguard.formats.macho import MachO, parse_macho_file, read_macho
from sizeguard.formats.macho.constants import MH_DSYM
from sizeguard.formats.macho.dsym import find_dsym
from sizeguard.ledger.kinds import ANALYZER, KIND
from sizeguard.ledger.ledger import NONE, Ledger
from sizeguard.ledger.macho.macho_ledger import macho_ledger
from sizeguard.ledger.macho.nops import is_padding, padding_before
from tests.support.drawn import at_least
from tests.support.images.macho_samples import LINKED, THIN, MachoSamples
from tests.support.tools import tool


def check_sums(ledger: Ledger, image: MachO) -> None:
    """Check the rules that hold for every image.

    Both partitions are complete, and the columns sum to the totals.
    """
    assert (
        ledger.file.start[0] == 0
        and (np.diff(ledger.file.start) > 0).all()
        and ledger.file.start[-1] < image.size
    )
    assert ledger.file.size == image.size == ledger.image.file == ledger.file_bytes.sum()
    assert (ledger.file.owner >= 0).all() and (ledger.file.owner < len(ledger.owners)).all()
    assert (
        ledger.load.sum()
        == ledger.image.load
        == sum(s.file_size for s in image.sections if image.section_is_loaded(s))
    )
    assert ledger.ram.sum() == ledger.image.ram == image.ram
    assert (ledger.count > 0).all()

    memory = ledger.memory
    for segment in image.segments:
        inside = (memory.address >= segment.address) & (
            memory.address < segment.address + segment.memory_size
        )
        start, size = memory.address[inside], memory.size[inside]
        if (
            segment.max_protection
            and segment.memory_size
            and segment.name != "__DWARF"
            and image.filetype != MH_DSYM
        ):
            assert start[0] == segment.address and (start[:-1] + size[:-1] == start[1:]).all()
            assert size.sum() == segment.memory_size
        else:
            assert not inside.any()
    owners = ledger.owners
    for column, table in ((owners.section, ledger.sections), (owners.segment, ledger.segments)):
        assert ((column >= 0) & (column < len(table))).all()
    for column, count in (
        (owners.symbol, len(ledger.symbols)),
        (owners.part, len(ledger.parts)),
        (owners.input, len(ledger.inputs)),
    ):
        assert ((column >= NONE) & (column < count)).all()


def bytes_by(ledger: Ledger, column: np.ndarray, value: int, amounts: np.ndarray) -> int:
    return int(amounts[column == value].sum())


def symbol_bytes(ledger: Ledger, *, kind: str) -> Counter[str]:
    totals: Counter[str] = Counter()
    for i in np.flatnonzero(ledger.owners.kind == KIND[kind]).tolist():
        if ledger.owners.symbol[i] != NONE:
            totals[ledger.symbols[int(ledger.owners.symbol[i])]] += int(ledger.file_bytes[i])
    return totals


def strings_of(ledger: Ledger, section: str) -> dict[str, int]:
    where = ledger.sections.index(section)
    rows = np.flatnonzero((ledger.owners.section == where) & (ledger.owners.part != NONE)).tolist()
    return {ledger.parts[int(ledger.owners.part[i])]: int(ledger.file_bytes[i]) for i in rows}


def slots_of(ledger: Ledger, section: str) -> dict[str, int]:
    where = ledger.sections.index(section)
    rows = np.flatnonzero(
        (ledger.owners.section == where) & (ledger.owners.symbol != NONE)
    ).tolist()
    return {ledger.symbols[int(ledger.owners.symbol[i])]: int(ledger.file_bytes[i]) for i in rows}


@pytest.mark.parametrize("name", THIN)
def test_every_byte_once(macho: MachoSamples, name: str) -> None:
    image = read_macho(macho.path(name))
    check_sums(macho_ledger(image), image)


@pytest.mark.parametrize("name", [name for name in LINKED if "stripped" in name or "-S-" in name])
def test_every_byte_once_with_what_a_map_and_a_twin_tell(macho: MachoSamples, name: str) -> None:
    image = read_macho(macho.path(name))
    inputs = read_map(macho.map_of(name))
    twin = read_macho(macho.path(name.replace("-stripped", "").replace("-S-", "-g-")))
    for names, rows in ((None, inputs), (twin, ()), (twin, inputs)):
        check_sums(macho_ledger(image, names, rows), image)


@pytest.mark.parametrize("name", LINKED)
def test_sections_sum_to_what_llvm_size_says(macho: MachoSamples, name: str) -> None:
    ledger = macho_ledger(read_macho(macho.path(name)))
    text = tool("llvm-size-19", "-m", macho.path(name))
    segment, total_load, total_ram = "", 0, 0
    for line in text.splitlines():
        if line.startswith("Segment"):
            segment = line.split()[1].rstrip(":")
        found = re.fullmatch(r"\tSection (\S+): (\d+)( \(zerofill\))?", line)
        if found is None:
            continue
        size = int(found[2])
        section = ledger.sections.index(f"{segment},{found[1]}")
        is_zero = found[1] in ("__bss", "__common", "__thread_bss")
        assert bytes_by(ledger, ledger.owners.section, section, ledger.load) == (
            0 if is_zero else size
        )
        assert bytes_by(ledger, ledger.owners.section, section, ledger.file_bytes) == (
            0 if is_zero else size
        )
        total_load += 0 if is_zero else size
        total_ram += size if segment.startswith("__DATA") else 0
    assert (ledger.image.load, ledger.image.ram) == (total_load, total_ram)


@pytest.mark.parametrize(
    "name", [name for name in LINKED if "stripped" not in name and "-S-" not in name]
)
def test_sizes_of_functions_are_those_of_the_map(macho: MachoSamples, name: str) -> None:
    """The ledger is made without the map.

    On x86-64 the map counts padding as part of the preceding function; the ledger does not. Zeros
    between two input sections may look like the displacement of the jump that precedes them.
    """
    image = read_macho(macho.path(name))
    ledger = macho_ledger(image)
    text = next(section for section in image.sections if section.name == "__text")
    pieces = [row for row in read_map(macho.map_of(name)) if row.output == "__TEXT,__text"]
    code = symbol_bytes(ledger, kind="code")
    assert len(pieces) > 10
    for row in pieces:
        inside = (ledger.memory.address >= row.address) & (
            ledger.memory.address < row.address + row.size
        )
        padding = ledger.memory.size[
            inside & (ledger.owners.kind[ledger.memory.owner] == KIND["padding"])
        ].sum()
        after = next((piece for piece in pieces if piece.address > row.address), row)
        fill = max(after.address - row.address - row.size, 0)
        assert code[row.name] + padding - row.size in (0, fill), row.name
        assert fill < 16
        if image.arch != "x86_64":
            assert code[row.name] == row.size
    assert (
        bytes_by(ledger, ledger.owners.analyzer, ANALYZER["unattributed"], ledger.load)
        <= text.size * 0.005
    )


@pytest.mark.parametrize("arch", ["arm64", "x86_64"])
def test_sizes_of_functions_are_those_of_debug_information(macho: MachoSamples, arch: str) -> None:
    image = read_macho(macho.path(f"app-g-{arch}"))
    text = tool("llvm-dwarfdump-19", "--debug-info", macho.path(f"app-g-{arch}.dSYM"))
    sizes: dict[int, int] = {}
    for low, high in re.findall(r"DW_AT_low_pc\t\((\w+)\)\s+DW_AT_high_pc\t\((\w+)\)", text):
        # An inlined function may begin at the same address
        sizes[int(low, 16)] = max(sizes.get(int(low, 16), 0), int(high, 16) - int(low, 16))
    ledger = macho_ledger(image)
    owner = ledger.owners
    functions = 0
    for address, size, row in zip(
        ledger.memory.address.tolist(),
        ledger.memory.size.tolist(),
        ledger.memory.owner.tolist(),
        strict=True,
    ):
        if owner.analyzer[row] == ANALYZER["stabs"]:
            functions += address in sizes  # thunks and compiler-generated functions have none
            assert sizes.get(address, size) == size, ledger.symbols[int(owner.symbol[row])]
    assert functions == 12
    objects = {ledger.inputs[i].file for i in owner.input.tolist() if i != NONE}
    assert objects == {str(macho.path(f"{name}-{arch}-g.o")) for name in ("shapes", "main")}

    # With its dSYM, a stripped image has the same function names as the unstripped image.
    stripped = read_macho(macho.path(f"app-S-{arch}"))
    beside = macho.path(f"app-g-{arch}.dSYM")
    named = macho_ledger(stripped, find_dsym(stripped, beside))
    assert symbol_bytes(named, kind="code").keys() == symbol_bytes(ledger, kind="code").keys()


@pytest.mark.parametrize("name", [name for name in LINKED if "stripped" in name])
def test_a_map_names_a_stripped_image_as_its_symbols_would(macho: MachoSamples, name: str) -> None:
    full = read_macho(macho.path(name.replace("-stripped", "")))
    stripped = read_macho(macho.path(name))
    inputs = read_map(macho.map_of(name))
    expected = symbol_bytes(macho_ledger(full, None, inputs), kind="code")
    found = symbol_bytes(macho_ledger(stripped, None, inputs), kind="code")
    same = sum(min(size, found[symbol]) for symbol, size in expected.items())
    assert same >= 0.95 * sum(expected.values())
    ledger = macho_ledger(stripped, None, inputs)
    objects = {
        ledger.inputs[i].file.rpartition("/")[2] for i in ledger.owners.input.tolist() if i != NONE
    }
    assert {f"{part}-{stripped.arch}.o" for part in ("shapes", "main")} <= objects


@pytest.mark.parametrize("name", [name for name in LINKED if "stripped" in name])
def test_function_starts_cut_a_stripped_image(macho: MachoSamples, name: str) -> None:
    """Each function has its own row, named by its address or symbol."""
    image = read_macho(macho.path(name))
    ledger = macho_ledger(image)
    assert bytes_by(ledger, ledger.owners.kind, KIND["unattributed"], ledger.load) == 0
    starts = [
        ledger.parts[p]
        for p in ledger.owners.part.tolist()
        if p != NONE and ledger.parts[p].startswith("function at ")
    ]
    names = {row.name for row in read_map(macho.map_of(name)) if row.output == "__TEXT,__text"}
    kept = set(symbol_bytes(ledger, kind="code"))
    assert len(set(starts)) + len(kept) == len(names)


@pytest.mark.parametrize("name", LINKED)
def test_imports_strings_and_tables_belong_to_their_symbols(macho: MachoSamples, name: str) -> None:
    image = read_macho(macho.path(name))
    ledger = macho_ledger(image)
    stub = {"arm64": 12, "x86_64": 6, "arm64_32": 12}[image.arch]
    stubs = slots_of(ledger, "__TEXT,__stubs")
    assert len(stubs) == 8 and stubs["_puts"] == stub and set(stubs.values()) == {stub}
    assert (
        bytes_by(ledger, ledger.owners.analyzer, ANALYZER["unattributed"], ledger.load) == 0
        or "stripped" in name
    )
    assert slots_of(ledger, "__DATA_CONST,__got")["__ZTIi"] == image.pointer_size
    if "__DATA,__la_symbol_ptr" in ledger.sections:
        assert slots_of(ledger, "__DATA,__la_symbol_ptr")["_puts"] == image.pointer_size
        assert slots_of(ledger, "__TEXT,__stub_helper")["_puts"] == {"x86_64": 10}.get(
            image.arch, 12
        )
    strings = strings_of(ledger, "__TEXT,__cstring")
    assert strings["three words here"] == len("three words here") + 1
    assert sum(strings.values()) == next(s.size for s in image.sections if s.name == "__cstring")

    # Rows of the symbol table are whole entries and cover the table.
    where = ledger.sections.index("(symbol table)")
    rows = np.flatnonzero(
        (ledger.owners.section == where) & (ledger.owners.kind == KIND["symbol table"])
    ).tolist()
    entry = 16 if image.is_64 else 12
    for i in rows:
        assert ledger.file_bytes[i] % entry == 0
    assert (
        bytes_by(ledger, ledger.owners.section, where, ledger.file_bytes)
        == len(image.symbols) * entry
    )


@pytest.mark.parametrize("name", ["app-arm64", "app-x86_64", "lib-x86_64", "opcodes-arm64"])
def test_unwind_entries_and_exception_tables_belong_to_their_functions(
    macho: MachoSamples, name: str
) -> None:
    ledger = macho_ledger(read_macho(macho.path(name)))
    tables = symbol_bytes(ledger, kind="exception table")
    rows = {
        row.name: row.size
        for row in read_map(macho.map_of(name))
        if row.output == "__TEXT,__gcc_except_tab"
    }
    assert sorted(tables.values()) == sorted(rows.values())
    assert (
        tables["__ZN6shapes7guardedEi"]
        == rows["GCC_except_table5" if "GCC_except_table5" in rows else min(rows)]
    )
    unwind = symbol_bytes(ledger, kind="unwind")
    # 4 bytes in the page, 8 that point to its exception table
    assert unwind["__ZN6shapes7guardedEi"] == 12
    assert symbol_bytes(ledger, kind="initializer") == {
        "__GLOBAL__sub_I_shapes.cpp": 8 if "opcodes" in name else 4
    }


def test_relocations_of_objects_belong_to_what_they_relocate(macho: MachoSamples) -> None:
    image = read_macho(macho.path("main-arm64.o"))
    ledger = macho_ledger(image)
    held = symbol_bytes(ledger, kind="relocation")
    text = tool("llvm-objdump-19", "--macho", "-r", macho.path("main-arm64.o"))
    assert held["_main"] == 8 * 7 and held["_pointer_to_puts"] == 8
    assert sum(held.values()) == 8 * sum(int(n) for n in re.findall(r"(\d+) entries", text))


def test_padding_is_told_from_code() -> None:
    x86, arm = 0x01000007, 0x0100000C
    assert padding_before(bytes.fromhex("c3 66 2e 0f 1f 84 00 00 00 00 00 66 90"), x86) == 12
    assert padding_before(bytes.fromhex("c3 0f 1f 44 00 00"), x86) == 5
    assert padding_before(bytes.fromhex("c3"), x86) == 0
    assert padding_before(bytes.fromhex("eb 90"), x86) == 0, "a short jump, not a nop"
    assert padding_before(bytes.fromhex("c0035fd6 1f2003d5 1f2003d5"), arm) == 8
    assert padding_before(bytes.fromhex("c3 90"), arm) == 0
    assert padding_before(bytes.fromhex("5d c3 00 00 00 00 00"), x86) == 5
    assert padding_before(bytes.fromhex("e9 10 c3 00 00"), x86) == 0, "the distance of a jump"
    assert is_padding(bytes.fromhex("0f 1f 00 90 00 00"), x86) and not is_padding(
        bytes.fromhex("90 01 00"), x86
    )


def test_order_of_the_map_does_not_matter(macho: MachoSamples) -> None:
    image = read_macho(macho.path("app-stripped-arm64"))
    rows = read_map(macho.map_of("app-stripped-arm64"))
    there, back = (macho_ledger(image, None, order) for order in (rows, rows[::-1]))
    assert symbol_bytes(there, kind="code") == symbol_bytes(back, kind="code")
    assert (there.file_bytes == back.file_bytes).all()


MUTATED = (
    "app-arm64", "app-g-x86_64", "opcodes-arm64", "lib-stripped-x86_64", "shapes-x86_64.o",
    "main-i386.o", "app-arm64_32", "main-big_endian.o",
)  # fmt: skip


@at_least(100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_image_is_refused_or_still_covered(
    macho: MachoSamples, data: st.DataObject
) -> None:
    """Most edits are in the load commands, where they do the most damage.

    Some of the numbers provoke overflows.
    """
    path = macho.path(data.draw(st.sampled_from(MUTATED)))
    damaged = np.fromfile(path, np.uint8)
    head = read_macho(path).commands[-1].offset + 64
    for _ in range(data.draw(st.integers(1, 4))):
        limit = data.draw(st.sampled_from([head, head, len(damaged)]))
        at = data.draw(st.integers(4, limit - 9)) // 4 * 4
        word = data.draw(
            st.one_of(
                st.integers(0, 255),
                st.sampled_from([0x7FFFFFFF, 0xFFFFFFFF, 0x80000000, len(damaged), 4096]),
            )
        )
        damaged[at : at + 4] = np.frombuffer(word.to_bytes(4, "little"), np.uint8)
    try:
        image = parse_macho_file(Path("damaged"), damaged)
        assert isinstance(image, MachO)
        ledger = macho_ledger(image)
    except InputError as error:
        assert str(error).startswith("damaged: ")
        return
    check_sums(ledger, image)
