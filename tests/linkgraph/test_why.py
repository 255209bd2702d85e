"""`sizeguard why`: reasons why a subject is in an image.

Chains are compared with lld's and with links that lack the subject; the command is tested, too.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from sizeguard.base.errors import InconclusiveError
from sizeguard.builds.build_record import Build
from sizeguard.builds.open_build import open_build
from sizeguard.cli.main import cli
from sizeguard.linkgraph.chains import why
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.linkgraph.live import live, reachable
from sizeguard.linkgraph.open_graph import graph_of_objects, graph_of_path
from sizeguard.linkgraph.subjects import GraphSubject, find_subject
from sizeguard.names.dtype_of import dtype_of
from sizeguard.verify.evidence.image_presence import (
    check_one_link,
    check_presence,
    is_present,
)
from tests.support.links.dominators import ROOT, UNREACHED, dominated_sums, immediate_dominators
from tests.support.links.link_cases import FIXTURES, NAMES, Case, Linked, link_case
from tests.support.links.lld_chains import ask_lld, disagreements, driver_of, live_functions

pytestmark = pytest.mark.native


@pytest.fixture(scope="module")
def full_graph(full_build: Build) -> SectionGraph:
    return graph_of_path(full_build.image.parent)


def test_chains_agree_with_lld(full_build: Build, full_graph: SectionGraph, tmp_path: Path) -> None:
    names = [name for name, _ in random.Random(0).sample(live_functions(full_graph), 8)]
    linked, chains = ask_lld(
        driver_of(full_build), full_build.image.parent, tmp_path / "out", names
    )
    assert {chain.symbol for chain in chains} == set(names)
    assert disagreements(linked.graph, full_build.image.parent, chains) == []


def test_chains_of_another_link_disagree(
    full_build: Build, full_graph: SectionGraph, tmp_path: Path
) -> None:
    """Test the comparison itself: without the edges of the graph, every chain is wrong."""
    names = [name for name, _ in random.Random(1).sample(live_functions(full_graph), 2)]
    linked, chains = ask_lld(
        driver_of(full_build), full_build.image.parent, tmp_path / "out", names
    )
    linked.graph.edges.target[:] = 0
    assert len(disagreements(linked.graph, full_build.image.parent, chains)) >= len(names)


def test_dominators_are_what_a_removal_frees(full_graph: SectionGraph) -> None:
    dominators = immediate_dominators(full_graph)
    kept = live(full_graph)
    assert ((dominators == UNREACHED) == ~kept).all()
    sums = dominated_sums(dominators, full_graph.nodes.size)
    assert sums[dominators == ROOT].sum() == full_graph.nodes.size[kept].sum()
    chosen = random.Random(0).sample([i for i in range(len(kept)) if kept[i]], 60)
    for node in chosen:
        without = kept.copy()
        without[:] = False
        without[node] = True
        left = reachable(full_graph, full_graph.roots, without=without)
        assert sums[node] == full_graph.nodes.size[kept & ~left].sum()


def test_cutting_the_last_edge_frees_the_subject(full_graph: SectionGraph) -> None:
    result = why(full_graph, find_subject(full_graph, "aten::erf", dtype_of))
    assert result.live
    assert result.roots == 1
    assert result.chains[0].root_kind == "init_array"
    assert result.chains[0].steps[-1].symbol == "aten::erf(t)t"
    assert result.chains[0].steps[-1].frees == result.frees > result.size


def test_subjects(full_graph: SectionGraph) -> None:
    by_operator = find_subject(full_graph, "aten::convolution", dtype_of)
    branch = find_subject(full_graph, "aten::convolution:Float", dtype_of)
    symbol = find_subject(full_graph, "sg::kernels::erf", dtype_of)
    mangled = find_subject(full_graph, "_ZN2sg7kernels3erfERNS_7ContextENS_6TensorE", dtype_of)
    section = find_subject(
        full_graph, ".text._ZN2sg7kernels3erfERNS_7ContextENS_6TensorE", dtype_of
    )
    assert [s.kind for s in (by_operator, branch, symbol)] == ["operator", "dtype", "symbol"]
    assert symbol.nodes == mangled.nodes == section.nodes
    assert branch.nodes
    with pytest.raises(
        InconclusiveError,
        match=r"nothing is called aten::convolutoin; nearest is aten::convolution",
    ):
        find_subject(full_graph, "aten::convolutoin", dtype_of)


EXPECTED = {
    "01_static_initializer": ("init_array", "address taken by the function"),
    "05_address_table": ("entry", "address in data"),
    "07_retain_attribute": ("retain attribute", ""),
    "08_start_stop": ("entry", "address in data"),
    "09_constructor_attribute": ("init_array", "direct call"),
    "13_runtime_guard": ("entry", "direct call"),
    "15_thrown_type": ("entry", "vtable entry"),
    "19_shared_constructor": ("init_array", "address taken by the function"),
}


@pytest.mark.parametrize("fixture", NAMES)
def test_fixtures(fixture: str, tmp_path: Path) -> None:
    """Link at -O0, where nothing is inlined.

    A kept subject has a chain that names the cause; a removed one has none.
    """
    linked = link_case(Case(fixture, "gcc", "0", "bfd", "executable"), tmp_path)
    assert isinstance(linked, Linked)
    text = (FIXTURES / fixture / "main.cpp").read_text()
    subject = next(
        line.split(":", 1)[1].strip()
        for line in text.splitlines()
        if line.startswith("// Subject:")
    )
    kept = next(
        line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("// Kept:")
    )
    result = why(linked.graph, find_subject(linked.graph, subject, dtype_of))
    assert result.live == (kept != "no" or fixture == "18_function_selector")
    if fixture in EXPECTED:
        step = result.chains[0].steps[-1]
        assert (result.chains[0].root_kind, step.how) == EXPECTED[fixture]


def test_objects_instead_of_a_build(full_build: Build, full_graph: SectionGraph) -> None:
    inferred = graph_of_objects(full_build.image, full_build.objects)
    ours = {
        (inferred.objects[inferred.nodes.object[i]], inferred.names[i])
        for i in live_sections(inferred)
    }
    recorded = {
        (full_graph.objects[full_graph.nodes.object[i]], full_graph.names[i])
        for i in live_sections(full_graph)
    }
    # The given objects lack start-up code and sections that only it needs.
    assert ours <= recorded
    assert all("/crt" in label or "Scrt1" in label for label, _ in recorded - ours)


def live_sections(graph: SectionGraph) -> list[int]:
    kept = live(graph)
    return [i for i in range(graph.nodes.sections) if kept[i]]


def test_objects_of_another_build_are_inconclusive(full_build: Build, core_build: Build) -> None:
    with pytest.raises(InconclusiveError, match="objects of another build"):
        graph_of_objects(full_build.image, core_build.objects)
    with pytest.raises(InconclusiveError, match="--objects"):
        graph_of_objects(full_build.image, ())


def test_the_command_refuses_files_of_another_link(
    full_build: Build, instrumented_build: Build, tmp_path: Path
) -> None:
    whole = full_build.image.parent
    other = [str(path) for path in instrumented_build.objects]
    given = [word for path in other for word in ("--objects", path)]
    copy = tmp_path / "full"
    shutil.copytree(whole, copy)
    for path in (copy / "build.json", *copy.glob("*.link.json")):
        path.write_text(path.read_text().replace(str(whole), str(copy)))
    shutil.copy(instrumented_build.image.parent / "libsg_kernels.a", copy)
    commands = (
        ["why", str(whole), "main", *given],
        ["why", str(full_build.image), "main", *given],
        ["why", str(copy), "main"],
        ["predict", "--app", "vision", "--full", str(copy)],
    )
    for command in commands:
        done = CliRunner().invoke(cli, command)
        assert isinstance(done.exception, InconclusiveError), command
        assert "another build" in str(done.exception)


def test_what_the_image_holds_decides(full_build: Build, full_graph: SectionGraph) -> None:
    evidence = check_one_link(open_build(full_build.image.parent))
    subject = find_subject(full_graph, "aten::erf", dtype_of)
    check_presence(evidence, full_graph, subject)
    rootless = replace(full_graph, root_kind={})  # as if a linker kept nothing
    with pytest.raises(InconclusiveError, match=r"aten::erf is in .*, but .* remove it"):
        check_presence(evidence, rootless, subject)
    kept = live(full_graph)
    gone = next(
        i
        for i in range(full_graph.nodes.sections)
        if not kept[i]
        and full_graph.nodes.is_exec[i]
        and full_graph.nodes.size[i] > 16
        and is_present(evidence, full_graph, [i]) is False
    )
    everything = replace(full_graph, root_kind={gone: "entry"})
    with pytest.raises(InconclusiveError, match=r"is not in .*, but .* keep it"):
        check_presence(evidence, everything, GraphSubject("it", "symbol", (gone,)))


def test_command(full_build: Build) -> None:
    runner = CliRunner()
    shown = runner.invoke(cli, ["why", str(full_build.image.parent), "aten::erf"])
    assert shown.exit_code == 0, shown.output
    assert shown.output.startswith("aten::erf is in the image: ")
    result = json.loads(
        runner.invoke(
            cli, ["why", str(full_build.image.parent), "aten::erf", "--format", "json"]
        ).output
    )
    assert result["live"] is True
    assert result["root_kind"] == "init_array"
    assert set(result["chain"][0]) >= {"section", "symbol", "object"}
    jsonschema.validate(
        result,
        json.loads(
            resources.files("sizeguard.report").joinpath("schemas/why.schema.json").read_text()
        ),
    )
    for format_ in ("csv", "markdown"):
        text = runner.invoke(
            cli, ["why", str(full_build.image.parent), "aten::erf", "--format", format_]
        ).output
        assert "aten::erf(t)t" in text


SOURCE = """
int helper(int x) { return x * 7 + 3; }
int kept(int x) { return helper(x) + 11; }
int dead(int x) { return x * x * x + 5; }
int main(int count, char **words) { return count; }
"""


@pytest.mark.native
@pytest.mark.parametrize(
    ("options", "subject", "expected"),
    [
        (("-Wl,--gc-sections", "-Wl,--undefined=kept"), "kept", "which no known root reaches"),
        (("-Wl,--gc-sections", "-Wl,--undefined=kept"), "dead", "and removed dead"),
        ((), "dead", "kept; the link's options are not recorded"),
        (("-Wl,--gc-sections",), "main", "main  "),
    ],
)
def test_what_keeps_code_without_references_is_not_guessed(
    tmp_path: Path, options: tuple[str, ...], subject: str, expected: str
) -> None:
    """Without a record, `why` said that the link had no --gc-sections, and dead code was there."""
    (tmp_path / "a.c").write_text(SOURCE)
    compile_ = ["gcc", "-Os", "-fno-inline", "-ffunction-sections", "-c", "a.c"]
    subprocess.run(compile_, cwd=tmp_path, check=True)
    subprocess.run(["gcc", *options, "a.o", "-o", "app"], cwd=tmp_path, check=True)
    command = [sys.executable, "-m", "sizeguard", "why", "app", "--objects", "a.o", subject]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == (3 if "--undefined" in " ".join(options) else 0), done.stderr
    assert expected in done.stdout + done.stderr
    assert "without --gc-sections" not in done.stdout


KEPT = {
    "a.c": (
        "int f(int); int main(int c, char** v) { return c; }\n"
        '__attribute__((section(".vectors"), used)) int (*const vectors[])(int) = {f};\n'
    ),
    "b.c": (
        "__attribute__((noinline)) int g(int x) { return x * x - 7; }\n"
        "int f(int x) { return g(x) + 3; }\nint unused(int x) { return x; }\n"
    ),
    "keep.ld": "SECTIONS { .vectors : { KEEP(*(.vectors)) } } INSERT AFTER .rodata;\n",
}


def made(folder: Path, *options: str) -> None:
    """Link a program in a folder, as `app` with a map."""
    for name, text in KEPT.items():
        (folder / name).write_text(text)
    for words in (
        ("-c", "-Os", "-ffunction-sections", "a.c", "b.c"),
        ("a.o", "b.o", "-no-pie", "-Wl,-Map=app.map", "-o", "app", *options),
    ):
        subprocess.run(["gcc", *words], cwd=folder, check=True)


def test_verify_shows_the_references_behind_what_a_script_keeps(
    tmp_path: Path, native_tools: None
) -> None:
    made(tmp_path, "-Wl,--gc-sections", "-Wl,-T,keep.ld")
    given = ["--objects", f"{tmp_path}/a.o", "--objects", f"{tmp_path}/b.o"]
    given += ["--map", f"{tmp_path}/app.map", "--format", "json"]
    claims = ["--absent", "g", "--absent", "vectors", "--absent", "unused"]
    done = CliRunner().invoke(cli, ["verify", f"{tmp_path}/app", *given, *claims])
    found = {v["name"]: v for v in json.loads(done.stdout)["claims"]}
    assert found["unused"]["verdict"] == "pass"
    keep = "the linker was told to keep vectors (-u, KEEP)"
    assert found["g"]["cause"] == f"reference: referred to by f; {keep}"
    assert [step["symbol"] for step in found["g"]["chain"]] == ["vectors", "f", "g"]
    assert found["vectors"]["cause"].startswith("command line: no section leads to it")


def test_a_root_that_others_refer_to_is_not_called_unused(
    tmp_path: Path, native_tools: None
) -> None:
    made(tmp_path)
    given = ["--objects", f"{tmp_path}/a.o", "--objects", f"{tmp_path}/b.o"]
    told = {
        name: CliRunner().invoke(cli, ["why", f"{tmp_path}/app", name, *given]).stdout
        for name in ("g", "unused")
    }
    assert "it is a root itself, others refer to it, too: " in told["g"]
    assert "removing the last reference frees nothing, because it is a root itself" in told["g"]
    assert "it is a root itself, nothing refers to it: " in told["unused"]


def test_an_alias_is_not_called_by_its_own_name(tmp_path: Path, native_tools: None) -> None:
    """A function and its resolver are at one place."""
    (tmp_path / "a.c").write_text(
        "static int one(int x) { return x; }\n"
        "static int (*pick(void))(int) { return one; }\n"
        'int chosen(int x) __attribute__((ifunc("pick")));\n'
        "int main(int c, char** v) { return chosen(c); }\n"
    )
    compile_ = ["gcc", "-Os", "-ffunction-sections", "-c", "a.c"]
    subprocess.run(compile_, cwd=tmp_path, check=True)
    subprocess.run(["gcc", "a.o", "-o", "app", "-Wl,--gc-sections"], cwd=tmp_path, check=True)
    for name, other in (("pick", "chosen"), ("chosen", "pick")):
        words = ["why", f"{tmp_path}/app", name, "--objects", f"{tmp_path}/a.o"]
        told = CliRunner().invoke(cli, words).stdout
        assert f"the same bytes are called {other}\n" in told, told


def test_a_function_in_the_section_of_another_keeps_its_name(
    tmp_path: Path, native_tools: None
) -> None:
    """Without -ffunction-sections, the chain and the aliases named the section's first function."""
    (tmp_path / "a.c").write_text(
        "int first(int x) { return x + 2; }\n"
        'int same(int x) __attribute__((alias("first")));\n'
        "int second(int x) { return x * 3; }\nint main(int c, char** v) { return second(c); }\n"
    )
    subprocess.run(["gcc", "-O1", "-c", "a.c"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "a.o", "-o", "app"], cwd=tmp_path, check=True)
    words = ["why", f"{tmp_path}/app", "second", "--objects", f"{tmp_path}/a.o"]
    told = json.loads(CliRunner().invoke(cli, [*words, "--format", "json"]).stdout)
    assert [step["symbol"] for step in told["chain"]] == ["second"]
    assert told["aliases"] == []
