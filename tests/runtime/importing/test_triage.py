"""Error lines of devices, as our runtime, PyTorch and ExecuTorch print them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from sizeguard.cli.main import cli
from tests.support.places import ROOT

SELECTION = """operators:
  aten::add.Tensor: {include_all_overloads: false}
  aten::relu: {include_all_overloads: false}
kernel_metadata:
  add: [Float]
  copy: [Float]
build_features: [bundled_inputs]
"""


def named(line: str, folder: Path) -> dict[str, str]:
    """Return the names in a line, with their state in one selection or the nearest name."""
    (folder / "selected.yaml").write_text(SELECTION)
    arguments = ["triage", line, "--selection", str(folder / "selected.yaml"), "--format", "json"]
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    found = json.loads(done.output)
    schema = ROOT / "sizeguard" / "report" / "schemas" / "selection" / "triage.schema.json"
    jsonschema.validate(found, json.loads(schema.read_text()))
    return {
        f"{each['kind']} {each['name']}": next(iter(each["state"].values()), None)
        or (each["near"] or ["never"])[0]
        for each in found["named"]
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "aten::linear: calls aten::permute, which is not in this build: trace the model",
            {"operator aten::linear": "deselected", "operator aten::permute": "deselected"},
        ),
        (
            "aten::add.Tensor: Double is not selected in this build: trace the model",
            {"dtype aten::add.Tensor:Double": "deselected"},
        ),
        (
            "aten::add.Tensor: Float is not selected in this build",
            {"dtype aten::add.Tensor:Float": "selected"},
        ),
        (
            "aten::relu is not in this build, nor is aten::add",
            {
                "operator aten::relu": "selected",
                "operator aten::add.Tensor": "selected",
                "operator aten::add.float": "deselected",
                "operator aten::add.int": "deselected",
            },
        ),
        (
            "dtype Double is not selected for aten::add",
            {"dtype aten::add.Tensor:Double": "deselected"},
        ),
        (
            "E executorch:op_add.cpp:77] Unhandled dtype Double for add.out",
            {"dtype aten::add.Tensor:Double": "deselected"},
        ),
        (
            "Missing operator: [3] aten::relu.out",
            {"operator aten::relu": "selected"},
        ),
        (
            "Following ops cannot be found: {aten::relu, aten::max_poool2d, foo::bar}",
            {
                "operator aten::relu": "selected",
                "operator aten::max_poool2d": "aten::max_pool2d",
                "operator foo::bar": "never",
            },
        ),
        (
            "this build leaves the feature bundled_inputs out: pass the inputs as files",
            {"feature bundled_inputs": "selected"},
        ),
        (
            "invalid (build with the feature verbose_errors to learn why)",
            {"feature verbose_errors": "deselected"},
        ),
    ],
)
def test_a_line_says_what_is_missing(line: str, expected: dict[str, str], tmp_path: Path) -> None:
    assert named(line, tmp_path) == expected


@pytest.mark.parametrize(
    "line", ["std::bad_alloc", "c10::Error", "at::Tensor", "at::native::add(int)", "x::y::z::w"]
)
def test_a_name_of_cpp_is_not_an_operator(line: str, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="names no operator, dtype, class or build feature"):
        named(line, tmp_path)


def test_a_line_that_names_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="names no operator, dtype, class or build feature"):
        named("segmentation fault", tmp_path)
