"""Write programs as .sgp files, and read them. The format is native/runtime/program.fbs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np

from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_read, write_atomic
from sizeguard.base.input_files import readable
from sizeguard.models import flatbuffer as fb
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
    called_operators,
    check_program,
)

IDENTIFIER = b"SGP1"
ALIGNMENT = 16  # bytes of constants' data
MAXIMUM_SIZE = 2**31 - 64  # bytes; FlatBuffer offsets have 32 bits, and some are signed

_INT64 = np.dtype("<i8")
_UINT32 = np.dtype("<u4")
_DOUBLE = np.dtype("<f8")
_DIM = np.dtype([("minimum", "<i8"), ("maximum", "<i8")], align=True)
_INSTRUCTION = np.dtype(
    {
        "names": ["first", "target", "inputs", "outputs", "kind"],
        "formats": ["<u4", "<u4", "<u2", "<u2", "u1"],
        "offsets": [0, 4, 8, 10, 12],
        "itemsize": 16,
    },
    align=True,
)


def write_program(program: Program, path: Path) -> None:
    """Write a .sgp file. Equal programs give equal bytes."""
    try:
        content = program_bytes(program)
    except ProgramError as error:
        raise InputError(f"{path}: cannot be written: {error}") from error
    write_atomic(path, content)


def read_program(path: Path) -> Program:
    """Read a .sgp file.

    Raises InputError for everything that the runtime's loader refuses before it looks up operators.
    """
    try:
        if path.stat().st_size > MAXIMUM_SIZE:
            raise InputError(f"{path}: larger than the maximum of {MAXIMUM_SIZE} bytes")
        data = readable(path).read_bytes()
    except OSError as error:
        raise cannot_read(path, error) from error
    try:
        return program_from_bytes(data)
    except (fb.FlatBufferError, ProgramError) as error:
        raise InputError(f"{path}: not a program: {error}") from error


def program_bytes(program: Program) -> bytes:
    """Return the file's bytes. Raises ProgramError for a program that cannot run."""
    check_program(program)
    size = sum(map(len, program.storages))
    if size > MAXIMUM_SIZE:
        raise ProgramError(f"{size} bytes of constants; a program has at most {MAXIMUM_SIZE}")
    builder = flatbuffers.Builder(1024 + size + size // 16)
    slots: list[int] = []
    instructions = np.zeros(len(program.instructions), _INSTRUCTION)
    for i, instruction in enumerate(program.instructions):
        counts = len(instruction.inputs), len(instruction.outputs)
        instructions[i] = (len(slots), instruction.target, *counts, instruction.kind)
        slots += (*instruction.inputs, *instruction.outputs)

    # FlatBuffers are written from the end to the start: the first part written is the last in the
    # file.
    fields = [
        # The name of a file may have bytes that are not UTF-8.
        builder.CreateString(program.name.encode("utf-8", "backslashreplace")),
        _offsets(
            builder, [builder.CreateString(name) for name in (*program.operators, *program.callees)]
        ),
        None,
        _offsets(builder, [_value(builder, value) for value in program.values]),
        _offsets(builder, [_tensor(builder, tensor) for tensor in program.tensors]),
        _offsets(builder, [_storage(builder, data) for data in program.storages]),
        _array(builder, instructions, 4),
        _array(builder, np.array(slots, _UINT32), 4),
        _offsets(builder, [_input(builder, item) for item in program.inputs]),
        _array(builder, np.array(program.outputs, _UINT32), 4),
        _offsets(builder, [_case(builder, case) for case in program.cases]),
    ]
    builder.StartObject(len(fields))
    for field, offset in enumerate(fields):
        if offset is not None:
            builder.PrependUOffsetTRelativeSlot(field, offset, 0)
    builder.PrependUint32Slot(2, program.slot_count, 0)
    builder.Finish(builder.EndObject(), file_identifier=IDENTIFIER)
    return bytes(builder.Output())


def _raw(builder: Any, data: bytes, element: int, alignment: int) -> int:
    """Write a vector of elements that are already bytes, copied at once after StartVector."""
    builder.StartVector(element, len(data) // element, alignment)
    builder.head = builder.head - len(data)
    builder.Bytes[builder.head : builder.head + len(data)] = data
    return int(builder.EndVector())


def _array(builder: Any, array: np.ndarray, alignment: int) -> int:
    return _raw(builder, array.tobytes(), array.dtype.itemsize, alignment)


def _offsets(builder: Any, offsets: Iterable[int]) -> int:
    offsets = list(offsets)
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())


def _int64s(builder: Any, numbers: Iterable[int]) -> int:
    return _array(builder, np.array(list(numbers), _INT64), 8)


def _storage(builder: Any, data: bytes) -> int:
    offset = _raw(builder, data, 1, ALIGNMENT)
    builder.StartObject(1)
    builder.PrependUOffsetTRelativeSlot(0, offset, 0)
    return int(builder.EndObject())


def _value(builder: Any, value: Value) -> int:
    text = builder.CreateString(value.text) if value.tag in (Tag.STRING, Tag.OBJECT) else 0
    integers = 0
    if value.tag in (Tag.INT_LIST, Tag.BOOL_LIST, Tag.TENSOR_LIST, Tag.OBJECT):
        integers = _int64s(builder, value.integers)
    numbers = (
        _array(builder, np.array(value.numbers, _DOUBLE), 8) if value.tag == Tag.DOUBLE_LIST else 0
    )
    builder.StartObject(6)
    builder.PrependUint8Slot(0, value.tag, 0)
    builder.PrependInt64Slot(
        1, value.integer if value.tag in (Tag.BOOL, Tag.INT, Tag.TENSOR) else 0, 0
    )
    if value.tag == Tag.DOUBLE:
        # FlatBuffers leave out values equal to the default, and -0.0 == 0.0, but -0.0 must be
        # written.
        builder.PrependFloat64(value.number)
        builder.Slot(2)
    builder.PrependUOffsetTRelativeSlot(3, text, 0)
    builder.PrependUOffsetTRelativeSlot(4, integers, 0)
    builder.PrependUOffsetTRelativeSlot(5, numbers, 0)
    return int(builder.EndObject())


def _tensor(builder: Any, tensor: TensorView) -> int:
    sizes, strides = _int64s(builder, tensor.sizes), _int64s(builder, tensor.strides)
    builder.StartObject(5)
    builder.PrependInt8Slot(0, tensor.dtype, 0)
    builder.PrependUOffsetTRelativeSlot(1, sizes, 0)
    builder.PrependUOffsetTRelativeSlot(2, strides, 0)
    builder.PrependInt64Slot(3, tensor.offset, 0)
    builder.PrependUint32Slot(4, tensor.storage, 0)
    return int(builder.EndObject())


def _input(builder: Any, item: ProgramInput) -> int:
    dims = _array(builder, np.array([(dim.minimum, dim.maximum) for dim in item.dims], _DIM), 8)
    builder.StartObject(4)
    builder.PrependUint32Slot(0, item.slot, 0)
    builder.PrependUint8Slot(1, item.tag, 0)
    builder.PrependInt8Slot(2, item.dtype, 0)
    builder.PrependUOffsetTRelativeSlot(3, dims, 0)
    return int(builder.EndObject())


def _case(builder: Any, case: tuple[Value, ...]) -> int:
    values = _offsets(builder, [_value(builder, value) for value in case])
    builder.StartObject(1)
    builder.PrependUOffsetTRelativeSlot(0, values, 0)
    return int(builder.EndObject())


def program_from_bytes(data: bytes) -> Program:
    """Read a program. Raises FlatBufferError or ProgramError."""
    root = fb.root_table(data, IDENTIFIER)
    slots = [int(slot) for slot in root.structs(7, _UINT32)]
    names = tuple(root.texts(1))
    instructions = tuple(
        _read_instruction(row, slots, root.buffer) for row in root.structs(6, _INSTRUCTION).tolist()
    )
    called = called_operators(instructions)
    if called > len(names):
        raise ProgramError(
            f"an instruction calls operator {called - 1}, but there are {len(names)}"
        )
    program = Program(
        name=root.text(0),
        operators=names[:called],
        slot_count=root.integer(2, fb.U32),
        values=tuple(_read_value(table) for table in root.tables(3)),
        tensors=tuple(_read_tensor(table) for table in root.tables(4)),
        storages=tuple(table.aligned_bytes(0, ALIGNMENT) for table in root.tables(5)),
        instructions=instructions,
        inputs=tuple(_read_input(table) for table in root.tables(8)),
        outputs=tuple(int(slot) for slot in root.structs(9, _UINT32)),
        cases=tuple(
            tuple(_read_value(value) for value in table.tables(0)) for table in root.tables(10)
        ),
        callees=names[called:],
    )
    check_program(program)
    return program


def _tag(code: int) -> Tag:
    if code > max(Tag):
        raise ProgramError(f"tag {code} is unknown")
    return Tag(code)


def _integers(table: fb.FlatTable, field: int) -> tuple[int, ...]:
    return tuple(int(number) for number in table.structs(field, _INT64))


def _read_value(table: fb.FlatTable) -> Value:
    return Value(
        tag=_tag(table.integer(0, fb.U8)),
        integer=table.integer(1, fb.I64),
        number=table.number(2),
        text=table.text(3),
        integers=_integers(table, 4),
        numbers=tuple(float(number) for number in table.structs(5, _DOUBLE)),
    )


def _read_tensor(table: fb.FlatTable) -> TensorView:
    dtype, offset, storage = (
        table.integer(0, fb.I8),
        table.integer(3, fb.I64),
        table.integer(4, fb.U32),
    )
    return TensorView(dtype, _integers(table, 1), _integers(table, 2), offset, storage)


def _read_input(table: fb.FlatTable) -> ProgramInput:
    dims = tuple(Dim(minimum, maximum) for minimum, maximum in table.structs(3, _DIM).tolist())
    return ProgramInput(
        table.integer(0, fb.U32), _tag(table.integer(1, fb.U8)), table.integer(2, fb.I8), dims
    )


def _read_instruction(
    row: tuple[int, int, int, int, int], slots: list[int], buffer: fb.Buffer
) -> Instruction:
    first, target, inputs, outputs, kind = row
    if kind > max(Kind):
        raise ProgramError(f"an instruction of kind {kind}")
    if first + inputs + outputs > len(slots):
        raise ProgramError(
            f"an instruction uses slots {first} to {first + inputs + outputs}, but the list has "
            f"{len(slots)}"
        )
    buffer.spend(4 * (inputs + outputs))
    middle = first + inputs
    return Instruction(
        Kind(kind), target, tuple(slots[first:middle]), tuple(slots[middle : middle + outputs])
    )
