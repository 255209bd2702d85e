"""Definitions, nameless parts and kinds of a link's objects, on made-up sections and symbols."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sizeguard.base.errors import InputError
from sizeguard.formats import lto_object
from sizeguard.formats.elf import (
    RELOCATION_TYPES,
    SHF_ALLOC,
    SHF_MERGE,
    SHN_ABS,
    STB_LOCAL,
    STT_FILE,
    STT_FUNC,
    STT_NOTYPE,
    STT_OBJECT,
    STT_SECTION,
    Symbol,
)
from sizeguard.verify.evidence import object_evidence
from sizeguard.verify.evidence.object_evidence import (
    Definition,
    ElfFile,
    ObjectFile,
    Objects,
    read_objects,
)

GLOBAL = 1
NOP, CODE = b"\x90", b"\xc3"


def section(name: str, content: bytes = b"", **more: Any) -> Any:
    is_code = name.startswith((".text", ".init"))
    known = {
        "name": name, "content": content, "size": len(content), "is_allocated": True,
        "is_executable": is_code, "is_nobits": False, "flags": SHF_ALLOC, "alignment": 1, "type": 1,
        "info": 0,
    }  # fmt: skip
    return SimpleNamespace(**{**known, **more})


def object_of(
    *sections: Any, symbols: Sequence[Symbol] = (), machine: str = "x86_64", **more: Any
) -> Any:
    """Return an object whose first section has the index 1."""
    rows = [section("", is_allocated=False), *sections]
    for index, row in enumerate(rows):
        row.index = index
    elf: Any = SimpleNamespace(
        sections=rows, machine=machine, content=lambda row: row.content, is_relocatable=True, **more
    )
    file = ElfFile("a.o", Path("a.o"), "", elf)
    file.__dict__["symbols"] = list(symbols)
    return file


def names(*ranges: tuple[int, int], type_: int = STT_FUNC) -> list[Symbol]:
    """Name the ranges of the section 1: offset and size."""
    return [Symbol(f"f{at}", at, size, type_, GLOBAL, 1) for at, size in ranges]


@pytest.mark.parametrize(
    ("content", "ranges", "is_nameless"),
    [
        (CODE * 8, [(0, 8)], False),
        (CODE * 8, [(4, 4), (0, 4)], False),
        (CODE * 8, [(0, 7)], True),
        (CODE * 8, [(1, 7)], True),
        (CODE * 8, [(0, 3), (4, 4)], True),
        (CODE * 8, [(0, 8), (2, 1)], False),  # a label inside
        (CODE * 4 + NOP * 4, [(0, 4)], False),
        (NOP * 4 + CODE * 4, [(4, 4)], False),
        (CODE * 2 + NOP * 2 + CODE * 4, [(0, 2), (4, 4)], False),
        (NOP * 8, [], False),
        (CODE, [], True),
    ],
)
def test_code_is_nameless_unless_it_is_padding(
    content: bytes, ranges: list[tuple[int, int]], is_nameless: bool
) -> None:
    for machine, known in (("x86_64", is_nameless), ("aarch64", None)):
        if known is None and NOP in content:
            continue  # no instruction of that machine
        file = object_of(section(".text", content), symbols=names(*ranges), machine=machine)
        assert bool(file.nameless) == is_nameless
    hidden = section(".text", content, is_allocated=False)
    assert not object_of(hidden, symbols=names(*ranges)).nameless


@pytest.mark.parametrize(
    ("alignment", "ranges", "is_nameless"),
    [
        (1, [(0, 29)], False),
        (1, [(0, 28)], True),
        (2, [(0, 29)], False),
        (16, [(0, 17)], False),
        (16, [(0, 16)], True),
        (16, [(3, 29)], True),  # nothing pads the beginning
        (16, [(0, 4), (12, 20)], False),
    ],
)
def test_padding_of_other_machines_is_shorter_than_the_alignment(
    alignment: int, ranges: list[tuple[int, int]], is_nameless: bool
) -> None:
    text = section(".text", CODE * 32, alignment=alignment)
    file = object_of(text, symbols=names(*ranges), machine="riscv64")
    assert file.nameless == (frozenset({1}) if is_nameless else frozenset())


@pytest.mark.parametrize(
    ("ranges", "is_nameless"),
    [
        ([(0, 16)], False),
        ([(0, 4), (8, 8)], False),
        ([(0, 1), (8, 8)], False),
        ([(0, 4), (12, 4)], True),  # more than the alignment of 12
        ([(8, 8)], True),
        ([(0, 8)], True),  # nothing follows
        ([], True),
    ],
)
@pytest.mark.parametrize("name", [".data", ".data.x", ".bss", ".tbss", ".sdata"])
def test_variables_are_nameless_unless_zeros_align_the_next_one(
    name: str, ranges: list[tuple[int, int]], is_nameless: bool
) -> None:
    symbols = names(*ranges, type_=STT_OBJECT)
    zeros = section(name, bytes(16), is_nobits="bss" in name)
    assert bool(object_of(zeros, symbols=symbols).nameless) == is_nameless
    values = section(name, b"\1" * 16)
    is_whole = ranges == [(0, 16)]
    assert bool(object_of(values, symbols=symbols).nameless) != is_whole
    assert not object_of(section(name, size=0), symbols=symbols).nameless


class OtherFile(ElfFile):
    """An object of another format: sections name no symbol, and nothing names all data."""

    named: Any = ObjectFile.named
    is_named_data = ObjectFile.is_named_data


@pytest.mark.parametrize(("size", "is_nameless"), [(8, False), (7, True)])
def test_other_formats_have_nameless_code_alone(size: int, is_nameless: bool) -> None:
    elf = object_of(section(".text", CODE * 8), section(".data", b"\1")).elf
    file = OtherFile("a.o", Path("a.o"), "", elf)
    file.__dict__["definitions"] = (Definition("f", 1, 0, size),)
    assert file.nameless == ({1} if is_nameless else set())


LOCALS = {
    "a static variable": (Symbol("x", 0, 0, STT_OBJECT, STB_LOCAL, 1), True),
    "a source": (Symbol("a.c", 0, 0, STT_FILE, STB_LOCAL, SHN_ABS - 0x10000), True),
    "a nameless source": (Symbol("", 0, 0, STT_FILE, STB_LOCAL, SHN_ABS - 0x10000), False),
    "a number": (Symbol("x", 0, 0, STT_NOTYPE, STB_LOCAL, SHN_ABS - 0x10000), False),
    "an unknown one": (Symbol("x", 0, 0, STT_NOTYPE, STB_LOCAL, 0), False),
    "a section": (Symbol(".text", 0, 0, STT_SECTION, STB_LOCAL, 1), False),
    "a global one": (Symbol("x", 0, 0, STT_OBJECT, GLOBAL, 1), False),
}


@pytest.mark.parametrize(("symbol", "has_locals"), LOCALS.values(), ids=LOCALS)
@pytest.mark.parametrize("name", [".rodata", ".data.rel.ro.x", ".comment"])
def test_constants_are_nameless_if_a_tool_removed_all_local_names(
    symbol: Symbol, has_locals: bool, name: str
) -> None:
    """Compilers have tables and texts without names."""
    constants, text = section(name, b"\1" * 16), section(".text", NOP)
    file = object_of(text, constants, symbols=[symbol])
    is_nameless = name != ".comment" and not has_locals
    assert file.nameless == ({2} if is_nameless else set())
    texts = section(name, b"\1" * 16, flags=SHF_MERGE)
    assert not object_of(text, texts, symbols=[symbol]).nameless


@pytest.mark.parametrize(
    ("name", "more", "is_definition"),
    [
        (".text.old", {}, True),
        (".text.unlikely.old", {}, True),
        *((f".data.rel{each}.old", {}, True) for each in ("", ".ro", ".local", ".ro.local")),
        *((f".data.rel{each}", {}, False) for each in ("", ".ro", ".local", ".ro.local")),
        *((f".text.{each}", {}, False) for each in ("startup", "unlikely.", "sorted.12")),
        (".text.sorted.12.old", {}, True),
        (".text", {}, False),
        (".debug.old", {}, False),
        (".text.old", {"is_allocated": False}, False),
        (".text.old", {"size": 0}, False),
        (".rodata.old", {"flags": SHF_MERGE}, False),
    ],
)
def test_a_section_that_is_named_after_another_symbol_is_its_definition(
    name: str, more: dict[str, Any], is_definition: bool
) -> None:
    file = object_of(section(name, CODE * 8, **more), symbols=names((0, 8)))
    renamed = [("old", 1, 0, 8)] if is_definition else []
    assert [*file.definitions] == [("f0", 1, 0, 8), *renamed]
    own = [Symbol("old", 2, 4, STT_FUNC, GLOBAL, 1)]
    assert [*object_of(section(name, CODE * 8, **more), symbols=own).definitions] == [
        ("old", 1, 2, 4)
    ]


@pytest.mark.parametrize("symbol", ["hotel", "rel_ro", "relish", "exit2"])
def test_symbols_that_begin_like_a_kind_of_section_have_one_of_their_own(symbol: str) -> None:
    file = object_of(section(f".text.{symbol}", CODE * 8), symbols=names((0, 8)))
    assert [each.symbol for each in file.definitions] == ["f0", symbol]


@pytest.mark.parametrize(
    ("name", "type_", "index", "is_definition"),
    [
        ("f", STT_NOTYPE, 1, True),
        ("f", STT_FUNC, 0, False),  # undefined
        ("f", STT_FUNC, 2, False),  # damaged: there is no such section
        ("", STT_FUNC, 1, False),
        (".text", STT_SECTION, 1, False),
        ("a.c", STT_FILE, 1, False),
        (".Lf", STT_FUNC, 1, False),
        ("$x.1", STT_NOTYPE, 1, False),
    ],
)
def test_definitions_are_symbols_of_code_and_data(
    name: str, type_: int, index: int, is_definition: bool
) -> None:
    symbol = Symbol(name, 4, 4, type_, GLOBAL, index)
    found = object_of(section(".text", CODE * 8), symbols=[symbol]).named
    assert [*found] == ([(name, 1, 4, 4)] if is_definition else [])


def test_relocations_belong_to_the_section_that_theirs_names() -> None:
    type_ = next(iter(RELOCATION_TYPES))
    tables = [section(".rela", type=type_, info=info) for info in (1, 0, 9, 6, 5, 2)]
    tables[-1].type = 1
    file = object_of(*tables[:4], tables[5], relocation_table=lambda table: table.info)
    assert file.relocations == {1: 1}
    assert object_of(*tables, relocation_table=lambda table: table.info).relocations == {
        1: 1, 5: 5, 6: 6,
    }  # fmt: skip


@pytest.mark.parametrize("machine", ["ppc64", "ppc64le"])
def test_a_descriptor_names_its_code_on_big_endian_powerpc(machine: str) -> None:
    """Offsets of .opd lead to code by symbol and addend; those of other sections do not."""
    table = SimpleNamespace(
        offset=np.array([0, 24, 48]), symbol=np.array([0, 1, 2]), addend=np.array([16, 8, 0])
    )
    places = {"f": (0, 2), "g": (24, 2), "h": (48, 2), "x": (0, 3), "y": (8, 4)}
    symbols = [
        Symbol(".text", 0, 0, STT_SECTION, STB_LOCAL, 1),
        Symbol(".text", 32, 0, STT_SECTION, STB_LOCAL, 1),
        Symbol("elsewhere", 0, 0, STT_NOTYPE, GLOBAL, 0),
        *(Symbol(name, at, 4, STT_FUNC, GLOBAL, index) for name, (at, index) in places.items()),
    ]
    rows = [section(".text", bytes(64)), *(section(".opd", bytes(72)) for _ in range(2))]
    file = object_of(*rows, section(".toc", bytes(72)), symbols=symbols, machine=machine)
    file.__dict__["relocations"] = {2: table, 4: table}
    is_big = machine == "ppc64"
    assert [each[:3] for each in file.named] == [
        ("f", 1, 16) if is_big else ("f", 2, 0),
        ("g", 1, 40) if is_big else ("g", 2, 24),
        ("h", 2, 48),
        ("x", 3, 0),
        ("y", 4, 8),
    ]


def test_clones_are_found_with_their_function() -> None:
    """A function whose only remaining code was the clone f.isra.0 counted as absent."""
    symbols = [
        Symbol(name, at, 1, STT_FUNC, GLOBAL, 1)
        for at, name in enumerate(("f", "f.cold", "g", "h.isra.0", "h.isra.0.cold", ".hidden"))
    ]
    objects = Objects((object_of(section(".text", CODE * 8), symbols=symbols),), ())
    found = {name: [piece.symbol for piece in objects.find(name)] for name in "fghi"}
    assert found == {
        "f": ["f", "f.cold"],
        "g": ["g"],
        "h": ["h.isra.0", "h.isra.0.cold"],
        "i": [],
    }
    assert [piece.symbol for piece in objects.find(".hidden")] == [".hidden"]


BYTECODE = section(".gnu.lto_.decls", b"x", is_allocated=False)


@pytest.mark.parametrize(
    ("sections", "is_lto"),
    [
        ([BYTECODE, section(".text")], True),
        ([section(".data", b"x"), BYTECODE], True),
        ([BYTECODE, section(".text", CODE)], False),  # a fat object
        ([section(".text", CODE), section(".data", b"x")], False),
        ([section(".text"), section(".data", b"x")], False),
    ],
)
def test_objects_without_machine_code_are_those_of_lto(
    monkeypatch: pytest.MonkeyPatch, sections: list[Any], is_lto: bool
) -> None:
    objects = read_made_up(monkeypatch, {"a.o": object_of(*sections).elf, "b.bc": None})
    assert objects.lto == (("a.o", "b.bc") if is_lto else ("b.bc",))
    assert [file.label for file in objects.files] == ([] if is_lto else ["a.o"])


def test_objects_of_a_link_are_for_one_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {
        name: object_of(section(".text", CODE), machine=machine).elf
        for name, machine in (("a.o", "x86_64"), ("b.o", "x86_64"), ("c.o", "aarch64"))
    }
    assert len(read_made_up(monkeypatch, {name: made[name] for name in ("a.o", "b.o")}).files) == 2
    with pytest.raises(InputError, match=r"^c\.o: an object for aarch64, a\.o is for x86_64$"):
        read_made_up(monkeypatch, made)
    made["b.o"].is_relocatable = False
    with pytest.raises(InputError, match=r"^b\.o: not a relocatable object$"):
        read_made_up(monkeypatch, made)


def read_made_up(monkeypatch: pytest.MonkeyPatch, files: dict[str, Any]) -> Objects:
    """Read objects; None stands for bitcode."""
    contents = [
        (Path(name), name, "", b"BC\xc0\xde" if elf is None else b"\x7fELF")
        for name, elf in files.items()
    ]
    monkeypatch.setattr(object_evidence, "contents", lambda *_: contents)
    monkeypatch.setattr(object_evidence, "parse_elf", lambda path, data: files[str(path)])
    return read_objects([Path("given")])


def test_lto_objects_are_undescribed_if_they_have_functions_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Functions and debug information are the letters f and g here."""
    data = {"none.o": b"\x7fELF", "f.o": b"\x7fELFf", "fg.o": b"\x7fELFfg", "g.o": b"\x7fELFg"}
    data["macho.o"] = b"\xcf\xfa\xed\xfef"
    contents = [SimpleNamespace(label=label, data=each) for label, each in data.items()]
    monkeypatch.setattr(object_evidence, "contents", lambda *_: contents)
    monkeypatch.setattr(lto_object, "functions_of", lambda data: b"f" in data[4:])
    monkeypatch.setattr(lto_object, "has_debug_information", lambda data: b"g" in data)
    assert object_evidence.undescribed_lto([]) == ("f.o",)
