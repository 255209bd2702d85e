"""Check for operators and dtypes that models need but selections lack.

They are found by names in models, by calls of kernels, and by new traces; harmless changes pass.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.base.errors import BuildError, InconclusiveError, InputError
from sizeguard.builds.build_record import Build, read_build
from sizeguard.cli.main import cli
from sizeguard.gate.cache.calls import kernel_calls
from sizeguard.gate.cache.traces import Model, Tracer, read_model
from sizeguard.gate.gate_result import Problem, SelectionFinding
from sizeguard.gate.selection.all_apps import check_selections
from sizeguard.gate.selection.check import check_selection
from sizeguard.gate.selection.model_needs import Needed
from sizeguard.gate.selection.retrace import TRACED, WIDENED, update_selection
from sizeguard.gate.selection.review_record import (
    Kernel,
    ModelState,
    SelectionRecord,
    read_record,
    record_of,
    record_path,
    write_record,
)
from sizeguard.gate.selection.selection_case import SelectionCase, read_subject
from sizeguard.models.operator_info import OperatorInfo
from sizeguard.predict.call_closure import Dependencies
from sizeguard.predict.full_build import FullBuild
from sizeguard.predict.reach_result import Unknown
from sizeguard.projects.project import App
from sizeguard.projects.reader import read_config
from sizeguard.report.selection.selection_changes import update_text
from sizeguard.runtimes.sizeguard.building.programs import program_of
from sizeguard.selection.provenance import Provenance
from sizeguard.selection.read import read_selection
from sizeguard.selection.selection import SelectedOperator, Selection
from sizeguard.selection.write import write_selection
from sizeguard.snapshots.store import Store


def full_of(
    calls: dict[str, str], switches: dict[str, str] | None = None, **more: object
) -> FullBuild:
    """Return a build with the operators demo::NAME, the calls between them, and their tags."""
    table = {
        f"demo::{name}": frozenset(f"demo::{each}" for each in called.split())
        for name, called in calls.items()
    }
    tags = {
        name: frozenset((switches or {}).get(name.removeprefix("demo::"), "").split())
        for name in table
    }
    unknown = {"demo::" + str(more["unknown"]): (Unknown("f", "f.o"),)} if "unknown" in more else {}
    at_load = frozenset({f"demo::{more['at_load']}"} if "at_load" in more else ())
    return FullBuild(Dependencies(table, at_load, unknown), frozenset(table), frozenset(), tags)


class Traces(Tracer):
    """A fake tracer with a selection or an error for each model; `traced` lists its requests."""

    def __init__(self, uses: dict[str, Selection | Exception]) -> None:
        self.uses = uses
        self.traced: list[str] = []

    def trace(self, model: Model) -> Selection:
        self.traced.append(model.name)
        found = self.uses[model.name]
        if isinstance(found, Exception):
            raise found
        return found


def selecting(
    operators: str, dtypes: dict[str, str] | None = None, features: str = ""
) -> Selection:
    entry = SelectedOperator(True, False, False)
    metadata = {tag: frozenset(names.split()) for tag, names in (dtypes or {}).items()}
    return Selection(
        {f"demo::{n}": entry for n in operators.split()},
        kernel_metadata=metadata,
        build_features=frozenset(features.split()),
    )


@dataclass
class Project:
    """An app with one model that names the operators in `names`, and a record made from `full`."""

    root: Path
    full: FullBuild
    names: str = "a"
    classes: str = ""

    def __post_init__(self) -> None:
        self.app = App("shop", self.root / "shop.yaml", (self.root / "m.pt2",))
        (self.root / "m.pt2").write_text("weights")

    @property
    def model(self) -> Model:
        names = {f"demo::{name}": frozenset[str]() for name in self.names.split()}
        info = OperatorInfo("m.sgp", names, frozenset(self.classes.split()))
        return Model(self.root / "m.pt2", self.root / "m.sgp", info)

    def select(self, selection: Selection) -> None:
        write_selection(self.app.selection, selection)

    def record(self) -> None:
        now = record_of(
            self.root, self.app, read_selection(self.app.selection).selection, self.full
        )
        write_record(record_path(self.root, self.app), "shop", now)

    def case(self, full: FullBuild) -> SelectionCase:
        file = read_selection(self.app.selection)
        record = read_record(record_path(self.root, self.app))
        return SelectionCase(self.root, self.app, file, (self.model,), full, record)

    def check(
        self, full: FullBuild, uses: Selection | Exception | None = None
    ) -> tuple[list[SelectionFinding], list[str]]:
        traces = Traces({"m": uses} if uses is not None else {})
        return list(check_selection(self.case(full), traces)), traces.traced


BEFORE = {"a": "b c", "b": "", "c": "", "d": ""}  # a calls c on a path that no input takes
TAGS = {"a": "add", "b": "mul"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path, full_of(BEFORE, TAGS))
    made.select(selecting("a b", {"add": "Float", "mul": "Float"}, "bundled_inputs"))
    made.record()
    return made


def brief(findings: Iterable[SelectionFinding]) -> list[tuple[str, str, str]]:
    return [(each.kind, each.name, each.verdict) for each in findings]


def test_what_did_not_change_is_covered_and_not_traced(project: Project) -> None:
    found, traced = project.check(project.full)
    assert (brief(found), traced) == ([("covered", "shop", "pass")], [])
    assert (
        found[0].message
        == "1 model covered by 2 operators, 0 missing; 1 more are reachable, but no input"
        " uses them"
    )


def test_a_kernel_that_calls_something_new(project: Project) -> None:
    found, traced = project.check(full_of({**BEFORE, "b": "d"}, TAGS))
    # It fails without a trace
    assert (brief(found), traced) == ([("closure", "demo::b", "fail")], [])
    assert found[0].message == "demo::b now calls demo::d, not in the selection of app shop"
    assert found[0].advice == "sizeguard select update --app shop"
    assert found[0].place == "shop.yaml:5"


def test_a_kernel_that_is_not_selected_may_call_what_it_likes(project: Project) -> None:
    found, traced = project.check(full_of({**BEFORE, "c": "d", "d": "a b"}, TAGS))
    assert (brief(found), traced) == ([("covered", "shop", "pass")], [])


def test_a_call_that_went_is_no_reason_to_trace(project: Project) -> None:
    found, traced = project.check(full_of({**BEFORE, "a": "b"}, {"a": "add"}))
    assert (brief(found), traced) == ([("covered", "shop", "pass")], [])


def test_a_new_call_of_what_is_selected_is_traced_again(project: Project) -> None:
    used = selecting("a b", {"add": "Float", "mul": "Float"}, "bundled_inputs")
    found, traced = project.check(full_of({**BEFORE, "b": "a"}, TAGS), used)
    assert (brief(found), traced) == ([("trace", "m", "pass"), ("covered", "shop", "pass")], ["m"])
    assert found[0].message.startswith("the trace of m is older than the code: demo::b calls more")
    found, _ = project.check(
        full_of({**BEFORE, "b": "a"}, TAGS), selecting("a b", {"add": "Float", "mul": "Float Int"})
    )
    assert brief(found) == [("dtype", "mul Int", "fail"), ("trace", "m", "fail")]
    assert found[1].advice == "sizeguard select update --app shop"
    assert found[0].message == "m runs mul with Int, which the selection of app shop lacks"
    assert found[0].place == "shop.yaml:8"


def test_a_new_dtype_switch_is_traced_again(project: Project) -> None:
    found, _ = project.check(
        full_of(BEFORE, {**TAGS, "b": "mul div"}),
        selecting("a b", {"add": "Float", "div": "Float"}),
    )
    assert brief(found) == [("dtype", "div Float", "fail"), ("trace", "m", "fail")]


def test_a_model_that_was_exported_again(project: Project) -> None:
    (project.root / "m.pt2").write_text("other weights")
    used = selecting("a b", {"add": "Float", "mul": "Float"})
    found, traced = project.check(project.full, used)
    assert (brief(found), traced) == ([("export", "m", "pass"), ("covered", "shop", "pass")], ["m"])
    assert (
        found[0].message
        == "m was exported again since it was traced; traced again, it needs nothing that the"
        " selection of app shop lacks"
    )
    needs_more = selecting("a b c", {"add": "Float", "mul": "Int"}, "verbose_errors")
    found, _ = project.check(project.full, needs_more)
    assert brief(found) == [
        ("operator", "demo::c", "fail"),
        ("dtype", "mul Int", "fail"),
        ("feature", "verbose_errors", "fail"),
        ("export", "m", "fail"),
    ]
    (project.root / "m.pt2").write_text("weights")
    (project.root / "case0_input0.npy").write_text("new")
    found, _ = project.check(project.full, used)
    assert found[0].message.startswith("the inputs of m have changed since it was traced")


def test_a_selection_that_was_edited(project: Project) -> None:
    project.select(selecting("a b", {"add": "Float"}, "bundled_inputs"))
    used = selecting("a b", {"add": "Float", "mul": "Float"}, "bundled_inputs")
    found, traced = project.check(project.full, used)
    assert (brief(found), traced) == (
        [("dtype", "mul Float", "fail"), ("trace", "m", "fail")],
        ["m"],
    )
    project.select(selecting("b", {"add": "Float", "mul": "Float"}))
    found, _ = project.check(project.full, used)
    assert brief(found)[0] == ("operator", "demo::a", "fail")
    assert found[0].message == "m names demo::a, which the selection of app shop lacks"
    # An operator was added by hand, and its calls were never reviewed.
    project.full = full_of({**BEFORE, "d": "c"}, TAGS)
    project.select(selecting("a b d", {"add": "Float", "mul": "Float"}, "bundled_inputs"))
    found, _ = project.check(project.full, used)
    assert brief(found)[0] == ("closure", "demo::d", "inconclusive")
    assert (
        "can call demo::c, not in the selection of app shop; it was selected after"
        in found[0].message
    )


def test_without_a_record_nothing_tells_what_is_new(project: Project) -> None:
    record_path(project.root, project.app).unlink()
    used = selecting("a b", {"add": "Float", "mul": "Float"}, "bundled_inputs")
    found, traced = project.check(project.full, used)
    assert (brief(found), traced) == (
        [("closure", "demo::a", "inconclusive"), ("trace", "m", "pass")],
        ["m"],
    )
    assert found[0].message.endswith("; no record lists this call when the models were traced")
    # If the selection has all reachable operators, nothing can be new.
    project.select(selecting("a b c", {"add": "Float", "mul": "Float"}, "bundled_inputs"))
    found, _ = project.check(project.full, used)
    assert brief(found) == [("trace", "m", "pass"), ("covered", "shop", "pass")]


def test_a_selection_of_everything_lacks_nothing(project: Project) -> None:
    project.select(Selection(include_all_operators=True))
    project.record()
    (project.root / "m.pt2").write_text("other weights")
    found, traced = project.check(full_of({**BEFORE, "b": "d", "d": "c"}))
    assert (brief(found), traced) == ([("covered", "shop", "pass")], [])


def test_a_tracer_that_crashes_fails(project: Project) -> None:
    (project.root / "m.pt2").write_text("other weights")
    found, _ = project.check(
        project.full, BuildError("model_tracer on m.sgp: did not end within 1800 s")
    )
    assert brief(found) == [("export", "m", "fail")]
    assert "cannot be traced again: model_tracer on m.sgp: did not end" in found[0].message
    assert found[0].advice


def test_classes_that_models_name_or_use(project: Project) -> None:
    used = selecting("a b", {"add": "Float", "mul": "Float"}, "bundled_inputs")
    (project.root / "m.pt2").write_text("other weights")
    project.classes = "Packed"
    project.full = dataclasses.replace(project.full, classes=frozenset({"Packed", "Cell"}))
    packed = dataclasses.replace(used, custom_classes=frozenset({"Packed", "Cell"}))
    found, _ = project.check(project.full, packed)
    assert brief(found) == [
        ("class", "Cell", "fail"),
        ("class", "Packed", "fail"),
        ("export", "m", "fail"),
    ]
    assert [each.message for each in found[:2]] == [
        "m uses class Cell, which the selection of app shop lacks",
        "m names class Packed, which the selection of app shop lacks",
    ]
    found, _ = project.check(project.full, used)
    assert found[0].message == "m names class Packed, which the selection of app shop lacks"
    assert brief(found) == [("class", "Packed", "fail"), ("export", "m", "pass")]
    project.select(packed)
    found, _ = project.check(project.full, packed)
    assert brief(found) == [("export", "m", "pass"), ("covered", "shop", "pass")]
    assert [each.advice for each in found] == ["keep that: sizeguard select update --app shop", ""]
    assert found[1].place == "shop.yaml"


def test_an_operator_that_a_model_names_is_marked_as_called_by_others(project: Project) -> None:
    selection = read_selection(project.app.selection).selection
    entry = SelectedOperator(False, False, False)
    project.select(
        dataclasses.replace(selection, operators={**selection.operators, "demo::a": entry})
    )
    project.record()
    found, _ = project.check(project.full)
    assert brief(found) == [("lint", "not-root demo::a", "pass"), ("covered", "shop", "pass")]
    assert (found[0].place, found[0].advice) == ("shop.yaml:4", "")
    project.select(selecting("b", {"add": "Float"}))
    text = project.app.selection.read_text()
    family = "  demo: {include_all_overloads: true, is_root_operator: false}\n"
    project.app.selection.write_text(text.replace("operators:\n", f"operators:\n{family}"))
    project.names = "b"
    project.record()
    assert brief(project.check(project.full)[0]) == [("covered", "shop", "pass")]


def test_a_new_model_is_traced(project: Project) -> None:
    record = read_record(record_path(project.root, project.app))
    assert record is not None
    write_record(
        record_path(project.root, project.app), "shop", dataclasses.replace(record, models={})
    )
    found, traced = project.check(project.full, selecting("a c", {"add": "Float"}))
    assert (brief(found), traced) == (
        [("operator", "demo::c", "fail"), ("trace", "m", "fail")],
        ["m"],
    )
    assert found[1].message == (
        "m was not traced for the selection of app shop; traced again, it needs 1 operators or"
        " dtypes that the selection of app shop lacks"
    )


def test_only_a_call_that_fails_already_saves_the_trace(project: Project) -> None:
    full = full_of({**BEFORE, "b": "a"}, TAGS, unknown="b")
    used = selecting("a b c", {"add": "Float", "mul": "Float"}, "bundled_inputs")
    found, traced = project.check(full, used)
    assert (brief(found), traced) == (
        [
            ("closure", "demo::b", "inconclusive"),
            ("operator", "demo::c", "fail"),
            ("trace", "m", "fail"),
        ],
        ["m"],
    )
    project.names = "a d"
    found, traced = project.check(full_of({**BEFORE, "b": "a"}, TAGS), used)
    assert brief(found)[0] == ("operator", "demo::d", "fail")
    assert traced == ["m"]


def test_a_new_call_of_what_no_library_registers(project: Project) -> None:
    build = full_of({**BEFORE, "b": "z"}, TAGS)
    found, _ = project.check(build)
    assert brief(found) == [("closure", "demo::b", "fail")]
    assert (
        found[0].message
        == "demo::b now calls demo::z, which no library registers, not in the selection of app shop"
    )


def test_surplus_is_told_once_and_unknown_needs_are_inconclusive(project: Project) -> None:
    """A misspelt name is not surplus either."""
    case = project.case(project.full)
    asked = []

    def find(subject: SelectionCase, needed: Needed) -> Iterable[SelectionFinding]:
        asked.append(needed)
        for key, name in (("operators", "demo::a"), ("operators", "demo::b")):
            found = subject.finding("surplus", name, "pass", "unneeded")
            yield dataclasses.replace(found, place=subject.place(key, name))

    def lost(subject: SelectionCase, needed: Needed) -> Iterable[SelectionFinding]:
        raise InconclusiveError("the full build is stripped")

    def lint(name: str, verdict: str) -> SelectionFinding:
        found = case.finding("lint", "unknown", verdict, "misspelt")
        return dataclasses.replace(found, place=case.place("operators", name))

    for verdict, kept in (("fail", ["demo::b"]), ("pass", ["demo::a", "demo::b"])):
        found = check_selection(case, Traces({}), [lint("demo::a", verdict)], find)
        assert [each.name for each in found if each.kind == "surplus"] == kept
    assert {each.operators for each in asked} == {frozenset({"demo::a", "demo::b", "demo::c"})}
    found = check_selection(case, Traces({}), (), lost)
    assert brief(found) == [("surplus", "shop", "inconclusive")]
    assert found[0].message == "the models' needs are unknown: the full build is stripped"


def test_a_case_has_models_of_different_names(project: Project) -> None:
    """Their programs have one path, so one trace would stand for both."""
    model, record = project.model, read_record(record_path(project.root, project.app))
    other = dataclasses.replace(model, program=project.root / "n.sgp")
    found = read_subject(project.root, project.app, [model, other], project.full)
    assert (found.models, found.record) == ((model, other), record)
    twin = dataclasses.replace(model, path=project.root / "x" / "m.pt2")
    with pytest.raises(InputError, match=r"m\.pt2 and .*x/m\.pt2 are both called m; rename"):
        read_subject(project.root, project.app, [model, twin], project.full)


@pytest.mark.parametrize(
    ("is_recorded", "is_traced", "features"),
    [
        (False, False, {"bundled_inputs", "profiling"}),  # nothing shows which are needed
        (True, False, {"profiling"}),
        (False, True, {"bundled_inputs"}),
        (True, True, {"bundled_inputs", "profiling"}),
    ],
)
def test_features_are_needed_if_a_trace_or_the_record_has_them(
    project: Project, is_recorded: bool, is_traced: bool, features: set[str]
) -> None:
    case = project.case(project.full)
    known = Provenance(build_features=frozenset({"profiling"}))
    selection = dataclasses.replace(
        selecting("a b", {}, "bundled_inputs profiling"),
        provenance={"m.sgp": known} if is_recorded else {},
    )
    file = dataclasses.replace(case.file, selection=selection)
    traces = {"m": selecting("a", {}, "bundled_inputs")} if is_traced else {}
    assert dataclasses.replace(case, file=file).needed(traces).features == features


def test_names_that_are_not_constant_and_calls_at_load(project: Project) -> None:
    found, _ = project.check(full_of(BEFORE, TAGS, unknown="b"))
    assert brief(found) == [("closure", "demo::b", "inconclusive")]
    assert "calls an operator whose name is not constant, in f (f.o)" in found[0].message
    assert brief(project.check(full_of(BEFORE, TAGS, unknown="d"))[0]) == [
        ("covered", "shop", "pass")
    ]
    found, _ = project.check(full_of(BEFORE, TAGS, at_load="d"))
    assert brief(found) == [("closure", "(at load)", "fail")]
    assert found[0].message == "start-up code now calls demo::d, not in the selection of app shop"


NAMES = st.text("abcdefghijklmnopqrstuvwxyz_:.'\" #{}[]\\é\n", min_size=1, max_size=12)
HASHES = st.text("0123456789abcdef", min_size=16, max_size=16)
KERNELS = st.builds(Kernel, st.frozensets(NAMES, max_size=3), st.frozensets(NAMES, max_size=3))
RECORDS = st.builds(
    SelectionRecord,
    HASHES,
    st.dictionaries(NAMES, st.builds(ModelState, HASHES, HASHES | st.just("")), max_size=3),
    st.dictionaries(NAMES, KERNELS, max_size=4),
)


@given(RECORDS)
def test_a_record_reads_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, record: SelectionRecord
) -> None:
    path = tmp_path_factory.getbasetemp() / "record.yaml"
    write_record(path, "shop", record)
    assert read_record(path) == record
    assert not write_record(path, "shop", record)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it has the keys selection, models, kernels"),
        ("{", "not YAML"),
        ("selection: 1\nmodels: {}\nkernels: {}", "the hash of selection has 16 digits"),
        (f"selection: '{'a' * 16}'\nmodels: []\nkernels: {{}}", "models is a table of names"),
        (
            f"selection: '{'a' * 16}'\nmodels: {{m: {{model: x, inputs: ''}}}}\nkernels: {{}}",
            "the hash of m has 16 digits",
        ),
        (
            f"selection: '{'a' * 16}'\nmodels: {{}}\nkernels: {{k: {{calls: b, switches: []}}}}",
            "k has lists of names",
        ),
    ],
)
def test_a_damaged_record_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "record.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as error:
        read_record(path)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(str(path))


# The same checks on real builds.


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
