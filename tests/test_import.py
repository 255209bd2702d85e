"""Importing: every sample model, every feature of torch.export that has a model of its own, and files that are wrong."""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from program_interpreter import run

from sizeguard.cli.import_model import command
from sizeguard.cli.main import main
from sizeguard.errors import InputError
from sizeguard.model_import.importer import Imported, default_library, import_model
from sizeguard.model_import.op_info import read_operators
from sizeguard.model_import.program import Dim, Kind, Tag
from sizeguard.model_import.program_file import program_bytes, program_from_bytes, read_program, write_program
from sizeguard.operator_library import Operator

ROOT = Path(__file__).parents[1]
SAMPLES = sorted((ROOT / "native" / "models").glob("*/*.pt2"))
FEATURES = ROOT / "tests" / "data" / "exported_models"
FEATURE_MODELS = [path for path in sorted(FEATURES.glob("*/*.pt2")) if path.parent.name not in ("unsupported", "complex_weight")]
LIBRARY = default_library()

Json = dict[str, Any]


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def imported(path: Path, cases: list[list[Path]] | None = None, prepack: bool = False, library: dict[str, Operator] = LIBRARY) -> Imported:
    return import_model(path, library, path.stem, cases or [], prepack)


def cases_of(path: Path) -> list[list[Path]]:
    """The inputs of each case that lies beside a model."""
    folder = path.parent
    count = len(list(folder.glob("case*_input0.npy")))
    return [sorted(folder.glob(f"case{i}_input*.npy")) for i in range(count)]


def expected_operators(path: Path) -> set[str]:
    """The operators that PyTorch names for a model, by the names that the runtime has for them."""
    names = {"cond": "aten::Bool.Tensor", "<built-in function mul>": "aten::mul.int", "<built-in function getitem>": ""}
    found = set()
    for listed in json.loads((path.parent / "ops.json").read_text())[path.name]:
        namespace, _, rest = listed.partition(".")
        found.add(names[listed] if listed in names else f"{namespace}::{rest.removesuffix('.default')}")
    return found - {""}


@pytest.mark.parametrize("path", SAMPLES, ids=name_of)
def test_a_sample_model_names_the_operators_that_pytorch_names(path: Path) -> None:
    program = imported(path, cases_of(path)).program
    # Some operators return lists, and elements that nothing uses are not taken out.
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
    # A program says less of its dtypes than a model does; what it leaves open is widened, never left out.
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
        given = [array.copy() if item.tag == Tag.TENSOR else array.item() for array, item in zip(arrays, program.inputs, strict=True)]
        results = run(program, given)
        for before, after in zip(arrays, given, strict=True):
            np.testing.assert_array_equal(after, before, err_msg="the caller's array was written to")
        expected = {int(file.stem.partition("expected")[2]): np.load(file) for file in path.parent.glob(f"case{case}_expected*.npy")}
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
        by_storage.setdefault(tensor.storage, set()).add((tensor.sizes, tensor.strides, (tensor.offset,)))
    assert {((4, 6), (6, 1), (0,)), ((6, 4), (1, 6), (0,)), ((2, 3), (6, 1), (8,))} in by_storage.values()
    assert all(len(storage) <= 24 * 4 for storage in program.storages)


def test_what_a_model_writes_is_said() -> None:
    for name, written in (("buffer_mutation", "count"), ("view_mutation", "state"), ("input_mutation", "x")):
        path = FEATURES / name / "model.pt2"
        result = imported(path)
        assert result.warnings == (f"{path}: the model writes to {written}; what it writes is not kept from one run to the next",)
        assert "aten::clone" in result.program.operators
    assert imported(FEATURES / "no_grad" / "model.pt2").warnings == ()


