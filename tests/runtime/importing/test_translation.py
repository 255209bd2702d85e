"""Selections of PyTorch and ExecuTorch, translated into this runtime's names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from sizeguard.base.errors import InputError
from sizeguard.cli.main import cli
from sizeguard.operators.dtypes import DTYPES
from sizeguard.operators.library import read_operator_libraries
from sizeguard.operators.schema_names import merged_lists, schema_names
from sizeguard.runtimes.model_files import read_operators
from sizeguard.selection.foreign.pytorch_names import PytorchNames, read_pytorch_names
from sizeguard.selection.foreign.translation import Translation, translated
from sizeguard.selection.op_deps import OpDeps, read_op_deps
from sizeguard.selection.read import parse_selection, read_selection
from sizeguard.selection.united import SelectionSources, United, united_selection
from tests.support.commands.article_selection import ARTICLE
from tests.support.places import DATA, ROOT

OPERATORS = ROOT / "native" / "operators"
TABLE = OPERATORS / "pytorch_names.yaml"
EXECUTORCH = sorted((DATA / "models_executorch").glob("*.yaml"))


@pytest.fixture(scope="module")
def names() -> PytorchNames:
    return read_pytorch_names([TABLE])


@pytest.fixture(scope="module")
def deps() -> OpDeps:
    return read_op_deps(OPERATORS / "op_deps.yaml")


def of_article(old: str, new: str, deps: OpDeps, names: PytorchNames) -> Translation:
    assert old in ARTICLE
    return translated(
        parse_selection(ARTICLE.replace(old, new).encode(), "s.yaml").selection, deps, names
    )


def united(**sources: object) -> United:
    given = {"op_deps": (OPERATORS / "op_deps.yaml",), "names": (TABLE,), **sources}
    empty = {"selections": (), "root_ops": (), "ops_schemas": (), "models": ()}
    asked = SelectionSources(**{**empty, **given}, all_operators=False, no_operators=False)  # type: ignore[arg-type]
    return united_selection(asked, read_operators)


def test_the_table_names_what_this_runtime_has(names: PytorchNames, deps: OpDeps) -> None:
    library = read_operator_libraries(sorted((ROOT / "native").glob("*/operators.yaml")))
    dtypes = json.loads((OPERATORS / "names.json").read_text())["dtypes"]
    assert set(names.operators.values()) <= library.keys()
    assert not names.operators.keys() & library.keys()
    assert names.kernels.keys() <= library.keys()
    assert frozenset().union(*names.kernels.values()) == names.tags.keys()
    for tag, own in names.tags.items():
        assert own and own <= dtypes.keys()
        operators = [name for name, tags in names.kernels.items() if tag in tags]
        reached = {*operators}.union(*(deps.calls[name] for name in operators))
        assert own == frozenset().union(*(deps.tags.get(name, frozenset()) for name in reached))


def test_the_articles_file_keeps_what_it_lists(names: PytorchNames, deps: OpDeps) -> None:
    done = translated(parse_selection(ARTICLE.encode(), "s.yaml").selection, deps, names)
    assert done.is_foreign
    assert (done.left_out, dict(done.added or {}), done.whole_tags) == ((), {}, frozenset())
    assert set(done.selection.operators) == {"aten::add.Tensor", "aten::len.t"}
    tags = done.selection.kernel_metadata
    assert tags["add"] == tags["mul"] == {"Float"}
    assert {"Bool", "Byte", "Float"} <= tags["copy"] < set(DTYPES)
    # A second translation changes nothing.
    assert not translated(done.selection, deps, names).is_foreign


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "mul_cpu: [Float]",
            "nms_kernel: [Half, Float]",
            "kernel tag nms_kernel belongs to no operator of this runtime; it would have kept "
            "Float,"
            " Half",
        ),
        ("mul_cpu: [Float]", "mul_cpu: [ComplexFloat]", "do not compute ComplexFloat"),
        (
            "custom_classes: []",
            "custom_classes: [ConvPackedParams]",
            "class ConvPackedParams belongs",
        ),
        ("mul_cpu", "mul_cpuu", "the nearest tag of PyTorch is mul_cpu"),
        (
            "aten::len.t: {is_used_for_training: false, is_root_operator: true",
            "aten::empty.memory_format: {is_used_for_training: false, is_root_operator: false",
            "aten::empty.memory_format is called only inside PyTorch",
        ),
    ],
)
def test_what_is_left_out_is_said(
    old: str, new: str, message: str, names: PytorchNames, deps: OpDeps
) -> None:
    (said,) = of_article(old, new, deps, names).left_out
    assert message in said.message


def test_mistakes_stay_for_the_checks_of_names(names: PytorchNames, deps: OpDeps) -> None:
    """Keep an unknown root operator, a misspelt dtype and a misspelt class of ours."""
    done = of_article("aten::len.t", "aten::len.tt", deps, names)
    assert "aten::len.tt" in done.selection.operators and not done.left_out
    done = of_article("add_stub: [Float]", "add_stub: [Flaot]", deps, names)
    assert done.selection.kernel_metadata["add"] == {"Flaot"}
    done = of_article("custom_classes: []", "custom_classes: [LinearOpContex]", deps, names)
    assert done.selection.custom_classes == {"LinearOpContex"}


def test_a_file_of_ours_is_not_touched(names: PytorchNames, deps: OpDeps) -> None:
    for path in (ROOT / "native" / "apps").glob("*/selected_operators.yaml"):
        chosen = read_selection(path).selection
        assert translated(chosen, deps, names) == Translation(chosen)
    unknown = parse_selection(
        b"operators: {}\nkernel_metadata: {summ: [Float], my_tag: [Int]}", "s"
    )
    assert not translated(unknown.selection, deps, names).is_foreign


def test_operators_without_traced_dtypes_keep_all(names: PytorchNames, deps: OpDeps) -> None:
    """PyTorch's convolution runs in a library without tags; our kernel calls other operators."""
    done = of_article("aten::len.t", "aten::conv2d", deps, names)
    assert {"aten::convolution", "aten::select.int", "aten::unsqueeze"} == set(done.added or {})
    assert done.whole_tags == deps.tags["aten::convolution"]
    assert done.selection.kernel_metadata["convolution"] == set(DTYPES)
    assert done.selection.kernel_metadata["add"] == {"Float"}


