"""Program files are read back unchanged, also by flatc; damaged files are refused."""

from __future__ import annotations

import json
import math
import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizeguard.base.errors import InputError
from sizeguard.models.flatbuffer import FlatBufferError
from sizeguard.operators.dtypes import NAMES, element_size
from sizeguard.runtimes.sizeguard.program.program import (
    Dim,
    Instruction,
    Kind,
    Program,
    ProgramError,
    ProgramInput,
    Tag,
    TensorView,
    Value,
)
from sizeguard.runtimes.sizeguard.program.program_file import (
    program_bytes,
    program_from_bytes,
    read_program,
    write_program,
)
from tests.support.places import ROOT

SCHEMA = ROOT / "native" / "runtime" / "program.fbs"
INT64 = st.integers(-(2**63), 2**63 - 1)
# flatc prints NaN and infinities as invalid JSON; another test covers them
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)


@st.composite
def tensor_views(draw: st.DrawFn, storages: list[bytes]) -> TensorView:
    """Draw a view within its storage: any strides for which the last element fits."""
    storage = draw(st.integers(0, len(storages) - 1))
    dtype = draw(st.sampled_from(sorted(NAMES)))
    elements = len(storages[storage]) // element_size(dtype)
    if elements == 0:
        return TensorView(dtype, (0, 3), (3, 1), 0, storage)
    sizes, strides, last = [], [], draw(st.integers(0, elements - 1))
    offset = last
    for _ in range(draw(st.integers(0, 3))):
        size, stride = draw(st.integers(1, 4)), draw(st.integers(0, 4))
        if last + (size - 1) * stride < elements:
            sizes.append(size)
            strides.append(stride)
            last += (size - 1) * stride
    return TensorView(dtype, tuple(sizes), tuple(strides), offset, storage)