def test_dynamic_sizes_have_bounds() -> None:
    program = imported(ROOT / "native" / "models" / "dynamic_batch" / "model.pt2").program
    assert program.inputs[0].dims == (Dim(2, 64), Dim(1, 1), Dim(3, 3), Dim(3, 3))
    program = imported(FEATURES / "symbolic_sizes" / "model.pt2").program
    assert [item.dims for item in program.inputs] == [(Dim(4, 128), Dim(3, 3)), (Dim(2, 2), Dim(2, 9))]
    program = imported(FEATURES / "int_input" / "model.pt2").program
    assert [item.tag for item in program.inputs] == [Tag.TENSOR, Tag.INT]


@pytest.mark.parametrize("form", ["model", "model_core"])
def test_prepacking_takes_linear_layers_with_constant_weights(form: str) -> None:
    program = imported(FEATURES / "linear_forms" / f"{form}.pt2", prepack=True).program
    calls = [program.operators[step.target] for step in program.instructions if step.kind == Kind.CALL]
    assert calls.count("prepacked::linear_clamp_run") == 3
    assert calls.count("aten::relu") == 1, "the relu of a result that something else uses too stays"
    assert "aten::hardtanh" not in calls
    # The layer whose weight is computed stays; of the transposes only its own.
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
    program = imported(ROOT / "native" / "models" / "half_compute" / "model.pt2", prepack=True).program
    assert "aten::linear" in program.operators
    assert "prepacked::linear_clamp_run" not in program.operators


def test_classes_are_read_from_a_program(tmp_path: Path) -> None:
    write_program(imported(FEATURES / "linear_forms" / "model.pt2", prepack=True).program, tmp_path / "m.sgp")
    info = read_operators(tmp_path / "m.sgp")
    assert (info.model, info.classes) == ("m.sgp", frozenset(["LinearOpContext"]))
    assert info.operators["prepacked::linear_clamp_run"] == {"Float"}


def test_all_operators_that_the_runtime_lacks_are_listed() -> None:
    path = FEATURES / "unsupported" / "model.pt2"
    with pytest.raises(InputError) as caught:
        imported(path)
    assert str(caught.value) == (
        f"{path}: 3 operators are not in this runtime (supported: sizeguard select ops --list): "
        "aten::abs (node abs_1), aten::fft_rfft (node fft_rfft), aten::special_bessel_j0 (node special_bessel_j0)"
    )
    # Whoever asks for the operators of the model gets them all the same.
    assert "aten::fft_rfft" in read_operators(path).operators


def test_one_operator_that_the_runtime_lacks() -> None:
    library = {name: operator for name, operator in LIBRARY.items() if name != "aten::erf"}
    path = ROOT / "native" / "models" / "branchy" / "model.pt2"
    with pytest.raises(InputError) as caught:
        imported(path, library=library)
    assert str(caught.value) == f"{path}: operator aten::erf is not in this runtime (supported: sizeguard select ops --list); node erf"


def test_a_dtype_that_the_runtime_lacks() -> None:
    with pytest.raises(InputError, match=r"model.pt2: tensor phase has dtype ComplexFloat; the runtime has Byte, Char, Short"):
        imported(FEATURES / "complex_weight" / "model.pt2")


# The command


def test_the_command_writes_the_same_bytes_each_time(tmp_path: Path) -> None:
    path = ROOT / "native" / "models" / "branchy" / "model.pt2"
    cases = [argument for files in cases_of(path) for argument in ("--case", ",".join(map(str, files)))]
    for folder in ("a", "b"):
        result = CliRunner().invoke(command, [str(path), "-o", str(tmp_path / folder / "branchy.sgp"), *cases])
        assert (result.exit_code, result.output) == (0, "")
    written = (tmp_path / "a" / "branchy.sgp").read_bytes()
    assert written == (tmp_path / "b" / "branchy.sgp").read_bytes()
    program = read_program(tmp_path / "a" / "branchy.sgp")
    assert (program.name, len(program.cases)) == ("branchy", 2)


