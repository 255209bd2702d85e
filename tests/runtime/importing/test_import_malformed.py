"""Test importing files that are not valid .pt2 files.

Each import ends in an error of one line, or in a program.
"""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sizeguard.base.errors import InputError
from sizeguard.runtimes.sizeguard.program.program_file import program_bytes, program_from_bytes
from tests.support.builds.sample_models import FEATURES, imported, name_of
from tests.support.places import ROOT

Json = dict[str, Any]


def entries_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_archive(
    path: Path, entries: dict[str, bytes], compression: int = zipfile.ZIP_STORED
) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def edited(path: Path, tmp_path: Path, entry: str, edit: Callable[[Json], object]) -> Path:
    """Copy a model and change one JSON entry."""
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
    (
        lambda m: m["schema_version"].update(major=9),
        "export schema version 9, but only 8 is supported",
    ),
    (lambda m: graph(m).update(nodes=3), ".graph_module.graph.nodes: expected a list, found 3"),
    (lambda m: graph(m)["nodes"][0].update(target=None), ".nodes[0]: the field target is missing"),
    (lambda m: graph(m)["nodes"][0].update(target="a\nb"), "expected a name, found 'a\\nb'"),
    (
        lambda m: graph(m)["nodes"][0].update(target="torch.ops.a.b.c.d.e"),
        "operator torch.ops.a.b.c.d.e is not in this runtime",
    ),
    (
        lambda m: graph(m)["nodes"][0]["inputs"].pop(0),
        "node linear: aten::linear needs the argument input",
    ),
    (
        lambda m: graph(m)["nodes"][0]["inputs"][0].update(name="inputt"),
        "node linear: aten::linear has no argument inputt",
    ),
    (
        lambda m: graph(m)["nodes"][0]["inputs"][0].update(arg={"as_string": "x"}),
        "node linear: argument input of aten::linear: expected Tensor, found 'x'",
    ),
    (
        lambda m: graph(m)["nodes"][0]["inputs"][0].update(arg={"as_tensor": {"name": "later"}}),
        "node linear: argument input of aten::linear: unknown value later",
    ),
    (
        lambda m: graph(m)["nodes"][0]["inputs"][0].update(arg={"as_complex": 1}),
        "argument input of aten::linear: as_complex is not supported",
    ),
    (
        lambda m: graph(m)["nodes"][0]["inputs"][0].update(arg={"as_int": 2**63}),
        f"expected an integer of 64 bits, found {2**63}",
    ),
    (
        lambda m: graph(m)["nodes"][0]["inputs"][0].update(arg={}),
        "expected an object with one field, found dict",
    ),
    (
        lambda m: graph(m)["nodes"][0]["outputs"].append({"as_int": 3}),
        "node linear: 2 outputs; aten::linear returns 1",
    ),
    (
        lambda m: graph(m)["outputs"].append({"as_int": 3}),
        "the signature and the graph differ in their inputs or outputs",
    ),
    (
        lambda m: graph(m)["tensor_values"]["x"].update(dtype=77),
        "expected a dtype code of the export schema, found 77",
    ),
    (
        lambda m: graph(m)["tensor_values"]["x"]["sizes"].append({"as_int": -1}),
        "expected a number that is not negative, found -1",
    ),
    (lambda m: graph(m)["tensor_values"]["x"].update(sizes=[]), "0 sizes, 2 strides"),
    (lambda m: graph(m)["tensor_values"].pop("x"), "unknown kind of input x"),
    (
        lambda m: m["graph_module"]["signature"]["input_specs"].__setitem__(0, {"custom_obj": {}}),
        "inputs of the kind custom_obj",
    ),
]


