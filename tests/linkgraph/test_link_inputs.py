"""Test inputs of a link that affect which sections are kept: options, scripts, archives, LTO.

Inputs that cannot be used are refused.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.builds.link_record import LinkRecord
from sizeguard.builds.linker_options import read_options
from sizeguard.linkgraph.chains import why
from sizeguard.linkgraph.elf.elf_graph import graph_of
from sizeguard.linkgraph.inputs.command_line import parse_command
from sizeguard.linkgraph.inputs.link_inputs import FAMILIES, Linker, LinkInput, LinkInputs
from sizeguard.linkgraph.inputs.loader import load
from sizeguard.linkgraph.inputs.lto import without_lto
from sizeguard.linkgraph.inputs.recorded_link import linker_named
from sizeguard.linkgraph.inputs.version_script import Visible, parse_version_script
from sizeguard.linkgraph.live import live
from sizeguard.linkgraph.merged_functions import coarse_objects
from sizeguard.linkgraph.open_graph import graph_of_objects, graph_of_path
from sizeguard.linkgraph.subjects import find_subject
from sizeguard.names.dtype_of import dtype_of
from sizeguard.toolchains.links.asked_link import link_command
from tests.support.drawn import at_least
from tests.support.images.made_elf import ET_DYN, Form, make_elf
from tests.support.links.link_cases import FIXTURES, Linked, link, model
from tests.support.links.map_links import linker_flags

LINKERS = ("bfd", "gold", "lld-22", "mold")


def compiled(folder: Path, name: str, source: str, *flags: str) -> Path:
    path = folder / f"{name}.o"
    command = [
        "g++",
        "-Os",
        "-ffunction-sections",
        "-fdata-sections",
        *flags,
        "-x",
        "c++",
        "-",
        "-c",
        "-o",
        str(path),
    ]
    subprocess.run(command, input=source, text=True, check=True)
    return path


def is_live(linked: Linked, symbol: str) -> bool:
    return why(linked.graph, find_subject(linked.graph, symbol, dtype_of)).live


@pytest.mark.parametrize(
    "option",
    ["--audit", "-audit", "-P", "--depaudit", "-f", "--auxiliary", "--filter", "--just-symbols",
     "-c", "--oformat", "-Ttext-segment", "--symbol-ordering-file", "-trace-symbol"],
)  # fmt: skip
def test_the_value_of_an_option_is_no_input(option: str) -> None:
    found = list(read_options([option, "value", "a.o"], Path("/")))
    assert found == [(option, "value"), ("", "a.o")]


@pytest.fixture
def library(tmp_path: Path, native_tools: None) -> Path:
    """Compile an object with three functions, and a main."""
    functions = "".join(
        f'extern "C" int {name}(int x) {{ return x + {i}; }}\n'
        for i, name in enumerate(("one", "two", "three"))
    )
    compiled(tmp_path, "library", functions, "-fPIC")
    compiled(
        tmp_path, "main", 'extern "C" int one(int); int main(int c, char**) { return one(c); }'
    )
    return tmp_path


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ((), {"one"}),
        (("-Wl,-u,two",), {"one", "two"}),
        (("-Wl,--export-dynamic",), {"one", "two", "three"}),
        (("-Wl,--export-dynamic-symbol=three",), {"one", "three"}),
        (("-Wl,--dynamic-list=list",), {"one", "two"}),
    ],
)
def test_options_of_executables(
    library: Path, linker: str, flags: tuple[str, ...], expected: set[str]
) -> None:
    (library / "list").write_text("{ two; };\n")
    driver = ["g++", "main.o", "library.o", "-o", "out", *linker_flags(linker), *flags]
    linked = link(driver, library, library / "out")
    assert isinstance(linked, Linked), linked
    assert linked.differences == ({}, {})
    assert {name for name in ("one", "two", "three") if is_live(linked, name)} == expected


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("{ local: *; };", set()),
        ("{ global: t*; local: *; };", {"two", "three"}),
        ("V1 { global: one; }; V2 { local: *; } V1;", {"one"}),
    ],
)
def test_version_scripts(library: Path, linker: str, script: str, expected: set[str]) -> None:
    (library / "script").write_text(script)
    driver = [
        "g++",
        "-shared",
        "library.o",
        "-o",
        "out",
        *linker_flags(linker),
        "-Wl,--version-script=script",
    ]
    linked = link(driver, library, library / "out")
    assert isinstance(linked, Linked), linked
    assert linked.differences == ({}, {})
    assert {name for name in ("one", "two", "three") if is_live(linked, name)} == expected


def test_version_script_patterns() -> None:
    visible = parse_version_script("V { global: a*; exact; local: ab*; *; };", "script")
    assert [visible.is_hidden(name) for name in ("abc", "ax", "exact", "other")] == [
        False,
        False,
        False,
        True,
    ]
    with pytest.raises(InconclusiveError, match=r'extern "C\+\+"'):
        parse_version_script('V { global: extern "C++" { f*; }; };', "script")


@pytest.mark.parametrize("linker", LINKERS)
def test_archives(library: Path, linker: str) -> None:
    """Test archives that need each other, members with the same name, and whole archives."""
    compiled(library, "a", 'extern "C" int b(int); extern "C" int a(int x) { return b(x); }')
    compiled(library, "b", 'extern "C" int c(int); extern "C" int b(int x) { return c(x); }')
    (library / "other").mkdir()
    compiled(
        library / "other",
        "a",
        'extern "C" int c(int x) { return x; } extern "C" int unused(int x) { return x; }',
    )
    compiled(library, "start", 'extern "C" int a(int); int main(int n, char**) { return a(n); }')
    subprocess.run(["ar", "qc", "first.a", "a.o", "other/a.o"], cwd=library, check=True)
    subprocess.run(["ar", "rc", "second.a", "b.o", "library.o"], cwd=library, check=True)
    grouped = ["-Wl,--start-group", "first.a", "second.a", "-Wl,--end-group"]
    for archives in (
        grouped,
        ["first.a", "-Wl,--whole-archive", "second.a", "-Wl,--no-whole-archive", "first.a"],
    ):
        linked = link(
            ["g++", "start.o", *archives, "-o", "out", *linker_flags(linker)],
            library,
            library / "out",
        )
        assert isinstance(linked, Linked), linked
        assert linked.differences == ({}, {})
        assert is_live(linked, "c")
        assert not is_live(linked, "unused")
        names = [label.rpartition("/")[2] for label in linked.graph.objects]
        assert names.count("first.a(a.o)") == 2
        assert ("second.a(library.o)" in names) == (archives is not grouped)


def test_objects_without_function_sections_are_named(library: Path) -> None:
    compiled(
        library,
        "coarse",
        "int f(int x) { return x; } int g(int x) { return f(x) + 1; }",
        "-fno-function-sections",
    )
    linked = link(["g++", "main.o", "library.o", "coarse.o", "-o", "out"], library, library / "out")
    assert isinstance(linked, Linked)
    assert [Path(label).name for label in coarse_objects(linked.graph)] == ["coarse.o"]


@pytest.mark.native
@pytest.mark.parametrize("compiler", ["g++", "clang++-19"])
def test_lto_needs_what_the_linker_kept(tmp_path: Path, compiler: str) -> None:
    source = FIXTURES / "05_address_table" / "main.cpp"
    flags = [
        "-O2",
        "-std=c++20",
        "-ffunction-sections",
        "-flto",
        *(["-fuse-ld=lld"] if "clang" in compiler else []),
    ]
    subprocess.run([compiler, *flags, "-c", str(source), "-o", "main.o"], cwd=tmp_path, check=True)
    driver = [compiler, *flags, "main.o", "-o", "out", "-Wl,--gc-sections"]
    keep = ["-Wl,--save-temps"] if "clang" in compiler else ["-save-temps"]
    subprocess.run(driver, cwd=tmp_path, check=True)
    command = link_command(driver, tmp_path)
    with pytest.raises(InconclusiveError, match="save-temps"):
        model(command, "", tmp_path / "out")
    subprocess.run([*driver, *keep], cwd=tmp_path, check=True)
    inputs = without_lto(load_inputs(command))
    graph = graph_of(load(inputs))
    assert why(graph, find_subject(graph, "dead", dtype_of)).live


def load_inputs(command: object) -> LinkInputs:
    assert isinstance(command, LinkRecord)
    return parse_command(command.arguments, command.folder, linker_named(command.linker, "test"))


def test_a_linker_script_of_ones_own_is_inconclusive(library: Path) -> None:
    (library / "script.ld").write_text("SECTIONS { .text : { *(.text*) } }\n")
    for flag in ("-Wl,-T,script.ld", "-Wl,--wrap=one"):
        command = link_command(["g++", "main.o", "library.o", "-o", "out", flag], library)
        with pytest.raises(InconclusiveError, match="does not model"):
            load_inputs(command)


def parsed(*arguments: str, linker: str = "bfd") -> LinkInputs:
    return parse_command(arguments, Path("/"), Linker(linker, (2, 40)))


@pytest.mark.parametrize(
    "arguments",
    [
        ("--defsym=one=two",), ("--defsym", "one=two"), ("-defsym", "one = two + 4"),
        ("--defsym=one=.",), ("--start-lib",), ("-start-lib",), ("-dT", "script"),
        ("--default-script=script",), ("--undefined-glob=t*",), ("--gc-keep-exported",),
    ],
)  # fmt: skip
def test_names_for_others_and_objects_on_demand_are_inconclusive(
    arguments: tuple[str, ...],
) -> None:
    """The graph lacked the reference from one to two, so `why` told too few bytes."""
    with pytest.raises(InconclusiveError, match="which the section graph does not model"):
        parsed(*arguments)


@pytest.mark.parametrize("value", ["0", "0x1fF0", "64K", "1m", " 12 "])
def test_a_name_for_a_number_needs_no_model(value: str) -> None:
    assert parsed(f"--defsym=size={value}") == parsed()


@pytest.mark.parametrize(
    ("field", "on", "off"),
    [
        ("gc_sections", ["--gc-sections"], ["--no-gc-sections"]),
        ("export_dynamic", ["-E"], ["--no-export-dynamic"]),
        ("export_dynamic", ["--export-dynamic"], ["--no-export-dynamic"]),
        ("pic", ["-pie"], ["-no-pie"]),
        ("start_stop_gc", ["-z", "start-stop-gc"], ["-z", "nostart-stop-gc"]),
    ],
)
@pytest.mark.parametrize("linker", FAMILIES)
def test_the_last_of_two_opposite_options_counts(
    field: str, on: list[str], off: list[str], linker: str
) -> None:
    def read(*arguments: str) -> object:
        return getattr(parsed(*arguments, linker=linker), field)

    assert read(*on) == read(*off, *on) == read(*on, *off, *on)
    assert read(*off) == read(*on, *off) == read(*off, *on, *off)
    assert bool(read(*on)) and not read(*off)


def test_names_of_a_version_script_are_looked_up_at_once() -> None:
    """2,000 names took 7 s with a script of as many."""
    names = [f"name_{i}" for i in range(100_000)]
    visible = Visible(tuple(names[::2]), ("*",))
    assert [visible.is_hidden(name) for name in names] == [False, True] * 50_000
    assert [visible.is_shown(name) for name in names] == [True, False] * 50_000


def test_unusable_inputs_are_one_line(library: Path, tmp_path: Path) -> None:
    image = library / "out"
    subprocess.run(["g++", "main.o", "library.o", "-o", "out"], cwd=library, check=True)
    whole = (library / "library.o").read_bytes()
    broken = tmp_path / "broken.o"
    cases = {
        "damaged": whole[: len(whole) // 2],
        "neither an object": b"plain text",
        "damaged archive": b"!<arch>\nnonsense" + b" " * 80,
        "damaged thin archive": b"!<thin>\nnonsense" + b" " * 80,
    }
    for message, content in cases.items():
        broken.write_bytes(content)
        with pytest.raises(InputError) as raised:
            graph_of_objects(image, [library / "main.o", broken])
        assert "\n" not in str(raised.value)
        assert str(broken) in str(raised.value), message
    broken.write_bytes(whole[:18] + (183).to_bytes(2, "little") + whole[20:])
    with pytest.raises(InputError, match="an object for aarch64, the others are for x86_64"):
        graph_of_objects(image, [library / "main.o", broken])
    with pytest.raises(InputError, match="no such object"):
        graph_of_objects(image, [library / "missing.o"])
    with pytest.raises(InconclusiveError, match="--objects"):
        graph_of_path(image)


@pytest.mark.native
@given(
    st.lists(st.tuples(st.integers(0, 1 << 30), st.integers(0, 255)), min_size=1, max_size=12),
    st.integers(0, 1 << 30),
)
@at_least(80, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_objects_are_refused_or_read(
    tmp_path: Path, changes: list[tuple[int, int]], cut: int
) -> None:
    """Any object gives a graph, or one error of ours."""
    pristine = tmp_path / "pristine.o"
    if not pristine.exists():
        source = (FIXTURES / "15_thrown_type" / "main.cpp").read_text()
        compiled(tmp_path, "pristine", source, "-std=c++20", "-O0")
    content = bytearray(pristine.read_bytes())
    for place, value in changes:
        content[place % len(content)] = value
    if cut % 5 == 0:
        del content[cut % len(content) :]
    damaged = tmp_path / "damaged.o"
    damaged.write_bytes(content)
    for family in ("bfd", "lld"):
        inputs = LinkInputs((LinkInput(damaged, "object"),), "executable", Linker(family, ()))
        try:
            graph = graph_of(load(inputs))
        except (InputError, InconclusiveError) as error:
            assert "\n" not in str(error)
        else:
            assert len(live(graph)) == len(graph.nodes)


def test_loading_twice_is_the_same(library: Path) -> None:
    command = link_command(
        ["g++", "main.o", "library.o", "-o", "out", "-Wl,--gc-sections"], library
    )
    first, second = (load(load_inputs(command)) for _ in range(2))
    assert [found.label for found in first.objects] == [found.label for found in second.objects]
    assert first.numbers == second.numbers


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("mode", ["", "-shared -Wl,--version-script=script"])
def test_symbols_that_a_shared_library_names(
    tmp_path: Path, native_tools: None, linker: str, mode: str
) -> None:
    """gold, and GNU ld without a version script, keep hidden symbols that the library names."""
    flags = ("-fPIC",)
    compiled(
        tmp_path,
        "library",
        'extern "C" { int asked(); int both(int x) { return x + 1; }'
        " int overridden(int x) { return x * 9; }"
        " int called(int x) { return asked() + x; } }",
        *flags,
    )
    subprocess.run(["g++", "-shared", "library.o", "-o", "lib.so"], cwd=tmp_path, check=True)
    compiled(
        tmp_path,
        "main",
        'extern "C" { __attribute__((visibility("hidden"))) int both(int x) { return x + 2; }'
        ' __attribute__((visibility("hidden"))) int asked() { return 2; }'
        " int overridden(int x) { return x * 5; } int called(int);"
        " int api(int x) { return called(x); } int main(int n, char **) { return called(n); } }",
        *flags,
    )
    (tmp_path / "script").write_text("{ global: api; main; local: *; };")
    driver = ["g++", "main.o", "lib.so", "-o", "out", *linker_flags(linker), *mode.split()]
    driver.append("-Wl,--allow-shlib-undefined")
    linked = link(driver, tmp_path, tmp_path / "out")
    assert isinstance(linked, Linked), linked
    assert linked.differences == ({}, {})
    keeps_hidden = linker == "gold" or (linker == "bfd" and not mode)
    assert is_live(linked, "both") == keeps_hidden


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["-lx"], ("libx.so", "shared")),
        (["-Bstatic", "-lx"], ("libx.a", "archive")),
        (["-l", ":libx.a"], ("libx.a", "archive")),
        (["-ly"], None),
    ],
)
def test_a_library_of_the_command_line_is_an_input(
    tmp_path: Path, options: list[str], found: tuple[str, str] | None
) -> None:
    (tmp_path / "libx.so").write_bytes(make_elf(Form(), [], type_=ET_DYN))
    (tmp_path / "libx.a").write_bytes(b"!<arch>\n")
    arguments = [*options, f"-L{tmp_path}"]
    if found is None:
        with pytest.raises(InputError, match="-ly"):
            parse_command(arguments, Path("/"), Linker("bfd", (2, 40)))
        return
    (file,) = parse_command(arguments, Path("/"), Linker("bfd", (2, 40))).files
    assert (file.path.name, file.kind) == found
