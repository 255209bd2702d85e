"""Parts of the evidence: labels of the graph, masks, presence, and constants."""

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
from sizeguard.verify.evidence import evidence, gather_evidence, image_presence, link_graph
from sizeguard.verify.evidence.code_search import Pattern, patterns_of
from sizeguard.verify.evidence.image_presence import (
    check_not_merged,
    check_one_link,
    check_presence,
    is_present,
    merged_with,
)
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


PLACED, EMPTY, REMOVED, UNKNOWN = range(4)


@pytest.mark.parametrize(
    "nodes, has_map, expected",
    [
        ([PLACED], True, True),
        ([PLACED], False, True),
        ([REMOVED, UNKNOWN, PLACED], True, True),
        ([REMOVED], True, False),
        ([REMOVED], False, None),
        ([REMOVED, REMOVED], True, False),
        ([EMPTY], True, None),
        ([UNKNOWN], True, None),
        ([REMOVED, UNKNOWN], True, None),
        ([EMPTY, REMOVED], True, None),
    ],
)
@pytest.mark.parametrize("is_live", [True, False])
def test_presence_is_known_by_places(
    monkeypatch: pytest.MonkeyPatch,
    nodes: list[int],
    has_map: bool,
    expected: bool | None,
    is_live: bool,
) -> None:
    sizes = {(0, PLACED): 8, (0, EMPTY): 0, (0, REMOVED): 8}
    placement = SimpleNamespace(
        address={(0, PLACED): 0x1000},
        section=lambda node: SimpleNamespace(size=sizes[node]),
        has_map=has_map,
    )
    image = SimpleNamespace(path="program")
    evidence: Any = SimpleNamespace(placement=placement, image=image, record=None)
    graph: Any = SimpleNamespace(section_of=lambda node: node)
    monkeypatch.setattr(
        image_presence, "_section", lambda _, __, n: None if n == UNKNOWN else (0, n)
    )
    assert is_present(evidence, graph, nodes) is expected
    monkeypatch.setattr(image_presence, "live", lambda _: np.array([is_live] * 4))
    subject: Any = SimpleNamespace(nodes=frozenset(nodes), name="f")
    if expected in (None, is_live):
        check_presence(evidence, graph, subject)
        return
    told = "is in program, but .* remove it" if expected else "is not in program, but .* keep it"
    option = ", or an option that is not recorded keeps it" if expected else ""
    message = rf"^f {told}: they belong to another link{option}$"
    with pytest.raises(InconclusiveError, match=message):
        check_presence(evidence, graph, subject)


@pytest.mark.parametrize(
    "changed, expected",
    [
        ({}, 1),
        ({"has_map": False}, None),
        ({"placed": [0, 1]}, None),  # both are in the image
        ({"placed": []}, None),
        ({"live": [True, False]}, None),  # the linker removed the other one
        ({"live": [False, True]}, None),
        ({"is_exec": [False, False]}, None),
        ({"size": [4, 8]}, None),
        ({"size": [0, 0]}, None),
        ({"contents": [b"code", b"more"]}, None),
    ],
)
@pytest.mark.parametrize("kept", [0, 1])
def test_a_linker_merged_equal_code_if_one_of_two_live_sections_is_there(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], expected: int | None, kept: int
) -> None:
    values: dict[str, Any] = {
        "has_map": True, "placed": [kept], "live": [True, True], "is_exec": [True, True],
        "size": [4, 4], "contents": [b"code", b"code"],
    } | changed  # fmt: skip
    elf = SimpleNamespace(content=lambda number: values["contents"][number])
    placement = SimpleNamespace(
        address={(0, number): 0x1000 for number in values["placed"]},
        section=lambda node: node[1],
        has_map=values["has_map"],
    )
    evidence: Any = SimpleNamespace(
        placement=placement, objects=SimpleNamespace(files=[SimpleNamespace(elf=elf)])
    )
    nodes = SimpleNamespace(
        sections=2, is_exec=np.array(values["is_exec"]), size=np.array(values["size"])
    )
    graph: Any = SimpleNamespace(
        nodes=nodes, section_of=lambda node: node, symbol_of=lambda node: f"f{node}"
    )
    monkeypatch.setattr(image_presence, "_section", lambda _, __, node: (0, node))
    monkeypatch.setattr(image_presence, "live", lambda _: np.array(values["live"]))
    assert merged_with(evidence, graph, 0, np.array(values["live"])) == expected
    subject: Any = SimpleNamespace(nodes=frozenset([0]), name="f0")
    if expected is None:
        check_not_merged(evidence, graph, subject)
        return
    with pytest.raises(InconclusiveError, match=r"^f0 has the same code as f1, and the linker"):
        check_not_merged(evidence, graph, subject)


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


