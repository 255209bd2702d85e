"""Readers agree with the system's tools; a report's rows sum to the file and load sizes."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from sizeguard.attribution.group import group
from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.attribution.owners.graph_owners import entries_of, reach
from sizeguard.attribution.size_report import CORE, LEVELS, SHARED, Report
from sizeguard.base.errors import InputError
from sizeguard.builds.build_record import Build
from sizeguard.formats.archive import read_archive
from sizeguard.formats.elf import read_elf
from sizeguard.formats.linkmap import read_map
from sizeguard.linkgraph.open_graph import graph_of_path
from sizeguard.names.demangle import demangle
from sizeguard.names.dtype_of import dtype_of
from sizeguard.operators.library import read_operator_libraries
from sizeguard.report.sizes.render import report_chunks
from sizeguard.runtimes.known import kernel_of, short_name
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import Variant, default_folder
from sizeguard.toolchains.toolchain import find_toolchain
from tests.support.tools import tool

BY = [
    ("operator",),
    ("section",),
    ("symbol",),
    ("object",),
    ("kind", "section"),
    ("operator", "dtype", "kernel"),
    LEVELS,
]


def report_of(path: Path, by: Sequence[str]) -> Report:
    return group(analysis_of(path), by)


@pytest.fixture(scope="session")
def lld_build(root: Path, native_tools: None) -> Build:
    variant, toolchain = Variant("core"), find_toolchain("clang", "lld")
    return build(root, variant, toolchain, default_folder(root, variant, toolchain))


def test_sections_are_those_of_size(full_build: Build) -> None:
    table = [line.split() for line in tool("size", "-A", str(full_build.image)).splitlines()]
    sizes = {row[0]: int(row[1]) for row in table if len(row) == 3 and row[1].isdigit()}
    assert len(sizes) > 20
    assert {
        section.name: section.size
        for section in read_elf(full_build.image).sections
        if section.name in sizes
    } == sizes


def test_symbols_are_those_of_nm(full_build: Build) -> None:
    theirs = set()
    for line in tool("nm", "-S", "--defined-only", str(full_build.image)).splitlines():
        row = line.split()
        if len(row) == 4:
            theirs.add((row[3].split("@")[0], int(row[0], 16), int(row[1], 16)))
    ours = {
        (s.name.split("@")[0], s.address, s.size)
        for s in read_elf(full_build.image).symbols
        if s.size and s.section
    }
    assert ours == theirs


def test_the_build_id_is_readelfs(full_build: Build) -> None:
    assert f"Build ID: {read_elf(full_build.image).build_id}" in tool(
        "readelf", "-n", str(full_build.image)
    )


def test_load_is_what_the_section_headers_say(full_build: Build) -> None:
    load = 0
    for line in tool("readelf", "-SW", str(full_build.shipped)).splitlines():
        row = re.match(
            r"\s*\[\s*\d+\]\s(\S*)\s+(\S+)\s+[0-9a-f]+\s+[0-9a-f]+\s+([0-9a-f]+)\s+[0-9a-f]+\s+(\S*A\S*)\s",
            line,
        )
        if row and row[2] != "NOBITS":
            load += int(row[3], 16)
    assert full_build.sizes.load == load


def test_the_stripped_twin_loads_the_same_bytes(full_build: Build) -> None:
    image, shipped = read_elf(full_build.image), read_elf(full_build.shipped)
    loaded = {
        section.name: image.content(section) for section in image.sections if section.load_size
    }
    assert loaded == {
        section.name: shipped.content(section) for section in shipped.sections if section.load_size
    }
    assert shipped.is_stripped
    assert not image.is_stripped
    assert full_build.sizes.file == full_build.shipped.stat().st_size


def test_archive_members_are_those_of_ar(full_build: Build) -> None:
    for path in full_build.objects:
        if path.suffix == ".a":
            assert [name for name, _ in read_archive(path)] == tool("ar", "t", str(path)).split()


@pytest.mark.parametrize("by", BY, ids="-".join)
@pytest.mark.parametrize("which", ["build", "image", "shipped", "object"])
def test_rows_sum_to_the_file_and_to_what_is_loaded(
    full_build: Build, by: tuple[str, ...], which: str
) -> None:
    path = {
        "build": full_build.image.parent,
        "image": full_build.image,
        "shipped": full_build.shipped,
        "object": next(path for path in full_build.objects if path.suffix == ".o"),
    }[which]
    report = report_of(path, by)
    elf = read_elf(Path(report.image.path))
    assert sum(row.file for row in report.rows) == report.image.file == elf.size
    assert (
        sum(row.load for row in report.rows)
        == report.image.load
        == sum(section.load_size for section in elf.sections)
    )
    assert len({row.keys for row in report.rows}) == len(report.rows)


def test_sections_of_a_report_are_the_sections(full_build: Build) -> None:
    rows = {row.keys[0]: row.load for row in report_of(full_build.image.parent, ("section",)).rows}
    for section in read_elf(full_build.shipped).sections:
        if section.load_size:
            assert rows[section.name] == section.load_size


def test_symbols_of_a_report_have_nms_sizes(full_build: Build) -> None:
    """Compare only code, without aliases.

    Unwind records and symbol table entries of a function have separate rows of other kinds.
    """
    lines = (
        line.split()
        for line in tool("nm", "-S", "--defined-only", str(full_build.image)).splitlines()
    )
    functions = [row for row in lines if len(row) == 4 and row[2] in "tT"]
    names = Counter(row[0] for row in functions)
    sizes: Counter[str] = Counter()
    for address, size, _, name in functions:
        if names[address] == 1:  # aliases share one row; another test checks it
            sizes[name] += int(size, 16)
    found = {
        row.keys[1]: row.load
        for row in report_of(full_build.image, ("kind", "symbol")).rows
        if row.keys[0] == "code"
    }
    kernels = {name: size for name, size in sizes.items() if name.startswith("_ZN2sg7kernels")}
    assert len(kernels) > 50
    assert {name: found.get(name) for name in kernels} == kernels


@pytest.mark.native
@pytest.mark.parametrize("fixture", ["core_build", "lld_build"])
def test_map_rows_lie_in_their_sections(fixture: str, request: pytest.FixtureRequest) -> None:
    built: Build = request.getfixturevalue(fixture)
    sections = {
        section.name: section for section in read_elf(built.image).sections if section.load_size
    }
    rows = [row for row in read_map(built.map) if row.output in sections]
    text = sum(row.size for row in rows if row.output == ".text")
    assert 0.95 * sections[".text"].size < text <= sections[".text"].size
    for row in rows:
        assert sections[row.output].address <= row.address
        assert row.address + row.size <= sections[row.output].address + sections[row.output].size


@pytest.mark.native
@pytest.mark.parametrize("fixture", ["core_build", "lld_build"])
def test_core_has_no_operators(fixture: str, request: pytest.FixtureRequest) -> None:
    built: Build = request.getfixturevalue(fixture)
    reached = reach(graph_of_path(built.image.parent))
    assert not entries_of(reached)
    assert {reached.label(node) for node in range(len(reached.owner))} == {"", CORE}


def test_every_operator_is_found_where_it_is_registered(full_build: Build, root: Path) -> None:
    known = read_operator_libraries(sorted((root / "native").glob("*/operators.yaml")))
    reached = reach(graph_of_path(full_build.image.parent))
    assert {entry.operator for entry in entries_of(reached)} == set(known)
    # Operators that share a kernel have a row each: a table entry and half of the kernel.
    rows = {row.keys[0]: row.load for row in report_of(full_build.image.parent, ("operator",)).rows}
    assert {name for name in rows if "::" in name} == set(known)
    assert all(rows[name] > 0 for name in known)
    assert abs(rows["aten::mul.Scalar"] - rows["aten::mul.Tensor"]) < 100
    assert {CORE, SHARED} < set(rows)


def test_a_kernels_bytes_belong_to_its_operator(full_build: Build) -> None:
    rows = {
        (row.keys[0], short_name(row.keys[1]))
        for row in report_of(full_build.image.parent, ("operator", "symbol")).rows
    }
    assert ("aten::convolution", "convolution") in rows
    assert ("aten::relu", "relu") in rows
    assert (CORE, "main") in rows


@pytest.mark.parametrize(
    ("mangled", "short", "dtype", "kernel"),
    [
        ("_ZN2sg7kernels3addERNS_7ContextENS_6TensorES3_NS_6ScalarE", "add", "", "add"),
        ("_ZN2sg7kernels12_GLOBAL__N_19conv_bodyIfEEvPKT_", "conv_body<float>", "Float", ""),
        (
            "_ZN2sg11binary_loopIssNS_3AddEEEvlPPc",
            "binary_loop<short, short, sg::Add>",
            "Short",
            "",
        ),
        ("_ZN2sg12convert_loopIdlEEvPKcPcl", "convert_loop<double, long>", "Double+Long", ""),
        ("_ZZN2sg7kernels12_GLOBAL__N_14bodyIfEEvPKT_E5table", "body<float>::table", "", ""),
        ("_ZNK2sg7Program5inputEm", "Program::input", "", ""),
        ("_ZN2sg9ConverterclEPKcPcl", "Converter::operator()", "", ""),
        ("main", "main", "", ""),
    ],
)
def test_names(mangled: str, short: str, dtype: str, kernel: str) -> None:
    assert (short_name(mangled), dtype_of(mangled), kernel_of(mangled)) == (
        short.replace("sg::", ""),
        dtype,
        kernel,
    )
    assert demangle(mangled) == (mangled if mangled == "main" else demangle(mangled))


def test_formats_say_the_same(core_build: Build) -> None:
    report = report_of(core_build.image.parent, ("kind", "section"))
    text = {
        format_: "".join(report_chunks(report, format_, 2))
        for format_ in ("json", "csv", "terminal", "markdown")
    }
    content = json.loads(text["json"])
    assert content["totals"] == {
        "file": report.image.file,
        "load": report.image.load,
        "ram": report.image.ram,
    }
    assert len(content["rows"]) == len(report.rows)  # a limit does not cut JSON
    table = list(csv.DictReader(io.StringIO(text["csv"], newline="")))
    numbers = ("file", "load", "ram", "count")
    assert [{**row, **{name: int(row[name]) for name in numbers}} for row in table] == content[
        "rows"
    ]
    kinds = len({row["kind"] for row in content["rows"]})
    for format_ in ("terminal", "markdown"):
        assert f"{kinds - 2} smaller" in text[format_]
        assert f"{report.image.load:,}" in text[format_]


def test_what_is_no_image_is_refused_in_one_line(tmp_path: Path, core_build: Build) -> None:
    data = core_build.shipped.read_bytes()
    for name, content, message in [
        ("empty", b"", "not an ELF file"),
        ("text", b"hello", "not an ELF file"),
        ("cut", data[:100], "damaged"),
        ("half", data[: len(data) // 2], "damaged"),
    ]:
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(InputError, match=message) as error:
            report_of(path, ("section",))
        assert "\n" not in str(error.value)
    with pytest.raises(InputError, match=r"unknown level 'opertor'"):
        report_of(core_build.shipped, ("opertor",))
    with pytest.raises(
        InputError, match="contains no image: none of its 2 native files can be read"
    ):
        report_of(tmp_path, ("section",))


def test_damaged_images_end_in_rows_that_sum_or_in_one_line(
    core_build: Build, tmp_path: Path
) -> None:
    """Mutate an image and an object, mostly in the header and the tables at the end."""
    random_ = random.Random(5)
    originals = [
        core_build.shipped.read_bytes(),
        next(path for path in core_build.objects if path.suffix == ".o").read_bytes(),
    ]
    path = tmp_path / "mutated"
    refused = 0
    for i in range(300):
        data = bytearray(originals[i % 2])
        for _ in range(random_.choice([1, 2, 4, 8])):
            places = [
                random_.randrange(64),
                len(data) - 1 - random_.randrange(2500),
                random_.randrange(len(data)),
            ]
            data[random_.choice(places)] = random_.choice(
                [0, 127, 128, 255, random_.randrange(256)]
            )
        path.write_bytes(data[: random_.randrange(len(data))] if random_.random() < 0.2 else data)
        try:
            report = report_of(path, ("section", "symbol"))
        except InputError as error:
            assert "\n" not in str(error)
            refused += 1
        else:
            assert sum(row.file for row in report.rows) == report.image.file == path.stat().st_size
    assert 50 < refused < 250
