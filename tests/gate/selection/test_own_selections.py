"""Checks of this project's own selections, on real builds."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sizeguard.base.errors import InputError
from sizeguard.builds.build_record import Build, read_build
from sizeguard.cli.main import cli
from sizeguard.gate.cache.calls import kernel_calls
from sizeguard.gate.cache.traces import Model, Tracer, read_model
from sizeguard.gate.gate_result import Problem, SelectionFinding
from sizeguard.gate.selection.all_apps import check_selections
from sizeguard.gate.selection.check import check_selection
from sizeguard.gate.selection.retrace import TRACED, WIDENED, update_selection
from sizeguard.gate.selection.review_record import read_record, record_path
from sizeguard.gate.selection.selection_case import SelectionCase
from sizeguard.models.operator_info import OperatorInfo
from sizeguard.projects.project import App
from sizeguard.projects.reader import read_config
from sizeguard.report.selection.selection_changes import update_text
from sizeguard.runtimes.sizeguard.building.programs import program_of
from sizeguard.selection.read import read_selection
from sizeguard.selection.selection import Selection
from sizeguard.selection.write import write_selection
from sizeguard.snapshots.store import Store
from tests.support.verdicts.made_traces import Traces, selecting


def with_kernel(full: Build, source: Path, replaced: tuple[str, str], folder: Path) -> Build:
    """Return a copy of the full build with one kernel's source changed.

    Only this source is compiled again, with the same options.
    """
    text = source.read_text()
    assert replaced[0] in text
    changed = folder / source.name
    changed.write_text(text.replace(*replaced))
    built = full.image.parent
    compile_commands = subprocess.run(
        ["ninja", "-C", str(built), "-t", "commands", "libsg_kernels.a"],
        capture_output=True,
        text=True,
        check=True,
    )
    (command,) = (
        line for line in compile_commands.stdout.splitlines() if line.endswith(f" -c {source}")
    )
    object_ = folder / f"{source.name}.o"
    words = command.replace(f" -c {source}", f" -c {changed}").split()
    words[words.index("-o") + 1] = str(object_)
    words[words.index("-MF") + 1] = str(folder / "changed.d")
    subprocess.run(words, cwd=built, check=True)
    copy = folder / "full"
    shutil.copytree(built, copy, symlinks=True)
    subprocess.run(["ar", "rD", str(copy / "libsg_kernels.a"), str(object_)], check=True)
    for name in ("build.json", "run_program.link.json"):
        (copy / name).write_text(
            json.dumps(json.loads((copy / name).read_text())).replace(str(built), str(copy))
        )
    return read_build(copy)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("store"))


def no_tracing(root: Path) -> Build:
    raise AssertionError(f"a trace was made in {root}")


def checked(
    root: Path, full: Build, store: Store
) -> tuple[list[SelectionFinding], tuple[Problem, ...]]:
    """Check this project's apps without tracing; return findings that do not pass, and problems."""
    found, problems = check_selections(
        root,
        [app for app in read_config(root).apps if app.is_selective],
        [full],
        store,
        Tracer(root, store, no_tracing),
    )
    return [each for each in found if each.verdict != "pass"], problems


def test_this_projects_selections_hold(root: Path, full_build: Build, store: Store) -> None:
    assert checked(root, full_build, store) == ([], ())


def test_full_builds_with_lto_are_left_out(
    root: Path, full_build: Build, store: Store, tmp_path: Path
) -> None:
    unread = dataclasses.replace(full_build, lto="full", image=tmp_path / "run_program", objects=())
    apps = [app for app in read_config(root).apps if app.name == "vision"]
    tracer = Tracer(root, store, no_tracing)
    found, problems = check_selections(root, apps, [unread, full_build], store, tracer)
    assert (problems, {each.verdict for each in found}) == ((), {"pass"})
    _, problems = check_selections(
        root, apps, [dataclasses.replace(unread, lto=""), full_build], store, tracer
    )
    assert problems