@pytest.mark.parametrize(
    ("edit", "message"), WRONG_MODELS, ids=[message[:40] for _, message in WRONG_MODELS]
)
def test_a_wrong_graph_is_one_line_that_says_where(
    tmp_path: Path, edit: Callable[[Json], object], message: str
) -> None:
    path = edited(MLP, tmp_path, MODEL, edit)
    with pytest.raises(InputError) as caught:
        imported(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert str(caught.value).isprintable()


WRONG_WEIGHTS: list[tuple[Callable[[Json], object], str]] = [
    (lambda c: c["config"].clear(), "is not among the weights"),
    (lambda c: first_weight(c).update(use_pickle=True), "is pickled, and pickles are never read"),
    (
        lambda c: first_weight(c).update(path_name="weight_99"),
        "the entry data/weights/weight_99 is missing",
    ),
    (lambda c: first_weight(c).update(tensor_meta=None), "the field tensor_meta is missing"),
    (
        lambda c: first_weight(c)["tensor_meta"].update(dtype=10),
        "has dtype ComplexFloat; the runtime has Byte",
    ),
    (
        lambda c: first_weight(c)["tensor_meta"]["storage_offset"].update(as_int=1),
        "does not fit data/weights/weight_0: tensor: needs ",
    ),
    (
        lambda c: first_weight(c)["tensor_meta"]["sizes"][0].update(as_int=2**40),
        "does not fit data/weights/weight_0: tensor: needs ",
    ),
    (
        lambda c: first_weight(c)["tensor_meta"]["sizes"][0].update(as_int=-4),
        "expected a number that is not negative, found -4",
    ),
    (
        lambda c: first_weight(c)["tensor_meta"]["strides"][0].update(as_int=-1),
        "expected a number that is not negative, found -1",
    ),
    (
        lambda c: first_weight(c)["tensor_meta"]["strides"][0].update(as_int=2**62),
        "does not fit data/weights/weight_0",
    ),
    (
        lambda c: first_weight(c)["tensor_meta"]["sizes"].__setitem__(
            0, {"as_expr": {"expr_str": "s0"}}
        ),
        "has a size that is not a number",
    ),
]


@pytest.mark.parametrize(
    ("edit", "message"), WRONG_WEIGHTS, ids=[message[:40] for _, message in WRONG_WEIGHTS]
)
def test_a_wrong_weight_is_one_line_that_names_it(
    tmp_path: Path, edit: Callable[[Json], object], message: str
) -> None:
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
    assert "is compressed or encrypted" in refused(
        write_archive(path, entries, zipfile.ZIP_DEFLATED)
    )
    assert "contains no exported model" in refused(
        write_archive(path, {name: data for name, data in entries.items() if name != MODEL})
    )
    old = {"top/serialized_exported_program.json": b"{}"}
    assert "an older PyTorch wrote it: export it again" in refused(write_archive(path, old))
    assert "is not in its one top folder" in refused(
        write_archive(path, {**entries, "other/x": b""})
    )
    assert "contains 2 models" in refused(
        write_archive(path, {**entries, "model/models/second.json": b"{}"})
    )
    assert "the weights are big-endian" in refused(
        write_archive(path, {**entries, "model/byteorder": b"big"})
    )
    truncated = {
        **entries,
        "model/data/weights/weight_0": entries["model/data/weights/weight_0"][:-1],
    }
    assert "does not fit data/weights/weight_0" in refused(write_archive(path, truncated))
    assert "model.json is not JSON" in refused(write_archive(path, {**entries, MODEL: b"{"}))
    assert "model.json is not JSON" in refused(
        write_archive(path, {**entries, MODEL: b"[" * 100_000})
    )
    assert "contains no exported model" in refused(write_archive(path, {}))
    whole = MLP.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "not a .pt2 file" in refused(path)


def test_entries_that_overlap_are_refused(tmp_path: Path) -> None:
    """A small archive that lists one big entry many times would unpack to a large size."""
    path = write_archive(tmp_path / "m.pt2", {"model/a": b"x" * 10_000})
    with zipfile.ZipFile(path, "a") as archive:
        first = archive.infolist()[0]
        for i in range(50):
            copy = zipfile.ZipInfo(f"model/b{i}")
            copy.header_offset, copy.CRC, copy.file_size, copy.compress_size = (
                first.header_offset,
                first.CRC,
                10_000,
                10_000,
            )
            archive.filelist.append(copy)
        archive.writestr("model/last", b"")  # makes closing write the directory again
    with pytest.raises(InputError, match="have more bytes than the file"):
        imported(path)


def nested(depth: int) -> Json:
    """Nest branches in a graph to this depth."""
    inner: Json = {"inputs": [], "outputs": [], "nodes": [], "tensor_values": {}}
    for _ in range(depth):
        argument = {"name": "", "arg": {"as_graph": {"name": "g", "graph": inner}}}
        inner = {
            **inner,
            "nodes": [{"name": "n", "target": "t", "inputs": [argument], "outputs": []}],
        }
    return inner


def test_graphs_nested_too_deep_are_refused(tmp_path: Path) -> None:
    path = edited(MLP, tmp_path, MODEL, lambda m: m["graph_module"].update(graph=nested(60)))
    with pytest.raises(InputError, match="graphs nested more than 50 deep"):
        imported(path)


WRONG_BRANCHES: list[tuple[Callable[[Json], object], str]] = [
    (lambda n: n["inputs"].pop(), "true_graph_0 takes 3 values, but gets 0"),
    (lambda n: n["inputs"].pop(1), "torch.cond without a condition and two branches"),
    (
        lambda n: n["inputs"][1]["arg"]["as_graph"]["graph"].update(outputs=[]),
        "a branch returns 0 values instead of 1",
    ),
    (
        lambda n: n["inputs"][0].update(arg={"as_int": 3}),
        "torch.cond on a value that is neither a tensor nor a bool",
    ),
    (
        lambda n: n["inputs"][1]["arg"]["as_graph"]["graph"].update(outputs=[{"as_int": 1}]),
        "expected a number of kind tensor, found int",
    ),
]


@pytest.mark.parametrize(
    ("edit", "message"), WRONG_BRANCHES, ids=[message[:40] for _, message in WRONG_BRANCHES]
)
def test_a_wrong_branch_is_one_line(
    tmp_path: Path, edit: Callable[[Json], object], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        imported(edited(BRANCHY, tmp_path, MODEL, lambda m: edit(graph(m)["nodes"][-1])))
    assert message in str(caught.value)


# Mutations


def mutate(document: Any, generator: random.Random) -> None:
    """Change, replace by another part, or delete one value of a JSON document."""
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


@pytest.mark.native
@pytest.mark.parametrize(
    "path",
    [BRANCHY, FEATURES / "symbolic_sizes" / "model.pt2", FEATURES / "shared_weights" / "model.pt2"],
    ids=name_of,
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
            # Half of the changes are in the directory, which is at the end.
            place = (
                generator.randrange(len(data) - 1200, len(data))
                if generator.random() < 0.5
                else generator.randrange(len(data))
            )
            data[place] = generator.choice((0, 0xFF, generator.randrange(256)))
        if generator.random() < 0.1:
            del data[generator.randrange(len(data)) :]
        (tmp_path / "m.pt2").write_bytes(data)
        outcomes.append(assert_refused_or_imported(tmp_path / "m.pt2"))
    assert True in outcomes and False in outcomes