@pytest.mark.parametrize("path", EXECUTORCH, ids=lambda path: path.stem)
def test_lists_of_executorch_mean_functional_overloads(
    path: Path, names: PytorchNames, deps: OpDeps
) -> None:
    foreign = read_selection(path).selection
    done = translated(foreign, deps, names).selection
    assert done.et_kernel_metadata == {}
    known = {names.operators.get(name, name) for name in foreign.operators}
    assert known <= set(done.operators)
    codes = {"6": "Float", "4": "Long", "3": "Int", "11": "Bool"}
    for name, keys in foreign.et_kernel_metadata.items():
        stated = {codes.get(part.partition(";")[0], "") for key in keys if "/" in key
                  for part in key.split("/")[1].split("|")} - {""}  # fmt: skip
        for tag in deps.tags.get(names.functional(name), ()):
            assert stated <= done.kernel_metadata[tag]


def test_a_code_of_many_digits_is_no_dtype(names: PytorchNames, deps: OpDeps) -> None:
    key = f"v1/6;0|{'9' * 5000};0"
    text = f"operators: {{aten::add.out: {{}}}}\net_kernel_metadata: {{aten::add.out: [{key}]}}"
    done = translated(parse_selection(text.encode(), "s").selection, deps, names)
    assert done.selection.kernel_metadata["add"] == {"Float"}


