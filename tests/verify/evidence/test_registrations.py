"""Operators of stripped images, read from their registration tables.

The expected entries come from readelf and from the source of the tables.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.builds.build_record import Build
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.formats.elf import (
    ET_DYN,
    SHT_DYNSYM,
    SHT_RELA,
    SHT_STRTAB,
    parse_elf,
    read_elf,
)
from sizeguard.linkgraph.elf.table_entries import POINTER, pointer_pairs
from sizeguard.names.demangle import function_text
from sizeguard.names.pointers import Pointers, symbolic_pointers
from sizeguard.names.registered import (
    SCHEMAS,
    exact_names,
    may_be_names,
    read_entries,
    read_registrations,
)
from sizeguard.operators.library import read_operator_libraries
from sizeguard.verify.evidence.object_evidence import read_objects
from sizeguard.verify.evidence.object_registrations import class_makers
from sizeguard.verify.evidence.tables import registered_in
from tests.support.images.made_elf import Form, MadeSection, MadeSymbol, make_elf
from tests.support.links.claimed_programs import MAIN, judged, linked, outcomes

NAMES = [f"my::op{i}.out" for i in range(40)]

SOURCE = """
struct Kernel { const char* name; long key; void (*call)(int*); };
%s
extern const Kernel table[];
const Kernel table[] = {%s};
// What looks like an entry and is none: a lone pair, a text without a namespace,
// a name without a function.
struct Pair { const char* name; void (*call)(int*); };
extern const Pair lone[];
const Pair lone[] = {{"your::op", f0}};
extern const Pair plain[];
const Pair plain[] = {{"no namespace", f1}, {"nothing here", f2}, {"at all", f3}};
extern const char* const texts[];
const char* const texts[] = {"my::one", "my::two", "my::three"};
int main(int argc, char**) {
  int x = argc;
  table[argc].call(&x);
  lone[argc - 1].call(&x);
  plain[argc].call(&x);
  return x + texts[argc][0];
}
"""


@pytest.fixture(scope="module", params=["pie", "no-pie", "relr"])
def image(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, native_tools: None
) -> Path:
    folder = tmp_path_factory.mktemp("table")
    functions = "\n".join(
        f"[[gnu::noinline]] static void f{i}(int* x) {{ *x = *x * {i + 3} + {i * i}; }}"
        for i in range(40)
    )
    entries = ", ".join(f'{{"{name}", {i}, f{i}}}' for i, name in enumerate(NAMES))
    (folder / "table.cpp").write_text(SOURCE % (functions, entries))
    flags = {
        "pie": ["-pie", "-fPIE"],
        "no-pie": ["-no-pie", "-fno-pie"],
        "relr": ["-pie", "-fPIE", "--ld-path=ld.lld-19", "-Wl,--pack-dyn-relocs=relr"],
    }
    compiler = "clang++-19" if request.param == "relr" else "g++"
    command = [
        compiler,
        "-O2",
        "-s",
        *flags[request.param],
        "-o",
        str(folder / "table"),
        str(folder / "table.cpp"),
    ]
    subprocess.run(command, check=True)
    return folder / "table"


def test_entries_are_those_of_the_source(image: Path) -> None:
    found = read_registrations(read_elf(image))
    assert [entry.name for entry in found] == NAMES
    assert {entry.size for entry in found} == {24}
    assert len({entry.function for entry in found}) == 40


@pytest.mark.parametrize("options", [["-static", "-no-pie"], ["-shared", "-fPIC"]])
def test_entries_beside_relocations_of_other_kinds(
    options: list[str], tmp_path: Path, native_tools: None
) -> None:
    """A static program has relocations of ifuncs; exported functions have those with symbols."""
    functions = "\n".join(f"void f{i}(int* x) {{ *x = *x * {i + 3} + {i}; }}" for i in range(40))
    entries = ", ".join(f'{{"{name}", {i}, f{i}}}' for i, name in enumerate(NAMES))
    (tmp_path / "table.cpp").write_text(SOURCE % (functions, entries))
    command = ["g++", "-O2", "-s", *options, "-o", str(tmp_path / "table")]
    subprocess.run([*command, str(tmp_path / "table.cpp")], check=True)
    found = read_registrations(read_elf(tmp_path / "table"))
    assert [entry.name for entry in found if entry.name.startswith("my::op")] == NAMES


def test_entries_are_readelfs(image: Path) -> None:
    """In position-independent images with RELA, each entry has two addends."""
    text = subprocess.run(
        ["readelf", "-rW", str(image)], capture_output=True, text=True, check=True
    ).stdout
    addends = {
        int(a, 16): int(b, 16)
        for a, b in re.findall(
            r"^([0-9a-f]+)\s+\S+\s+R_X86_64_RELATIVE\s+([0-9a-f]+)$", text, re.MULTILINE
        )
    }
    if image.parent.name.startswith("table") and not addends:
        # Without relocations, or with packed ones, the words contain the addresses
        assert read_registrations(read_elf(image))
        return
    data = image.read_bytes()
    elf = read_elf(image)
    for entry in read_registrations(elf):
        assert addends[entry.address + 16] == entry.function
        section = next(
            s for s in elf.sections if s.address <= addends[entry.address] < s.address + s.size
        )
        at = section.offset + addends[entry.address] - section.address
        assert data[at : data.index(b"\0", at)].decode() == entry.name


def test_functions_without_symbols_are_their_operators(image: Path) -> None:
    analysis = analysis_of(image)
    operator, kind = analysis.label("operator"), analysis.label("kind")
    code = {}
    for row, load in enumerate(analysis.load.tolist()):
        if kind.texts[kind.ids[row]] == "code":
            name = operator.texts[operator.ids[row]]
            code[name] = code.get(name, 0) + load
    assert set(NAMES) <= set(code)
    assert all(3 <= code[name] <= 64 for name in NAMES)
    assert int(analysis.file.sum()) == image.stat().st_size
    assert int(analysis.load.sum()) == read_elf(image).load


def test_our_own_tables_are_found_in_a_stripped_image(full_build: Build, root: Path) -> None:
    known = read_operator_libraries(sorted((root / "native").glob("*/operators.yaml")))
    found = read_registrations(read_elf(full_build.shipped))
    assert {entry.name for entry in found} == set(known)
    assert {entry.size for entry in found} == {16}
    assert read_registrations(read_elf(full_build.image)) == found


def test_the_makers_of_classes_are_what_objects_register(full_build: Build) -> None:
    objects = read_objects(full_build.objects)
    (maker,) = class_makers(objects, ["LinearOpContext"])
    assert function_text(maker).startswith("sg::create_linear_context(")
    assert class_makers(objects, ["Linear"]) == frozenset()


def test_an_image_without_tables_has_none(core_build: Build) -> None:
    assert read_registrations(read_elf(core_build.shipped)) == ()


def test_objects_are_not_read(full_build: Build) -> None:
    assert (
        read_registrations(
            read_elf(next(path for path in full_build.objects if path.suffix == ".o"))
        )
        == ()
    )


TEXTS = st.lists(
    st.sampled_from([b"a", b"_9", b"::", b":", b"add", b"\0", b"(", b".out", b"\xff", b"x" * 90]),
    max_size=12,
).map(b"".join)


@given(TEXTS, st.booleans())
def test_places_of_names_by_column_are_those_one_by_one(content: bytes, at_end: bool) -> None:
    sections = [MadeSection(".rodata", flags=2, address=0x1000, content=content)]
    image = parse_elf(Path("made"), make_elf(Form(), sections, tail=b"" if at_end else b"::b\0"))
    strings = [section for section in image.sections if section.name == ".rodata"]
    address = np.arange(0x1000 - 2, 0x1000 + len(content) + 2)
    found = may_be_names(image, strings, address)
    for place, may in zip((address - 0x1000).tolist(), found.tolist(), strict=True):
        text = content[place : place + 200] if 0 <= place < len(content) else b""
        if re.match(rb"[A-Za-z_]\w*::[A-Za-z_][\w.]*(?=[\0(])", text):
            assert may
        if not re.match(rb"[A-Za-z_]", text):
            assert not may


PLACES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40)), max_size=30)


@given(PLACES)
def test_pairs_of_relocations_are_those_of_a_plain_loop(places: list[tuple[int, int]]) -> None:
    section, offset = (np.array([place[i] for place in places], np.int64) for i in range(2))
    first, second = pointer_pairs(section, offset)
    last = {place: row for row, place in enumerate(places)}
    expected = [
        (row, last[home, at + POINTER])
        for (home, at), row in sorted(last.items())
        if (home, at + POINTER) in last
    ]
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == expected


def test_pointers_to_texts_beside_pointers_to_code_are_entries() -> None:
    text, code, data = 0x1000, 0x2000, 0x3000
    content = b"my::op(int)\0Box\0my::none(\0"
    sections = [
        MadeSection(".rodata", flags=2, address=text, content=content),
        MadeSection(".text", flags=6, address=code, content=bytes(64)),
        MadeSection(".data", flags=3, address=data, content=bytes(64)),
    ]
    image = parse_elf(Path("made"), make_elf(Form(), sections))
    words = {
        data: text,  # a schema and its function
        data + 8: code,
        data + 16: text + 12,  # a class and its function
        data + 24: code + 16,
        data + 40: text,  # no function after it
        data + 56: text + 16,  # its function is past the end of the section
        data + 64: code,
    }
    columns = (np.array([*some], np.int64) for some in (words.keys(), words.values()))
    pointers = Pointers.of([Pointers(*columns)])
    (schema,) = read_entries(image, pointers, SCHEMAS)
    assert (schema.name, schema.function, schema.address, schema.size) == ("my::op", code, data, 16)
    (box,) = read_entries(image, pointers, exact_names(["Bo", "Box"]))
    assert (box.name, box.function, box.address) == ("Box", code + 16, data + 16)
    assert read_entries(image, pointers, exact_names([])) == ()


def test_of_several_pointers_at_one_place_the_last_counts() -> None:
    one, other = (Pointers(np.array([8, 0]), np.array(targets)) for targets in ([1, 2], [3, 4]))
    found = Pointers.of([one, other])
    assert (found.at.tolist(), found.target.tolist()) == ([0, 8], [4, 3])
    assert len(Pointers.of([]).at) == 0


@pytest.mark.parametrize(
    ("machine", "type_"), [(62, 1), (183, 257), (243, 2), (22, 22), (21, 38), (258, 2)]
)
def test_pointers_to_symbols_are_those_of_any_machine(machine: int, type_: int) -> None:
    """Entries of exported kernels were not found on riscv64 and others, and passed as absent."""
    form = Form()
    names = [MadeSymbol("kernel", 0x1000, 8, 2, 1, 4), MadeSymbol("elsewhere", 0, 0, 2, 1, 0)]
    symbols, strings = form.symbols(names)
    rows = [(0x4000, 0, 8, 0x10), (0x4008, 1, type_, 4), (0x4010, 2, type_, 4), (0x4018, 9, 1, 0)]
    sections = [
        MadeSection(".dynsym", type=SHT_DYNSYM, flags=2, address=0x200, content=symbols, link=2),
        MadeSection(".dynstr", type=SHT_STRTAB, flags=2, address=0x300, content=strings),
        MadeSection(
            ".rela.dyn", type=SHT_RELA, flags=2, address=0x400, link=1,
            content=form.relocations(rows, addend=True),
        ),
        MadeSection(".text", flags=6, address=0x1000, content=bytes(64)),
    ]  # fmt: skip
    data = make_elf(form, sections, type_=ET_DYN, machine=machine)
    found = symbolic_pointers(parse_elf(Path("made"), data))
    # An undefined symbol is in another library; the table has no symbol 9.
    assert (found.at.tolist(), found.target.tolist()) == ([0x4008, 0x4010], [0x1004, 0])


def test_tables_are_found_in_sections_of_code() -> None:
    """Linker scripts of firmware put constants into .text; their operators passed as absent."""
    base, table = 0x1000, 64
    texts = b"my::op(int)\0Box\0my::names(\0"
    words = [base, base + 48, base + 12, base + 56, base + 16, base, base + 16, 0]
    content = texts.ljust(table, b"\xcc") + b"".join(word.to_bytes(8, "little") for word in words)
    sections = [MadeSection(".text", flags=6, address=base, content=content)]
    image = parse_elf(Path("made"), make_elf(Form(), sections))
    found = registered_in(image, ["Box", "Other"])
    (entry,) = found.operators["my::op"]
    assert (entry.function, entry.address, entry.size) == (base + 48, base + table, 16)
    assert found.operators.keys() == {"my::op"}  # texts beside texts are no entries
    (box,) = found.classes["Box"]
    assert (box.function, box.address) == (base + 56, base + table + 16)
    assert read_registrations(image) == ()


TABLE = """
struct kernel { const char *name; long key; int (*call)(int); };
__attribute__((noinline)) static int one(int x) { return x * 7919 + 1; }
__attribute__((noinline)) static int two(int x) { return x ^ 0x12345; }
int gone(int x) __asm__("_ZN2ns1fEi");
int gone(int x) { return x * 31; }
struct kernel all[] = {{"my::mul.out", 0, one}, {"my::add.out", 1, two}, {"ns::f", 2, two}%s};
%s
int api(int x) { return all[x].call(x); }
"""


@pytest.mark.native
def test_claims_on_names_in_a_table_of_any_shape(tmp_path: Path) -> None:
    """Those of ExecuTorch have a key between name and function; a symbol precedes its name."""
    more = ', {"my::div.out", 3, one}', ""
    texts = {"now": ("", ""), "base": more, "text": ("", 'const char *said = "my::div.out";')}
    files = {}
    for name, parts in texts.items():
        (tmp_path / name).mkdir()
        sources = {"a": TABLE % parts, "main": MAIN}
        flags = ("-ffunction-sections",)
        files[name] = linked(tmp_path / name, sources, "-Wl,--gc-sections", flags=flags)
    found = judged(files["now"], ["my::mul", "my::*", "ns::f"], ["my::add.out", "ns::f"])
    assert [(each.kind, each.name, each.verdict) for each in found] == [
        ("operator", "my::mul.out", FAIL),
        ("operator", "my::add.out", FAIL),
        ("operator", "my::mul.out", FAIL),
        ("symbol", "ns::f", PASS),
        ("operator", "my::add.out", PASS),
        ("symbol", "ns::f", FAIL),
    ]
    for name, verdict in (("now", PASS), ("base", FAIL), ("text", INCONCLUSIVE)):
        assert outcomes(judged(files[name], ["my::div"], base=files["base"].image)) == [verdict]
    assert outcomes(judged(files["now"], ["my::div.out"])) == [INCONCLUSIVE]
