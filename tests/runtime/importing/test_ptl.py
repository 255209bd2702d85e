"""Operators read from TorchScript models equal PyTorch's lists; pickles are never executed."""

from __future__ import annotations

import io
import json
import os
import pickle
import random
import struct
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.base.errors import InputError
from sizeguard.models.pickle import Global, Pairs, PickleError, ReducedObject, Value, read_pickle
from sizeguard.runtimes.aten.ptl import read_operators
from tests.support.drawn import at_least
from tests.support.places import DATA

MODELS = DATA / "models_torchscript"
NAMES = sorted(path.stem for path in MODELS.glob("*.ptl"))


def archive(path: Path, **pickles: bytes) -> Path:
    """Write a model that consists of the given pickles: bytecode=…, data=…."""
    with zipfile.ZipFile(path, "w") as file:
        for name, data in pickles.items():
            file.writestr(f"model/{name}.pkl", data)
    return path


def bytecode(
    *operators: tuple[str, str] | tuple[str, str, int], types: tuple[str, ...] = ()
) -> bytes:
    tables = (
        ("instructions", ()),
        ("operators", operators),
        ("constants", ()),
        ("types", types),
        ("register_size", 1),
    )
    return pickle.dumps((8, ("__torch__.M.forward", tables, ())), protocol=2)


def refused(path: Path) -> str:
    with pytest.raises(InputError) as refusal:
        read_operators(path)
    assert "\n" not in str(refusal.value)
    return str(refusal.value).removeprefix(f"{path}: ")


def test_the_models_are_there() -> None:
    assert NAMES == ["mlp", "script_rnn"]


@pytest.mark.parametrize("name", NAMES)
def test_operators_are_pytorchs(name: str) -> None:
    info = read_operators(MODELS / f"{name}.ptl")
    assert list(info.operators) == json.loads(
        (MODELS / f"{name}.ops.json").read_text(encoding="utf-8")
    )
    assert info.model == f"{name}.ptl"
    assert not info.kernel_keys


def test_overloads_and_both_forms_of_an_entry(tmp_path: Path) -> None:
    path = archive(
        tmp_path / "a.ptl",
        bytecode=bytecode(
            ("aten::add", "Tensor"), ("aten::relu", "", 1), ("aten::add", "Tensor", 3)
        ),
    )
    assert list(read_operators(path).operators) == ["aten::add.Tensor", "aten::relu"]


def test_custom_classes_are_found_in_types_and_in_the_weights(tmp_path: Path) -> None:
    weights = b"\x80\x02c__torch__.torch.classes.quantized\nLinearPackedParamsBase\n)\x81."
    types = (
        "__torch__.torch.classes.xnnpack.LinearOpContext",
        "List[__torch__.torch.classes.my.deep.Thing]",
        "__torch__.M",
    )
    path = archive(
        tmp_path / "a.ptl", bytecode=bytecode(("aten::relu", ""), types=types), data=weights
    )
    assert read_operators(path).classes == {"LinearOpContext", "Thing", "LinearPackedParamsBase"}


