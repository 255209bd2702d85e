"""Operators read from ExecuTorch programs equal those of gen_oplist; damage is an error."""

from __future__ import annotations

import random
import struct
import time
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest
import yaml

from sizeguard.base.errors import InputError
from sizeguard.runtimes.executorch.pte import read_operators
from sizeguard.runtimes.model_files import read_models
from sizeguard.selection.of_models import selection_of_model
from sizeguard.selection.read import read_selection
from tests.support.places import DATA

MODELS = DATA / "models_executorch"
NAMES = sorted(path.stem for path in MODELS.glob("*.pte"))


def expected(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((MODELS / f"{name}.yaml").read_text(encoding="utf-8"))
    return content


def test_the_models_are_there() -> None:
    assert {"cnn", "lstm", "mixed", "mlp", "lists", "methods", "control", "bundled"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_operators_and_kernel_keys_are_gen_oplists(name: str) -> None:
    info = read_operators(MODELS / f"{name}.pte")
    assert list(info.operators) == sorted(expected(name)["operators"])
    assert {operator: list(keys) for operator, keys in info.kernel_keys.items()} == expected(name)[
        "et_kernel_metadata"
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_selection_means_what_gen_oplists_means(name: str) -> None:
    ours = selection_of_model(read_operators(MODELS / f"{name}.pte"))
    theirs = read_selection(MODELS / f"{name}.yaml").selection
    flags = [
        {
            key: (entry.is_root_operator, entry.is_used_for_training, entry.include_all_overloads)
            for key, entry in one.operators.items()
        }
        for one in (ours, theirs)
    ]
    assert flags[0] == flags[1]
    assert ours.et_kernel_metadata == theirs.et_kernel_metadata
    assert ours.include_all_non_op_selectives == theirs.include_all_non_op_selectives
    assert ours.include_all_operators == theirs.include_all_operators


def test_dtypes_are_those_of_all_arguments() -> None:
    assert read_operators(MODELS / "mixed.pte").operators[
        "dim_order_ops::_to_dim_order_copy.out"
    ] == {"Float", "Half", "Long"}
    assert read_operators(MODELS / "methods.pte").operators == {
        "aten::never_called.out": frozenset(),
        "aten::relu": {"Bool", "Long", "UInt16"},
        "executorch_prim::add.Scalar": frozenset(),
    }


def refused(tmp_path: Path, data: bytes) -> str:
    path = tmp_path / "bad.pte"
    path.write_bytes(data)
    with pytest.raises(InputError) as refusal:
        read_operators(path)
    assert "\n" not in str(refusal.value)
    return str(refusal.value).removeprefix(f"{path}: ")


def test_other_files_are_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, b"") == "not an ExecuTorch program: lacks the file identifier ET12"
    assert "ET12" in refused(tmp_path, b"PK\x03\x04" + bytes(100))
    assert "ET12" in refused(tmp_path, struct.pack("<I4s", 8, b"ET99") + bytes(100))
    with pytest.raises(InputError, match="cannot read: No such file"):
        read_operators(tmp_path / "nowhere.pte")


@pytest.mark.parametrize("name", ["lists", "bundled", "cnn"])
def test_truncated_programs_are_refused_or_whole(name: str, tmp_path: Path) -> None:
    data = (MODELS / f"{name}.pte").read_bytes()
    whole = read_operators(MODELS / f"{name}.pte").operators
    path = tmp_path / "cut.pte"
    refusals = 0
    for size in range(0, len(data), max(1, len(data) // 300)):
        path.write_bytes(data[:size])
        try:
            # The missing part may contain only weights.
            assert read_operators(path).operators == whole
        except InputError:
            refusals += 1
    assert refusals > 20


@pytest.mark.native
def test_mutated_programs_are_refused_or_read(tmp_path: Path) -> None:
    source = random.Random(7)
    path = tmp_path / "mutated.pte"
    refusals = 0
    for name in ("lists", "methods", "control", "bundled", "mixed"):
        data = (MODELS / f"{name}.pte").read_bytes()
        for _ in range(400):
            mutated = bytearray(data)
            for _ in range(source.randint(1, 4)):
                position = source.randrange(len(mutated))
                mutated[position] = source.choice((0, 1, 0x7F, 0x80, 0xFF, source.randrange(256)))
            path.write_bytes(mutated)
            try:
                read_operators(path)
            except InputError as error:
                assert "\n" not in str(error)
                refusals += 1
    assert refusals > 200


def built(*, operator_index: int = 0, argument: int = 0, shared: int = 1) -> bytes:
    """Return a program with one call, of an operator and a value at the given indices.

    shared: how often each list refers to its one element.
    """
    builder = flatbuffers.Builder()
    name = builder.CreateString("aten::relu")
    tensor = table(builder, {})
    value = table(builder, {0: ("byte", 5), 1: ("offset", tensor)})
    arguments = builder.CreateNumpyVector(np.array([argument], np.int32))
    call = table(builder, {0: ("int", operator_index), 1: ("offset", arguments)})
    instruction = table(builder, {0: ("byte", 1), 1: ("offset", call)})
    chain = table(builder, {2: ("offset", repeated(builder, instruction, shared))})
    operator = table(builder, {0: ("offset", name)})
    plan = table(
        builder,
        {
            2: ("offset", repeated(builder, value, 1)),
            5: ("offset", repeated(builder, chain, shared)),
            6: ("offset", repeated(builder, operator, 1)),
        },
    )
    builder.Finish(table(builder, {1: ("offset", repeated(builder, plan, 1))}), b"ET12")
    return bytes(builder.Output())


@pytest.mark.parametrize(
    ("items", "key"), [([0, 1], "v1/4;"), ([-1, 1], "v1/4;"), ([1, 0], "v1/4;"), ([0, -1], "v1")]
)
def test_a_missing_element_of_a_list_is_null_or_no_value(
    items: list[int], key: str, tmp_path: Path
) -> None:
    builder = flatbuffers.Builder()
    name = builder.CreateString("aten::index")
    nothing = table(builder, {})
    given = builder.CreateNumpyVector(np.array(items, np.int32))
    kinds = {
        1: nothing,
        5: table(builder, {0: ("byte", 4)}),
        11: table(builder, {0: ("offset", given)}),
    }
    values = [table(builder, {0: ("byte", k), 1: ("offset", kinds[k])}) for k in kinds]
    arguments = builder.CreateNumpyVector(np.array([2], np.int32))
    call = table(builder, {0: ("int", 0), 1: ("offset", arguments)})
    instruction = table(builder, {0: ("byte", 1), 1: ("offset", call)})
    chain = table(builder, {2: ("offset", repeated(builder, instruction, 1))})
    operator = table(builder, {0: ("offset", name)})
    builder.StartVector(4, len(values), 4)
    for value in reversed(values):
        builder.PrependUOffsetTRelative(value)
    listed = builder.EndVector()
    fields = {
        5: ("offset", repeated(builder, chain, 1)),
        6: ("offset", repeated(builder, operator, 1)),
    }
    plan = table(builder, {2: ("offset", listed), **fields})
    builder.Finish(table(builder, {1: ("offset", repeated(builder, plan, 1))}), b"ET12")
    path = tmp_path / "list.pte"
    path.write_bytes(builder.Output())
    assert read_operators(path).kernel_keys == {"aten::index": (key,)}


def table(builder: flatbuffers.Builder, fields: dict[int, tuple[str, int]]) -> int:
    builder.StartObject(8)
    for field, (kind, content) in fields.items():
        if kind == "offset":
            builder.PrependUOffsetTRelativeSlot(field, content, 0)
        elif kind == "int":
            builder.PrependInt32Slot(field, content, 0)
        else:
            builder.PrependUint8Slot(field, content, 0)
    return int(builder.EndObject())


def repeated(builder: flatbuffers.Builder, element: int, count: int) -> int:
    builder.StartVector(4, count, 4)
    for _ in range(count):
        builder.PrependUOffsetTRelative(element)
    return int(builder.EndVector())


def test_indices_beyond_the_tables_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "good.pte"
    path.write_bytes(built())
    assert read_operators(path).kernel_keys == {"aten::relu": ("v1/0;",)}
    assert refused(tmp_path, built(operator_index=1)).endswith("a call of operator 1 of 1")
    assert refused(tmp_path, built(operator_index=-1)).endswith("of 1")
    assert refused(tmp_path, built(argument=7)).endswith("a call with value 7 of 1")
    assert refused(tmp_path, built(argument=-1)).endswith("a call with value -1 of 1")


def test_shared_parts_do_not_unfold(tmp_path: Path) -> None:
    # 20,000 chains share one list of 20,000 instructions, so a file of 160 kB has 400 million
    # calls.
    data = built(shared=20_000)
    assert len(data) < 200_000
    start = time.process_time()
    assert refused(tmp_path, data).endswith("parts of the file are used too many times")
    assert time.process_time() - start < 20


def test_a_model_that_is_given_twice_counts_once() -> None:
    path = MODELS / "add.pte"
    assert [info.model for info in read_models([path, path])] == ["add.pte"]
