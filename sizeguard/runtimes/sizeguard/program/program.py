"""The tables of native/runtime/program.fbs as Python values, and the rules of a valid program."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from enum import IntEnum

from sizeguard.base.dataclass import dataclass
from sizeguard.models.exported_program import MAXIMUM_DIMENSIONS
from sizeguard.models.json_fields import INT64_MAX
from sizeguard.operators.dtypes import NAMES, element_size

MAXIMUM_SLOTS = 2**24
MAXIMUM_ARGUMENTS = 32  # limit for a call, and for an object's constructor
MAXIMUM_RESULTS = 8

_OPERATOR_NAME = re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*(\.\w+)?", re.ASCII)


class Tag(IntEnum):
    """Kinds of values, with the codes of program.fbs and of sg::Value."""

    NONE = 0
    BOOL = 1
    INT = 2
    DOUBLE = 3
    STRING = 4
    TENSOR = 5
    INT_LIST = 6
    DOUBLE_LIST = 7
    BOOL_LIST = 8
    TENSOR_LIST = 9
    OBJECT = 10


class Kind(IntEnum):
    """Kinds of instructions, with the codes of program.fbs."""

    CALL = 0
    LIST = 1
    JUMP = 2
    JUMP_FALSE = 3
    MOVE = 4


LIST_TAGS = (Tag.INT_LIST, Tag.TENSOR_LIST)  # element tags of list instructions
INPUT_TAGS = (Tag.TENSOR, Tag.BOOL, Tag.INT, Tag.DOUBLE)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One step. inputs, outputs: slots.

    target: an operator's index, a list's tag, or the next instruction.
    """

    kind: Kind
    target: int
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TensorView:
    """A strided view of storage number `storage`.

    Sizes, strides and offset are in elements; dtype is a c10 code.
    """

    dtype: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    storage: int

    @property
    def is_empty(self) -> bool:
        """Return whether the tensor has no elements."""
        return 0 in self.sizes

    @property
    def end(self) -> int:
        """The bytes of storage that the view needs."""
        if self.is_empty:
            return self.offset * element_size(self.dtype)
        last = self.offset + sum(
            (size - 1) * stride for size, stride in zip(self.sizes, self.strides, strict=True)
        )
        return (last + 1) * element_size(self.dtype)


@dataclass(frozen=True, slots=True)
class Value:
    """A constant; the tag decides which fields are used, as in program.fbs."""

    tag: Tag
    integer: int = 0
    number: float = 0.0
    text: str = ""
    integers: tuple[int, ...] = ()
    numbers: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Dim:
    """Bounds of one dimension of an input, inclusive."""

    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True)