class Bomb:
    """An object whose pickle runs a command when it is loaded."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (self.command,)


@pytest.mark.parametrize("entry", ["bytecode", "data", "constants"])
@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_code_in_a_pickle_never_runs(entry: str, protocol: int, tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    bomb = pickle.dumps(Bomb(f"touch '{witness}'"), protocol=protocol)
    pickle.loads(bomb)
    assert witness.exists(), "the bomb must work, or this test shows nothing"
    witness.unlink()
    assert refused(
        archive(tmp_path / "a.ptl", **{"bytecode": bytecode(("aten::relu", "")), entry: bomb})
    ).startswith(f"{entry}.pkl: ")
    assert not witness.exists()


def test_the_refusal_names_what_would_have_run(tmp_path: Path) -> None:
    message = refused(archive(tmp_path / "a.ptl", bytecode=pickle.dumps(Bomb("true"), protocol=2)))
    assert "'posix.system', which no TorchScript model needs (nothing was executed)" in message


def test_allowed_names_run_nothing_either() -> None:
    # The name collections.OrderedDict is allowed, but the reader neither imports nor calls it.
    read = read_pickle(b"\x80\x02ccollections\nOrderedDict\n)R}b.")
    assert read.value == ReducedObject(Global("collections.OrderedDict"))
    assert read.globals == {"collections.OrderedDict"}


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=5).map(tuple)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


def normal(value: Any) -> Value:
    """Replace dictionaries by their pairs, as the reader returns them."""
    if isinstance(value, dict):
        return Pairs([(key, normal(entry)) for key, entry in value.items()])
    if isinstance(value, tuple):
        return tuple(normal(entry) for entry in value)
    return [normal(entry) for entry in value] if isinstance(value, list) else value


@given(PLAIN)
def test_plain_values_are_read_as_pickle_reads_them(value: Any) -> None:
    assert read_pickle(pickle.dumps(value, protocol=2)).value == normal(value)


@at_least(200)
@given(
    st.binary(max_size=80)
    | st.lists(
        st.sampled_from(
            [
                bytes([code])
                for code in b"(.)]}tulasebqhjrNKJMGXU\x80\x02\x85\x86\x87\x88c\n01QRb\x81"
            ]
        )
    ).map(b"".join)
)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        read_pickle(data)
    except PickleError as error:
        assert "\n" not in str(error)


HOSTILE = {
    "no end": b"\x80\x02N",
    "no value": b"\x80\x02.",
    "two values": b"\x80\x02NN.",
    "a mark left": b"\x80\x02N(.",
    "tuple of nothing": b"\x80\x02\x87.",
    "below the mark": b"\x80\x02NN(\x86.",
    "no mark": b"\x80\x02Nt.",
    "memo of nothing": b"\x80\x02h\x05.",
    "put of nothing": b"\x80\x02q\x00.",
    "append to a number": b"\x80\x02K\x01Na.",
    "items of a list": b"\x80\x02]NNs.",
    "half an item": b"\x80\x02}(Nu.",
    "text beyond the end": b"\x80\x02X\xff\xff\xff\x7fabc.",
    "negative length": b"\x80\x02\x8a\xff.",
    "no text": b"\x80\x02X\x02\x00\x00\x00\xff\xfe.",
    "global without a name": b"\x80\x02cos\n",
    "extension": b"\x80\x02\x82\x01.",
    "instance": b"(S'true'\nios\nsystem\n.",
    "protocol 4 global": b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
    "builtin": b"c__builtin__\neval\n.",
    "dotted torch": b"ctorch.hub\nload\n.",
    "getattr through torch": b"ctorch.serialization\nos.system\n.",
    "many opcodes": b"\x80\x02" + b"N0" * 6_000_000 + b".",
    "many values": b"\x80\x02" + b"(" + b"N" * 12_000_000 + b"t.",
    "garbage": bytes(range(256)) * 4,
}


@pytest.mark.native
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles_are_one_line_in_bounded_time(name: str, tmp_path: Path) -> None:
    start = time.process_time()
    assert refused(archive(tmp_path / "a.ptl", bytecode=HOSTILE[name])).startswith("bytecode.pkl: ")
    assert time.process_time() - start < 30


@pytest.mark.native
def test_deep_and_shared_values_take_no_stack_and_no_memory(tmp_path: Path) -> None:
    deep = b"\x80\x02" + b")" + b"\x85" * 1_000_000 + b"."
    assert (
        refused(archive(tmp_path / "deep.ptl", bytecode=deep))
        == "bytecode.pkl: the bytecode does not begin with its version"
    )
    # Each tuple contains the previous one twice, which gives 2 ** 1000 leaves.
    laughs = b"\x80\x02" + b"K\x08q\x00" + b"h\x00h\x00\x86q\x00" * 1000 + b"."
    assert refused(archive(tmp_path / "laughs.ptl", bytecode=laughs)).startswith(
        "bytecode.pkl: ends with"
    )


def test_a_table_that_many_functions_share_is_read_once(tmp_path: Path) -> None:
    # 50,000 functions share one table of 50,000 operators. Reading it for each function would give
    # 2.5 billion entries.
    entries = tuple((f"aten::op{i}", "") for i in range(50_000))
    tables = (("operators", entries),)
    data = pickle.dumps((8, *(("f", tables) for _ in range(50_000))), protocol=2)
    start = time.process_time()
    assert len(read_operators(archive(tmp_path / "a.ptl", bytecode=data)).operators) == 50_000
    assert time.process_time() - start < 30


@pytest.mark.parametrize(
    "value",
    [
        None,
        (),
        ("8",),
        (8, 1),
        (8, ("f",)),
        (8, (1, ())),
        (8, ("f", 3)),
        (8, ("f", ((1, 2),))),
        (8, ("f", (("operators",),))),
        (8, ("f", (("constants", ()),))),
        (8, ("f", (("operators", ()), ("operators", ())))),
        (8, ("f", (("operators", 5),))),
        (8, ("f", (("operators", (1,)),))),
        (8, ("f", (("operators", (("aten::add",),)),))),
        (8, ("f", (("operators", (("", ""),)),))),
        (8, ("f", (("operators", ((1, "x"),)),))),
        [8],
        {"operators": ()},
    ],
)
def test_pickles_that_are_no_bytecode_are_refused(value: object, tmp_path: Path) -> None:
    assert refused(
        archive(tmp_path / "a.ptl", bytecode=pickle.dumps(value, protocol=2))
    ).startswith("bytecode.pkl: ")


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.ptl"
    path.write_bytes(b"")
    assert refused(path).startswith("not a TorchScript model: ")
    path.write_bytes(b"\x18\0\0\0PTMF" + bytes(100))
    assert refused(path).startswith("a model in FlatBuffer form")
    assert refused(archive(path, data=b"N.")).startswith("has no bytecode.pkl")
    with pytest.raises(InputError, match="cannot read: No such file"):
        read_operators(tmp_path / "nowhere.ptl")


def test_compressed_and_doubled_entries_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.ptl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("m/bytecode.pkl", bytes(10_000_000))
    assert "is compressed" in refused(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("m/bytecode.pkl", bytecode())
        file.writestr("n/bytecode.pkl", bytecode())
    assert refused(path) == "holds bytecode.pkl twice"


def test_an_entry_that_claims_gigabytes_is_refused(tmp_path: Path) -> None:
    data = bytearray(archive(tmp_path / "a.ptl", bytecode=bytecode()).read_bytes())
    directory = data.rindex(b"PK\x01\x02")
    data[directory + 20 : directory + 28] = struct.pack("<II", 0xFFFFFFF0, 0xFFFFFFF0)
    path = tmp_path / "b.ptl"
    path.write_bytes(data)
    assert "is compressed or larger than" in refused(path)


@pytest.mark.parametrize("name", NAMES)
def test_mutated_models_are_refused_or_read(name: str, tmp_path: Path) -> None:
    source = random.Random(11)
    data = (MODELS / f"{name}.ptl").read_bytes()
    path = tmp_path / "mutated.ptl"
    refusals = 0
    for round_ in range(600):
        mutated = bytearray(data)
        for _ in range(source.randint(1, 8)):
            mutated[source.randrange(len(mutated))] = source.randrange(256)
        path.write_bytes(mutated if round_ % 3 else mutated[: source.randrange(len(mutated))])
        try:
            read_operators(path)
        except InputError as error:
            assert "\n" not in str(error)
            refusals += 1
    assert refusals > 100


@pytest.mark.native
@pytest.mark.parametrize("name", NAMES)
def test_mutated_bytecode_is_refused_or_read(name: str, tmp_path: Path) -> None:
    # The zip's checksum catches the mutations above before the pickle is read; these reach it.
    with zipfile.ZipFile(io.BytesIO((MODELS / f"{name}.ptl").read_bytes())) as file:
        data = file.read(f"{name}/bytecode.pkl")
    source = random.Random(13)
    refusals = 0
    for _ in range(1000):
        mutated = bytearray(data)
        for _ in range(source.randint(1, 3)):
            mutated[source.randrange(len(mutated))] = source.randrange(256)
        try:
            read_operators(archive(tmp_path / "a.ptl", bytecode=bytes(mutated)))
        except InputError as error:
            assert "\n" not in str(error)
            refusals += 1
    assert refusals > 300