def test_a_default_kernel_keeps_all_dtypes(names: PytorchNames, deps: OpDeps) -> None:
    text = (
        "operators: {aten::add.out: {}}\net_kernel_metadata: {aten::add.out: [default, v1/6;0|6;0]}"
    )
    done = translated(parse_selection(text.encode(), "s").selection, deps, names)
    assert done.whole_tags == {"add", "copy"}


@pytest.mark.parametrize(
    ("keys", "dtypes"),
    [
        ("aten::add.out: [v1/4;0|4;0], aten::add.Scalar_out: [v1/6;0|6;0]", {"Long", "Float"}),
        ("aten::add.Scalar_out: [v1/6;0|6;0], aten::add.out: [v1/4;0|4;0]", {"Long", "Float"}),
        ("aten::add.out: [default], aten::add.Scalar_out: [v1/6;0|6;0]", set(DTYPES)),
        ("aten::add.Scalar_out: [v1/6;0|6;0]", set(DTYPES)),
    ],
)
def test_two_names_of_an_operator_have_the_dtypes_of_both(
    keys: str, dtypes: set[str], names: PytorchNames, deps: OpDeps
) -> None:
    operators = "{aten::add.out: {}, aten::add.Scalar_out: {}}"
    text = f"operators: {operators}\net_kernel_metadata: {{{keys}}}"
    done = translated(parse_selection(text.encode(), "s").selection, deps, names)
    assert dtypes <= done.selection.kernel_metadata["add"]


@pytest.mark.parametrize(
    "roots",
    [
        "aten::add.out,aten::mm.out",
        "aten::add.out;aten::mm.out",
        " aten::add.out , aten::mm.out, ",
        "aten::add.out aten::mm.default",
        "aten::add.Tensor,aten::mm,aten::add.out",
    ],
)
def test_names_as_users_write_them(roots: str, tmp_path: Path) -> None:
    command = ["codegen", "--selection-only", "--root-ops", roots, "--pytorch-names", str(TABLE)]
    done = CliRunner().invoke(cli, [*command, "--output-dir", str(tmp_path)])
    assert done.exit_code == 0, done.output
    chosen = yaml.safe_load((tmp_path / "selected_operators.yaml").read_text())
    assert set(chosen["operators"]) == {"aten::add.Tensor", "aten::mm"}


FUNCTIONS = """\
- op: add.out
  kernels:
  - arg_meta: null
    kernel_name: torch::executor::opt_add_out
- func: extra::twice.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  kernels:
  - arg_meta: null
    kernel_name: extra::twice_out
"""
FALLBACK = """\
- op: aten::add.out
  kernels: [{arg_meta: null, kernel_name: torch::executor::add_out}]
- op: mm.out
  kernels: [{arg_meta: null, kernel_name: torch::executor::mm_out}]
"""


def test_roots_and_a_list_of_executorch_are_united(tmp_path: Path) -> None:
    (tmp_path / "functions.yaml").write_text(FALLBACK)
    chosen = united(root_ops=("aten::relu",), ops_schemas=(tmp_path / "functions.yaml",))
    assert {"aten::add.Tensor", "aten::mm", "aten::relu"} == set(chosen.selection.operators)


@pytest.mark.parametrize("kind", ["selections", "models"])
def test_names_of_executorch_need_the_calls(kind: str, tmp_path: Path) -> None:
    """Without calls, a requested translation was left out, and the names were unknown later."""
    file = tmp_path / "s.yaml"
    file.write_text("operators: {aten::add.out: {}}\n")
    program = ROOT / "tests" / "data" / "models_executorch" / "add.pte"
    files = {"selections": (file,), "models": (program,)}[kind]
    assert set(united(**{kind: files}).selection.operators) == {"aten::add.Tensor"}
    with pytest.raises(InputError, match=r"names of PyTorch or ExecuTorch; .* --op-deps FILE"):
        united(**{kind: files}, op_deps=())


