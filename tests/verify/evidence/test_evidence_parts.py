"""Parts of the evidence: masks, labels of the graph, definitions, constants and frames."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.formats import dwarf
from sizeguard.formats.elf import SHN_ABS, STT_FUNC, STT_NOTYPE, Symbol
from sizeguard.formats.macho.constants import N_SECT
from sizeguard.verify.evidence import evidence, gather_evidence, link_graph
from sizeguard.verify.evidence.code_search import Pattern, patterns_of
from sizeguard.verify.evidence.link_graph import _number
from sizeguard.verify.evidence.macho import MachoImage
from sizeguard.verify.evidence.object_evidence import ElfFile


@pytest.mark.parametrize(
    "machine, type_, offset, changed",
    [
        ("x86_64", 2, 4, range(4, 8)),  # PC32
        ("x86_64", 1, 4, range(4, 12)),  # 64
        ("x86_64", 9, 4, range(1, 8)),  # GOTPCREL: the opcode before it, too
        ("x86_64", 41, 1, range(5)),  # GOTPCRELX at the beginning
        ("x86_64", 12, 22, range(22, 24)),  # 16, at the end
        ("aarch64", 283, 4, range(4, 8)),  # CALL26: the whole instruction
        ("aarch64", 283, 6, range(4, 8)),
        ("aarch64", 257, 4, range(4, 12)),  # ABS64
        ("aarch64", 258, 6, range(6, 10)),  # ABS32 in data: only these bytes
        ("aarch64", 259, 4, range(4, 6)),  # ABS16
        ("riscv64", 99, 4, range(4, 8)),
        ("riscv64", 19, 4, range(4, 12)),  # CALL_PLT: two instructions
        ("riscv64", 2, 4, range(4, 12)),  # 64
        ("s390x", 22, 4, range(4, 12)),  # 64
        ("s390x", 26, 4, range(2, 8)),  # GOTENT: the opcode before it, too
        ("ppc64le", 10, 4, range(4, 12)),  # REL24: a load may replace the following nop
        ("ppc64", 10, 4, range(4, 12)),
        ("ppc64", 48, 6, range(4, 8)),  # TOC16_LO: the instruction, whose second half it is
        ("ppc64", 51, 8, range(8, 16)),  # TOC
        ("i386", 43, 4, range(2, 8)),  # GOT32X
        ("loongarch64", 99, 4, range(4, 8)),
    ],
)
def test_bytes_that_relocations_change_are_masked(
    machine: str, type_: int, offset: int, changed: Sequence[int]
) -> None:
    elf: Any = SimpleNamespace(machine=machine, view=lambda section: np.zeros(24, np.uint8))
    sections: Any = [None, None, None]
    table: Any = SimpleNamespace(offset=np.array([offset]), type=np.array([type_], np.uint32))
    before, found, after = patterns_of(elf, sections, table, [0, 1, 0])
    assert np.flatnonzero(~found.fixed).tolist() == list(changed)
    assert before.fixed.all()
    assert after.fixed.all()


def test_zeros_at_the_ends_of_code_identify_nothing() -> None:
    """verify found the code of a jump of ppc64 wherever an image has zeros."""
    data = np.frombuffer(bytes(4) + b"\x4b\0\0\1" + bytes(12), np.uint8)
    fixed = np.arange(len(data)) >= 4
    assert Pattern(data, fixed).strength == 4
    assert Pattern(data, np.arange(len(data)) >= 8).strength == 0


# Relocation types, and the bytes before and after the place that they change on x86-64.
_TYPES = {2: (0, 4), 1: (0, 8), 19: (4, 12), 43: (4, 4), 14: (0, 1), 1 << 31: (0, 4)}
_PLACES = st.integers(-20, 40) | st.sampled_from([-(1 << 63), (1 << 63) - 1])


@given(
    st.lists(
        st.tuples(
            st.binary(max_size=24),
            st.lists(st.tuples(_PLACES, st.sampled_from([*_TYPES])), max_size=4),
        ),
        max_size=5,
    )
)
def test_patterns_of_many_sections_are_those_of_each(
    parts: list[tuple[bytes, list[tuple[int, int]]]],
) -> None:
    elf: Any = SimpleNamespace(machine="x86_64", view=lambda part: np.frombuffer(part[0], np.uint8))
    sections: Any = parts
    rows = [row for _, each in parts for row in each]
    table: Any = SimpleNamespace(
        offset=np.array([offset for offset, _ in rows], np.int64),
        type=np.array([type_ for _, type_ in rows], np.uint32),
    )
    found = patterns_of(elf, sections, table, [len(each) for _, each in parts])
    for (content, each), pattern in zip(parts, found, strict=True):
        fixed = [True] * len(content)
        for offset, type_ in each:
            before, after = _TYPES[type_]
            for place in range(max(0, offset - before), min(len(fixed), offset + after)):
                fixed[place] = False
        assert pattern.fixed.tolist() == fixed
        assert pattern.data.tobytes() == content


@pytest.mark.parametrize(
    "label, expected",
    [
        ("a.o", 0),
        ("libk.a(add.o)", 1),
        ("lto.o(x)", 2),
        ("libk.a", None),
        ("libk.a(mul.o)", None),
        ("other.o", None),
    ],
)
def test_labels_name_objects_members_and_files_with_brackets(
    label: str, expected: int | None
) -> None:
    numbers = {("a.o", ""): 0, ("libk.a", "add.o"): 1, ("lto.o(x)", ""): 2}
    assert _number(numbers, label) == expected


def test_definitions_are_in_any_of_many_sections() -> None:
    """With more than 65,279 sections their numbers are among those of SHN_ABS and the like."""
    text = SimpleNamespace(name=".text", is_allocated=True, size=8, flags=0)
    many: Any = SimpleNamespace(sections=[text] * 70_000, machine="x86_64")
    file = ElfFile("a.o", Path("a.o"), "", many)
    places = {"first": 1, "last": 69_999, "between": 0xFFF1, "absolute": SHN_ABS - 0x10000}
    symbols = [Symbol(name, 0, 8, STT_FUNC, 1, section) for name, section in places.items()]
    file.__dict__["symbols"] = symbols
    assert [(each.symbol, each.section) for each in file.definitions] == [
        (name, section) for name, section in places.items() if section > 0
    ]


def test_labels_reach_to_the_next_place() -> None:
    """An object of assembly with 8,000 labels took 6 s, and each doubling four times as long."""
    count = 50_000
    text = SimpleNamespace(name=".text", is_allocated=True, size=2 * count, flags=0)
    many: Any = SimpleNamespace(sections=[text, text], machine="x86_64")
    file = ElfFile("a.o", Path("a.o"), "", many)
    rows = [("$x", 1), ("last", 2 * count - 2), *((f"l{i}", i // 2 * 2) for i in range(count))]
    file.__dict__["symbols"] = [Symbol(name, at, 0, STT_NOTYPE, 1, 1) for name, at in rows]
    sizes = {each.symbol: each.size for each in file.definitions}
    assert sizes["l0"] == sizes["l1"] == sizes[f"l{count // 2}"] == sizes["last"] == 2
    assert sizes[f"l{count - 1}"] == count


def test_functions_at_one_place_have_one_size() -> None:
    """ld64.lld --icf puts many names on one function; from the 64th on, they got the rest."""
    rows = [(0x100, 1)] * 100 + [(0x110, 1), (0x200, 2), (0x10C, 1)]
    symbols = SimpleNamespace(
        value=np.array([value for value, _ in rows]),
        section=np.array([section for _, section in rows]),
        type=np.full(len(rows), N_SECT),
        names=[f"_f{i}" for i in range(len(rows))],
    )
    sections = [SimpleNamespace(address=at, size=0x40, is_code=True) for at in (0x100, 0x200)]
    macho: Any = SimpleNamespace(symbols=symbols, sections=sections)
    image = MachoImage(macho, Path("a"))
    found = {symbol.name: symbol.size for symbol in image.symbols}
    assert [found.pop(name) for name in ("f100", "f101", "f102")] == [0x30, 0x40, 4]
    assert set(found.values()) == {12}


@pytest.mark.parametrize(
    ("lto", "made_by_lto", "missing", "gaps"),
    [
        ((), (), [], 0),
        ((), (), ["a.o"], 1),
        (("a.o",), (), ["app.ltrans0.ltrans.o"], 0),  # another gap asks for all of them
        (("a.o",), (), ["lto.tmp", "b.o"], 0),
        (("a.o",), (), ["b.o"], 1),
        (("a.o",), (0,), ["app.ltrans1.ltrans.o"], 1),
        (("a.o",), (0,), ["a.o", "app.lto.1.o"], 1),
    ],
)
def test_an_object_that_lto_made_is_missed_if_another_was_given(
    lto: tuple[str, ...], made_by_lto: tuple[int, ...], missing: list[str], gaps: int
) -> None:
    objects: Any = SimpleNamespace(lto=lto, made_by_lto=made_by_lto)
    assert len(gather_evidence._lost(missing, objects)) == gaps


@pytest.mark.parametrize(("unread", "is_whole"), [((2, 0), True), ((1, 0), False)])
def test_a_recorded_graph_counts_if_it_has_all_objects_of_the_image(
    monkeypatch: pytest.MonkeyPatch, unread: tuple[int, int], is_whole: bool
) -> None:
    """Code of an object that the graph lacks would have no owner.

    The objects before index `own` are the app's. The record may lack the others, such as those of
    the toolchain.
    """
    monkeypatch.setattr(evidence, "as_macho", lambda image: None)
    monkeypatch.setattr(link_graph, "placed", lambda *parts: "placed")
    recorded = SimpleNamespace(nodes={"a": (0, 3)})
    placement = SimpleNamespace(address={(0, 3): 64, unread: 128})
    parts: Any = SimpleNamespace(
        image=None, objects=None, own=2, placement=placement, _recorded=(recorded, "")
    )
    linked: Any = evidence.Evidence.linked
    assert linked.func(parts) == (recorded if is_whole else "placed")


def test_constants_of_the_toolchain_are_those_of_its_loaded_data() -> None:
    contents = {
        "code": (b"1", True, True), "data": (b"2", True, False), "debug": (b"3", False, False),
        "more": (b"4", True, False), "empty": (b"", True, False),
    }  # fmt: skip

    def object_with(*names: str) -> Any:
        sections = [
            SimpleNamespace(
                name=name, is_allocated=is_allocated, is_executable=is_executable,
                file_size=len(content),
            )
            for name in names
            for content, is_allocated, is_executable in (contents[name],)
        ]  # fmt: skip
        elf = SimpleNamespace(sections=sections, content=lambda section: contents[section.name][0])
        return SimpleNamespace(elf=elf)

    files = [object_with("data"), object_with(*contents), object_with("data")]
    parts: Any = SimpleNamespace(objects=SimpleNamespace(files=files), own=1)
    constants: Any = evidence.Evidence.foreign_data
    assert constants.func(parts) == b"2\x004\x002"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (None, ""),
        (InputError("damaged"), "damaged"),
        (InconclusiveError("split"), "split"),
        (dwarf.NoDebugInformationError("none"), ""),
    ],
)
def test_frames_have_scopes_and_damaged_debug_information_has_none(
    monkeypatch: pytest.MonkeyPatch, error: Exception | None, reason: str
) -> None:
    def frames(image: Path, debug: Path | None, *, scoped: bool) -> Any:
        if error:
            raise error
        return image, debug, scoped

    monkeypatch.setattr(dwarf, "inline_frames", frames)
    image, debug = Path("program"), Path("program.debug")
    found = None if error else (image, debug, True)
    assert evidence.frames_of(image, debug) == (found, reason)
