"""Test each finding of lint with its position, and a file without findings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from sizeguard.base.errors import InputError
from sizeguard.claims.listed_names import BuildNames, FeatureMarks
from sizeguard.claims.universe import Universe
from sizeguard.operators.dtypes import DTYPES
from sizeguard.operators.library import read_operator_libraries
from sizeguard.selection.finding import Level, LintFinding
from sizeguard.selection.lint_rules import has_errors, lint
from sizeguard.selection.op_deps import OpDeps
from sizeguard.selection.read import SelectionFile, read_selection
from sizeguard.selection.selectable import Selectable
from sizeguard.selection.selection import SelectedOperator, Selection

OPERATORS = ("aten::add.Tensor", "aten::add.Scalar", "aten::relu", "prim::RaiseException")


@dataclass(frozen=True)
class Use:
    file: Path
    line: int


SWITCHES = {
    "add": [Use(Path("a.cpp"), 1), Use(Path("a.cpp"), 9)],
    "copy": [Use(Path("a.cpp"), 5), Use(Path("b.cpp"), 7)],
}
KNOWN = Selectable(OPERATORS, dict.fromkeys(SWITCHES, ()), {"Context"}, {"bundled_inputs"})
PLAIN = "is_root_operator: true, is_used_for_training: false, include_all_overloads: false"


def files(tmp_path: Path, *texts: str) -> list[SelectionFile]:
    read = []
    for i, text in enumerate(texts):
        path = tmp_path / f"{i}.yaml"
        path.write_text(text, encoding="utf-8")
        read.append(read_selection(path))
    return read


def findings(tmp_path: Path, *texts: str) -> list[tuple[str, int, str, str]]:
    return [
        (Path(finding.file).name, finding.line, finding.level.value, finding.check)
        for finding in lint(files(tmp_path, *texts), KNOWN, SWITCHES)
    ]


def test_a_good_file_has_no_findings(tmp_path: Path) -> None:
    text = (
        f"operators:\n  aten::add.Tensor: {{{PLAIN}}}\n  aten::relu:"
        f" {{{PLAIN}}}\nkernel_metadata:\n  add: [Float, BFloat16]\n"
    )
    assert findings(tmp_path, text) == []


def test_a_family_of_known_overloads_is_known(tmp_path: Path) -> None:
    text = (
        "operators:\n  aten::add: {is_root_operator: true, is_used_for_training: false,"
        " include_all_overloads: true}\n"
    )
    assert findings(tmp_path, text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"operators:\n  aten::relu: {{{PLAIN}}}\n  aten::sub: {{{PLAIN}}}\n",
            (3, "error", "unknown-operator"),
        ),
        # Without its overloads, the family is an operator with exactly this name, which the
        # runtime does not have.
        (f"operators:\n  aten::add: {{{PLAIN}}}\n", (2, "error", "unknown-operator")),
        (f"operators:\n  relu: {{{PLAIN}}}\n", (2, "error", "no-namespace")),
        (
            "operators:\n\n  aten::relu:\n    is_root_operator: true\n",
            (3, "warning", "inclusive-default"),
        ),
        (
            (
                "operators:\n  aten::add.Tensor: {is_root_operator: true, is_used_for_training:"
                " true, include_all_overloads: true}\n"
            ),
            (2, "warning", "inert-overloads"),
        ),
        (
            f"operators:\n  aten::relu: {{{PLAIN}}}\n  aten::relu: {{{PLAIN}}}\n",
            (3, "error", "given-twice"),
        ),
        (
            (
                f"operators:\n  aten::relu: {{{PLAIN}}}\nkernel_metadata: {{\n add: [Float],\n ad:"
                " [Float]}\n"
            ),
            (5, "error", "unknown-tag"),
        ),
        (
            f"operators:\n  aten::relu: {{{PLAIN}}}\nkernel_metadata: {{add: [float]}}\n",
            (3, "error", "unknown-dtype"),
        ),
        (
            f"operators:\n  aten::relu: {{{PLAIN}}}\nkernel_metadata: {{copy: [Float]}}\n",
            (3, "warning", "shared-tag"),
        ),
        (
            f"operators:\n  aten::relu: {{{PLAIN}}}\nkernel_metadata: []\n",
            (3, "warning", "kernel-metadata-list"),
        ),
        (
            (
                f"operators:\n  aten::relu: {{{PLAIN}}}\nkernel_metadata: {{add:"
                " [Float]}\ninclude_all_non_op_selectives: true\n"
            ),
            (4, "warning", "dtype-selection-off"),
        ),
        (
            (
                f"operators:\n  aten::add.out: {{{PLAIN}}}\n  aten::sub.out:"
                f" {{{PLAIN}}}\net_kernel_metadata: {{aten::add.out: [v1/6;0]}}\n"
            ),
            (3, "warning", "no-kernel-key"),
        ),
        (  # too many digits for a number
            (
                f"operators:\n  aten::add.out: {{{PLAIN}}}\n"
                f"et_kernel_metadata: {{aten::add.out: [v1/{'9' * 5000};0]}}\n"
            ),
            (3, "warning", "kernel-key"),
        ),
    ],
)
def test_a_finding_has_its_line(text: str, expected: tuple[int, str, str], tmp_path: Path) -> None:
    assert findings(tmp_path, text) == [("0.yaml", *expected)]


def test_nothing_selected_is_an_error_of_the_merge_alone(tmp_path: Path) -> None:
    assert [found[2:] for found in findings(tmp_path, "operators: {}\n", "{}\n")] == [
        ("error", "empty")
    ]
    assert findings(tmp_path, "operators: {}\n", f"operators: {{aten::relu: {{{PLAIN}}}}}\n") == []
    assert findings(tmp_path, "include_all_operators: true\n") == []
    assert [found[3] for found in findings(tmp_path)] == ["empty"]


def test_one_model_that_switches_dtype_selection_off_for_all(tmp_path: Path) -> None:
    traced = f"operators: {{aten::relu: {{{PLAIN}}}}}\nkernel_metadata: {{add: [Float]}}\n"
    static = f"operators: {{aten::relu: {{{PLAIN}}}}}\ninclude_all_non_op_selectives: true\n"
    assert findings(tmp_path, traced, static) == [("1.yaml", 2, "warning", "dtype-selection-off")]
    assert findings(tmp_path, static) == []
    assert findings(tmp_path, traced, traced) == []


def test_the_model_is_named_that_switched_dtype_selection_off(tmp_path: Path) -> None:
    text = (
        f"operators: {{aten::relu: {{{PLAIN}}}}}\nkernel_metadata: {{add:"
        " [Float]}\ninclude_all_non_op_selectives: true\ndebug_info:"
        ' [\'{"include_all_non_op_selectives": true, "model": "kws.pt2"}\','
        ' \'{"kernel_metadata": {"add": ["Float"]}, "model": "vad.sgp"}\']\n'
    )
    (finding,) = lint(files(tmp_path, text), KNOWN, SWITCHES)
    assert "as kws.pt2 asked" in finding.message
    assert "vad" not in finding.message


def test_near_names_are_offered(tmp_path: Path) -> None:
    text = (
        f"operators:\n  aten::ad.Tensor: {{{PLAIN}}}\n  aten::add: {{{PLAIN}}}\nkernel_metadata:"
        " {ad: [Flaot]}\n"
    )
    messages = [finding.message for finding in lint(files(tmp_path, text), KNOWN, SWITCHES)]
    assert messages == [
        "unknown operator aten::ad.Tensor; nearest: aten::add.Tensor, aten::add.Scalar",
        "unknown operator aten::add; nearest: aten::add.Scalar, aten::add.Tensor",
        "kernel tag ad: unknown dtype Flaot; nearest: Float",
        "kernel tag ad matches no dtype switch; nearest: add",
    ]


def test_tags_are_not_looked_up_without_sources(tmp_path: Path) -> None:
    """A warning lists the unchecked tags; dtypes are still checked."""
    tags = "".join(f"  t{i}: [Float]\n" for i in range(6))
    text = f"operators:\n  aten::relu: {{{PLAIN}}}\nkernel_metadata:\n{tags}  ad: [Flaot]\n"
    found = lint(files(tmp_path, text), Selectable(OPERATORS))
    assert [(each.line, each.level.value, each.message) for each in found] == [
        (
            4,
            "warning",
            "without the runtime's sources, these kernel tags were not looked up: t0, t1,"
            " t2, t3 and 3 more",
        ),
        (10, "error", "kernel tag ad: unknown dtype Flaot; nearest: Float"),
    ]
    without_tags = f"operators:\n  aten::relu: {{{PLAIN}}}\n"
    assert lint(files(tmp_path, without_tags), Selectable(OPERATORS)) == ()


def test_warnings_count_when_strict() -> None:
    warning = LintFinding("a", 1, Level.WARNING, "shared-tag", "m")
    assert not has_errors([warning], strict=False)
    assert has_errors([warning], strict=True)
    assert has_errors([LintFinding("a", 1, Level.ERROR, "empty", "m")], strict=False)
    assert not has_errors([], strict=True)
    assert str(warning) == "a:1: warning: m [shared-tag]"


CALLS = OpDeps(
    {"aten::add.Tensor": frozenset(), "aten::relu": frozenset({"aten::add.Tensor"})},
    tags={"aten::add.Tensor": frozenset({"add"})},
)
CASES = {"add": ("Float", "Long"), "copy": ("Float", "Bool")}


def of_known(tmp_path: Path, text: str, known: Selectable) -> list[tuple[int, str, str]]:
    return [(each.line, each.check, each.message) for each in lint(files(tmp_path, text), known)]


def test_classes_and_features_are_known_names(tmp_path: Path) -> None:
    head = f"operators: {{aten::relu: {{{PLAIN}}}}}\n"
    wrong = f"{head}custom_classes: [Context, Contex]\nbuild_features: [Bundled_Input]\n"
    assert of_known(tmp_path, wrong, KNOWN) == [
        (2, "unknown-class", "unknown class Contex; nearest: Context"),
        (3, "unknown-feature", "unknown build feature Bundled_Input; nearest: bundled_inputs"),
    ]
    right = f"{head}custom_classes: [Context]\nbuild_features: [bundled_inputs]\n"
    assert of_known(tmp_path, right, KNOWN) == []
    found = of_known(tmp_path, right, Selectable(OPERATORS))
    assert [check for _, check, _ in found] == ["classes-not-checked", "features-not-checked"]


def test_a_class_of_other_namespaces_has_a_nearest_name(tmp_path: Path) -> None:
    text = (
        f"operators: {{aten::relu: {{{PLAIN}}}}}\n"
        "custom_classes: [__torch__.torch.classes.xnnpack.Context]\n"
    )
    ((_, _, message),) = of_known(tmp_path, text, KNOWN)
    assert message.endswith("; nearest: Context")


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("add: [Float, Long]", ""),
        ("add: [Half]", "kernel tag add has no case for Half, only for Float, Long"),
        (f"add: [{', '.join(DTYPES)}]", ""),  # all dtypes, regardless of the switch's cases
        ("add: []", "kernel tag add lists no dtype, so it keeps none"),
        (
            "copy: [Bool]",
            "kernel tag copy belongs to no operator of the selection, nor to one that these call",
        ),
    ],
)
def test_tags_that_keep_nothing(tags: str, expected: str, tmp_path: Path) -> None:
    known = Selectable(OPERATORS, CASES, calls=CALLS)
    text = f"operators: {{aten::relu: {{{PLAIN}}}}}\nkernel_metadata:\n  {tags}\n"
    found = [message for _, _, message in of_known(tmp_path, text, known)]
    assert found == ([expected] if expected else [])


def test_nothing_is_said_of_tags_where_calls_are_not_known(tmp_path: Path) -> None:
    known = Selectable((*OPERATORS, "my::own"), CASES, calls=CALLS)
    text = f"operators: {{my::own: {{{PLAIN}}}}}\nkernel_metadata: {{copy: [Bool]}}\n"
    assert of_known(tmp_path, text, known) == []


@pytest.mark.parametrize(("model", "is_named"), [("kws.pt2", False), ("kws.yaml", True)])
def test_a_dtype_that_a_model_is_on_record_for_is_no_mistake(
    model: str, is_named: bool, tmp_path: Path
) -> None:
    """A tool records a model's dtypes; a merge records hand-written dtypes by the file's name."""
    text = (
        f"operators: {{aten::relu: {{{PLAIN}}}}}\nkernel_metadata: {{add: [Half]}}\n"
        f'debug_info: [\'{{"kernel_metadata": {{"add": ["Half"]}}, "model": "{model}"}}\']\n'
    )
    found = of_known(tmp_path, text, Selectable(OPERATORS, CASES, calls=CALLS))
    assert [check for _, check, _ in found] == (["missing-case"] if is_named else [])


def test_claims_of_unknown_classes_and_features_are_refused(tmp_path: Path) -> None:
    """Claims must name existing classes and features: a misspelled name would always be absent."""
    names = BuildNames({}, {}, ("Context",), {"bundled_inputs": FeatureMarks()})
    entry = {"aten::relu": SelectedOperator(include_all_overloads=False)}
    library = tmp_path / "operators.yaml"
    library.write_text("- {func: aten::relu(Tensor a) -> Tensor, kernel: relu, kind: core}\n")
    universe = Universe(read_operator_libraries([library]), names)
    universe.resolve(Selection(entry, custom_classes=frozenset({"Context"})), "app.yaml")
    wrong = Selection(entry, custom_classes=frozenset({"Contex"}), build_features=frozenset({"b"}))
    with pytest.raises(InputError, match="unknown class Contex; nearest: Context; unknown build"):
        universe.resolve(wrong, "app.yaml")
