"""Read operators and kernel keys of an ExecuTorch program (.pte), as gen_oplist computes them.

The program may be plain or bundled with inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_read
from sizeguard.base.input_files import readable
from sizeguard.models.flatbuffer import I8, U8, U32, FlatBufferError, FlatTable, root_table
from sizeguard.models.operator_info import OperatorInfo
from sizeguard.operators.dtypes import NAME_OF_CODE

PROGRAM = b"ET12"
BUNDLED = b"BP08"
EXTENDED_HEADER = b"eh00"

# Bytes; offsets of a FlatBuffer end here. Segments of weights after it are not read
MAXIMUM_FILE_SIZE = 1 << 31
MAXIMUM_KEY = 1 << 16  # characters
# Characters of all keys; tables and lists may be shared, so a small file could expand to gigabytes
MAXIMUM_KEYS = 1 << 26

# Codes of ScalarType in ExecuTorch's program schema, without complex dtypes and most of Bits.
_CODES = frozenset([*range(8), *range(11, 18), *range(22, 30)])

# Field numbers in ExecuTorch's program schema; a union takes two, its kind and its content.
PROGRAM_PLANS = 1
PLAN_VALUES, PLAN_CHAINS, PLAN_OPERATORS = 2, 5, 6
CHAIN_INSTRUCTIONS = 2
OPERATOR_NAME, OPERATOR_OVERLOAD = 0, 1
UNION_KIND, UNION_CONTENT = 0, 1
CALL_OPERATOR, CALL_ARGUMENTS = 0, 1
TENSOR_DTYPE, TENSOR_DIM_ORDER = 0, 3
LIST_ITEMS = 0
BUNDLE_PROGRAM = 2

# Kinds of instructions and values, numbered from 1 in the order of the unions.
KERNEL_CALL = 1
TENSOR, TENSOR_LIST, OPTIONAL_TENSOR_LIST = 5, 10, 11


def read_operators(path: Path) -> OperatorInfo:
    """Read operators, their tensors' dtypes, and a kernel key for each kind of call.

    Raises InputError for a damaged file or one of another kind.
    """
    try:
        return _program(path, _program_bytes(path))
    except OSError as error:
        raise cannot_read(path, error) from error
    except FlatBufferError as error:
        raise InputError(f"{path}: not an ExecuTorch program: {error}") from error


def _program_bytes(path: Path) -> bytes:
    """Read the FlatBuffer of the program, without the segments that may follow it."""
    with readable(path).open("rb") as file:
        head = file.read(24)
        size = MAXIMUM_FILE_SIZE
        if head[4:12] == PROGRAM + EXTENDED_HEADER:
            size = int.from_bytes(head[16:24], "little")
        file.seek(0)
        data = file.read(min(size, MAXIMUM_FILE_SIZE))
    if data[4:8] == BUNDLED:
        return root_table(data, BUNDLED).aligned_bytes(BUNDLE_PROGRAM, 1)
    return data


def _program(path: Path, data: bytes) -> OperatorInfo:
    operators: dict[str, set[str]] = {}
    kernel_keys: dict[str, set[str]] = {}
    total = 0
    for plan in root_table(data, PROGRAM).tables(PROGRAM_PLANS):
        names = [_operator_name(operator) for operator in plan.tables(PLAN_OPERATORS)]
        for name in names:
            operators.setdefault(name, set())
        values = _Values(plan)
        for index, arguments in _kernel_calls(plan):
            if not 0 <= index < len(names):
                raise FlatBufferError(f"a call of operator {index} of {len(names)}")
            tensors = [
                tensor
                for argument in arguments.tolist()
                if (tensor := values.tensor(argument)) is not None
            ]
            size = 2 + sum(len(text) + 1 for _, text in tensors)
            total += size
            if size > MAXIMUM_KEY or total > MAXIMUM_KEYS:
                raise FlatBufferError("too many arguments of calls for a program")
            kernel_keys.setdefault(names[index], set()).add(
                "v1/" + "|".join(text for _, text in tensors) if tensors else "v1"
            )
            operators[names[index]].update(dtype for dtype, _ in tensors)
    return OperatorInfo(
        model=path.name,
        operators={name: frozenset(operators[name]) for name in sorted(operators)},
        classes=frozenset(),
        kernel_keys={name: tuple(sorted(kernel_keys[name])) for name in sorted(kernel_keys)},
    )


def _operator_name(operator: FlatTable) -> str:
    name, overload = operator.text(OPERATOR_NAME), operator.text(OPERATOR_OVERLOAD)
    return f"{name}.{overload}" if overload else name


def _kernel_calls(plan: FlatTable) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the operator index and argument indices of every call, in all chains."""
    for chain in plan.tables(PLAN_CHAINS):
        for instruction in chain.tables(CHAIN_INSTRUCTIONS):
            call = _union(instruction, KERNEL_CALL)
            if call is not None:
                yield (
                    call.integer(CALL_OPERATOR, U32),
                    call.structs(CALL_ARGUMENTS, np.dtype("<i4")),
                )


class _Values:
    """The values of a plan, each read once, when a call first uses it."""

    def __init__(self, plan: FlatTable) -> None:
        self.values = plan.tables(PLAN_VALUES)
        self.tensors: dict[int, tuple[str, str] | None] = {}

    def tensor(self, index: int) -> tuple[str, str] | None:
        """Return the dtype of an argument and its part of the key; None for anything but tensors.

        A list counts as its first tensor.
        """
        if index not in self.tensors:
            self.tensors[index] = self._look_up(index)
        return self.tensors[index]

    def _look_up(self, index: int) -> tuple[str, str] | None:
        value = self._value(index)
        kind = value.integer(UNION_KIND, U8)
        if kind in (TENSOR_LIST, OPTIONAL_TENSOR_LIST):
            content = _union(value, kind)
            items = (
                content.structs(LIST_ITEMS, np.dtype("<i4"))
                if content is not None
                else np.zeros(0, np.int32)
            )
            # A missing element is -1, or a value that is no tensor.
            present = items[items != -1] if kind == OPTIONAL_TENSOR_LIST else items[:1]
            found = (_union(self._value(index), TENSOR) for index in present.tolist())
            tensor = next((each for each in found if each is not None), None)
        else:
            tensor = _union(value, TENSOR)
        return None if tensor is None else _tensor(tensor)

    def _value(self, index: int) -> FlatTable:
        if not 0 <= index < len(self.values):
            raise FlatBufferError(f"a call with value {index} of {len(self.values)}")
        return self.values[index]


def _tensor(tensor: FlatTable) -> tuple[str, str]:
    code = tensor.integer(TENSOR_DTYPE, I8)
    if code not in _CODES:
        raise FlatBufferError(f"a tensor of unknown dtype {code}")
    order = tensor.structs(TENSOR_DIM_ORDER, np.dtype("u1"))
    return NAME_OF_CODE[code], f"{code};{','.join(map(str, order.tolist()))}"


def _union(holder: FlatTable, kind: int) -> FlatTable | None:
    """Return the content of a union if it is of this kind."""
    if holder.integer(UNION_KIND, U8) != kind:
        return None
    offset = holder.offsets[UNION_CONTENT] if len(holder.offsets) > UNION_CONTENT else 0
    if not offset:
        raise FlatBufferError(f"a union of kind {kind} without content")
    position = holder.position + offset
    return FlatTable(holder.buffer, position + holder.buffer.integer(U32, position))
