"""Inputs of cases that are imported with a model: arrays and numbers must fit."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from sizeguard.base.errors import InputError
from sizeguard.runtimes.sizeguard.building.programs import cases_beside, program_of
from sizeguard.runtimes.sizeguard.program.program import Tag
from sizeguard.runtimes.sizeguard.program.program_file import read_program
from tests.support.builds.sample_models import FEATURES, imported
from tests.support.places import ROOT


def shared_first(path: Path, target: str, copy: Path) -> Path:
    """Copy a model whose first node takes x; there it takes what another operator makes of x."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    entry = next(name for name in entries if name.endswith("models/model.json"))
    model = json.loads(entries[entry])
    graph = model["graph_module"]["graph"]
    first = graph["nodes"][0]
    x = {"arg": {"as_tensor": {"name": "x"}}, "name": "self", "kind": 1}
    items = {"arg": {"as_tensors": [{"name": "x"}]}, "name": "", "kind": 1}
    index = {"arg": {"as_int": 0}, "name": "", "kind": 1}
    inputs = [items, index] if target == "_operator.getitem" else [x]
    made = {"as_tensor": {"name": "made"}}
    node = {**first, "target": target, "inputs": inputs, "outputs": [made], "name": "made"}
    next(each for each in first["inputs"] if each["name"] == "self")["arg"] = made
    graph["nodes"].insert(0, node)
    graph["tensor_values"]["made"] = graph["tensor_values"]["x"]
    entries[entry] = json.dumps(model).encode()
    with zipfile.ZipFile(copy, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return copy


@pytest.mark.parametrize(
    ("target", "is_shared"),
    [
        ("torch.ops.aten.alias.default", True),
        ("torch.ops.aten.lift_fresh.default", True),
        ("torch.ops.aten.detach_.default", True),
        ("_operator.getitem", True),
        ("torch.ops.aten.lift_fresh_copy.default", False),
    ],
)
def test_the_caller_s_array_is_never_written(target: str, is_shared: bool, tmp_path: Path) -> None:
    source = FEATURES / "input_mutation" / "model.pt2"
    result = imported(shared_first(source, target, tmp_path / "model.pt2"))
    assert len(result.warnings) == is_shared
    assert "aten::clone" in result.program.operators


def save(path: Path, array: np.ndarray) -> Path:
    np.save(path, array)
    return path


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ([], "case '': needs an array for each input of the model: 1, not 0"),
        (
            [np.zeros((2, 1, 3, 3), np.float32)] * 2,
            "an array for each input of the model: 1, not 2",
        ),
        ([np.zeros((2, 1, 3, 3), np.float64)], "input 0 of the model is Float, the array Double"),
        (
            [np.zeros((2, 1, 3), np.float32)],
            "input 0 of the model has the shape [2..64, 1, 3, 3], the array [2, 1, 3]",
        ),
        (
            [np.zeros((65, 1, 3, 3), np.float32)],
            "input 0 of the model has the shape [2..64, 1, 3, 3], the array [65, 1, 3, 3]",
        ),
        (
            [np.zeros((1, 1, 3, 3), np.float32)],
            "input 0 of the model has the shape [2..64, 1, 3, 3], the array [1, 1, 3, 3]",
        ),
        ([np.zeros((2, 1, 3, 3), ">f4")], "dtype '>f4' is not supported"),
        ([np.zeros((2, 1, 3, 3), np.complex64)], "dtype '<c8' is not supported"),
        ([np.array([None], dtype=object)], "dtype '|O' is not supported"),
        ([np.asfortranarray(np.zeros((2, 1, 3, 3), np.float32))], "stored in Fortran order"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path: Path, arrays: list[np.ndarray], message: str) -> None:
    files = [save(tmp_path / f"{i}.npy", array) for i, array in enumerate(arrays)]
    with pytest.raises(InputError) as caught:
        imported(ROOT / "native" / "models" / "dynamic_batch" / "model.pt2", [files])
    assert message in str(caught.value)


def test_a_number_as_an_input(tmp_path: Path) -> None:
    x = save(tmp_path / "x.npy", np.ones(3, np.float32))
    program = imported(
        FEATURES / "int_input" / "model.pt2", [[x, save(tmp_path / "n.npy", np.array(-5))]]
    ).program
    assert program.cases[0][1].tag == Tag.INT
    assert program.cases[0][1].integer == -5
    with pytest.raises(InputError, match=r"n.npy: input 1 of the model is Long, the array Float"):
        imported(
            FEATURES / "int_input" / "model.pt2",
            [[x, save(tmp_path / "n.npy", np.array(5, np.float32))]],
        )
    with pytest.raises(
        InputError, match=r"n.npy: input 1 of the model has the shape \[\], the array \[1\]"
    ):
        imported(
            FEATURES / "int_input" / "model.pt2", [[x, save(tmp_path / "n.npy", np.array([5]))]]
        )


def test_inputs_may_be_links_and_their_order_counts(tmp_path: Path) -> None:
    model = tmp_path / "mlp" / "model.pt2"
    model.parent.mkdir()
    source = ROOT / "native" / "models" / "mlp"
    model.write_bytes((source / "model.pt2").read_bytes())
    first, second = model.parent / "a.npy", tmp_path / "b.npy"
    first.write_bytes((source / "case0_input0.npy").read_bytes())
    second.write_bytes((source / "case1_input0.npy").read_bytes())
    links = [model.parent / f"case{i}_input0.npy" for i in range(2)]
    found = []
    for targets in ((first, second), (second, first)):
        for link, target in zip(links, targets, strict=True):
            link.unlink(missing_ok=True)
            link.symlink_to(target)
        program = read_program(program_of(model, tmp_path / "out"))
        found.append(
            [program.storages[program.tensors[v.integer].storage] for (v,) in program.cases]
        )
    assert found[0] == found[1][::-1] != found[1]


def test_two_inputs_of_one_number_are_refused(tmp_path: Path) -> None:
    for name in ("case0_input0.npy", "case00_input0.npy", "case1_input0.npy"):
        (tmp_path / name).touch()
    with pytest.raises(
        InputError, match=r"case0_input0\.npy: has the number of case00_input0\.npy"
    ):
        cases_beside(tmp_path / "model.pt2")


def test_an_input_without_those_before_it_is_refused(tmp_path: Path) -> None:
    """As the first input of the model, it would give another result."""
    for name in ("case0_input0.npy", "case1_input0.npy", "case1_input2.npy"):
        (tmp_path / name).touch()
    with pytest.raises(InputError, match=r"case1_input2\.npy: there is no case1_input1\.npy"):
        cases_beside(tmp_path / "model.pt2")