@st.composite
def values(draw: st.DrawFn, tensors: int, older: int) -> Value:
    tag = draw(st.sampled_from(Tag))
    match tag:
        case Tag.TENSOR if tensors:
            return Value(tag, integer=draw(st.integers(0, tensors - 1)))
        case Tag.BOOL:
            return Value(tag, integer=draw(st.integers(0, 1)))
        case Tag.INT:
            return Value(tag, integer=draw(INT64))
        case Tag.DOUBLE:
            return Value(tag, number=draw(DOUBLES))
        case Tag.STRING:
            return Value(tag, text=draw(TEXTS))
        case Tag.INT_LIST:
            return Value(tag, integers=tuple(draw(st.lists(INT64, max_size=4))))
        case Tag.BOOL_LIST:
            return Value(tag, integers=tuple(draw(st.lists(st.integers(0, 1), max_size=4))))
        case Tag.DOUBLE_LIST:
            return Value(tag, numbers=tuple(draw(st.lists(DOUBLES, max_size=4))))
        case Tag.TENSOR_LIST:
            return Value(
                tag, integers=tuple(draw(st.lists(st.integers(-1, tensors - 1), max_size=4)))
            )
        case Tag.OBJECT if older:
            return Value(
                tag,
                text="LinearOpContext",
                integers=tuple(draw(st.lists(st.integers(0, older - 1), max_size=4))),
            )
    return Value(Tag.NONE)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    storages = draw(st.lists(st.binary(max_size=70), min_size=1, max_size=4))
    tensors = [draw(tensor_views(storages)) for _ in range(draw(st.integers(0, 5)))]
    constants = tuple(draw(values(len(tensors), i)) for i in range(draw(st.integers(0, 6))))
    operators = tuple(
        sorted(
            draw(
                st.sets(
                    st.from_regex(r"[a-z_]{1,5}::[a-z_]{1,5}(\.[A-Za-z_]{1,5})?", fullmatch=True),
                    max_size=4,
                )
            )
        )
    )
    numbers = draw(st.lists(st.sampled_from([Tag.BOOL, Tag.INT, Tag.DOUBLE]), max_size=2))
    slot_count = len(constants) + 2 + len(numbers) + draw(st.integers(1, 5))
    slots = st.integers(0, slot_count - 1)
    variables = st.integers(len(constants), slot_count - 1)
    length = draw(st.integers(0, 6))
    instructions = []
    for _ in range(length):
        kind = draw(st.sampled_from([kind for kind in Kind if kind != Kind.CALL or operators]))
        inputs, outputs = (
            tuple(draw(st.lists(slots, max_size=4))),
            tuple(draw(st.lists(variables, max_size=3))),
        )
        match kind:
            case Kind.CALL:
                instructions.append(
                    Instruction(kind, draw(st.integers(0, len(operators) - 1)), inputs, outputs)
                )
            case Kind.LIST:
                tag = draw(st.sampled_from([Tag.INT_LIST, Tag.TENSOR_LIST]))
                instructions.append(Instruction(kind, tag, inputs, (draw(variables),)))
            case Kind.MOVE:
                instructions.append(Instruction(kind, 0, (draw(slots),), (draw(variables),)))
            case _:
                tested = (draw(slots),) if kind == Kind.JUMP_FALSE else ()
                instructions.append(Instruction(kind, draw(st.integers(0, length)), tested))
    items = [ProgramInput(len(constants) + i, tag) for i, tag in enumerate(numbers)]
    case: list[Value] = [
        Value(tag, integer=1) if tag != Tag.DOUBLE else Value(tag, number=-0.5) for tag in numbers
    ]
    if tensors:
        view = tensors[-1]
        items.append(
            ProgramInput(
                slot_count - 1,
                Tag.TENSOR,
                view.dtype,
                tuple(Dim(size // 2, size + 1) for size in view.sizes),
            )
        )
        case.append(Value(Tag.TENSOR, integer=len(tensors) - 1))
    called = 1 + max((step.target for step in instructions if step.kind == Kind.CALL), default=-1)
    return Program(
        name=draw(TEXTS),
        operators=operators[:called],
        slot_count=slot_count,
        values=constants,
        tensors=tuple(tensors),
        storages=tuple(storages),
        instructions=tuple(instructions),
        inputs=tuple(items),
        outputs=tuple(draw(st.lists(slots, max_size=3))),
        cases=(tuple(case),) * draw(st.integers(0, 2)),
        callees=operators[called:],
    )


@given(programs())
@settings(max_examples=60, deadline=None)
def test_what_is_written_reads_back_equal(program: Program) -> None:
    data = program_bytes(program)
    assert program_from_bytes(data) == program
    assert program_bytes(program_from_bytes(data)) == data


@pytest.mark.native
@given(programs())
@settings(max_examples=40, deadline=None)
def test_flatc_reads_the_same(tmp_path_factory: pytest.TempPathFactory, program: Program) -> None:
    folder = tmp_path_factory.mktemp("flatc")
    write_program(program, folder / "p.sgp")
    command = [
        "flatc",
        "--json",
        "--strict-json",
        "--defaults-json",
        "--raw-binary",
        "-o",
        str(folder),
        str(SCHEMA),
        "--",
        str(folder / "p.sgp"),
    ]
    subprocess.run(command, check=True, capture_output=True)
    read = json.loads((folder / "p.json").read_text())

    assert read["name"] == program.name
    assert read["operators"] == [*program.operators, *program.callees]
    assert read["slot_count"] == program.slot_count
    assert [bytes(storage["data"]) for storage in read["storages"]] == list(program.storages)
    fields = ("dtype", "sizes", "strides", "offset", "storage")
    assert [tuple(tensor[name] for name in fields) for tensor in read["tensors"]] == [
        (view.dtype, list(view.sizes), list(view.strides), view.offset, view.storage)
        for view in program.tensors
    ]
    for value, expected in zip(read["values"], program.values, strict=True):
        assert value["tag"].upper() == expected.tag.name.replace("_", "")
        assert (value["integer"], value.get("text", "")) == (expected.integer, expected.text)
        # flatc prints 12 decimals
        assert math.isclose(value["number"], expected.number, rel_tol=1e-9, abs_tol=1e-11)
        assert value.get("integers", []) == list(expected.integers)
        assert len(value.get("numbers", [])) == len(expected.numbers)
    for step, instruction in zip(read["instructions"], program.instructions, strict=True):
        first, middle = step["first"], step["first"] + step["inputs"]
        assert step["kind"].upper() == instruction.kind.name.replace("_", "")
        assert step["target"] == instruction.target
        assert tuple(read["slots"][first:middle]) == instruction.inputs
        assert tuple(read["slots"][middle : middle + step["outputs"]]) == instruction.outputs
    for item, expected_input in zip(read["inputs"], program.inputs, strict=True):
        assert (item["slot"], item["dtype"]) == (expected_input.slot, expected_input.dtype)
        assert [(dim["minimum"], dim["maximum"]) for dim in item["dims"]] == [
            (dim.minimum, dim.maximum) for dim in expected_input.dims
        ]
    assert tuple(read["outputs"]) == program.outputs
    assert len(read["cases"]) == len(program.cases)


@given(programs())
@settings(max_examples=30, deadline=None)
def test_constants_are_aligned(program: Program) -> None:
    data = program_bytes(program)
    for storage in program.storages:
        # The reader refuses unaligned data; this test searches the file for the aligned data.
        places = [i for i in range(0, len(data), 16) if data.startswith(storage, i)]
        assert places
    assert len(data) % 16 == 0


def a_program() -> Program:
    """Return a small program that uses every table."""
    values = (
        Value(Tag.TENSOR),
        Value(Tag.DOUBLE, number=-0.0),
        Value(Tag.OBJECT, text="LinearOpContext", integers=(0, 1)),
    )
    return Program(
        name="small",
        operators=("aten::add.Tensor", "aten::relu"),
        slot_count=6,
        values=values,
        tensors=(TensorView(6, (2,), (1,), 0, 0), TensorView(6, (2,), (1,), 0, 1)),
        storages=(b"\0" * 8, b"\1" * 8),
        instructions=(
            Instruction(Kind.CALL, 1, (3,), (4,)),
            Instruction(Kind.JUMP_FALSE, 3, (4,)),
            Instruction(Kind.MOVE, 0, (4,), (5,)),
        ),
        inputs=(ProgramInput(3, Tag.TENSOR, 6, (Dim(1, 2),)),),
        outputs=(5, 0),
        cases=((Value(Tag.TENSOR, integer=1),),),
    )


def test_minus_zero_and_special_numbers_survive() -> None:
    numbers = (-0.0, math.inf, -math.inf, math.nan, 5e-324)
    program = Program(
        "p",
        (),
        6,
        (Value(Tag.DOUBLE_LIST, numbers=numbers), *(Value(Tag.DOUBLE, number=n) for n in numbers)),
        (),
        (),
        (),
        (),
        (),
    )
    read = program_from_bytes(program_bytes(program))
    assert [value.number.hex() for value in read.values[1:]] == [number.hex() for number in numbers]
    assert [number.hex() for number in read.values[0].numbers] == [
        number.hex() for number in numbers
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slot_count": 2}, "2 slots, 3 values"),
        ({"slot_count": 2**30}, f"{2**30} slots"),
        ({"operators": ("aten::relu", "aten::add.Tensor")}, "not sorted and unique"),
        ({"operators": ("aten::add.Tensor", "relu")}, "'relu' is not an operator name"),
        ({"callees": ("aten::sub", "aten::mul")}, "the callees are not sorted and unique"),
        ({"callees": ("aten::relu",)}, "or instructions call them"),
        ({"callees": ("relu",)}, "'relu' is not an operator name"),
        ({"instructions": ()}, "no instruction calls the last operator"),
        ({"outputs": (6,)}, "output 0: slot 6 of 6"),
        ({"storages": (b"", b"\1" * 8)}, "tensor 0: needs 8 bytes, but its storage has 0"),
        ({"storages": (b"\0" * 8,)}, "tensor 1: storage 1 of 1"),
        ({"cases": ((),)}, "case 0: 0 values for 1 inputs"),
        ({"cases": ((Value(Tag.INT),),)}, "case 0: value 0 has tag 2, the input 5"),
        ({"inputs": (ProgramInput(2, Tag.TENSOR, 6, (Dim(1, 2),)),)}, "input 0: slot 2 of 6"),
        (
            {"inputs": (ProgramInput(3, Tag.TENSOR, 5, (Dim(1, 2),)),)},
            "value 0 has dtype Float, the input Half",
        ),
        (
            {"inputs": (ProgramInput(3, Tag.TENSOR, 6, (Dim(3, 4),)),)},
            "has shape (2,), which the input does not allow",
        ),
        (
            {"inputs": (ProgramInput(3, Tag.TENSOR, 6, (Dim(3, 2),)),)},
            "bounds that no size satisfies",
        ),
        ({"inputs": (ProgramInput(3, Tag.STRING),), "cases": ()}, "input 0: tag 4"),
        ({"tensors": (TensorView(8, (2,), (1,), 0, 0),) * 2}, "tensor 0: dtype 8 is unknown"),
        (
            {"tensors": (TensorView(6, (2,), (-1,), 0, 0),) * 2},
            "tensor 0: a negative size, stride or offset",
        ),
        ({"tensors": (TensorView(6, (2, 2), (1,), 0, 0),) * 2}, "tensor 0: 2 sizes, 1 strides"),
        ({"tensors": (TensorView(6, (2,) * 17, (0,) * 17, 0, 0),) * 2}, "tensor 0: 17 dimensions"),
        (
            {"tensors": (TensorView(6, (2**40, 2**40), (0, 0), 0, 0),) * 2},
            "tensor 0: larger than any memory",
        ),
        ({"tensors": (TensorView(6, (2,), (2**62,), 0, 0),) * 2}, "tensor 0: needs "),
        (
            {"tensors": (TensorView(6, (0,), (1,), 3, 0),) * 2},
            "tensor 0: needs 12 bytes, but its storage has 8",
        ),
        ({"values": (Value(Tag.TENSOR, integer=2),)}, "value 0: tensor 2 of 2"),
        ({"values": (Value(Tag.TENSOR_LIST, integers=(-2,)),)}, "value 0: tensor -2 of 2"),
        ({"values": (Value(Tag.BOOL, integer=2),)}, "value 0: a bool with the value 2"),
        (
            {"values": (Value(Tag.BOOL_LIST, integers=(2,)),)},
            "value 0: a bool that is neither 0 nor 1",
        ),
        (
            {"values": (Value(Tag.OBJECT, text="A", integers=(0,)),)},
            "value 0: made of value 0, which is not earlier",
        ),
        (
            {"values": (Value(Tag.OBJECT, text="no class"),)},
            "value 0: 'no class' is not a class name",
        ),
        ({"values": (Value(Tag.STRING, text="a\0b"),)}, "value 0: a string with a zero byte"),
        ({"instructions": (Instruction(Kind.CALL, 2),)}, "instruction 0: operator 2 of 2"),
        (
            {"instructions": (Instruction(Kind.CALL, 0, (3,) * 33),)},
            "instruction 0: a call of 33 inputs, 0 outputs",
        ),
        (
            {"instructions": (Instruction(Kind.CALL, 0, (), (0,)),)},
            "instruction 0: writes the constant in slot 0",
        ),
        ({"instructions": (Instruction(Kind.CALL, 0, (6,)),)}, "instruction 0: slot 6 of 6"),
        ({"instructions": (Instruction(Kind.JUMP, 2),)}, "instruction 0: jumps to 2 of 1"),
        (
            {"instructions": (Instruction(Kind.JUMP_FALSE, 0),)},
            "instruction 0: a jump with 0 inputs, 0 outputs",
        ),
        (
            {"instructions": (Instruction(Kind.LIST, Tag.STRING, (), (4,)),)},
            "instruction 0: a list of tag 4 with 1 outputs",
        ),
        (
            {"instructions": (Instruction(Kind.MOVE, 0, (4,)),)},
            "instruction 0: a move of 1 slots to 0",
        ),
        (
            {"values": (Value(Tag.STRING, text="\ud800"),)},
            "value 0: a string with half a character",
        ),
    ],
)
def test_numbers_that_mean_nothing_are_refused(change: dict[str, object], message: str) -> None:
    fields = {name: getattr(a_program(), name) for name in Program.__slots__}
    with pytest.raises(ProgramError) as caught:
        program_bytes(Program(**{**fields, **change}))
    assert message in str(caught.value)


def test_files_that_are_no_programs(tmp_path: Path) -> None:
    path = tmp_path / "p.sgp"
    with pytest.raises(InputError, match=r"p.sgp: cannot read: No such file"):
        read_program(path)
    for content in (b"", b"PK\3\4", b"\0" * 64, program_bytes(a_program())[:40]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"p.sgp: not a program: "):
            read_program(path)


@pytest.mark.native
def test_a_damaged_file_is_refused_or_a_program() -> None:
    """Read truncations at every length, and 20,000 seeded mutations; no other error may occur."""
    data = program_bytes(a_program())
    accepted = 0
    generator = random.Random(7)
    mutations = [data[:length] for length in range(len(data))]
    for _ in range(20_000):
        mutated = bytearray(data)
        for _ in range(generator.randint(1, 3)):
            mutated[generator.randrange(len(mutated))] = generator.choice(
                (0, 1, 0x7F, 0x80, 0xFF, generator.randrange(256))
            )
        mutations.append(bytes(mutated))
    for mutated_data in mutations:
        try:
            program = program_from_bytes(mutated_data)
        except (FlatBufferError, ProgramError):
            continue
        # Accepted programs can be written again.
        program_bytes(program)
        accepted += 1
    assert 0 < accepted < len(mutations)


def test_shared_parts_do_not_unfold_into_a_huge_program() -> None:
    """If all values share one long list, unfolding it needs far more memory than the file."""
    count, length = 2000, 50_000
    program = Program(
        "p",
        (),
        count,
        (Value(Tag.INT_LIST, integers=(7,) * length),) + (Value(Tag.NONE),) * (count - 1),
        (),
        (),
        (),
        (),
        (),
    )
    data = bytearray(program_bytes(program))
    # Point every element of the vector of values at the first value.
    root = int.from_bytes(data[0:4], "little")
    vtable = root - int.from_bytes(data[root : root + 4], "little", signed=True)
    field = root + int.from_bytes(data[vtable + 4 + 2 * 3 : vtable + 6 + 2 * 3], "little")
    vector = field + int.from_bytes(data[field : field + 4], "little")
    first = vector + 4 + int.from_bytes(data[vector + 4 : vector + 8], "little")
    for i in range(count):
        place = vector + 4 + 4 * i
        if first > place:
            data[place : place + 4] = (first - place).to_bytes(4, "little")
    with pytest.raises(FlatBufferError, match="too many times"):
        program_from_bytes(bytes(data))
