"""Section graphs of Mach-O objects, compared with the symbols that ld64.lld strips."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import lief
import pytest

from sizeguard.base.errors import InconclusiveError
from sizeguard.linkgraph.chains import why
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.linkgraph.live import live
from sizeguard.linkgraph.macho.macho_graph import build_macho_graph
from sizeguard.linkgraph.open_graph import graph_of_objects
from sizeguard.linkgraph.subjects import find_subject
from sizeguard.names.demangle import demangle
from sizeguard.names.dtype_of import dtype_of
from tests.support.links import ld64_chains
from tests.support.links.ld64_chains import linker

pytestmark = pytest.mark.native

MAIN = """
extern "C" int puts(const char*);
extern "C" int from_archive(int);
struct Shape { virtual int area(int x) { return x; } virtual int unused(int x) { return x * 3; } };
Shape* volatile shape;
template <typename T> __attribute__((noinline)) T twice(T x) { return x + x; }
__attribute__((used, noinline)) int retained(int x) { return x + 5; }
__attribute__((noinline)) int dead(int x) { return puts("a dead text") + x; }
__attribute__((noinline)) static int table_a(int x) { return x + 1; }
__attribute__((noinline)) static int table_b(int x) { return x + 2; }
int (*const table[])(int) = {table_a, table_b};
struct Registrar { Registrar() { puts("registered"); } };
static Registrar registrar;
int main(int count, char**) {
  static Shape made;
  shape = &made;
  return table[count & 1](count) + twice(count) + shape->area(count) + from_archive(count);
}
"""
MEMBER = """
template <typename T> __attribute__((noinline)) T twice(T x) { return x + x; }
extern "C" int from_archive(int x) { return twice(x) + 7; }
extern "C" int left_in_archive(int x) { return x; }
double unused_constant(double x) { return x * 3.25; }
"""


@pytest.fixture(scope="module", params=["x86_64", "arm64"])
def objects(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp(request.param)
    for name, text in (
        ("main", MAIN),
        ("member", MEMBER),
        ("never", 'extern "C" int never(int x) { return x; }'),
    ):
        command = [
            "clang++-19",
            f"--target={request.param}-apple-macos13",
            "-Os",
            "-fno-exceptions",
            "-fno-rtti",
            "-x",
            "c++",
            "-",
            "-c",
        ]
        subprocess.run([*command, "-o", f"{name}.o"], cwd=folder, input=text, text=True, check=True)
    subprocess.run(
        ["llvm-ar-19", "--format=darwin", "rcs", "lib.a", "never.o", "member.o"],
        cwd=folder,
        check=True,
    )
    return request.param, folder


def linked(objects: tuple[str, Path], *flags: str) -> Counter[tuple[str, str]]:
    """Link, and count the dead symbols that the linker lists, each with its file.

    Literal strings and aliases that the assembler makes (ltmp0) are left out.
    """
    arch, folder = objects
    command = linker(arch)
    subprocess.run(
        [*command, *flags, "-map", "map", "main.o", "lib.a", "-o", "out"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    text = (folder / "map").read_text()
    files = dict(re.findall(r"^\[ *(\d+)\] (.*)$", text[: text.index("# Sections")], re.M))
    dead = re.findall(r"^<<dead>>\t0x[0-9A-Fa-f]+\t\[ *(\d+)\] (.*)$", text, re.M)
    return Counter(
        (Path(files[number]).name, name)
        for number, name in dead
        if not name.startswith(("ltmp", "literal string"))
    )


def removed(graph: SectionGraph) -> Counter[tuple[str, str]]:
    kept = live(graph)
    found: Counter[tuple[str, str]] = Counter()
    for name, node in zip(graph.symbols.names, graph.symbols.node.tolist(), strict=True):
        text = name.decode()
        is_name = graph.names[node] != "__TEXT,__cstring" and not text.startswith("ltmp")
        if node >= 0 and not kept[node] and graph.nodes.is_alloc[node] and is_name:
            found[Path(graph.objects[graph.nodes.object[node]]).name, text] += 1
    return found


@pytest.mark.parametrize("flags", [(), ("-dylib",)])
def test_live_set_equals_the_linkers(objects: tuple[str, Path], flags: tuple[str, ...]) -> None:
    graph = build_macho_graph([objects[1] / "main.o", objects[1] / "lib.a"], library=bool(flags))
    assert removed(graph) == linked(objects, *flags)
    assert [Path(label).name for label in graph.objects] == ["main.o", "lib.a(member.o)"]


def test_atoms_are_aligned_as_the_objects_ask(objects: tuple[str, Path]) -> None:
    """A literal of 8 bytes took 256 in predictions; the exponent of 8 is 3."""
    folder = objects[1]
    graph = build_macho_graph([folder / "main.o", folder / "lib.a"], library=False)
    nodes = graph.nodes
    asked = {}
    for path in (folder / "main.o", folder / "member.o"):
        parsed = lief.MachO.parse(path)  # owns the sections
        for section in parsed.at(0).sections:
            name = f"{section.segment_name},{section.name}"
            asked[name] = max(asked.get(name, 1), 1 << section.alignment)
    by_name: dict[str, set[int]] = {}
    for name, align in zip(graph.names, nodes.align[: nodes.sections].tolist(), strict=False):
        by_name.setdefault(name, set()).add(align)
    assert max(asked.values()) >= 8
    assert {name: max(by_name[name]) for name in by_name} == {name: asked[name] for name in by_name}
    assert min(by_name["__TEXT,__cstring"]) == 1


@pytest.mark.parametrize("flags", [(), ("-dylib",)])
def test_objects_without_a_record_give_the_same_graph(
    objects: tuple[str, Path], flags: tuple[str, ...]
) -> None:
    dead = linked(objects, *flags)
    given = [objects[1] / "main.o", objects[1] / "lib.a"]
    assert removed(graph_of_objects(objects[1] / "out", given)) == dead


def test_objects_that_do_not_fit_the_image_are_refused(objects: tuple[str, Path]) -> None:
    folder = objects[1]
    given = [folder / "main.o", folder / "lib.a"]
    linked(objects, "-dylib")
    with pytest.raises(InconclusiveError, match="lacks _never: objects of another build"):
        graph_of_objects(folder / "out", [*given, folder / "never.o"])
    linked(objects)
    subprocess.run(["llvm-strip-19", folder / "out", "-o", folder / "stripped"], check=True)
    with pytest.raises(InconclusiveError, match="is stripped"):
        graph_of_objects(folder / "stripped", given)
    linked(objects, "-u", "__Z4deadi")
    with pytest.raises(InconclusiveError, match="has __Z4deadi, which nothing reaches"):
        graph_of_objects(folder / "out", given)


def test_why(objects: tuple[str, Path]) -> None:
    graph = build_macho_graph([objects[1] / "main.o", objects[1] / "lib.a"], library=False)
    result = why(graph, find_subject(graph, "__ZL7table_ai", dtype_of))
    assert result.live
    assert [step.symbol for step in result.chains[0].steps] == [
        "_main",
        "__ZL5table",
        "__ZL7table_ai",
    ]
    assert not why(graph, find_subject(graph, "__Z4deadi", dtype_of)).live
    retained = why(graph, find_subject(graph, "__Z8retainedi", dtype_of))
    assert retained.chains[0].root_kind == "retain attribute"


def test_why_agrees_with_the_linkers_chains(objects: tuple[str, Path]) -> None:
    arch, folder = objects
    graph = build_macho_graph([folder / "main.o", folder / "lib.a"], library=False)
    names = ld64_chains.live_functions(graph)
    command = linker(arch)
    command += [
        *ld64_chains.options([*names, "__Z4deadi"]),
        "-demangle",
        "main.o",
        "lib.a",
        "-o",
        "out",
    ]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    chains = ld64_chains.chains_of(done.stdout)
    assert {chain.links[0][0] for chain in chains} == {
        demangle(name).removeprefix("_") for name in names
    }
    assert len(names) > 8
    assert ld64_chains.disagreements(graph, chains) == []
    # Negative control: a graph without roots disagrees with every chain.
    graph.root_kind.clear()
    assert len(ld64_chains.disagreements(graph, chains)) == len(chains)
