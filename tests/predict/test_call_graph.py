"""Calls between operators of a demonstration: known ones, and every kind of unknown name."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sizeguard.base.errors import InconclusiveError
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.linkgraph.macho.macho_graph import build_macho_graph
from sizeguard.predict.call_closure import Dependencies, call_graph, dependencies
from sizeguard.runtimes.build_facts import Dispatch
from sizeguard.runtimes.sizeguard.source_facts import DISPATCH
from tests.support.links.link_cases import COMPILERS, Linked, link
from tests.support.links.map_links import linker_flags
from tests.support.places import DATA

SOURCES = DATA / "operator_calls"


DISPATCHER = Dispatch(("demo::call",))


CLASSIC = {
    "a": "b", "b": "a", "c": "a", "d": "a e.out", "e.out": "f", "f": "e.out", "g": "f", "h": "",
    "i": "h", "j": "k", "k": "",
}  # fmt: skip


def names(text: str) -> frozenset[str]:
    return frozenset(f"demo::{name}" for name in text.split())


def linked(
    folder: Path,
    compiler: str,
    level: str,
    linker: str,
    *flags: str,
    files: str = "*",
    sections: bool = True,
) -> SectionGraph:
    """Compile and link the demonstration in one way; return its graph."""
    options = [
        f"-O{level}",
        "-std=c++20",
        *(["-ffunction-sections", "-fdata-sections"] if sections else []),
        *flags,
    ]
    objects = []
    for source in sorted(SOURCES.glob(f"{files}.cpp")):
        objects.append(str(folder / f"{source.stem}.o"))
        subprocess.run(
            [COMPILERS[compiler], *options, "-c", str(source), "-o", objects[-1]], check=True
        )
    done = link(
        [COMPILERS[compiler], *objects, "-o", str(folder / "out"), *linker_flags(linker)],
        folder,
        folder / "out",
    )
    assert isinstance(done, Linked), done
    return done.graph


def demo(graph: SectionGraph) -> Dependencies:
    return dependencies(call_graph(graph, DISPATCHER))


@pytest.mark.native
@pytest.mark.parametrize("level", ["s", "2", "0"])
@pytest.mark.parametrize(
    ("compiler", "linker"),
    [("gcc", "bfd"), ("gcc", "lld-19"), ("clang", "lld-19"), ("clang", "bfd")],
)
def test_the_classic_graph(compiler: str, linker: str, level: str, tmp_path: Path) -> None:
    found = demo(linked(tmp_path, compiler, level, linker))
    assert {name: found.calls[f"demo::{name}"] for name in CLASSIC} == {
        name: names(called) for name, called in CLASSIC.items()
    }
    assert found.at_load == names("i")
    assert found.closure(names("g")) == names("g e.out f i h")
    assert found.closure(names("d")) == names("d a b e.out f i h")
    assert found.closure(names("j")) == names("j k i h")
    # A choice among constant names is a call of each; a name without a call is not.
    assert found.calls["demo::chosen"] == names("a h")
    assert found.calls["demo::listed"] == names("f g h")
    assert found.calls["demo::mentions"] == frozenset()
    # Calls with other names are unknown; `both` has known and unknown calls.
    assert found.calls["demo::both"] >= names("k")
    assert {
        owner: where[0].function.rpartition("::")[2] for owner, where in found.unknown.items()
    } == {
        "demo::from_outside": "from_outside",
        "demo::both": "both",
        "demo::pointer": "pointer",
    }


@pytest.mark.native
@pytest.mark.parametrize("flags", [("-fno-plt",), ("-fPIC",), ("-fno-optimize-sibling-calls",)])
def test_the_classic_graph_with_other_calls(flags: tuple[str, ...], tmp_path: Path) -> None:
    found = demo(linked(tmp_path, "gcc", "s", "bfd", *flags))
    assert {name: found.calls[f"demo::{name}"] for name in CLASSIC} == {
        name: names(called) for name, called in CLASSIC.items()
    }


@pytest.mark.native
def test_the_classic_graph_for_aarch64(tmp_path: Path) -> None:
    """Its addresses take two relocations, and GOT loads precede the names."""
    for flags in ((), ("-fno-plt",)):
        objects = []
        for source in sorted(SOURCES.glob("*.cpp")):
            objects.append(str(tmp_path / f"{source.stem}.o"))
            options = ["-Os", "-std=c++20", "-ffunction-sections", "-fdata-sections", *flags]
            subprocess.run(
                ["aarch64-linux-gnu-g++", *options, "-c", str(source), "-o", objects[-1]],
                check=True,
            )
        done = link(
            ["aarch64-linux-gnu-g++", *objects, "-o", str(tmp_path / "out")],
            tmp_path,
            tmp_path / "out",
        )
        assert isinstance(done, Linked), done
        found = demo(done.graph)
        assert {name: found.calls[f"demo::{name}"] for name in CLASSIC} == {
            name: names(called) for name, called in CLASSIC.items()
        }
        assert {"demo::from_outside", "demo::pointer"} <= set(found.unknown)


@pytest.mark.native
@pytest.mark.parametrize("level", ["s", "2", "0"])
@pytest.mark.parametrize("arch", ["arm64", "x86_64"])
def test_the_classic_graph_for_macos(arch: str, level: str, tmp_path: Path) -> None:
    declarations = {
        "cstring": (
            "unsigned long strlen(const char*); int strncmp(const char*, const char*, unsigned"
            " long);"
        ),
        "cstdlib": "char* getenv(const char*); int atoi(const char*);",
        "cstdio": "int printf(const char*, ...);",
    }
    for header, text in declarations.items():  # in place of an SDK
        (tmp_path / header).write_text(
            f'#pragma once\nextern "C" {{ {text} }}\nnamespace std {{ extern "C" {{ {text} }} }}\n'
        )
    objects = []
    for source in sorted(SOURCES.glob("*.cpp")):
        objects.append(tmp_path / f"{source.stem}.o")
        options = [
            f"--target={arch}-apple-macos13",
            f"-O{level}",
            "-std=c++20",
            "-fno-exceptions",
            "-fno-rtti",
            f"-I{tmp_path}",
        ]
        subprocess.run(
            ["clang++-19", *options, "-c", str(source), "-o", str(objects[-1])], check=True
        )
    found = demo(build_macho_graph(objects, library=False))
    assert {name: found.calls[f"demo::{name}"] for name in CLASSIC} == {
        name: names(called) for name, called in CLASSIC.items()
    }
    assert found.at_load == names("i")
    assert found.calls["demo::chosen"] == names("a h")
    assert found.calls["demo::listed"] == names("f g h")
    assert found.calls["demo::mentions"] == frozenset()
    assert set(found.unknown) == names("from_outside both pointer")


@pytest.mark.native
def test_a_function_that_hands_names_on(tmp_path: Path) -> None:
    """Its callers have unknown calls until it is declared as a function that takes names."""
    (tmp_path / "forward.cpp").write_text(
        '#include "demo.h"\nnamespace demo {\n[[gnu::noinline, gnu::noclone]] int forward(const'
        " char* name, int value) { return call(name, value) + 1; }\nint user(int x) { return"
        ' forward("demo::h", x); }\nextern const Operator more[] = {{"demo::user(i)i",'
        " user}};\n[[maybe_unused]] const bool registered = [] { add_operators(more, 1); return"
        " true; }();\n}\n"
    )
    objects = []
    for source in (*sorted(SOURCES.glob("*.cpp")), tmp_path / "forward.cpp"):
        objects.append(str(tmp_path / f"{source.stem}.o"))
        options = ["-Os", "-std=c++20", "-ffunction-sections", f"-I{SOURCES}"]
        subprocess.run(["g++", *options, "-c", str(source), "-o", objects[-1]], check=True)
    done = link(["g++", *objects, "-o", str(tmp_path / "out")], tmp_path, tmp_path / "out")
    assert isinstance(done, Linked)
    assert [where.function for where in demo(done.graph).unknown["demo::user"]] == ["demo::forward"]
    told = dependencies(call_graph(done.graph, Dispatch(("demo::call", "demo::forward"))))
    assert told.calls["demo::user"] == names("h")
    assert "demo::user" not in told.unknown


@pytest.mark.native
def test_a_static_initializer_with_a_name_from_outside(tmp_path: Path) -> None:
    (tmp_path / "late.cpp").write_text(
        '#include <cstdlib>\n#include "demo.h"\nint at_start = demo::call(std::getenv("OPERATOR"),'
        " 1);\n"
    )
    compile_late = [
        "g++",
        "-Os",
        "-ffunction-sections",
        f"-I{SOURCES}",
        "-c",
        str(tmp_path / "late.cpp"),
        "-o",
        str(tmp_path / "late.o"),
    ]
    subprocess.run(compile_late, check=True)
    objects = [str(tmp_path / "late.o")]
    for source in sorted(SOURCES.glob("*.cpp")):
        objects.append(str(tmp_path / f"{source.stem}.o"))
        subprocess.run(
            ["g++", "-Os", "-ffunction-sections", "-c", str(source), "-o", objects[-1]], check=True
        )
    done = link(["g++", *objects, "-o", str(tmp_path / "out")], tmp_path, tmp_path / "out")
    assert isinstance(done, Linked)
    assert [where.object.rpartition("/")[2] for where in demo(done.graph).unknown[""]] == ["late.o"]


@pytest.mark.native
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_objects_without_function_sections_are_named(compiler: str, tmp_path: Path) -> None:
    graph = linked(tmp_path, compiler, "s", "bfd", sections=False)
    with pytest.raises(
        InconclusiveError, match=r"without -ffunction-sections.*kernels\.o.*names\.o"
    ):
        call_graph(graph, DISPATCHER)


@pytest.mark.native
def test_a_runtime_without_that_dispatcher(tmp_path: Path) -> None:
    graph = linked(tmp_path, "gcc", "s", "bfd")
    with pytest.raises(InconclusiveError, match=r"no function sg::call_words or sg::find_operator"):
        call_graph(graph, DISPATCH)
