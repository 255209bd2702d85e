"""Test importing: every sample model, every feature of torch.export, and the command."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from sizeguard.base.errors import InputError
from sizeguard.cli.build.import_model import command
from sizeguard.cli.main import _run, main
from sizeguard.operators.library import Operator
from sizeguard.runtimes.model_files import read_operators
from sizeguard.runtimes.sizeguard.building.programs import cases_beside, program_of
from sizeguard.runtimes.sizeguard.importing.importer import Imported, default_library, import_model
from sizeguard.runtimes.sizeguard.importing.symbolic import bounds
from sizeguard.runtimes.sizeguard.program.program import Dim, Kind, Tag
from sizeguard.runtimes.sizeguard.program.program_file import (
    program_bytes,
    program_from_bytes,
    read_program,
    write_program,
)
from tests.support.builds.program_interpreter import run
from tests.support.places import ROOT

SAMPLES = sorted((ROOT / "native" / "models").glob("*/*.pt2"))
FEATURES = ROOT / "tests" / "data" / "exported_models"
FEATURE_MODELS = [
    path
    for path in sorted(FEATURES.glob("*/*.pt2"))
    if path.parent.name not in ("unsupported", "complex_weight")
]
LIBRARY = default_library()


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def imported(
    path: Path,
    cases: list[list[Path]] | None = None,
    prepack: bool = False,
    library: dict[str, Operator] = LIBRARY,
) -> Imported:
    return import_model(path, library, path.stem, cases or [], prepack)


def cases_of(path: Path) -> list[list[Path]]:
    """Return the inputs of each case in the model's folder."""
    folder = path.parent
    count = len(list(folder.glob("case*_input0.npy")))
    return [sorted(folder.glob(f"case{i}_input*.npy")) for i in range(count)]


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


# The command


def test_the_command_writes_the_same_bytes_each_time(tmp_path: Path) -> None:
    path = ROOT / "native" / "models" / "branchy" / "model.pt2"
    cases = [
        argument for files in cases_of(path) for argument in ("--case", ",".join(map(str, files)))
    ]
    for folder in ("a", "b"):
        result = CliRunner().invoke(
            command, [str(path), "-o", str(tmp_path / folder / "branchy.sgp"), *cases]
        )
        said = "8 operators, 12 instructions, 2 bundled cases\n"
        assert (result.exit_code, result.stdout) == (0, "")
        assert result.stderr == f"wrote {tmp_path / folder / 'branchy.sgp'}: {said}"
    written = (tmp_path / "a" / "branchy.sgp").read_bytes()
    assert written == (tmp_path / "b" / "branchy.sgp").read_bytes()
    program = read_program(tmp_path / "a" / "branchy.sgp")
    assert (program.name, len(program.cases)) == ("branchy", 2)


def test_the_command_takes_other_operators(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    operators = tmp_path / "operators.yaml"
    operators.write_text(
        '- {func: "aten::relu(Tensor self) -> Tensor", kernel: relu, kind: core}\n'
    )
    path = ROOT / "native" / "models" / "mlp" / "model.pt2"
    arguments = [
        "sizeguard",
        "import",
        str(path),
        "-o",
        str(tmp_path / "m.sgp"),
        "--operators-yaml",
        str(operators),
    ]
    monkeypatch.setattr("sys.argv", arguments)
    with pytest.raises(SystemExit) as exit_:
        main()
    assert exit_.value.code == 2
    error = capsys.readouterr().err
    assert (
        error.startswith(f"error: {path}: 2 operators are not in this runtime")
        and error.count("\n") == 1
    )
    assert not (tmp_path / "m.sgp").exists()
    monkeypatch.setattr("sys.argv", [*arguments, "--prepack"])
    with pytest.raises(SystemExit):
        main()
    assert "--prepack needs the operator prepacked::linear_clamp_run" in capsys.readouterr().err


# Bundled inputs


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


def test_the_command_says_what_it_wrote_and_names_other_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ROOT / "native" / "models" / "mlp" / "model.pt2"
    program = tmp_path / "new" / "mlp.sgp"
    assert _run(["import", str(model), "-o", str(program), "--cases-beside"]) == 0
    said = capsys.readouterr()
    assert said.err == f"wrote {program}: 3 operators, 4 instructions, 2 bundled cases\n"
    assert said.out == "" and program.is_file()
    alone = tmp_path / "model.pt2"
    alone.write_bytes(model.read_bytes())
    with pytest.raises(InputError, match=r"model\.pt2: has no inputs to run: put case0_input0"):
        _run(["import", str(alone), "-o", str(tmp_path / "alone.sgp"), "--cases-beside"])
    assert not (tmp_path / "alone.sgp").exists()
    other = tmp_path / "mlp.pte"
    other.write_bytes(b"\x1c\0\0\0ET12")
    with pytest.raises(InputError, match=r"import takes a \.pt2 file.*select ops lists"):
        _run(["import", str(other), "-o", str(program)])
