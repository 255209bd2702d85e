"""Test importing: every sample model, and every feature of torch.export."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sizeguard.base.errors import InputError
from sizeguard.runtimes.model_files import read_operators
from sizeguard.runtimes.sizeguard.importing.importer import import_model
from sizeguard.runtimes.sizeguard.importing.symbolic import bounds
from sizeguard.runtimes.sizeguard.program.program import Dim, Kind, Tag
from sizeguard.runtimes.sizeguard.program.program_file import (
    program_bytes,
    program_from_bytes,
    write_program,
)
from tests.support.builds.program_interpreter import run
from tests.support.builds.sample_models import (
    FEATURE_MODELS,
    FEATURES,
    LIBRARY,
    SAMPLES,
    cases_of,
    imported,
    name_of,
)
from tests.support.places import ROOT


def expected_operators(path: Path) -> set[str]:
    """Return the operators that PyTorch lists for a model, by the runtime's names."""
    names = {
        "cond": "aten::Bool.Tensor",
        "<built-in function mul>": "aten::mul.int",
        "<built-in function getitem>": "",
    }
    found = set()
    for listed in json.loads((path.parent / "ops.json").read_text())[path.name]:
        namespace, _, rest = listed.partition(".")
        found.add(
            names[listed] if listed in names else f"{namespace}::{rest.removesuffix('.default')}"
        )
    return found - {""}


@pytest.mark.parametrize("path", SAMPLES, ids=name_of)
def test_a_sample_model_names_the_operators_that_pytorch_names(path: Path) -> None:
    program = imported(path, cases_of(path)).program
    # PyTorch does not list the calls that get elements of returned lists.
    assert set(program.operators) - {"aten::__getitem__.t"} == expected_operators(path)
    assert program_from_bytes(program_bytes(program)) == program
    assert len(program.cases) == json.loads((path.parent / "ops.json").read_text())["cases"]
    assert len(program.outputs) == len(list(path.parent.glob("case0_expected*.npy")))


def test_all_sample_models_are_here() -> None:
    assert len(SAMPLES) == 22


@pytest.mark.parametrize("path", [*SAMPLES, *FEATURE_MODELS], ids=name_of)
def test_reading_operators_agrees_with_importing(path: Path, tmp_path: Path) -> None:
    program = imported(path).program
    write_program(program, tmp_path / "m.sgp")
    of_model, of_program = read_operators(path), read_operators(tmp_path / "m.sgp")
    assert set(of_model.operators) == set(of_program.operators) == set(program.operators)
    # A program states fewer dtypes than a model. Unknown dtypes are widened, so none is missing.
    for operator, dtypes in of_model.operators.items():
        assert dtypes <= of_program.operators[operator], operator


@pytest.mark.parametrize("path", SAMPLES, ids=name_of)
def test_dtypes_that_follow_from_inputs_and_constants_are_exact(path: Path, tmp_path: Path) -> None:
    write_program(imported(path).program, tmp_path / "m.sgp")
    assert read_operators(tmp_path / "m.sgp").operators == read_operators(path).operators


@pytest.mark.parametrize("path", FEATURE_MODELS, ids=name_of)
@pytest.mark.parametrize("prepack", [False, True], ids=["", "prepacked"])
def test_a_feature_computes_what_pytorch_computes(path: Path, prepack: bool) -> None:
    program = imported(path, prepack=prepack).program
    for case, files in enumerate(cases_of(path)):
        arrays = [np.load(file) for file in files]
        given = [
            array.copy() if item.tag == Tag.TENSOR else array.item()
            for array, item in zip(arrays, program.inputs, strict=True)
        ]
        results = run(program, given)
        for before, after in zip(arrays, given, strict=True):
            np.testing.assert_array_equal(
                after, before, err_msg="the caller's array was written to"
            )
        expected = {
            int(file.stem.partition("expected")[2]): np.load(file)
            for file in path.parent.glob(f"case{case}_expected*.npy")
        }
        assert expected
        for i, array in expected.items():
            assert results[i].shape == array.shape
            np.testing.assert_allclose(results[i], array, rtol=1.3e-6, atol=1e-5)


def test_outputs_may_be_inputs_constants_and_nothing() -> None:
    program = imported(FEATURES / "passthrough" / "model.pt2").program
    assert program.outputs[0] == program.inputs[0].slot
    kinds = [program.values[slot].tag for slot in program.outputs[1:4]]
    assert kinds == [Tag.TENSOR, Tag.INT, Tag.NONE]


def test_weights_that_share_a_storage_still_do() -> None:
    program = imported(FEATURES / "shared_weights" / "model.pt2").program
    by_storage: dict[int, set[tuple[tuple[int, ...], ...]]] = {}
    for tensor in program.tensors:
        by_storage.setdefault(tensor.storage, set()).add(
            (tensor.sizes, tensor.strides, (tensor.offset,))
        )
    assert {
        ((4, 6), (6, 1), (0,)),
        ((6, 4), (1, 6), (0,)),
        ((2, 3), (6, 1), (8,)),
    } in by_storage.values()
    assert all(len(storage) <= 24 * 4 for storage in program.storages)


