"""The evidence of recorded Mach-O links: places, relocations, changed bytes, and start-up.

Offsets are those that `llvm-objdump -dr` prints for the objects.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.builds.open_build import Files
from sizeguard.claims.verdict import FAIL, PASS
from sizeguard.formats.elf import (
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_WRITE,
    SHT_INIT_ARRAY,
    STT_FUNC,
    STT_OBJECT,
)
from sizeguard.formats.linkmap import read_link_map
from sizeguard.gate.cache.requested_claims import RequestedClaims
from sizeguard.gate.verified_builds import verify_path
from sizeguard.verify.branches.references import References
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.gather_evidence import gather
from sizeguard.verify.evidence.macho import read_macho_image
from sizeguard.verify.evidence.macho_objects import MachoObject, read_macho_objects
from sizeguard.verify.evidence.macho_placement import place_atoms
from sizeguard.verify.evidence.placement import Node
from tests.support.builds.recorded_builds import recorded_images, unpack

TWICE, GUARDED, RUN = "_ZN6shapes5twiceEi", "_ZN6shapes7guardedEi", "_Z3runi"
FUNCTIONS, START = "_ZN6shapesL9functionsE", "_GLOBAL__sub_I_shapes.cpp"
DESCRIPTOR = "_ZN6shapes10per_threadE"
ARCHES = ("arm64", "x86_64")
LINKS = [f"{kind}-{arch}" for kind in ("app", "lib", "opcodes") for arch in ARCHES]
ROW = re.compile(r"0x([0-9A-F]+)\t0x[0-9A-F]+\t\[ *([12])\] _?(.*)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("macho", tmp_path_factory.mktemp("recorded"))


def files(folder: Path, link: str) -> Files:
    arch = link.partition("-")[2]
    objects = tuple(folder / f"{name}-{arch}.o" for name in ("shapes", "main"))
    return Files(folder / link, None, objects, folder / f"{link}.map", None, folder)


@pytest.fixture(scope="module", params=LINKS)
def link(request: pytest.FixtureRequest, folder: Path) -> tuple[Files, Evidence]:
    found = files(folder, request.param)
    return found, gather(found)


@pytest.fixture(scope="module", params=ARCHES)
def app(request: pytest.FixtureRequest, folder: Path) -> tuple[str, Evidence]:
    return request.param, gather(files(folder, f"app-{request.param}"))


def node_of(evidence: Evidence, symbol: str) -> Node:
    return next(
        (number, each.section)
        for number, file in enumerate(evidence.own_files())
        for each in file.definitions
        if each.symbol == symbol
    )


def in_map(path: Path) -> dict[tuple[int, str], int]:
    """Addresses by number of the object and name, as the linker wrote them."""
    rows = (ROW.fullmatch(line) for line in path.read_text().splitlines())
    return {(int(row[2]) - 1, row[3]): int(row[1], 16) for row in rows if row}


def placed(evidence: Evidence) -> dict[tuple[int, str], int]:
    address = evidence.placement.address
    return {
        (number, each.symbol): address[number, each.section] + each.offset
        for number, file in enumerate(evidence.own_files())
        for each in file.definitions
        if (number, each.section) in address
    }


def test_definitions_are_where_the_map_has_them(link: tuple[Files, Evidence]) -> None:
    given, evidence = link
    assert given.link_map is not None
    expected = in_map(given.link_map)
    found = placed(evidence)
    assert found.items() <= expected.items()
    literals = {name for _, name in expected.keys() - found.keys()}
    assert all(re.match(r"[lL]|EH_Frame", name) for name in literals), literals
    assert (evidence.gaps, evidence.placement.missing) == ((), ())


def test_without_a_map_symbols_and_bytes_give_the_places(link: tuple[Files, Evidence]) -> None:
    given, evidence = link
    found = gather(replace(given, link_map=None))
    assert {TWICE, GUARDED, RUN, START} <= {name for _, name in placed(found)}
    assert placed(found).items() <= placed(evidence).items()


def test_the_function_that_runs_at_start_up_is_known(link: tuple[Files, Evidence]) -> None:
    _, evidence = link
    (slot,) = (
        section.index
        for section in evidence.objects.files[0].elf.sections
        if section.type == SHT_INIT_ARRAY
    )
    image: Any = evidence.image
    start = evidence.placement.address[node_of(evidence, START)]
    assert image.initializers == {start: evidence.placement.address[0, slot]}
    (section,) = (each for each in image.sections if each.type == SHT_INIT_ARRAY)
    assert section.address == image.initializers[start]


CHANGED = {
    ("arm64", TWICE): [(0, 4), (4, 8), (8, 12)],  # adrp, ldr, and the ldr that a hint names
    ("x86_64", TWICE): [(8, 14)],  # a load by the table of addresses, with its opcode
    ("arm64", FUNCTIONS): [(0, 8), (8, 16)],
    ("x86_64", FUNCTIONS): [(0, 8), (8, 16)],
    ("arm64", START): [(0, 4), (4, 8), (20, 24), (24, 28), (28, 32), (32, 36), (36, 40)],
    ("x86_64", START): [(6, 10), (27, 31), (34, 38), (40, 44)],
    ("arm64", DESCRIPTOR): [(0, 8), (16, 24)],
    ("x86_64", DESCRIPTOR): [(0, 8), (16, 24)],
}


@pytest.mark.parametrize("name", [TWICE, FUNCTIONS, START, DESCRIPTOR])
def test_linking_changes_relocated_bytes_only(app: tuple[str, Evidence], name: str) -> None:
    arch, evidence = app
    number, section = node_of(evidence, name)
    object_: Any = evidence.objects.files[number].elf
    assert sorted({*object_.changed[section]}) == CHANGED[arch, name]


def test_loads_of_addresses_on_x86_64_lose_their_opcode(folder: Path) -> None:
    """The program has the thread-local itself, so its load becomes the address."""
    evidence = gather(files(folder, "app-x86_64"))
    number, section = node = node_of(evidence, RUN)
    object_: Any = evidence.objects.files[number].elf
    wide = {each for each in object_.changed[section] if each[1] - each[0] == 6}
    assert wide == {(18, 24), (248, 254), (306, 312)}
    row = object_.sections[section]
    before = object_.content(row)
    after = evidence.placement.image.at(evidence.placement.address[node], row.size)
    assert (before[247:249], bytes(after[247:249])) == (b"\x48\x8b", b"\x48\x8d")


RELOCATED = {
    ("arm64", TWICE): [(0, "environ_count", 0), (4, "environ_count", 0)],
    ("x86_64", TWICE): [(10, "environ_count", 0)],
    ("arm64", FUNCTIONS): [(0, TWICE, 0), (8, GUARDED, 0)],
    ("x86_64", FUNCTIONS): [(0, TWICE, 0), (8, GUARDED, 0)],
    ("arm64", DESCRIPTOR): [(0, "_tlv_bootstrap", 0), (16, f"{DESCRIPTOR}$tlv$init", 0)],
    ("x86_64", DESCRIPTOR): [(0, "_tlv_bootstrap", 0), (16, f"{DESCRIPTOR}$tlv$init", 0)],
}


@pytest.mark.parametrize("name", [TWICE, FUNCTIONS, DESCRIPTOR])
def test_relocations_name_what_bytes_refer_to(app: tuple[str, Evidence], name: str) -> None:
    arch, evidence = app
    number, section = node_of(evidence, name)
    file = evidence.objects.files[number]
    table = file.relocations[section]
    rows = zip(table.offset.tolist(), table.symbol.tolist(), table.addend.tolist(), strict=True)
    found = [(offset, file.symbols[symbol].name, addend) for offset, symbol, addend in rows]
    assert found == RELOCATED[arch, name]


def test_a_reference_to_a_section_is_one_to_an_atom(folder: Path) -> None:
    """x86_64 objects refer to texts by the section and a place in it."""
    (file, _) = read_macho_objects(files(folder, "app-x86_64").objects).files
    section = next(each.section for each in file.definitions if each.symbol == GUARDED)
    table = file.relocations[section]
    targets = [
        file.symbols[symbol]
        for offset, symbol in zip(table.offset.tolist(), table.symbol.tolist(), strict=True)
        if offset in (43, 61)
    ]
    texts = [file.elf.content(file.elf.sections[target.section]) for target in targets]
    assert texts == [b"guarded\0", b"cleaned\0"]
    assert [target.address for target in targets] == [0, 0]


def test_a_table_of_functions_is_followed_both_ways(app: tuple[str, Evidence]) -> None:
    _, evidence = app
    references = References(evidence)
    node = node_of(evidence, FUNCTIONS)
    places = [(node, 0, 16), (node, 8, 16), (node, 0, 0)]
    found = [[name for name, _ in references.symbols_of(place)] for place in places]
    assert [sorted(names) for names in found] == [[TWICE, GUARDED], [GUARDED], []]
    start = evidence.placement.address[node]
    assert references.between(start + 8, start + 16) == (node, 8, 16)
    assert references.between(1, 2) is None
    twice = references.at(node_of(evidence, TWICE), 0)
    assert twice is not None
    users = references.users_of(twice)
    assert {user.symbol if user else "data" for user in users} == {GUARDED, RUN, "data"}


def test_symbols_of_an_object_have_their_bytes(folder: Path) -> None:
    (file, _) = read_macho_objects(files(folder, "app-arm64").objects).files
    rows = {each.name: each for each in file.symbols if each.name}
    sizes = [rows[name].size for name in (TWICE, FUNCTIONS, "_ZN6shapes7counterE", "puts")]
    assert sizes == [20, 16, 1200, 0]
    assert [rows[name].type for name in (TWICE, FUNCTIONS)] == [STT_FUNC, STT_OBJECT]
    assert [rows[name].binding for name in (TWICE, FUNCTIONS)] == [1, 0]
    flags = {
        name: file.elf.sections[rows[name].section].flags
        for name in (TWICE, "_ZTSN6shapes5ShapeE", "_ZN6shapes7initialE")
    }
    assert [*flags.values()] == [SHF_ALLOC | SHF_EXECINSTR, SHF_ALLOC, SHF_ALLOC | SHF_WRITE]


def test_debug_sections_have_the_names_and_bytes_of_elf(tmp_path: Path) -> None:
    (file,) = read_macho_objects([recorded_images(tmp_path) / "main-arm64-g.o"]).files
    texts = file.elf.section(".debug_str")
    assert texts is not None
    content = file.elf.content(texts)
    assert (content[-1:], b"\0keep_table\0" in content, texts.flags) == (b"\0", True, 0)
    assert file.elf.sections[texts.index] is texts
    assert not {texts.index} & file.relocations.keys()
    first = min(each.index for each in file.elf.sections if each.name.startswith(".debug"))
    atoms = {each.section for each in file.definitions} | file.relocations.keys()
    assert max(atoms) < first


def test_an_image_extends_each_symbol_to_the_next(app: tuple[str, Evidence]) -> None:
    arch, evidence = app
    rows = {each.name: each for each in evidence.image.symbols}
    assert rows[TWICE].size == {"arm64": 20, "x86_64": 32}[arch]
    assert rows[FUNCTIONS].size == 16
    sections = {each.index: each.name for each in evidence.image.sections}
    assert sections[rows[TWICE].section] == "__TEXT,__text"
    assert (rows[TWICE].type, rows[FUNCTIONS].type) == (STT_FUNC, STT_OBJECT)


def test_exports_are_roots_but_for_the_entry_of_a_program(link: tuple[Files, Evidence]) -> None:
    given, evidence = link
    image: Any = evidence.image
    (table,) = image.dynamic_symbols
    found = {each.name: (each.type, each.address) for each in table.objects()}
    assert image.is_program == (not given.image.name.startswith("lib"))
    assert ("main" in found) != image.is_program
    assert "_mh_execute_header" not in found
    address = placed(evidence)[0, TWICE]
    assert found[TWICE] == (STT_FUNC, address)
    assert found["_ZN6shapes7initialE"][0] == STT_OBJECT
    assert FUNCTIONS not in found


@pytest.mark.parametrize(
    "label, lto, missing",
    [
        ("app.lto.o", ("shapes-arm64.o",), ()),  # LTO made the object, so its names are in it
        ("app.lto.o", (), ()),
        ("other.o", ("shapes-arm64.o",), ()),  # as no object has them, they were inlined
        ("other.o", (), ("shapes-arm64.o",)),
    ],
)
def test_a_map_names_files_of_bitcode(
    folder: Path, label: str, lto: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    given = files(folder, "app-arm64")
    assert given.link_map is not None
    objects = read_macho_objects(given.objects, folder)
    first, second = objects.files
    objects = replace(objects, files=(replace(first, label=label), second), lto=lto)
    image = read_macho_image(given.image)
    found = place_atoms(objects, image, read_link_map(given.link_map), given.link_map)
    section = next(each.section for each in first.definitions if each.symbol == TWICE)
    expected = in_map(given.link_map)[0, TWICE] if label == "app.lto.o" else None
    if label == "app.lto.o":
        assert missing == ()
        assert found.address.get((0, section)) == expected
    else:
        assert {node[0] for node in found.address} == {1}
        assert tuple(Path(each).name for each in found.missing) == missing


def test_objects_of_another_build_are_refused(folder: Path, tmp_path: Path) -> None:
    given = files(folder, "app-arm64")
    evidence = gather(given)
    node = node_of(evidence, TWICE)
    row = evidence.placement.section(node)
    other = tmp_path / given.objects[0].name
    for at, is_refused in ((11, False), (12, True)):  # behind the bytes that linking changes
        data = bytearray(given.objects[0].read_bytes())
        data[row.offset + at] ^= 1
        other.write_bytes(data)
        changed = replace(given, objects=(other, given.objects[1]))
        refused = pytest.raises(InconclusiveError, match="of another build")
        with refused if is_refused else nullcontext():
            gather(changed)
    with pytest.raises(InputError, match="not a relocatable Mach-O object"):
        read_macho_objects([given.image])
    hints: Any = SimpleNamespace(part=lambda _: SimpleNamespace(tobytes=lambda: b"\x07\x03\x80"))
    with pytest.raises(InputError, match="damaged linker optimization hints"):
        _ = MachoObject(hints, Path("a.o"), hints)._hinted


def test_claims_on_a_program(app: tuple[str, Evidence], folder: Path) -> None:
    arch, _ = app
    given = files(folder, f"app-{arch}")
    for name, there in (("dead_function", False), ("alias_target", False), (TWICE, True)):
        absent, present = RequestedClaims(absent=(name,)), RequestedClaims(present=(name,))
        for claim, holds in ((absent, not there), (present, there)):
            found = verify_path(folder, given.image, claim, given)
            assert found.verdict == (PASS if holds else FAIL), (name, claim)
