"""The evidence of one link, over made-up images: its graph, symbols, inlined code and gaps."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.formats.elf import ET_DYN, ET_EXEC, ET_REL, PT_INTERP, PT_LOAD, Elf
from sizeguard.formats.elf.layout import Layout
from sizeguard.verify.evidence import evidence as module
from sizeguard.verify.evidence import link_graph
from sizeguard.verify.evidence.evidence import Evidence, Inlined, as_macho
from sizeguard.verify.evidence.macho import MachoImage
from sizeguard.verify.evidence.placement import Placement
from tests.support.images.made_frames import frames_with

MACHO: Any = object.__new__(MachoImage)
ELF: Any = object.__new__(Elf)
OWN, OTHERS = 2, 1  # objects: of the build, and of the toolchain


def section(**flags: Any) -> Any:
    known = {"name": ".text", "is_executable": True, "file_size": 8, "size": 16}
    return SimpleNamespace(**{**known, **flags})


def object_of(label: str, *, described: bool = True, size: int = 8) -> Any:
    debug = section(name=".debug_info", is_executable=False, file_size=size)
    sections = [section(), section(name=".data", is_executable=False), *([debug] * described)]
    return SimpleNamespace(label=label, member="", elf=SimpleNamespace(sections=sections))


def evidence_of(image: Any = ELF, **changed: Any) -> Evidence:
    """Return evidence of three objects, whose code is all in the image."""
    files = changed.pop("files", [object_of(name) for name in ("a.o", "b.o", "crt1.o")])
    address = changed.pop("placed", [(0, 0), (1, 0), (2, 0)])
    wrappers = changed.pop("wrappers", ())
    placement = SimpleNamespace(
        address=dict.fromkeys(address, 64),
        section=lambda at: files[at[0]].elf.sections[at[1]],
        is_wrapper=lambda at: at in wrappers,
    )
    objects = SimpleNamespace(
        files=files, lto=changed.pop("lto", ()), made_by_lto=changed.pop("made_by_lto", ())
    )
    known: dict[str, Any] = {
        "twin": None, "objects": objects, "own": OWN, "placement": placement, "link_map": None,
        "removed": None, "gaps": (), "record": None, "given": (),
    }  # fmt: skip
    return Evidence(image, **{**known, **changed})


def test_only_a_mach_o_image_is_one() -> None:
    assert as_macho(MACHO) is MACHO
    assert as_macho(ELF) is None
    other: Any = SimpleNamespace()
    assert as_macho(other) is None


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("placed", "dead_stripped"):
        monkeypatch.setattr(link_graph, name, lambda *_, name=name: name)


@pytest.mark.parametrize(
    ("lto", "made_by_lto", "expected"),
    [
        ((), (), "dead_stripped"),
        (("a.o",), (0,), "dead_stripped"),
        ((), (0,), "dead_stripped"),
        (("a.o",), (), "placed"),  # what the linker made of it was not kept
    ],
)
def test_the_graph_of_mach_o_needs_machine_code(
    graphs: None, lto: tuple[str, ...], made_by_lto: tuple[int, ...], expected: str
) -> None:
    assert evidence_of(MACHO, lto=lto, made_by_lto=made_by_lto).linked == expected


@pytest.mark.parametrize("outcome", ["graph", InconclusiveError("a script"), InputError("damaged")])
@pytest.mark.parametrize("image", [ELF, MACHO])
@pytest.mark.parametrize("missing", ["", "record", "file", "objects"])
def test_the_recorded_link_counts_if_it_can_be_followed(
    graphs: None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    outcome: Any,
    image: Any,
    missing: str,
) -> None:
    graph = SimpleNamespace(nodes={0: (0, 0), 1: (1, 0)}, compiled=("c.o",), reachable={(0, 0)})

    def recorded(*_: object) -> Any:
        if isinstance(outcome, Exception):
            raise outcome
        return graph

    monkeypatch.setattr(link_graph, "recorded", recorded)
    record = None if missing == "record" else tmp_path / "record"
    if record and missing != "file":
        record.write_text("ld")
    more: dict[str, Any] = {"files": [], "placed": []} if missing == "objects" else {}
    found = evidence_of(image, record=record, **more)
    is_read = not missing and outcome == "graph"
    assert found.compiled == (("c.o",) if is_read else None)
    is_doubted = not missing and outcome != "graph" and image is ELF
    assert found.link_doubt == (str(outcome) if is_doubted else "")
    if image is MACHO:
        assert found.linked == "dead_stripped"
    else:
        assert found.linked == (graph if is_read else "placed")


def test_symbols_are_the_definitions_of_both_tables() -> None:
    def symbol(name: str, address: int) -> Any:
        return SimpleNamespace(name=name, address=address)

    def table(rows: Sequence[Any]) -> Any:
        names = [row.name for row in rows]
        return SimpleNamespace(defined_names=lambda: names, defined=rows.__getitem__)

    static = [symbol("f", 16), symbol("f", 32), symbol("", 8), symbol("g", 16)]
    dynamic = [symbol("f@V1", 16), symbol("h@@V2", 48), symbol("h@V1", 64)]
    image: Any = SimpleNamespace(static_symbols=(table(static),), dynamic_symbols=(table(dynamic),))
    found = evidence_of(image).symbols
    assert {name: [each.address for each in rows] for name, rows in found.items()} == {
        "f": [16, 32],  # local functions of two objects; the export is the first of them
        "g": [16],
        "h": [48, 64],
    }


@pytest.mark.parametrize(
    ("image", "debug", "is_read"),
    [
        (None, [], False),
        (None, [section(name=".debug_info", file_size=0)], False),  # what strip leaves
        (None, [section(name=".debug_info")], True),
        (None, [section(name=".zdebug_info")], True),  # gcc -gz=zlib-gnu
        (MACHO, [], True),  # it is in a dSYM or in the objects
    ],
)
def test_frames_are_read_if_there_is_debug_information(
    monkeypatch: pytest.MonkeyPatch, image: Any, debug: Any, is_read: bool
) -> None:
    made = image or SimpleNamespace(sections=debug, section=lambda _: None, path="program")
    if image:
        monkeypatch.setattr(MachoImage, "path", "program", raising=False)
    monkeypatch.setattr(module, "frames_of", lambda path: (f"frames of {path}", ""))
    assert evidence_of(made).frames == ("frames of program" if is_read else None)


@pytest.mark.parametrize("seed", range(20))
def test_inlined_bytes_are_those_of_all_ranges(seed: int) -> None:
    """Counted for each name on its own: a byte of recursive code counts once."""
    draw = random.Random(seed)
    names = ["f", "g", "h", "f"]  # two functions may have one name
    rows = []
    for start in range(0, draw.randint(0, 8) * 16, 16):
        rows.append(
            (start, start + draw.randint(1, 16), draw.choices(range(4), k=draw.randint(1, 4)))
        )
    expected: dict[str, Inlined] = {}
    for name in set(names):
        ranges = [row for row in rows if name in {names[each] for each in row[2][:-1]}]
        if ranges:
            size = sum(end - start for start, end, _ in ranges)
            expected[name] = Inlined(ranges[0][0], size, names[ranges[0][2][-1]])
    found = evidence_of()
    found.__dict__["frames"] = frames_with(names, rows)
    assert found.inlined == expected


def test_without_debug_information_nothing_is_inlined() -> None:
    found = evidence_of()
    found.__dict__["frames"] = None
    assert found.inlined == {}


def test_names_of_mach_o_lose_one_underscore() -> None:
    assert frames_with(["__Zf", "_Zf", "_main", "__x"], []).plain_names() == [
        "_Zf", "_Zf", "_main", "__x",
    ]  # fmt: skip


def test_the_shipped_file_is_the_stripped_one() -> None:
    twin: Any = SimpleNamespace()
    assert evidence_of(twin=twin).shipped is twin
    assert evidence_of().shipped is ELF


@pytest.mark.parametrize(
    ("type_", "segments", "expected"),
    [
        (ET_DYN, [PT_LOAD, PT_INTERP], True),
        (ET_DYN, [PT_LOAD], False),
        (ET_EXEC, [PT_LOAD], True),  # linked with -static
        (ET_REL, [], False),
    ],
)
def test_a_program_has_an_interpreter_or_a_fixed_address(
    type_: int, segments: list[int], expected: bool
) -> None:
    image: Any = object.__new__(Elf)
    known = {"type": type_, "segments": [SimpleNamespace(type=each) for each in segments]}
    for name, value in {**known, "layout": Layout(is_64=True, order="<")}.items():
        object.__setattr__(image, name, value)
    assert evidence_of(image).is_program == expected


@pytest.mark.parametrize("is_program", [True, False])
def test_a_program_of_mach_o_says_so(monkeypatch: pytest.MonkeyPatch, is_program: bool) -> None:
    monkeypatch.setattr(MachoImage, "is_program", is_program)
    monkeypatch.setattr(MachoImage, "sections", [section(name=".interp")])
    assert evidence_of(MACHO).is_program == is_program


def test_evidence_with_a_gap_is_not_complete() -> None:
    assert evidence_of().is_complete
    assert not evidence_of(gaps=("no map",)).is_complete


@pytest.mark.parametrize(
    ("objects", "placed", "expected"),
    [
        ({}, [(0, 0), (1, 0), (2, 0)], ()),
        ({0: {"described": False}}, [(0, 0), (1, 0)], ("0.o",)),
        ({1: {"size": 0}}, [(0, 0), (1, 0)], ("1.o",)),
        ({0: {"described": False}, 1: {"described": False}}, [(1, 0), (0, 0)], ("0.o", "1.o")),
        ({0: {"described": False}}, [(1, 0)], ()),  # the linker removed it
        ({0: {"described": False}}, [(0, 1), (1, 0)], ()),  # only its data is there
        ({2: {"described": False}}, [(0, 0), (2, 0)], ()),  # of the toolchain
    ],
)
def test_code_without_debug_information_is_undescribed(
    objects: Mapping[int, Mapping[str, Any]], placed: list[tuple[int, int]], expected: Any
) -> None:
    files = [object_of(f"{i}.o", **objects.get(i, {})) for i in range(OWN + OTHERS)]
    evidence = evidence_of(files=files, placed=placed)
    evidence.__dict__["frames"] = None
    assert evidence.undescribed == expected


@pytest.mark.parametrize(
    ("ranges", "made_by_lto", "expected"),
    [
        ([(64, 80)], (), ()),
        ([(60, 65)], (), ()),
        ([(79, 90)], (), ()),
        ([(8, 64), (80, 90)], (), ("a.o", "b.o")),  # beside the sections [64, 80)
        ([], (), ("a.o", "b.o")),
        ([], (1,), ("a.o",)),
    ],
)
def test_debug_information_has_to_describe_each_section_of_code(
    ranges: list[tuple[int, int]], made_by_lto: tuple[int, ...], expected: tuple[str, ...]
) -> None:
    """A partial link joins objects with debug information and objects without."""
    evidence = evidence_of(made_by_lto=made_by_lto)
    start, end = np.array(ranges, np.int64).reshape(-1, 2).T
    evidence.__dict__["frames"] = SimpleNamespace(start=start, end=end)
    assert evidence.undescribed == expected


def test_gcc_does_not_describe_a_function_that_continues_in_an_equal_one() -> None:
    evidence = evidence_of(wrappers=((0, 0),))
    nothing = np.zeros(0, np.int64)
    evidence.__dict__["frames"] = SimpleNamespace(start=nothing, end=nothing)
    assert evidence.undescribed == ("b.o",)


@pytest.mark.parametrize(
    ("size", "homes", "expected"),
    [
        (16, [0], True),
        (17, [0], False),
        (6, [0, 0], False),
        (6, [], False),
        (6, None, False),
        (8, [1], False),  # data
        (8, [-1], False),  # undefined in this object
    ],
)
def test_a_wrapper_is_small_and_refers_to_one_function_of_its_object(
    size: int, homes: list[int] | None, expected: bool
) -> None:
    count = len(homes or ())
    table = SimpleNamespace(offset=range(count), symbol=range(count))
    sections = [SimpleNamespace(size=size, is_executable=is_code) for is_code in (True, False)]
    file = SimpleNamespace(
        elf=SimpleNamespace(sections=[None, *sections]),
        symbols=[SimpleNamespace(section=home + 1) for home in homes or ()],
        relocations={} if homes is None else {1: table},
    )
    made: Any = Placement
    placement: Placement = made(SimpleNamespace(files=[file]), None, {}, (), True)
    assert placement.is_wrapper((0, 1)) == expected


@pytest.mark.parametrize(
    ("undescribed", "has_frames", "expected"),
    [((), True, []), (("a.o", "b.o"), True, ["a.o", "b.o"]), ((), False, ["the image"])],
)
def test_inlined_code_is_unknown_without_debug_information(
    undescribed: tuple[str, ...], has_frames: bool, expected: list[str]
) -> None:
    """A linker may leave debug information of objects out of the image (-S)."""
    evidence = evidence_of()
    frames = SimpleNamespace() if has_frames else None
    evidence.__dict__.update(undescribed=undescribed, _frames=(frames, ""), debug_file=None)
    unknown = "has no debug information, so inlined code there is unknown"
    assert evidence.undescribed_notes == tuple(f"{each} {unknown}" for each in expected)


@pytest.mark.parametrize("inputs", [None, (), (Path("a.o"),)])
def test_inputs_of_lto_count_as_in_the_image(
    monkeypatch: pytest.MonkeyPatch, inputs: tuple[Path, ...] | None
) -> None:
    monkeypatch.setattr(module, "undescribed_lto", lambda paths: tuple(map(str, paths)))
    expected = tuple(map(str, inputs or ()))
    evidence = evidence_of(lto_inputs=inputs)
    evidence.__dict__["frames"] = None
    assert evidence.undescribed == expected


def test_objects_by_lto_are_known_by_the_objects() -> None:
    assert evidence_of(made_by_lto=(1,)).has_lto
    assert not evidence_of(lto=("a.o",)).has_lto


def test_own_objects_come_first() -> None:
    assert [file.label for file in evidence_of().own_files()] == ["a.o", "b.o"]