def test_the_command_takes_other_operators(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    operators = tmp_path / "operators.yaml"
    operators.write_text('- {func: "aten::relu(Tensor self) -> Tensor", kernel: relu, kind: core}\n')
    path = ROOT / "native" / "models" / "mlp" / "model.pt2"
    arguments = ["sizeguard", "import", str(path), "-o", str(tmp_path / "m.sgp"), "--operators-yaml", str(operators)]
    monkeypatch.setattr("sys.argv", arguments)
    with pytest.raises(SystemExit) as exit_:
        main()
    assert exit_.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {path}: 2 operators are not in this runtime") and error.count("\n") == 1
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
        ([], "case (empty): 0 arrays; the model has 1 inputs"),
        ([np.zeros((2, 1, 3, 3), np.float32)] * 2, "2 arrays; the model has 1 inputs"),
        ([np.zeros((2, 1, 3, 3), np.float64)], "input 0 of the model is Float, the array Double"),
        ([np.zeros((2, 1, 3), np.float32)], "input 0 of the model has the shape [2..64, 1, 3, 3], the array [2, 1, 3]"),
        ([np.zeros((65, 1, 3, 3), np.float32)], "input 0 of the model has the shape [2..64, 1, 3, 3], the array [65, 1, 3, 3]"),
        ([np.zeros((1, 1, 3, 3), np.float32)], "input 0 of the model has the shape [2..64, 1, 3, 3], the array [1, 1, 3, 3]"),
        ([np.zeros((2, 1, 3, 3), ">f4")], "dtype >f4 is not supported"),
        ([np.zeros((2, 1, 3, 3), np.complex64)], "dtype <c8 is not supported"),
        ([np.array([None], dtype=object)], "dtype |O is not supported"),
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
    program = imported(FEATURES / "int_input" / "model.pt2", [[x, save(tmp_path / "n.npy", np.array(-5))]]).program
    assert program.cases[0][1].tag == Tag.INT
    assert program.cases[0][1].integer == -5
    with pytest.raises(InputError, match=r"n.npy: input 1 of the model is Long, the array Float"):
        imported(FEATURES / "int_input" / "model.pt2", [[x, save(tmp_path / "n.npy", np.array(5, np.float32))]])
    with pytest.raises(InputError, match=r"n.npy: input 1 of the model has the shape \[\], the array \[1\]"):
        imported(FEATURES / "int_input" / "model.pt2", [[x, save(tmp_path / "n.npy", np.array([5]))]])


# Files that are wrong


def entries_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_archive(path: Path, entries: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def edited(path: Path, tmp_path: Path, entry: str, edit: Callable[[Json], object]) -> Path:
    """A copy of a model with one JSON entry changed in place."""
    entries = entries_of(path)
    content = json.loads(entries[entry])
    edit(content)
    return write_archive(tmp_path / "edited.pt2", {**entries, entry: json.dumps(content).encode()})


MLP = ROOT / "native" / "models" / "mlp" / "model.pt2"
BRANCHY = ROOT / "native" / "models" / "branchy" / "model.pt2"
MODEL = "model/models/model.json"
WEIGHTS = "model/data/weights/model_weights_config.json"


def graph(model: Json) -> Json:
    found: Json = model["graph_module"]["graph"]
    return found


def first_weight(config: Json) -> Json:
    found: Json = next(iter(config["config"].values()))
    return found


WRONG_MODELS: list[tuple[Callable[[Json], object], str]] = [
    (lambda m: m.pop("graph_module"), "models/model.json: the field graph_module is missing"),
    (lambda m: m["schema_version"].update(major=9), "export schema version 9; this reader knows 8"),
    (lambda m: graph(m).update(nodes=3), ".graph_module.graph.nodes: expected a list, found 3"),
    (lambda m: graph(m)["nodes"][0].update(target=None), ".nodes[0]: the field target is missing"),
    (lambda m: graph(m)["nodes"][0].update(target="a\nb"), "expected a name, found 'a\\nb'"),
    (lambda m: graph(m)["nodes"][0].update(target="torch.ops.a.b.c.d.e"), "operator torch.ops.a.b.c.d.e is not in this runtime"),
    (lambda m: graph(m)["nodes"][0]["inputs"].pop(0), "node linear: aten::linear needs the argument input"),
    (lambda m: graph(m)["nodes"][0]["inputs"][0].update(name="inputt"), "node linear: aten::linear has no argument inputt"),
    (
        lambda m: graph(m)["nodes"][0]["inputs"][0].update(arg={"as_string": "x"}),
        "node linear: argument input of aten::linear: expected Tensor, found 'x'",
    ),
    (
        lambda m: graph(m)["nodes"][0]["inputs"][0].update(arg={"as_tensor": {"name": "later"}}),
        "node linear: argument input of aten::linear: nothing is named later before it",
    ),
    (
        lambda m: graph(m)["nodes"][0]["inputs"][0].update(arg={"as_complex": 1}),
        "argument input of aten::linear: as_complex is not supported",
    ),
    (lambda m: graph(m)["nodes"][0]["inputs"][0].update(arg={"as_int": 2**63}), f"expected an integer of 64 bits, found {2**63}"),
    (lambda m: graph(m)["nodes"][0]["inputs"][0].update(arg={}), "expected an object with one field, found dict"),
    (lambda m: graph(m)["nodes"][0]["outputs"].append({"as_int": 3}), "node linear: 2 outputs; aten::linear returns 1"),
    (lambda m: graph(m)["outputs"].append({"as_int": 3}), "the signature and the graph differ in their inputs or outputs"),
    (lambda m: graph(m)["tensor_values"]["x"].update(dtype=77), "expected a dtype code of the export schema, found 77"),
    (lambda m: graph(m)["tensor_values"]["x"]["sizes"].append({"as_int": -1}), "expected a number that is not negative, found -1"),
    (lambda m: graph(m)["tensor_values"]["x"].update(sizes=[]), "0 sizes, 2 strides"),
    (lambda m: graph(m)["tensor_values"].pop("x"), "nothing is known of the input x"),
    (lambda m: m["graph_module"]["signature"]["input_specs"].__setitem__(0, {"custom_obj": {}}), "inputs of the kind custom_obj"),
]


@pytest.mark.parametrize(("edit", "message"), WRONG_MODELS, ids=[message[:40] for _, message in WRONG_MODELS])
def test_a_wrong_graph_is_one_line_that_says_where(tmp_path: Path, edit: Callable[[Json], object], message: str) -> None:
    path = edited(MLP, tmp_path, MODEL, edit)
    with pytest.raises(InputError) as caught:
        imported(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert str(caught.value).isprintable()


WRONG_WEIGHTS: list[tuple[Callable[[Json], object], str]] = [
    (lambda c: c["config"].clear(), "is not among the weights"),
    (lambda c: first_weight(c).update(use_pickle=True), "is pickled, which is never read"),
    (lambda c: first_weight(c).update(path_name="weight_99"), "the entry data/weights/weight_99 is missing"),
    (lambda c: first_weight(c).update(tensor_meta=None), "the field tensor_meta is missing"),
    (lambda c: first_weight(c)["tensor_meta"].update(dtype=10), "has dtype ComplexFloat; the runtime has Byte"),
    (lambda c: first_weight(c)["tensor_meta"]["storage_offset"].update(as_int=1), "does not fit data/weights/weight_0: tensor: needs "),
    (lambda c: first_weight(c)["tensor_meta"]["sizes"][0].update(as_int=2**40), "does not fit data/weights/weight_0: tensor: needs "),
    (lambda c: first_weight(c)["tensor_meta"]["sizes"][0].update(as_int=-4), "expected a number that is not negative, found -4"),
    (lambda c: first_weight(c)["tensor_meta"]["strides"][0].update(as_int=-1), "expected a number that is not negative, found -1"),
    (lambda c: first_weight(c)["tensor_meta"]["strides"][0].update(as_int=2**62), "does not fit data/weights/weight_0"),
    (lambda c: first_weight(c)["tensor_meta"]["sizes"].__setitem__(0, {"as_expr": {"expr_str": "s0"}}), "has a size that is no number"),
]


@pytest.mark.parametrize(("edit", "message"), WRONG_WEIGHTS, ids=[message[:40] for _, message in WRONG_WEIGHTS])
def test_a_wrong_weight_is_one_line_that_names_it(tmp_path: Path, edit: Callable[[Json], object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        imported(edited(MLP, tmp_path, WEIGHTS, edit))
    assert message in str(caught.value)
    assert str(caught.value).isprintable()


def test_archives_that_are_wrong(tmp_path: Path) -> None:
    entries = entries_of(MLP)

    def refused(path: Path) -> str:
        with pytest.raises(InputError) as caught:
            imported(path)
        assert str(caught.value).startswith(f"{path}: ")
        return str(caught.value)

    path = tmp_path / "m.pt2"
    assert "cannot read: No such file" in refused(path)
    path.write_bytes(b"not a zip")
    assert "not a .pt2 file" in refused(path)
    assert "is compressed or encrypted" in refused(write_archive(path, entries, zipfile.ZIP_DEFLATED))
    assert "no exported model in it" in refused(write_archive(path, {name: data for name, data in entries.items() if name != MODEL}))
    old = {"top/serialized_exported_program.json": b"{}"}
    assert "written by an older PyTorch: export it again" in refused(write_archive(path, old))
    assert "does not lie in its one top folder" in refused(write_archive(path, {**entries, "other/x": b""}))
    assert "2 models in it" in refused(write_archive(path, {**entries, "model/models/second.json": b"{}"}))
    assert "the weights are big-endian" in refused(write_archive(path, {**entries, "model/byteorder": b"big"}))
    truncated = {**entries, "model/data/weights/weight_0": entries["model/data/weights/weight_0"][:-1]}
    assert "does not fit data/weights/weight_0" in refused(write_archive(path, truncated))
    assert "model.json is not JSON" in refused(write_archive(path, {**entries, MODEL: b"{"}))
    assert "model.json is not JSON" in refused(write_archive(path, {**entries, MODEL: b"[" * 100_000}))
    assert "no exported model in it" in refused(write_archive(path, {}))
    whole = MLP.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "not a .pt2 file" in refused(path)


def test_entries_that_overlap_are_refused(tmp_path: Path) -> None:
    """A small archive whose directory lists one big entry many times would unfold into much more than it holds."""
    path = write_archive(tmp_path / "m.pt2", {"model/a": b"x" * 10_000})
    with zipfile.ZipFile(path, "a") as archive:
        first = archive.infolist()[0]
        for i in range(50):
            copy = zipfile.ZipInfo(f"model/b{i}")
            copy.header_offset, copy.CRC, copy.file_size, copy.compress_size = first.header_offset, first.CRC, 10_000, 10_000
            archive.filelist.append(copy)
        archive.writestr("model/last", b"")  # closing writes the directory again
    with pytest.raises(InputError, match="claim more bytes than the file has"):
        imported(path)


def nested(depth: int) -> Json:
    """A graph with a branch in a branch, so many deep."""
    inner: Json = {"inputs": [], "outputs": [], "nodes": [], "tensor_values": {}}
    for _ in range(depth):
        argument = {"name": "", "arg": {"as_graph": {"name": "g", "graph": inner}}}
        inner = {**inner, "nodes": [{"name": "n", "target": "t", "inputs": [argument], "outputs": []}]}
    return inner


def test_graphs_nested_too_deep_are_refused(tmp_path: Path) -> None:
    path = edited(MLP, tmp_path, MODEL, lambda m: m["graph_module"].update(graph=nested(60)))
    with pytest.raises(InputError, match="graphs nested more than 50 deep"):
        imported(path)


WRONG_BRANCHES: list[tuple[Callable[[Json], object], str]] = [
    (lambda n: n["inputs"].pop(), "true_graph_0 takes 3 values and is given 0"),
    (lambda n: n["inputs"].pop(1), "torch.cond without a condition and two branches"),
    (lambda n: n["inputs"][1]["arg"]["as_graph"]["graph"].update(outputs=[]), "a branch gives 0 values instead of 1"),
    (lambda n: n["inputs"][0].update(arg={"as_int": 3}), "torch.cond on a value that is neither a tensor nor a bool"),
    (lambda n: n["inputs"][1]["arg"]["as_graph"]["graph"].update(outputs=[{"as_int": 1}]), "expected a number of kind tensor, found int"),
]


@pytest.mark.parametrize(("edit", "message"), WRONG_BRANCHES, ids=[message[:40] for _, message in WRONG_BRANCHES])
def test_a_wrong_branch_is_one_line(tmp_path: Path, edit: Callable[[Json], object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        imported(edited(BRANCHY, tmp_path, MODEL, lambda m: edit(graph(m)["nodes"][-1])))
    assert message in str(caught.value)


# Mutations


def mutate(document: Any, generator: random.Random) -> None:
    """Change one place of a JSON document: another value, one taken from elsewhere, or nothing at all."""
    places: list[tuple[Any, Any]] = []
    stack = [document]
    while stack:
        item = stack.pop()
        for key in list(item) if isinstance(item, dict) else range(len(item)):
            places.append((item, key))
            if isinstance(item[key], dict | list):
                stack.append(item[key])
    if not places:
        return
    container, key = generator.choice(places)
    other, other_key = generator.choice(places)
    action = generator.randrange(4)
    if action == 0:
        del container[key]
    elif action == 1:
        container[key] = json.loads(json.dumps(other[other_key]))
    else:
        values: list[object] = [
            None,
            True,
            -1,
            0,
            3,
            2**31,
            2**63 - 1,
            2**63,
            1e308,
            "",
            "x",
            "torch.ops.aten.add.Tensor",
            "\ud800",
            [],
            {},
            [[]],
            {"as_int": 1},
        ]
        container[key] = generator.choice(values)


def assert_refused_or_imported(path: Path) -> bool:
    try:
        program = imported(path, prepack=True).program
    except InputError as error:
        assert str(error).isprintable(), error
        return False
    assert program_from_bytes(program_bytes(program)) == program
    return True


@pytest.mark.parametrize(
    "path", [BRANCHY, FEATURES / "symbolic_sizes" / "model.pt2", FEATURES / "shared_weights" / "model.pt2"], ids=name_of
)
def test_a_mutated_graph_is_refused_or_imported(tmp_path: Path, path: Path) -> None:
    generator = random.Random(11)
    entries = entries_of(path)
    outcomes = []
    for _ in range(400):
        entry = generator.choice([MODEL, MODEL, MODEL, WEIGHTS])
        document = json.loads(entries[entry])
        for _ in range(generator.randint(1, 2)):
            mutate(document, generator)
        changed = {**entries, entry: json.dumps(document).encode()}
        outcomes.append(assert_refused_or_imported(write_archive(tmp_path / "m.pt2", changed)))
    assert True in outcomes and False in outcomes


def test_mutated_bytes_are_refused_or_imported(tmp_path: Path) -> None:
    generator = random.Random(12)
    whole = (FEATURES / "no_grad" / "model.pt2").read_bytes()
    outcomes = []
    for _ in range(1000):
        data = bytearray(whole)
        for _ in range(generator.randint(1, 4)):
            # Half of the changes hit the directory at the end.
            place = generator.randrange(len(data) - 1200, len(data)) if generator.random() < 0.5 else generator.randrange(len(data))
            data[place] = generator.choice((0, 0xFF, generator.randrange(256)))
        if generator.random() < 0.1:
            del data[generator.randrange(len(data)) :]
        (tmp_path / "m.pt2").write_bytes(data)
        outcomes.append(assert_refused_or_imported(tmp_path / "m.pt2"))
    assert True in outcomes and False in outcomes
