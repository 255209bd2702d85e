"""Limits and edge cases of the runtime: outputs, memory, numbers, dtypes and sizes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from sizeguard.builds.build_record import Build
from sizeguard.runtimes.sizeguard.program.program import (
    Dim,
    Instruction,
    Kind,
    Program,
    ProgramInput,
    Tag,
    TensorView,
    Value,
)
from sizeguard.runtimes.sizeguard.program.program_file import write_program
from tests.support.commands.program_runs import assert_one_line, run

FLOAT, LONG, HALF, DOUBLE, BFLOAT16 = 6, 4, 5, 7, 15
NONE = Value(Tag.NONE)
FALSE = Value(Tag.BOOL)
SMALLEST = -(1 << 63)


def integer(value: int) -> Value:
    return Value(Tag.INT, integer=value)


def integers(*values: int) -> Value:
    return Value(Tag.INT_LIST, integers=values)


def tensor(number: int) -> Value:
    return Value(Tag.TENSOR, integer=number)


def calls(
    folder: Path,
    operator: str,
    constants: tuple[Value, ...],
    arrays: tuple[np.ndarray, ...] = (),
    results: int = 1,
) -> Path:
    """Write a program that calls one operator with constants, which refer to `arrays`."""
    codes = {np.dtype(np.float32): FLOAT, np.dtype(np.int64): LONG, np.dtype(np.float64): DOUBLE}
    views = tuple(
        TensorView(
            codes[array.dtype],
            array.shape,
            tuple(stride // array.itemsize for stride in array.strides),
            0,
            i,
        )
        for i, array in enumerate(arrays)
    )
    count = len(constants)
    outputs = tuple(range(count, count + results))
    call = Instruction(Kind.CALL, 0, tuple(range(count)), outputs)
    storages = tuple(array.tobytes() for array in arrays)
    path = folder / "call.sgp"
    write_program(
        Program(
            "call",
            (operator,),
            count + results,
            constants,
            views,
            storages,
            (call,),
            (),
            outputs,
        ),
        path,
    )
    return path


def constant_outputs(folder: Path, *values: Value) -> Path:
    """Write a program whose outputs are its constants."""
    path = folder / "outputs.sgp"
    slots = tuple(range(len(values)))
    write_program(Program("outputs", (), len(values), values, (), (), (), (), slots), path)
    return path


@pytest.mark.parametrize(
    "value",
    [
        integers(1, 2),
        Value(Tag.DOUBLE_LIST, numbers=(0.5,)),
        Value(Tag.BOOL_LIST, integers=(1,)),
        Value(Tag.STRING, text="text"),
        Value(Tag.TENSOR_LIST, integers=()),
    ],
    ids=lambda value: value.tag.name,
)
def test_an_output_that_is_no_array_is_an_error(
    full_build: Build, tmp_path: Path, value: Value
) -> None:
    path = constant_outputs(tmp_path, integer(1), value)
    done = run(full_build.shipped, path, "--output-dir", str(tmp_path))
    assert_one_line(done, 2, "a list, a string or an object")
    assert not list(tmp_path.glob("*.npy"))


def test_an_output_that_is_none_has_no_file(full_build: Build, tmp_path: Path) -> None:
    (tmp_path / "output1.npy").write_bytes(b"of an earlier run")
    path = constant_outputs(tmp_path, integer(3), NONE)
    done = run(full_build.shipped, path, "--output-dir", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert [file.name for file in tmp_path.glob("*.npy")] == ["output0.npy"]
    assert np.load(tmp_path / "output0.npy") == 3


@pytest.mark.parametrize("option", ["--case", "--max-instructions", "--max-memory"])
@pytest.mark.parametrize("text", ["abc", "", "1x", "-1", " 1", "0x1", "99999999999999999999"])
def test_an_option_that_is_no_number_is_refused(
    full_build: Build, tmp_path: Path, option: str, text: str
) -> None:
    path = constant_outputs(tmp_path, integer(3))
    done = run(full_build.shipped, path, "--output-dir", str(tmp_path), option, text)
    assert done.returncode == 2
    assert_one_line(done, 2, f"error: {option}; usage: ")
    assert not list(tmp_path.glob("*.npy"))


# Integers; some of them become a different float if they are converted through double.
TWICE = [
    (1 << 60) + (1 << 36) + 1,
    -(1 << 60) - (1 << 36) - 1,
    (1 << 62) + (1 << 38) + 1,
    (1 << 54) + (1 << 30) + 1,
    (1 << 53) + 1,
    (1 << 63) - 1,
    SMALLEST,
    16_777_217,
    65_519,
    -3,
]


def rounded_once(values: list[int]) -> np.ndarray:
    floats = np.array(values, np.int64).astype(np.float32)
    assert any(
        np.float32(np.float64(each)) != one for each, one in zip(values, floats, strict=True)
    )
    return floats


def bfloat16_bits(values: np.ndarray) -> np.ndarray:
    words = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((words + 0x7FFF + ((words >> 16) & 1)) >> 16).astype(np.uint16)


def test_integers_become_floats_with_one_rounding(full_build: Build, tmp_path: Path) -> None:
    """Like PyTorch, numpy converts to float directly, and to 16-bit types through float."""
    array = np.array(TWICE, np.int64)
    floats = rounded_once(TWICE)
    with np.errstate(over="ignore"):  # large integers become infinite in Half
        halves = floats.astype(np.float16)
    for dtype, expected in (
        (FLOAT, floats.view(np.uint32)),
        (DOUBLE, array.astype(np.float64).view(np.uint64)),
        (HALF, halves.view(np.uint16)),
        (BFLOAT16, bfloat16_bits(floats)),
    ):
        path = calls(
            tmp_path,
            "aten::to.dtype",
            (tensor(0), integer(dtype), FALSE, FALSE, NONE),
            (array,),
        )
        done = run(full_build.shipped, path, "--output-dir", str(tmp_path))
        assert done.returncode == 0, done.stderr
        given = np.load(tmp_path / "output0.npy")
        assert given.view(expected.dtype).tolist() == expected.tolist()


@pytest.mark.parametrize("number", TWICE)
def test_numbers_become_floats_with_one_rounding(
    full_build: Build, tmp_path: Path, number: int
) -> None:
    zero, one = np.zeros(1, np.float32), np.ones(1, np.float32)
    expected = np.array([number], np.int64).astype(np.float32)
    alpha = (tensor(0), tensor(1), integer(number))
    for operator, constants in (
        ("aten::full", (integers(1), integer(number), integer(FLOAT), NONE, NONE, NONE)),
        ("aten::add.Tensor", alpha),
        ("aten::mul.Scalar", (tensor(1), integer(number))),
        ("aten::clamp", (tensor(0), integer(number), integer(number))),
    ):
        path = calls(tmp_path, operator, constants, (zero, one))
        done = run(full_build.shipped, path, "--output-dir", str(tmp_path))
        assert done.returncode == 0, done.stderr
        assert np.load(tmp_path / "output0.npy").tobytes() == expected.tobytes(), operator


@pytest.mark.parametrize("code", [260, -252, 4 + (1 << 32), 8, 16, -1, SMALLEST])
def test_a_code_that_is_no_dtype_is_refused(full_build: Build, tmp_path: Path, code: int) -> None:
    """The lowest byte of 260 is 4, the code of Long."""
    array = np.ones(2, np.int64)
    floats = np.ones(2, np.float32)
    for operator, constants in (
        ("aten::to.dtype", (tensor(1), integer(code), FALSE, FALSE, NONE)),
        ("aten::sum", (tensor(0), integer(code))),
        ("aten::full", (integers(2), integer(1), integer(code), NONE, NONE, NONE)),
        ("aten::arange", (integer(3), integer(code), NONE, NONE, NONE)),
        (
            "aten::_assert_tensor_metadata",
            (tensor(0), NONE, NONE, integer(code), NONE, NONE),
        ),
    ):
        results = 0 if operator.endswith("metadata") else 1
        path = calls(tmp_path, operator, constants, (array, floats), results)
        done = run(full_build.shipped, path, "--output-dir", str(tmp_path))
        assert_one_line(done, 2, operator)


@pytest.mark.parametrize("code", [3, -1, 260])
def test_a_code_that_is_no_memory_format_is_refused(
    full_build: Build, tmp_path: Path, code: int
) -> None:
    path = calls(tmp_path, "aten::clone", (tensor(0), integer(code)), (np.ones(2, np.float32),))
    done = run(full_build.shipped, path, "--output-dir", str(tmp_path))
    assert_one_line(done, 2, "aten::clone", "memory format")


def test_the_smallest_integer_negated_wraps(full_build: Build, tmp_path: Path) -> None:
    ones = np.ones(2, np.int64)
    path = calls(tmp_path, "aten::sub.Tensor", (tensor(0), tensor(0), integer(SMALLEST)), (ones,))
    done = run(full_build.shipped, path, "--output-dir", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "output0.npy").tolist() == [SMALLEST + 1] * 2


def test_cropping_by_the_smallest_integer_keeps_nothing(full_build: Build, tmp_path: Path) -> None:
    ones = np.ones(2, np.float32)
    pad = integers(SMALLEST, (1 << 63) - 1)
    path = calls(tmp_path, "aten::constant_pad_nd", (tensor(0), pad, integer(7)), (ones,))
    done = run(full_build.shipped, path, "--output-dir", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "output0.npy").tolist() == [7]


@pytest.mark.parametrize(("other", "code"), [(1 << 57, 0), (1 << 58, 2), (1 << 62, 2)])
def test_an_empty_tensor_has_strides_that_fit_64_bits(
    full_build: Build, tmp_path: Path, other: int, code: int
) -> None:
    """The stride of the first dimension is `other`, and kernels compute it in bytes."""
    sizes = integers(2, other, 0)
    path = calls(tmp_path, "aten::full", (sizes, integer(1), *[NONE] * 4))
    done = run(full_build.shipped, path, "--output-dir", str(tmp_path))
    assert done.returncode == code, done.stderr
    if code:
        assert_one_line(done, 2, "aten::full", "no such shape")
    else:
        assert np.load(tmp_path / "output0.npy").shape == (2, other, 0)


def lstm(gates: int, hidden: int) -> tuple[tuple[Value, ...], tuple[np.ndarray, ...]]:
    """Return arguments for one layer whose weights have `gates` rows."""
    arrays = (
        np.ones((3, 2, 2), np.float32),
        np.ones((1, 2, hidden), np.float32),
        np.ones((gates, 2), np.float32),
        np.ones((gates, hidden), np.float32),
        np.ones(gates, np.float32),
    )
    true = Value(Tag.BOOL, integer=1)
    constants = (
        tensor(0),
        Value(Tag.TENSOR_LIST, integers=(1, 1)),
        Value(Tag.TENSOR_LIST, integers=(2, 3, 4, 4)),
        true,
        integer(1),
        Value(Tag.DOUBLE),
        FALSE,
        FALSE,
        FALSE,
    )
    return constants, arrays


@pytest.mark.parametrize("gates", [1, 3, 4, 11, 13, 24])
def test_an_lstm_whose_weights_have_not_four_gates_is_refused(
    full_build: Build, tmp_path: Path, gates: int
) -> None:
    constants, arrays = lstm(gates, 3)
    path = calls(tmp_path, "aten::lstm.input", constants, arrays, 3)
    done = run(full_build.shipped, path, "--output-dir", str(tmp_path))
    assert_one_line(done, 2, "aten::lstm.input", "four gates")


def test_an_lstm_with_four_gates_runs(full_build: Build, tmp_path: Path) -> None:
    path = calls(tmp_path, "aten::lstm.input", *lstm(12, 3), 3)
    done = run(full_build.shipped, path, "--output-dir", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "output0.npy").shape == (3, 2, 3)


LONGEST = 1 << 20


@pytest.mark.parametrize(
    ("operator", "constants"),
    [
        # Each part of an empty tensor takes at least 100 bytes, but has no elements.
        ("aten::unbind.int", (tensor(0), integer(0))),
        ("aten::split.Tensor", (tensor(0), integer(1), integer(0))),
        ("aten::chunk", (tensor(0), integer(LONGEST), integer(0))),
    ],
)
def test_the_memory_limit_counts_all_that_lives(
    full_build: Build, tmp_path: Path, operator: str, constants: tuple[Value, ...]
) -> None:
    count = len(constants)
    call = Instruction(Kind.CALL, 0, tuple(range(count)), (count,))
    view = TensorView(FLOAT, (LONGEST, 0), (1, 1), 0, 0)
    path = tmp_path / "parts.sgp"
    program = Program("parts", (operator,), count + 1, constants, (view,), (b"",), (call,), (), ())
    write_program(program, path)
    output = ("--output-dir", str(tmp_path))
    assert run(full_build.shipped, path, *output).returncode == 0
    limited = run(full_build.shipped, path, *output, "--max-memory", str(64 << 20))
    assert_one_line(limited, 2, operator, "out of memory")


def test_a_limit_that_suffices_changes_nothing(full_build: Build, tmp_path: Path) -> None:
    """Freed memory does not count: 1,000 tensors of 16 KiB fit into the file's size plus 64 KiB."""
    constants = (integers(4096), integer(1), integer(FLOAT), NONE)
    fill = Instruction(Kind.CALL, 0, (0, 1, 2, 3, 3, 3), (4,))
    path = tmp_path / "fills.sgp"
    write_program(
        Program("fills", ("aten::full",), 5, constants, (), (), (fill,) * 1000, (), (4,)), path
    )
    output = ("--output-dir", str(tmp_path))
    size = path.stat().st_size
    done = run(full_build.shipped, path, *output, "--max-memory", str(size + (64 << 10)))
    assert done.returncode == 0, done.stderr
    done = run(full_build.shipped, path, *output, "--max-memory", str(size + (16 << 10)))
    assert_one_line(done, 2, "out of memory")