def test_lists_that_overlap_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(FUNCTIONS)
    (tmp_path / "b.yaml").write_text(FALLBACK)
    with pytest.raises(InputError, match=r"b\.yaml:1: aten::add\.out is in \S+a\.yaml:1, too"):
        schema_names([tmp_path / "a.yaml", tmp_path / "b.yaml"])
    (tmp_path / "c.yaml").write_text("- {op: mm.out}\n- {op: aten::mm.out}\n")
    with pytest.raises(InputError, match=r"c\.yaml:2: duplicate operator aten::mm\.out"):
        schema_names([tmp_path / "c.yaml"])


def test_merged_lists_prefer_the_first(tmp_path: Path) -> None:
    (tmp_path / "functions.yaml").write_text(FUNCTIONS)
    (tmp_path / "fallback.yaml").write_text(FALLBACK)
    command = [str(tmp_path / "functions.yaml"), str(tmp_path / "fallback.yaml")]
    done = CliRunner().invoke(
        cli, ["codegen", "--merge-yaml", *command, "--output-dir", str(tmp_path)]
    )
    assert done.exit_code == 0, done.output
    merged = yaml.safe_load((tmp_path / "merged.yaml").read_text())
    kernels = [entry["kernels"][0]["kernel_name"].rpartition("::")[2] for entry in merged]
    assert kernels == ["opt_add_out", "mm_out", "twice_out"]
    assert merged[0]["kernels"][0]["arg_meta"] is None
    # A merged list of this project keeps the project's format.
    own = OPERATORS / "operators.yaml"
    (tmp_path / "own.yaml").write_text(merged_lists(ROOT / "native/prepacked/operators.yaml", own))
    assert set(read_operator_libraries([tmp_path / "own.yaml"])) >= set(
        read_operator_libraries([own])
    )


def test_dtypes_that_are_not_selected_are_not_looked_up(tmp_path: Path) -> None:
    text = ARTICLE.replace("mul_cpu: [Float]", "mul_cpu: [Flaot], anything: [Int]")
    (tmp_path / "s.yaml").write_text(text)
    command = [
        "codegen", "--all-dtypes", "--selection", str(tmp_path / "s.yaml"),
        "--operators-yaml", str(OPERATORS / "operators.yaml"),
        "--kernel-sources", str(OPERATORS), "--output-dir", str(tmp_path / "out"),
    ]  # fmt: skip
    done = CliRunner().invoke(cli, command)
    said = f"{tmp_path / 's.yaml'}: all dtypes are kept, because none are selected\n"
    assert (done.exit_code, done.output) == (0, said)
    chosen = read_selection(tmp_path / "out" / "selected_operators.yaml").selection
    assert chosen.kernel_metadata["mul"] == set(DTYPES)


def test_lint_reads_the_articles_file(tmp_path: Path) -> None:
    text = ARTICLE.replace("mul_cpu: [Float]", "nms_kernel: [Float]")
    (tmp_path / "s.yaml").write_text(text)
    done = CliRunner().invoke(cli, ["select", "lint", str(tmp_path / "s.yaml")])
    assert done.exit_code == 0, done.output
    assert "s.yaml:6: warning: kernel tag nms_kernel belongs to no operator" in done.output
    assert "would have kept Float" in done.output
    (tmp_path / "s.yaml").write_text(ARTICLE.replace("aten::len.t", "aten::len.x"))
    assert CliRunner().invoke(cli, ["select", "lint", str(tmp_path / "s.yaml")]).exit_code == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n", r"t\.yaml:1: expected a mapping of names"),
        (
            "operator: {}\n",
            r"t\.yaml:1: unknown key 'operator'; keys are operators, features, tags, kernels",
        ),
        ("tags: {a: b}\n", r"t\.yaml:1: expected a list of names"),
        ("operators: {a: 1}\n", r"t\.yaml:1: expected a name"),
    ],
)
def test_a_table_that_is_none(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(text)
    with pytest.raises(InputError, match=message):
        read_pytorch_names([tmp_path / "t.yaml"])