class ProgramInput:
    """A user input. dtype (a c10 code) and dims are for tensors."""

    slot: int
    tag: Tag
    dtype: int = 0
    dims: tuple[Dim, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """One model.

    operators: the operators that instructions call
    values:    values[i] is the initial value of slot i
    cases:     a value for each input, in order
    callees:   other operators that `operators` can call
    """

    name: str
    operators: tuple[str, ...]
    slot_count: int
    values: tuple[Value, ...]
    tensors: tuple[TensorView, ...]
    storages: tuple[bytes, ...]
    instructions: tuple[Instruction, ...]
    inputs: tuple[ProgramInput, ...]
    outputs: tuple[int, ...]
    cases: tuple[tuple[Value, ...], ...] = ()
    callees: tuple[str, ...] = ()


class ProgramError(ValueError):
    """An inconsistent program; str() has the reason."""


def called_operators(instructions: Iterable[Instruction]) -> int:
    """Return the number of operators up to the last one that an instruction calls."""
    return max((step.target + 1 for step in instructions if step.kind == Kind.CALL), default=0)


# More than 40 lines: the checks of the loader, in its order.
def check_program(program: Program) -> None:
    """Raise ProgramError if a number of the program is invalid.

    These are the checks of the runtime's loader.
    """
    _require(
        len(program.values) <= program.slot_count <= MAXIMUM_SLOTS,
        f"{program.slot_count} slots, {len(program.values)} values",
    )
    _require(
        list(program.operators) == sorted(set(program.operators)),
        "the operators are not sorted and unique",
    )
    _require(
        list(program.callees) == sorted(set(program.callees) - set(program.operators)),
        "the callees are not sorted and unique, or instructions call them",
    )
    for name in (*program.operators, *program.callees):
        _require(_OPERATOR_NAME.fullmatch(name) is not None, f"'{name}' is not an operator name")
    held = [len(storage) for storage in program.storages]
    for i, tensor in enumerate(program.tensors):
        check_tensor(tensor, held, f"tensor {i}")
    for i, value in enumerate(program.values):
        _check_value(value, program, i, f"value {i}")
    for i, instruction in enumerate(program.instructions):
        _check_instruction(instruction, program, i)
    _require(
        len(program.operators) == called_operators(program.instructions),
        "no instruction calls the last operator, so it is a callee",
    )
    for i, item in enumerate(program.inputs):
        _check_input(item, program, f"input {i}")
    slots = [item.slot for item in program.inputs]
    _require(len(set(slots)) == len(slots), "two inputs have the same slot")
    for i, slot in enumerate(program.outputs):
        _require(
            0 <= slot < program.slot_count,
            f"output {i}: slot {slot} of {program.slot_count}",
        )
    for i, case in enumerate(program.cases):
        _check_case(case, program, f"case {i}")


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ProgramError(message)


def check_tensor(tensor: TensorView, held: Sequence[int], where: str) -> None:
    """Raise ProgramError unless the view is in its storage. held: bytes of each storage."""
    _require(tensor.dtype in NAMES, f"{where}: dtype {tensor.dtype} is unknown")
    _require(
        len(tensor.sizes) == len(tensor.strides),
        f"{where}: {len(tensor.sizes)} sizes, {len(tensor.strides)} strides",
    )
    _require(
        len(tensor.sizes) <= MAXIMUM_DIMENSIONS,
        f"{where}: {len(tensor.sizes)} dimensions; at most {MAXIMUM_DIMENSIONS}",
    )
    _require(0 <= tensor.storage < len(held), f"{where}: storage {tensor.storage} of {len(held)}")
    _require(
        all(number >= 0 for number in (*tensor.sizes, *tensor.strides, tensor.offset)),
        f"{where}: a negative size, stride or offset",
    )
    elements = math.prod(size for size in tensor.sizes if size)
    _require(elements * element_size(tensor.dtype) <= INT64_MAX, f"{where}: larger than any memory")
    _require(
        tensor.end <= held[tensor.storage],
        f"{where}: needs {tensor.end} bytes, but its storage has {held[tensor.storage]}",
    )


def _check_value(value: Value, program: Program, index: int, where: str) -> None:
    """Raise ProgramError for a malformed value.

    Index: of the value; objects only use earlier values.
    """
    if value.tag == Tag.TENSOR:
        _require(
            0 <= value.integer < len(program.tensors),
            f"{where}: tensor {value.integer} of {len(program.tensors)}",
        )
    elif value.tag == Tag.TENSOR_LIST:
        for tensor in value.integers:
            _require(
                -1 <= tensor < len(program.tensors),
                f"{where}: tensor {tensor} of {len(program.tensors)}",
            )
    elif value.tag == Tag.BOOL:
        _require(value.integer in (0, 1), f"{where}: a bool with the value {value.integer}")
    elif value.tag == Tag.BOOL_LIST:
        _require(
            all(number in (0, 1) for number in value.integers),
            f"{where}: a bool that is neither 0 nor 1",
        )
    elif value.tag == Tag.OBJECT:
        _require(value.text.isidentifier(), f"{where}: '{value.text}' is not a class name")
        _require(
            len(value.integers) <= MAXIMUM_ARGUMENTS,
            f"{where}: made of {len(value.integers)} values",
        )
        for older in value.integers:
            _require(0 <= older < index, f"{where}: made of value {older}, which is not earlier")
    _require("\0" not in value.text, f"{where}: a string with a zero byte")
    is_half = any("\ud800" <= character <= "\udfff" for character in value.text)
    _require(not is_half, f"{where}: a string with half a character")


def _check_instruction(instruction: Instruction, program: Program, index: int) -> None:
    where = f"instruction {index}"
    target, inputs, outputs = instruction.target, len(instruction.inputs), len(instruction.outputs)
    for slot in (*instruction.inputs, *instruction.outputs):
        _require(0 <= slot < program.slot_count, f"{where}: slot {slot} of {program.slot_count}")
    for slot in instruction.outputs:
        _require(slot >= len(program.values), f"{where}: writes the constant in slot {slot}")
    _require(inputs < 2**16, f"{where}: {inputs} inputs")
    if instruction.kind == Kind.CALL:
        _require(
            0 <= target < len(program.operators),
            f"{where}: operator {target} of {len(program.operators)}",
        )
        _require(
            inputs <= MAXIMUM_ARGUMENTS and outputs <= MAXIMUM_RESULTS,
            f"{where}: a call of {inputs} inputs, {outputs} outputs",
        )
    elif instruction.kind == Kind.LIST:
        _require(
            target in LIST_TAGS and outputs == 1,
            f"{where}: a list of tag {target} with {outputs} outputs",
        )
    elif instruction.kind == Kind.MOVE:
        _require(inputs == 1 and outputs == 1, f"{where}: a move of {inputs} slots to {outputs}")
    else:
        _require(
            inputs == (instruction.kind == Kind.JUMP_FALSE) and not outputs,
            f"{where}: a jump with {inputs} inputs, {outputs} outputs",
        )
        _require(
            0 <= target <= len(program.instructions),
            f"{where}: jumps to {target} of {len(program.instructions)}",
        )


def _check_input(item: ProgramInput, program: Program, where: str) -> None:
    _require(
        len(program.values) <= item.slot < program.slot_count,
        f"{where}: slot {item.slot} of {program.slot_count}",
    )
    _require(item.tag in INPUT_TAGS, f"{where}: tag {item.tag}")
    _require(item.tag == Tag.TENSOR or not item.dims, f"{where}: a number with dimensions")
    _require(
        item.tag != Tag.TENSOR or item.dtype in NAMES, f"{where}: dtype {item.dtype} is unknown"
    )
    _require(
        len(item.dims) <= MAXIMUM_DIMENSIONS,
        f"{where}: {len(item.dims)} dimensions; at most {MAXIMUM_DIMENSIONS}",
    )
    _require(
        all(0 <= dim.minimum <= dim.maximum for dim in item.dims),
        f"{where}: bounds that no size satisfies",
    )


def _check_case(case: tuple[Value, ...], program: Program, where: str) -> None:
    _require(
        len(case) == len(program.inputs),
        f"{where}: {len(case)} values for {len(program.inputs)} inputs",
    )
    for i, (value, item) in enumerate(zip(case, program.inputs, strict=True)):
        _require(
            value.tag == item.tag,
            f"{where}: value {i} has tag {value.tag}, the input {item.tag}",
        )
        _check_value(value, program, 0, f"{where}, value {i}")
        if value.tag == Tag.TENSOR:
            tensor = program.tensors[value.integer]
            _require(
                tensor.dtype == item.dtype,
                f"{where}: value {i} has dtype {NAMES[tensor.dtype]}, the input "
                f"{NAMES[item.dtype]}",
            )
            fits = len(tensor.sizes) == len(item.dims) and all(
                dim.minimum <= size <= dim.maximum
                for size, dim in zip(tensor.sizes, item.dims, strict=True)
            )
            _require(
                fits, f"{where}: value {i} has shape {tensor.sizes}, which the input does not allow"
            )