def test_slots_that_nothing_names_are_refused(full_build: Build, tmp_path: Path) -> None:
    """16 million slots would take 300 MB, but the file has 200 bytes."""
    path = tmp_path / "slots.sgp"
    write_program(Program("slots", (), 1 << 24, (), (), (), (), (), ()), path)
    assert_one_line(run(full_build.shipped, path, "--check"), 2, "too many slots")


def test_a_message_of_a_program_stays_on_one_line(full_build: Build, tmp_path: Path) -> None:
    text = Value(Tag.STRING, text="first\n::error::second\x1b[2J")
    path = calls(tmp_path, "aten::_assert_scalar", (integer(0), text), (), 0)
    done = run(full_build.shipped, path, "--output-dir", str(tmp_path))
    assert_one_line(done, 2, "first?::error::second?[2J")


@pytest.mark.parametrize(
    "shape", ["(99999999999999999999, 0)", "(0, 9223372036854775808)", "(18446744073709551617,)"]
)
def test_a_size_beyond_64_bits_in_an_array_is_refused(
    full_build: Build, tmp_path: Path, shape: str
) -> None:
    inputs = (ProgramInput(0, Tag.TENSOR, FLOAT, (Dim(0, (1 << 63) - 1),) * 2),)
    program = tmp_path / "input.sgp"
    write_program(Program("input", (), 1, (), (), (), (), inputs, ()), program)
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    array = tmp_path / "in.npy"
    array.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(8))
    done = run(full_build.shipped, program, "--input", str(array), "--output-dir", str(tmp_path))
    assert_one_line(done, 2, "in.npy")


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("--bogus", "1"), "--bogus"),
        (("--output-dir",), "--output-dir"),
        (("--output-dir", ""), "--output-dir"),
        ((), "--output-dir"),
        (("--case", "0", "--input", "a.npy", "--output-dir", "out"), "--input"),
    ],
)
def test_a_wrong_command_line_names_the_word(
    full_build: Build, tmp_path: Path, words: tuple[str, ...], wrong: str
) -> None:
    done = run(full_build.shipped, constant_outputs(tmp_path, integer(3)), *words)
    assert_one_line(done, 2, f"error: {wrong}; usage: run_program ")


def test_a_pipe_is_refused_and_not_waited_for(full_build: Build, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    output = ("--output-dir", str(tmp_path))
    assert_one_line(run(full_build.shipped, pipe, *output), 2, f"{pipe}: cannot read")
    program = constant_outputs(tmp_path, integer(3))
    done = run(full_build.shipped, program, "--input", str(pipe), *output)
    assert_one_line(done, 2, f"{pipe}: cannot read")


def test_a_program_above_the_limit_of_memory_is_named(full_build: Build, tmp_path: Path) -> None:
    program = constant_outputs(tmp_path, integer(3))
    done = run(full_build.shipped, program, "--check", "--max-memory", "100")
    assert_one_line(done, 2, f"{program}: out of memory")