def test_what_a_model_writes_is_said() -> None:
    for name, written in (
        ("buffer_mutation", "count"),
        ("view_mutation", "state"),
        ("input_mutation", "x"),
    ):
        path = FEATURES / name / "model.pt2"
        result = imported(path)
        assert result.warnings == (
            (f"{path}: the model writes to {written}; the written values are lost after the run"),
        )
        assert "aten::clone" in result.program.operators
    assert imported(FEATURES / "no_grad" / "model.pt2").warnings == ()


@pytest.mark.parametrize("text", ["Integer({[]:1})", "Integer({1,[]})", "Integer([])"])
def test_a_size_that_is_no_expression_has_no_bounds(text: str) -> None:
    assert bounds(text, {}) == Dim(0, 2**63 - 1)


def test_a_program_may_have_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    program = import_model(SAMPLES[0], LIBRARY, "m\udcff").program
    assert program_from_bytes(program_bytes(program)).name == "m\\udcff"


def test_dynamic_sizes_have_bounds() -> None:
    program = imported(ROOT / "native" / "models" / "dynamic_batch" / "model.pt2").program
    assert program.inputs[0].dims == (Dim(2, 64), Dim(1, 1), Dim(3, 3), Dim(3, 3))
    program = imported(FEATURES / "symbolic_sizes" / "model.pt2").program
    assert [item.dims for item in program.inputs] == [
        (Dim(4, 128), Dim(3, 3)),
        (Dim(2, 2), Dim(2, 9)),
    ]
    program = imported(FEATURES / "int_input" / "model.pt2").program
    assert [item.tag for item in program.inputs] == [Tag.TENSOR, Tag.INT]


@pytest.mark.parametrize("form", ["model", "model_core"])
def test_prepacking_takes_linear_layers_with_constant_weights(form: str) -> None:
    program = imported(FEATURES / "linear_forms" / f"{form}.pt2", prepack=True).program
    calls = [
        program.operators[step.target] for step in program.instructions if step.kind == Kind.CALL
    ]
    assert calls.count("prepacked::linear_clamp_run") == 3
    assert calls.count("aten::relu") == 1, "the relu of a result that something else uses too stays"
    assert "aten::hardtanh" not in calls
    # The layer with a computed weight stays, and so does its transpose, but no other.
    assert calls.count("aten::linear") + calls.count("aten::mm") == 1
    assert calls.count("aten::permute") == (form == "model_core")
    objects = [value for value in program.values if value.tag == Tag.OBJECT]
    assert [value.text for value in objects] == ["LinearOpContext"] * 3
    bounds = [[program.values[i] for i in value.integers[2:]] for value in objects]
    assert [[(bound.tag, bound.number) for bound in pair] for pair in bounds] == [
        [(Tag.DOUBLE, 0.0), (Tag.NONE, 0.0)],
        [(Tag.DOUBLE, -0.5), (Tag.DOUBLE, 0.75)],
        [(Tag.NONE, 0.0), (Tag.NONE, 0.0)],
    ]
    assert program_from_bytes(program_bytes(program)) == program


def test_prepacking_leaves_other_dtypes_alone() -> None:
    program = imported(
        ROOT / "native" / "models" / "half_compute" / "model.pt2", prepack=True
    ).program
    assert "aten::linear" in program.operators
    assert "prepacked::linear_clamp_run" not in program.operators


def test_classes_are_read_from_a_program(tmp_path: Path) -> None:
    write_program(
        imported(FEATURES / "linear_forms" / "model.pt2", prepack=True).program, tmp_path / "m.sgp"
    )
    info = read_operators(tmp_path / "m.sgp")
    assert (info.model, info.classes) == ("m.sgp", frozenset(["LinearOpContext"]))
    assert info.operators["prepacked::linear_clamp_run"] == {"Float"}


def test_all_operators_that_the_runtime_lacks_are_listed() -> None:
    path = FEATURES / "unsupported" / "model.pt2"
    with pytest.raises(InputError) as caught:
        imported(path)
    assert (
        str(caught.value)
        == f"{path}: 2 operators are not in this runtime (supported: sizeguard select ops --list): "
        "aten::fft_rfft (node fft_rfft), aten::special_bessel_j0 (node special_bessel_j0)"
    )
    # Reading the operators of the model still works.
    assert "aten::fft_rfft" in read_operators(path).operators


def test_one_operator_that_the_runtime_lacks() -> None:
    library = {name: operator for name, operator in LIBRARY.items() if name != "aten::erf"}
    path = ROOT / "native" / "models" / "branchy" / "model.pt2"
    with pytest.raises(InputError) as caught:
        imported(path, library=library)
    assert (
        str(caught.value)
        == f"{path}: operator aten::erf is not in this runtime (supported: sizeguard select ops"
        " --list); node erf"
    )


def test_a_dtype_that_the_runtime_lacks() -> None:
    with pytest.raises(
        InputError,
        match=r"model.pt2: tensor phase has dtype ComplexFloat; the runtime has Byte, Char, Short",
    ):
        imported(FEATURES / "complex_weight" / "model.pt2")
