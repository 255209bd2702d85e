"""Calls that the sample models can make, compared with their traces."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from sizeguard.base.errors import InputError
from sizeguard.builds.build_record import Build
from sizeguard.cli.main import cli
from sizeguard.predict.call_closure import Dependencies
from sizeguard.predict.coverage import adequacy
from sizeguard.predict.full_build import FullBuild, read_full_build
from sizeguard.predict.reach_result import Adequacy
from sizeguard.predict.reachable import static_selection
from sizeguard.runtimes.model_files import read_operators
from sizeguard.runtimes.sizeguard.building.tracing import trace_programs
from sizeguard.runtimes.sizeguard.importing.importer import default_library, import_model
from sizeguard.runtimes.sizeguard.program.program_file import write_program
from sizeguard.selection.read import read_selection
from sizeguard.selection.selection import SelectedOperator, Selection
from tests.support.places import ROOT

MODELS = sorted(path.name for path in (ROOT / "native" / "models").iterdir() if path.is_dir())


def test_macos_objects_say_the_same(macos_full: Build, clang_full: Build) -> None:
    """Operators, their calls and the tags of their switches equal those of a Linux build.

    The same compiler built both.
    """
    there, here = read_full_build(macos_full.image.parent), read_full_build(clang_full.image.parent)
    assert (there.operators, there.classes, there.tags) == (here.operators, here.classes, here.tags)
    assert (there.dependencies.calls, there.dependencies.at_load) == (
        here.dependencies.calls,
        here.dependencies.at_load,
    )
    assert set(there.dependencies.unknown) == set(here.dependencies.unknown)


@pytest.fixture(scope="module")
def full(full_build: Build) -> FullBuild:
    return read_full_build(full_build.image.parent)


def compared(full: FullBuild, instrumented: Build, program: Path, folder: Path) -> Adequacy:
    trace_programs(instrumented, [program], folder / "traced.yaml", executed_only=True)
    return adequacy(full, read_operators(program), read_selection(folder / "traced.yaml").selection)


@pytest.mark.parametrize("form", ["model", "model_core"])
@pytest.mark.parametrize("model", MODELS)
def test_closure_contains_the_trace(
    model: str,
    form: str,
    full: FullBuild,
    instrumented_build: Build,
    program: Callable[..., Path],
    tmp_path: Path,
) -> None:
    result = compared(full, instrumented_build, program(model, form), tmp_path)
    assert result.observed_not_reachable == ()
    assert result.dtypes_observed_not_reachable == ()
    assert result.unknown == ()
    assert result.observed + len(result.reachable_not_observed) == result.reachable


@pytest.mark.parametrize("model", ["mlp", "encoder"])
def test_closure_contains_the_trace_with_custom_classes(
    model: str, full: FullBuild, instrumented_build: Build, models_dir: Path, tmp_path: Path
) -> None:
    folder = models_dir / model
    cases = [
        sorted(folder.glob(f"{path.name.split('_')[0]}_input*.npy"))
        for path in sorted(folder.glob("case*_input0.npy"))
    ]
    program = tmp_path / "prepacked.sgp"
    write_program(
        import_model(folder / "model.pt2", default_library(), model, cases, True).program, program
    )
    result = compared(full, instrumented_build, program, tmp_path)
    assert "prepacked::linear_clamp_run" in read_operators(program).operators
    assert (result.observed_not_reachable, result.dtypes_observed_not_reachable) == ((), ())


def branches_of(model: Path) -> list[set[str]]:
    """Return the operators of each branch of a model's only torch.cond, from the file's JSON."""
    with zipfile.ZipFile(model) as archive:
        name = next(name for name in archive.namelist() if name.endswith("models/model.json"))
        nodes = json.loads(archive.read(name))["graph_module"]["graph"]["nodes"]
    (cond,) = (node for node in nodes if node["target"].endswith("cond"))
    graphs = [
        given["arg"]["as_graph"]["graph"] for given in cond["inputs"] if "as_graph" in given["arg"]
    ]
    assert len(graphs) == 2
    texts = [
        [node["target"].removeprefix("torch.ops.") for node in graph["nodes"]] for graph in graphs
    ]
    return [
        {
            text.replace(".", "::", 1).removesuffix(".default")
            for text in names
            if text.startswith("aten.")
        }
        for names in texts
    ]


@pytest.mark.parametrize("form", ["model", "model_core"])
def test_one_case_of_branchy_lists_what_the_other_branch_reaches(
    form: str, full: FullBuild, instrumented_build: Build, models_dir: Path, tmp_path: Path
) -> None:
    folder = models_dir / "branchy"
    missed = []
    for cases in ([0], [1], [0, 1]):
        inputs = [[folder / f"case{case}_input0.npy"] for case in cases]
        program = tmp_path / f"branchy{len(missed)}.sgp"
        write_program(
            import_model(folder / f"{form}.pt2", default_library(), "branchy", inputs).program,
            program,
        )
        missed.append(
            set(compared(full, instrumented_build, program, tmp_path).reachable_not_observed)
        )
    first, second, both = missed
    one, other = branches_of(folder / f"{form}.pt2")
    assert one
    assert other
    if form == "model_core":
        assert both == set()
    else:
        # A linear layer calls these for other shapes or without a bias. With 2-D inputs and a bias,
        # as here, it calls addmm and permute.
        assert both == {"aten::add.Tensor", "aten::bmm", "aten::matmul", "aten::mm"}
        for branch in (one, other):
            branch |= {"aten::addmm", "aten::permute"} if "aten::linear" in branch else set()
    assert sorted(map(sorted, (first - both, second - both))) == sorted(
        map(sorted, (one - other, other - one))
    )


def test_without_an_edge_the_trace_is_not_contained(
    full: FullBuild, instrumented_build: Build, program: Callable[..., Path], tmp_path: Path
) -> None:
    calls = {
        name: called for name, called in full.dependencies.calls.items() if name != "aten::linear"
    }
    less = FullBuild(
        Dependencies(calls, frozenset(), {}),
        full.operators,
        full.classes,
        {**full.tags, "aten::relu": frozenset()},
    )
    result = compared(less, instrumented_build, program("mlp"), tmp_path)
    assert result.observed_not_reachable == ("aten::addmm", "aten::permute")
    assert {text.partition(":")[0] for text in result.dtypes_observed_not_reachable} >= {"relu"}
    assert not result.is_contained


def test_every_typed_call_of_the_sources_is_in_the_graph(full: FullBuild, root: Path) -> None:
    """Every ops::NAME::call in a kernel's source is a call of some operator, and vice versa.

    The sources are read independently of relocations.
    """
    import re

    from sizeguard.operators.library import read_operator_libraries
    from sizeguard.runtimes.sizeguard.codegen.typed_calls import struct_name

    structs = {
        struct_name(op): name
        for name, op in read_operator_libraries(
            sorted((root / "native").glob("*/operators.yaml"))
        ).items()
    }
    text = "".join(
        path.read_text() for path in sorted((root / "native" / "operators").rglob("*.cpp"))
    )
    written = {structs[name] for name in re.findall(r"\bops::(\w+)::call\(", text)}
    assert {name for called in full.dependencies.calls.values() for name in called} == written
    assert full.dependencies.unknown == {}
    assert full.dependencies.at_load == frozenset()


def test_a_static_selection_runs_the_model_with_every_case(
    full: FullBuild, program: Callable[..., Path]
) -> None:
    found = static_selection(
        full, [read_operators(program("mlp")), read_operators(program("branchy"))], frozenset()
    )
    entry = found.selection.operators["aten::addmm"]
    assert entry == SelectedOperator(False, False, False, frozenset({"mlp.sgp", "branchy.sgp"}))
    assert found.selection.operators["aten::relu"].is_root_operator
    assert found.selection.kernel_metadata["relu"] == {"Float"}
    assert "gemm" in found.whole_tags


def test_the_commands(
    full_build: Build, instrumented_build: Build, models_dir: Path, tmp_path: Path
) -> None:
    model, where = str(models_dir / "branchy" / "model.pt2"), str(full_build.image.parent)
    schemas = resources.files("sizeguard.report") / "schemas" / "selection"
    run = CliRunner()
    output, deps = tmp_path / "selection.yaml", tmp_path / "op_deps.yaml"
    done = run.invoke(
        cli,
        [
            "select",
            "static",
            model,
            "--build",
            where,
            "-o",
            str(output),
            "--op-deps",
            str(deps),
            "--format",
            "json",
        ],
    )
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)
    jsonschema.validate(content, json.loads((schemas / "select_static.schema.json").read_text()))
    calls = {
        entry["name"]: [other["name"] for other in entry.get("depends", [])]
        for entry in yaml.safe_load(deps.read_text())
    }
    assert calls["aten::softmax.int"] == ["aten::_softmax", "aten::to.dtype"]
    selection = read_selection(output)
    assert not selection.findings
    assert set(selection.selection.operators) == {row["name"] for row in content["operators"]}
    assert selection.selection.build_features == {
        "bundled_inputs",
        "expected_outputs",
        "profiling",
        "program_verification",
        "verbose_errors",
    }
    assert run.invoke(cli, ["select", "lint", str(output)]).exit_code == 0

    done = run.invoke(
        cli,
        ["select", "adequacy", model, "--build", where, "--trace", str(output), "--format", "json"],
    )
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)
    jsonschema.validate(content, json.loads((schemas / "select_adequacy.schema.json").read_text()))
    assert (content["reachable_not_observed"], content["observed_not_reachable"]) == ([], [])

    shortened = tmp_path / "short.yaml"
    shortened.write_text(
        "".join(
            line
            for line in output.read_text().splitlines(True)
            if "aten::cumsum:" not in line and "aten::bmm:" not in line
        )
    )
    done = run.invoke(
        cli, ["select", "adequacy", model, "--build", where, "--trace", str(shortened)]
    )
    assert done.exit_code == 0
    assert "trace with inputs that reach them" in done.stdout
    assert "branches of the model itself that no input took: aten::cumsum" in done.stdout
    foreign = tmp_path / "foreign.yaml"
    foreign.write_text("operators:\n  aten::softmax.int: {is_root_operator: true}\n")
    done = run.invoke(
        cli,
        [
            "select",
            "adequacy",
            model,
            "--build",
            where,
            "--trace",
            str(foreign),
            "--format",
            "json",
        ],
    )
    assert json.loads(done.stdout)["observed_not_reachable"] == ["aten::softmax.int"]
    assert done.exit_code != 0


def test_what_cannot_be_compared(
    full: FullBuild, core_build: Build, program: Callable[..., Path], root: Path
) -> None:
    info = read_operators(program("mlp"))
    with pytest.raises(InputError, match="includes all operators"):
        adequacy(full, info, Selection(include_all_operators=True))
    with pytest.raises(InputError, match=r"no operator aten::add\.out"):
        static_selection(
            full, [read_operators(root / "tests/data/models_executorch/mixed.pte")], frozenset()
        )
    with pytest.raises(InputError, match="a build of core"):
        read_full_build(core_build.image.parent)
