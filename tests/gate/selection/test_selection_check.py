"""Check for operators and dtypes that models need but selections lack.

They are found by names in models, by calls of kernels, and by new traces; harmless changes pass.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from sizeguard.base.errors import BuildError, InconclusiveError, InputError
from sizeguard.gate.cache.traces import Model
from sizeguard.gate.gate_result import SelectionFinding
from sizeguard.gate.selection.check import check_selection
from sizeguard.gate.selection.model_needs import Needed
from sizeguard.gate.selection.review_record import read_record, record_of, record_path, write_record
from sizeguard.gate.selection.selection_case import SelectionCase, read_subject
from sizeguard.models.operator_info import OperatorInfo
from sizeguard.predict.call_closure import Dependencies
from sizeguard.predict.full_build import FullBuild
from sizeguard.predict.reach_result import Unknown
from sizeguard.projects.project import App
from sizeguard.selection.provenance import Provenance
from sizeguard.selection.read import read_selection
from sizeguard.selection.selection import SelectedOperator, Selection
from sizeguard.selection.write import write_selection
from tests.support.verdicts.made_traces import Traces, selecting


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