def object_of(label: str, *symbols: tuple[str, int]) -> Any:
    """Return an object whose definitions have a name and a section each."""
    section = SimpleNamespace(is_executable=True, size=8)
    return SimpleNamespace(
        label=label,
        definitions=[SimpleNamespace(symbol=name, section=index) for name, index in symbols],
        elf=SimpleNamespace(sections=[section] * 8),
    )


FILES = [
    object_of("/b/one/k.o", ("f0", 3), ("f1", 4)),
    object_of("/b/two/k.o", ("f0", 5), ("f2", 6)),
    object_of("/b/libk.a(m.o)", ("f3", 7)),
]


@pytest.mark.parametrize(
    ("label", "node", "linker", "expected"),
    [
        ("one/k.o", 0, "bfd", (0, 3)),
        ("two/k.o", 0, "bfd", (1, 5)),  # of two files of this name, the one in this folder
        ("one/k.o", 1, "bfd", (0, 4)),
        ("one/k.o", 2, "bfd", (1, 6)),  # or the only one with this function
        ("two/k.o", 1, "bfd", (0, 4)),
        ("libk.a(m.o)", 3, "bfd", (2, 7)),
        ("one/k.o", 3, "bfd", None),
        ("n.o", 0, "bfd", None),
        ("one/k.o", 4, "bfd", (0, 2)),  # without a symbol, by its number
        ("two/k.o", 4, "lld", (1, 2)),
        ("one/k.o", 4, "ld64.lld", None),  # nodes of Mach-O are parts of sections
        ("one/k.o", -1, "bfd", None),
        ("one/k.o", 5, "bfd", None),  # an import
    ],
)
def test_a_node_is_a_section_of_the_object_with_its_label(
    label: str, node: int, linker: str, expected: tuple[int, int] | None
) -> None:
    objects = np.array([0, 0, 0, 0, 0, -1])
    for prefix in ("", "_") if linker == "ld64.lld" or node < 4 else ("",):
        graph: Any = SimpleNamespace(
            nodes=SimpleNamespace(object=objects, index=np.full(6, 2)),
            objects=(label,),
            symbol_of=lambda node, prefix=prefix: f"{prefix}f{node}" if node < 4 else "",
            linker=linker,
        )
        found: Any = SimpleNamespace(objects=SimpleNamespace(files=FILES))
        assert image_presence._section(found, graph, node) == expected


@pytest.mark.parametrize(
    ("placed", "symbols", "flags", "other"),
    [
        ([(0, 3), (0, 4), (1, 6), (2, 7)], ["f0", "f1", "f2", "f3"], {}, ""),
        ([(1, 5), (0, 4)], ["f0", "f1"], {}, ""),  # one of two definitions is enough
        ([(0, 4)], ["f1"], {}, ""),  # what the image lacks may have been removed
        ([], ["f1"], {}, "/b/one/k.o is of another build: its f1 differs"),
        ([(0, 3)], ["f0", "f2"], {}, "/b/two/k.o is of another build: its f2 differs"),
        ([(0, 4)], ["f1", "f3"], {}, ""),  # of the toolchain
        ([], ["f1"], {"is_executable": False}, ""),
        ([], ["f1"], {"size": 0}, ""),
        ([], [], {}, ""),
    ],
)
def test_without_a_map_functions_of_the_image_have_the_bytes_of_an_object(
    monkeypatch: pytest.MonkeyPatch,
    placed: list[tuple[int, int]],
    symbols: list[str],
    flags: dict[str, Any],
    other: str,
) -> None:
    for file in FILES:
        for name, value in {"is_executable": True, "size": 8, **flags}.items():
            monkeypatch.setattr(file.elf.sections[0], name, value)
    for link_map, has_lto, is_checked in ((None, False, True), ("map", False, False),
                                          (None, True, False)):  # fmt: skip
        found = SimpleNamespace(
            placement=SimpleNamespace(address=dict.fromkeys(placed, 64)), link_map=link_map,
            symbols=dict.fromkeys(symbols), own_files=lambda: FILES[:2], has_lto=has_lto,
            image=SimpleNamespace(path="program"),
        )  # fmt: skip
        monkeypatch.setattr(image_presence, "gather", lambda files, found=found: found)
        files: Any = None
        if not (other and is_checked):
            assert check_one_link(files) is found
            continue
        with pytest.raises(InconclusiveError, match=other):
            check_one_link(files)


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
