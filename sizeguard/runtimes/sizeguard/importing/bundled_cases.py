"""Add .npy files to a program as bundled inputs."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.models.json_fields import INT64_MAX
from sizeguard.models.npy import Array, read_npy
from sizeguard.operators.dtypes import NAMES
from sizeguard.runtimes.sizeguard.program.program import (
    Dim,
    Program,
    ProgramInput,
    Tag,
    TensorView,
    Value,
)

# The dtype of a 0-d array for a number.
_NUMBER_DTYPES = {Tag.BOOL: "Bool", Tag.INT: "Long", Tag.DOUBLE: "Double"}


def add_cases(program: Program, cases: Sequence[Sequence[Path]]) -> Program:
    """Add bundled inputs: for each case, one file per input of the program.

    Raises InputError for a file that cannot be read or does not fit its input.
    """
    tensors = list(program.tensors)
    storages = list(program.storages)
    bundled: list[tuple[Value, ...]] = []
    for files in cases:
        if len(files) != len(program.inputs):
            shown = ",".join(map(str, files))
            raise InputError(
                f"case '{shown}': needs an array for each input of the model:"
                f" {len(program.inputs)}, not {len(files)}"
            )
        values: list[Value] = []
        for number, (file, item) in enumerate(zip(files, program.inputs, strict=True)):
            array = read_npy(file)
            _check(array, item, f"{file}: input {number} of the model")
            if item.tag == Tag.TENSOR:
                tensors.append(
                    TensorView(array.code, array.shape, _contiguous(array.shape), 0, len(storages))
                )
                storages.append(array.data)
                values.append(Value(Tag.TENSOR, integer=len(tensors) - 1))
            else:
                values.append(_number(array, item.tag))
        bundled.append(tuple(values))
    return replace(program, tensors=tuple(tensors), storages=tuple(storages), cases=tuple(bundled))


def _check(array: Array, item: ProgramInput, where: str) -> None:
    dtype = NAMES[item.dtype] if item.tag == Tag.TENSOR else _NUMBER_DTYPES[item.tag]
    if array.dtype != dtype:
        raise InputError(f"{where} is {dtype}, the array {array.dtype}")
    fits = len(array.shape) == len(item.dims) and all(
        dim.minimum <= size <= dim.maximum for size, dim in zip(array.shape, item.dims, strict=True)
    )
    if not fits:
        raise InputError(
            f"{where} has the shape {_shape(item.dims)}, the array "
            f"{_shape([Dim(size, size) for size in array.shape])}"
        )


def _shape(dims: Sequence[Dim]) -> str:
    return "[" + ", ".join(_size(dim) for dim in dims) + "]"


def _size(dim: Dim) -> str:
    if dim.minimum == dim.maximum:
        return str(dim.minimum)
    return f"{dim.minimum}..{'' if dim.maximum == INT64_MAX else dim.maximum}"


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of contiguous rows."""
    products = list(
        accumulate((max(size, 1) for size in reversed(shape)), lambda a, b: a * b, initial=1)
    )
    return tuple(reversed(products[:-1]))


def _number(array: Array, tag: Tag) -> Value:
    if tag == Tag.DOUBLE:
        return Value(tag, number=struct.unpack("<d", array.data)[0])
    return Value(
        tag,
        integer=(
            int.from_bytes(array.data, "little", signed=True)
            if tag == Tag.INT
            else int(array.data != b"\0")
        ),
    )