@pytest.mark.parametrize(
    ("file", "head", "kernel", "apps"),
    [
        (
            "unary.cpp",
            "Result<Tensor> relu(Context& context, Tensor self) {\n",
            "aten::relu",
            ["vision"],
        ),
        (
            "views.cpp",
            "Result<Tensor> permute(Context& context, Tensor self, IntArrayRef dims) {\n",
            "aten::permute",
            ["vision", "language"],
        ),
    ],
    ids=["relu", "permute"],
)
def test_a_patched_kernel_fails_for_exactly_the_apps_concerned(
    file: str,
    head: str,
    kernel: str,
    apps: list[str],
    root: Path,
    full_build: Build,
    store: Store,
    tmp_path: Path,
) -> None:
    """Only vision selects relu, both apps select permute, and neither selects erf."""
    source = root / "native" / "operators" / "kernels" / file
    changed = with_kernel(
        full_build,
        source,
        (head, head + "  SG_ASSIGN(self, ops::erf::call(context, self));\n"),
        tmp_path,
    )
    found, problems = checked(root, changed, store)
    assert not problems
    *of_apps, table = found
    assert [(each.app, each.message) for each in of_apps] == [
        (app, f"{kernel} now calls aten::erf, not in the selection of app {app}") for app in apps
    ]
    assert (table.app, table.verdict, table.name) == ("", "fail", "op_deps.yaml")
    assert f"{kernel} → aten::erf missing" in table.message
    assert table.advice == "sizeguard select static --op-deps native/operators/op_deps.yaml"
    for each in of_apps:
        assert each.advice == f"sizeguard select update --app {each.app}"
        assert each.place.startswith(f"native/apps/{each.app}/selected_operators.yaml:")
    assert "aten::erf" in kernel_calls(changed, store).dependencies.calls[kernel]


