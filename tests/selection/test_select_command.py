"""The commands of `sizeguard select`, run from the command line."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from sizeguard.selection.read import read_selection
from tests.support.places import ROOT

pytestmark = pytest.mark.native

EXECUTORCH = ROOT / "tests/data/models_executorch"
TORCHSCRIPT = ROOT / "tests/data/models_torchscript"
MODELS = ROOT / "native/models"

TRACED = """\
operators:
  aten::relu: {is_root_operator: true, is_used_for_training: false, include_all_overloads: false}
kernel_metadata:
  cumsum: [Float]
"""


def select(*arguments: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sizeguard.cli.main", "select", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=cwd, timeout=120
    )


def test_operators_of_every_kind_of_model(tmp_path: Path) -> None:
    output = tmp_path / "out.yaml"
    program = tmp_path / "mlp.sgp"
    imported = subprocess.run(
        [
            sys.executable,
            "-m",
            "sizeguard.cli.main",
            "import",
            MODELS / "mlp/model.pt2",
            "-o",
            program,
        ],
        capture_output=True,
        check=False,
    )
    assert imported.returncode == 0
    models = (program, MODELS / "mlp/model.pt2", EXECUTORCH / "mixed.pte", TORCHSCRIPT / "mlp.ptl")
    done = select("ops", *models, "-o", output, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    rows = {row["name"]: row for row in json.loads(done.stdout)["operators"]}
    assert rows["aten::linear"]["models"] == ["mlp.sgp", "model.pt2", "mlp.ptl"]
    assert rows["aten::linear"]["dtypes"] == ["Float"]
    assert rows["aten::add.out"]["kernel_keys"] == ["v1/4;0|4;|4;0|4;0", "v1/5;0|5;|5;0|5;0"]

    written = read_selection(output)
    assert not written.findings
    selection = written.selection
    assert set(selection.operators) == set(rows)
    assert all(entry.is_root_operator for entry in selection.operators.values())
    # A model file does not state the dtypes of kernels inside aten::linear, so all are kept.
    assert selection.include_all_non_op_selectives
    assert selection.operators["aten::linear"].debug_info == {"mlp.sgp", "model.pt2", "mlp.ptl"}
    assert selection.provenance["mixed.pte"].operator_dtypes["aten::mul.out"] == {"Long"}


def test_an_executorch_selection_stays_selective(tmp_path: Path) -> None:
    output = tmp_path / "out.yaml"
    assert (
        select("ops", EXECUTORCH / "cnn.pte", EXECUTORCH / "mlp.pte", "-o", output).returncode == 0
    )
    selection = read_selection(output).selection
    assert not selection.include_all_non_op_selectives
    assert selection.selected_kernel_keys(
        "aten::relu.out", ["v1/6;0,1|6;0,1|6;0,1", "default"]
    ) == {"v1/6;0,1|6;0,1|6;0,1", "default"}


def test_models_of_one_file_name_go_by_their_paths(tmp_path: Path) -> None:
    models = ("native/models/mlp/model.pt2", "native/models/branchy/model.pt2")
    assert select("ops", *models, "-o", tmp_path / "out.yaml").returncode == 0
    selection = read_selection(tmp_path / "out.yaml").selection
    assert selection.operators["aten::linear"].debug_info == set(models)
    assert selection.operators["aten::cumsum"].debug_info == {models[1]}


def test_the_order_of_models_does_not_matter(tmp_path: Path) -> None:
    models = [EXECUTORCH / "cnn.pte", TORCHSCRIPT / "mlp.ptl", EXECUTORCH / "lstm.pte"]
    assert select("ops", *models, "-o", tmp_path / "a.yaml").returncode == 0
    assert select("ops", *reversed(models), "-o", tmp_path / "b.yaml").returncode == 0
    assert (tmp_path / "a.yaml").read_bytes() == (tmp_path / "b.yaml").read_bytes()


@pytest.mark.parametrize("format_", ["terminal", "json", "markdown", "csv"])
def test_the_list_has_every_operator_of_the_runtime(format_: str) -> None:
    done = select("ops", "--list", "--format", format_)
    assert done.returncode == 0
    for name in (
        "aten::add.Tensor",
        "aten::conv2d",
        "aten::sym_size.int",
        "prepacked::linear_clamp_run",
    ):
        assert name in done.stdout


def test_csv_and_markdown_have_a_row_for_each_operator() -> None:
    table = list(
        csv.reader(
            io.StringIO(
                select("ops", "tests/data/models_executorch/mixed.pte", "--format", "csv").stdout
            )
        )
    )
    assert table[0] == ["operator", "dtypes", "models"]
    assert table[1] == ["aten::add.out", "Half Long", "mixed.pte"]
    lines = select(
        "ops", "tests/data/models_executorch/mixed.pte", "--format", "markdown"
    ).stdout.splitlines()
    assert lines[1:3] == ["| --- | --- | --- |", "| `aten::add.out` | Half Long | mixed.pte |"]
    assert len(lines) == len(table) + 1


def test_merge_says_what_widened(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(TRACED, encoding="utf-8")
    (tmp_path / "b.yaml").write_text(
        TRACED.replace("Float", "Double") + "include_all_non_op_selectives: true\n",
        encoding="utf-8",
    )
    done = select("merge", "a.yaml", "b.yaml", "-o", "out.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines() == [
        "only b.yaml switches the selection of dtypes, classes and features off for all",
        "only b.yaml adds dtypes: cumsum Double",
        "only a.yaml adds dtypes: cumsum Float",
    ]
    assert read_selection(tmp_path / "out.yaml").selection.kernel_metadata == {
        "cumsum": {"Double", "Float"}
    }
    assert select("merge", "b.yaml", "a.yaml", cwd=tmp_path).stdout == (
        tmp_path / "out.yaml"
    ).read_text(encoding="utf-8")


def test_an_empty_merge_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("{}\n", encoding="utf-8")
    done = select("merge", "a.yaml", "-o", "out.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        0,
        "warning: the merge is empty: it selects no operator\n",
    )


@pytest.mark.native  # takes seconds
def test_lint_against_the_runtime(tmp_path: Path) -> None:
    good, warned, bad = (tmp_path / name for name in ("good.yaml", "warned.yaml", "bad.yaml"))
    good.write_text(TRACED.partition("kernel_metadata")[0], encoding="utf-8")
    warned.write_text("operators:\n  aten::relu: {}\n", encoding="utf-8")
    bad.write_text(
        good.read_text(encoding="utf-8").replace("aten::relu", "aten::rleu"), encoding="utf-8"
    )

    done = select("lint", good, "--strict")
    assert (done.returncode, done.stdout, done.stderr) == (0, "nothing found\n", "")
    assert select("lint", warned).returncode == 0
    done = select("lint", warned, "--strict")
    assert (done.returncode, done.stderr) == (1, f"error: {warned}: 1 warning\n")
    done = select("lint", bad, "--format", "json")
    assert (done.returncode, done.stderr) == (1, f"error: {bad}: 1 error\n")
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["check"] == "unknown-operator"
    assert (finding["file"], finding["line"], finding["level"]) == (str(bad), 2, "error")
    assert "aten::relu" in finding["message"]


@pytest.mark.native  # takes seconds
def test_lint_takes_other_libraries(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/mine.cpp").write_text(
        "SG_SWITCH_ALL(dtype, my_tag, [&]<typename T>() {});\n", encoding="utf-8"
    )
    (tmp_path / "mine.yaml").write_text(
        "- {func: 'my::op(Tensor self) -> Tensor', kernel: op, kind: core}\n", encoding="utf-8"
    )
    (tmp_path / "s.yaml").write_text(
        TRACED.replace("aten::relu", "my::op").replace("cumsum", "my_tag"), encoding="utf-8"
    )
    arguments = (
        "lint",
        "s.yaml",
        "--strict",
        "--operators-yaml",
        "mine.yaml",
        "--kernel-sources",
        "kernels",
    )
    assert select(*arguments, cwd=tmp_path).returncode == 0
    tree = ("--runtime-source", str(ROOT))
    assert select("lint", "s.yaml", *tree, cwd=tmp_path).returncode == 1
    done = select("lint", "s.yaml", cwd=tmp_path)
    # Without sources, operators and tags come from the package.
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "s.yaml:2: error: unknown operator my::op [unknown-operator]",
        "s.yaml:4: error: kernel tag my_tag matches no dtype switch [unknown-tag]",
        "2 errors",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ops",), "give one or more models, or --list"),
        (("ops", "--list", "a.pte"), "give one or more models, or --list"),
        (("ops", "nowhere.pte"), "nowhere.pte: cannot read: No such file or directory"),
        (("ops", "a.onnx"), "a.onnx: "),
        (("merge",), "missing argument SELECTION; for example: sizeguard select merge"),
        (("merge", "nowhere.yaml"), "nowhere.yaml: cannot read: No such file or directory"),
        (("lint", "pyproject.toml"), "pyproject.toml:"),
        (("lint", "README.md", "--format", "xml"), "'xml'"),
    ],
)
def test_bad_calls_are_one_line(arguments: tuple[str, ...], message: str) -> None:
    done = select(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