def test_calls_are_read_once(
    full_build: Build, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = kernel_calls(full_build, store)
    monkeypatch.setattr(
        "sizeguard.gate.cache.calls.read_full_build",
        lambda path: pytest.fail(f"{path} was read again"),
    )
    again = kernel_calls(full_build, store)
    assert (again.operators, again.tags, again.dependencies.calls) == (
        first.operators,
        first.tags,
        first.dependencies.calls,
    )


def app_of_mlp(folder: Path, models_dir: Path, selection: Selection) -> App:
    shutil.copytree(models_dir / "mlp", folder / "mlp")
    app = App("kiosk", folder / "selected_operators.yaml", (folder / "mlp" / "model.pt2",))
    write_selection(app.selection, selection)
    return app


def test_an_update_refuses_two_models_of_one_name(tmp_path: Path, models_dir: Path) -> None:
    """Both were traced as the one that was imported last, and the record named both."""
    app = app_of_mlp(tmp_path, models_dir, Selection())
    program, info = tmp_path / "mlp.sgp", OperatorInfo("mlp.sgp", {}, frozenset())
    models = [Model(tmp_path / at / "mlp" / "model.pt2", program, info) for at in ("a", "b")]
    before = app.selection.read_bytes()
    unused: Any = None
    with pytest.raises(InputError, match=r"a/mlp/model\.pt2 and .*b/mlp/model\.pt2 are both"):
        update_selection(tmp_path, app, models, unused, unused, TRACED)
    assert app.selection.read_bytes() == before


def test_a_dtype_that_is_lacking_is_found_by_tracing(
    root: Path,
    full_build: Build,
    instrumented_build: Build,
    models_dir: Path,
    store: Store,
    tmp_path: Path,
) -> None:
    """Run the model in the instrumented build, and compare its trace with the selection.

    Then update the selection.
    """
    app = app_of_mlp(tmp_path, models_dir, Selection())
    calls, tracer = (
        kernel_calls(full_build, store),
        Tracer(root, store, lambda _: instrumented_build),
    )
    model = Model(
        app.models[0],
        program_of(app.models[0], tmp_path),
        read_model(root, models_dir / "mlp" / "model.pt2", store).info,
    )
    first = update_selection(tmp_path, app, [model], calls, tracer, TRACED)
    assert set(first.changed) == {app.selection, record_path(tmp_path, app)}
    assert {"aten::relu", "aten::addmm", "gemm Float", "feature bundled_inputs"} <= set(first.added)
    assert update_selection(tmp_path, app, [model], calls, tracer, TRACED).changed == ()

    traced = app.selection.read_text()
    app.selection.write_text(traced.replace("  gemm: [Float]", "  gemm: [Double]"))
    subject = SelectionCase(
        tmp_path,
        app,
        read_selection(app.selection),
        (model,),
        calls,
        read_record(record_path(tmp_path, app)),
    )
    found = check_selection(subject, tracer)
    assert [(each.kind, each.name, each.verdict) for each in found] == [
        ("dtype", "gemm Float", "fail"),
        ("trace", "mlp", "fail"),
    ]
    assert found[0].message == "mlp runs gemm with Float, which the selection of app kiosk lacks"

    widened = update_selection(tmp_path, app, [model], calls, tracer, WIDENED)
    assert (widened.added, widened.dropped) == (("gemm Float",), ())
    assert "  gemm: [Double, Float]" in app.selection.read_text()
    exact = update_selection(tmp_path, app, [model], calls, tracer, TRACED)
    assert (exact.added, exact.dropped) == ((), ("gemm Double",))
    assert app.selection.read_text() == traced

    # Users may select features that no model uses; a new trace keeps them.
    asked = "build_features: [bundled_inputs, program_verification, verbose_errors]"
    bare = asked.replace(", verbose_errors", "")
    app.selection.write_text(traced.replace(bare, asked).replace("[Float]", "[Byte, Float]", 1))
    kept = update_selection(tmp_path, app, [model], calls, tracer, TRACED)
    assert [each.rpartition(" ")[2] for each in kept.dropped] == ["Byte"]
    assert asked in app.selection.read_text()

    # Names in a PyTorch selection are translated into the names in traces.
    app.selection.write_text(
        "operators:\n  aten::relu.out: {include_all_overloads: false}\n"
        "kernel_metadata:\n  add_stub: [Float]\n"
    )
    foreign = update_selection(tmp_path, app, [model], calls, tracer, WIDENED)
    assert foreign.is_translated
    said = update_text(tmp_path, foreign)
    assert "names of PyTorch or ExecuTorch were translated into this runtime's" in said
    new = read_selection(app.selection).selection
    assert "aten::relu.out" not in new.operators and "add_stub" not in new.kernel_metadata
    assert {"aten::relu", "aten::addmm"} <= set(new.operators)
    assert "Float" in new.kernel_metadata["add"]
    again = update_selection(tmp_path, app, [model], calls, tracer, WIDENED)
    assert (again.changed, again.is_translated) == ((), False)


def test_the_command_finds_this_projects_records_up_to_date(
    root: Path,
    full_build: Build,
    instrumented_build: Build,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SIZEGUARD_STORE", str(tmp_path))
    monkeypatch.chdir(root)
    done = CliRunner().invoke(cli, ["select", "update", "--app", "vision", "--app", "language"])
    assert (done.exit_code, done.stdout) == (
        0,
        "vision: nothing changed\nlanguage: nothing changed\n",
    )
    done = CliRunner().invoke(cli, ["select", "update", "--app", "visio"])
    assert done.exit_code != 0
    assert "no app 'visio'; did you mean 'vision'?" in str(done.exception)


def test_what_cannot_be_read_is_a_problem_of_its_app(
    root: Path, full_build: Build, models_dir: Path, store: Store, tmp_path: Path
) -> None:
    good = dataclasses.replace(read_config(root).apps[0])
    bad = dataclasses.replace(good, name="bad", selection_file=tmp_path / "selection.yaml")
    (tmp_path / "selection.yaml").write_text("operators: [")
    lost = dataclasses.replace(good, name="lost", models=(tmp_path / "model.pt2",))
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "model.pt2").write_bytes(b"PK nothing")
    broken = dataclasses.replace(good, name="broken", models=(tmp_path / "broken" / "model.pt2",))
    shutil.copytree(good.models[0].parent, tmp_path / good.models[0].parent.name)
    twice = dataclasses.replace(
        good,
        name="twice",
        models=(*good.models, tmp_path / good.models[0].parent.name / "model.pt2"),
    )
    found, problems = check_selections(
        root, [bad, lost, broken, twice, good], [full_build], store, Tracer(root, store, no_tracing)
    )
    assert {each.app for each in found} == {"vision"}
    assert [(each.app, each.exit_code) for each in problems] == [
        ("bad", 2),
        ("lost", 2),
        ("broken", 2),
        ("twice", 2),
    ]
    assert all(each.advice and "\n" not in each.message for each in problems)
    assert "no such file" in problems[1].message
    assert "are both called mobilenet_v2; rename the folder of one" in problems[3].message


def test_lint_errors_fail_and_warnings_are_shown(
    root: Path, full_build: Build, store: Store, tmp_path: Path
) -> None:
    app = read_config(root).apps[0]
    text = app.selection.read_text().replace(
        "  aten::relu: {is_root_operator: true, ", "  aten::relu: {"
    )
    (tmp_path / "s.yaml").write_text(
        text.replace("kernel_metadata:\n", "kernel_metadata:\n  nothing: [Float]\n", 1)
    )
    other = dataclasses.replace(app, selection_file=tmp_path / "s.yaml")
    for _ in range(2):  # the second time from the store
        found, problems = check_selections(
            root,
            [other],
            [full_build],
            store,
            Traces({m: selecting("") for m in ("mobilenet_v2", "quant_cnn")}),
        )
        lint = {each.name: each for each in found if each.kind == "lint"}
        assert not problems
        assert (lint["unknown-tag"].verdict, lint["inclusive-default"].verdict) == ("fail", "pass")
        assert lint["unknown-tag"].place.startswith(f"{tmp_path}/s.yaml:")


@pytest.mark.parametrize(
    ("table", "name", "verdict"),
    [
        ("features", "verbose_errors", "fail"),
        ("classes", "LinearOpContext", "fail"),
        ("operators", "aten::relu", "fail"),
        ("helpers", "", "pass"),
    ],
)
def test_names_that_a_change_takes_away_fail(
    table: str, name: str, verdict: str, root: Path, full_build: Build, store: Store, tmp_path: Path
) -> None:
    """A feature that names.json lacks would have no claim."""
    left_out = shutil.ignore_patterns("models", "examples")
    shutil.copytree(root / "native", tmp_path / "native", ignore=left_out)
    (tmp_path / "native" / "models").symlink_to(root / "native" / "models")
    path = tmp_path / "native" / "operators" / "names.json"
    content = json.loads(path.read_text())
    gone = name or next(iter(content[table]))
    if isinstance(content[table], dict):
        del content[table][gone]
    else:
        content[table].remove(gone)
    path.write_text(json.dumps(content))
    apps = read_config(root).apps[:1]
    tracer = Tracer(root, store, no_tracing)
    found, problems = check_selections(root, apps, [full_build], store, tracer, tmp_path)
    assert problems == ()
    (stale,) = (each for each in found if each.name == "names")
    assert stale.verdict == verdict
    assert f": {gone}" in stale.message
    assert stale.advice == "sizeguard select names"


def test_a_feature_that_the_full_build_does_not_show_fails(
    root: Path, full_build: Build, store: Store, tmp_path: Path
) -> None:
    """The signs of a feature were written before its texts changed."""
    left_out = shutil.ignore_patterns("models", "examples")
    shutil.copytree(root / "native", tmp_path / "native", ignore=left_out)
    path = tmp_path / "native" / "operators" / "names.json"
    content = json.loads(path.read_text())
    content["features"]["profiling"]["texts"] = ["--timings"]
    path.write_text(json.dumps(content))
    app = dataclasses.replace(read_config(root).apps[0], models=())
    found, problems = check_selections(root, [app], [full_build], store, source=tmp_path)
    assert problems == ()
    (stale,) = (each for each in found if each.name == "names")
    assert (stale.verdict, stale.advice) == ("fail", "sizeguard select names")
    assert "the full build has none of the 1 texts of the feature profiling" in stale.message


def test_names_are_checked_although_no_target_runs(
    root: Path,
    full_build: Build,
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The gate makes no full build for targets with `run: false`; the check makes one."""
    monkeypatch.setattr("sizeguard.gate.selection.all_apps.full_build", lambda tree: full_build)
    left_out = shutil.ignore_patterns("models", "examples")
    shutil.copytree(root / "native", tmp_path / "native", ignore=left_out)
    path = tmp_path / "native" / "operators" / "names.json"
    path.write_text(path.read_text().replace('"LinearOpContext"', ""))
    app = dataclasses.replace(read_config(root).apps[0], models=())
    found, problems = check_selections(root, [app], [], store, source=tmp_path)
    assert problems == ()
    assert [each.name for each in found if each.verdict == "fail"] == ["names"]
