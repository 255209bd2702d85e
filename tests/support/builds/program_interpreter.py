"""Run programs with NumPy.

This interpreter shares no code with the C++ one, and has the few operators that tests need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sizeguard.operators.dtypes import NAMES, NPY_NAMES
from sizeguard.runtimes.sizeguard.program.program import Kind, Program, Tag, TensorView, Value

Slot = Any  # a number, an array, a list of those, a string, a dict for an object, or None


def run(program: Program, inputs: list[Slot]) -> list[Slot]:
    """Return the outputs for these inputs. Unwritten slots are None."""
    slots: list[Slot] = [None] * program.slot_count
    for i, value in enumerate(program.values):
        slots[i] = constant(program, value, slots)
    for item, given in zip(program.inputs, inputs, strict=True):
        slots[item.slot] = given
    position = 0
    while position < len(program.instructions):
        step = program.instructions[position]
        position += 1
        given = [slots[slot] for slot in step.inputs]
        match step.kind:
            case Kind.JUMP:
                position = step.target
            case Kind.JUMP_FALSE:
                assert isinstance(given[0], bool)
                position = position if given[0] else step.target
            case Kind.MOVE:
                slots[step.outputs[0]] = given[0]
            case Kind.LIST:
                slots[step.outputs[0]] = list(given)
            case Kind.CALL:
                results = OPERATORS[program.operators[step.target]](*given)
                many = isinstance(results, tuple)
                for slot, result in zip(step.outputs, results if many else [results], strict=True):
                    slots[slot] = result
    return [slots[slot] for slot in program.outputs]


def constant(program: Program, value: Value, older: list[Slot]) -> Slot:
    match value.tag:
        case Tag.NONE:
            return None
        case Tag.BOOL:
            return bool(value.integer)
        case Tag.INT:
            return value.integer
        case Tag.DOUBLE:
            return value.number
        case Tag.STRING:
            return value.text
        case Tag.TENSOR:
            return tensor(program, program.tensors[value.integer])
        case Tag.TENSOR_LIST:
            return [None if i < 0 else tensor(program, program.tensors[i]) for i in value.integers]
        case Tag.DOUBLE_LIST:
            return list(value.numbers)
        case Tag.OBJECT:
            return {value.text: [older[i] for i in value.integers]}
    return list(value.integers)


def tensor(program: Program, view: TensorView) -> np.ndarray:
    """Return a read-only view of a storage."""
    dtype = np.dtype(NPY_NAMES[NAMES[view.dtype]])
    flat = np.frombuffer(program.storages[view.storage], np.uint8)
    flat = flat[view.offset * dtype.itemsize :]
    flat = flat[: len(flat) // dtype.itemsize * dtype.itemsize].view(dtype)
    if dtype == np.dtype("V2"):  # bfloat16 is the upper half of a float
        flat = (flat.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        dtype = flat.dtype
    strides = [stride * dtype.itemsize for stride in view.strides]
    return np.lib.stride_tricks.as_strided(flat, view.sizes, strides, writeable=False)


def run_packed(x: np.ndarray, packed: dict[str, list[Slot]]) -> np.ndarray:
    weight, bias, low, high = packed["LinearOpContext"]
    y: np.ndarray = x @ weight.T + (0 if bias is None else bias)
    clamped: np.ndarray = y if low is None and high is None else np.clip(y, low, high)
    return clamped


def in_place(target: np.ndarray, value: np.ndarray) -> np.ndarray:
    target[...] = value
    return target


def float32(array: Any) -> np.ndarray:
    return np.asarray(array, np.float32)


OPERATORS: dict[str, Callable[..., Slot]] = {
    "aten::sum": lambda x, _: x.sum(),
    "aten::sum.dim_IntList": lambda x, dims, keep, _: x.sum(
        tuple(dims) if dims else None, keepdims=keep
    ),
    "aten::gt.Scalar": lambda x, y: np.asarray(x > y),
    "aten::Bool.Tensor": lambda x: bool(x),
    "aten::relu": lambda x: np.maximum(x, 0),
    "aten::sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "aten::tanh": np.tanh,
    "aten::add.Tensor": lambda x, y, alpha: float32(x + alpha * y),
    "aten::mul.Tensor": lambda x, y: float32(x * y),
    "aten::add_.Tensor": lambda x, y, alpha: in_place(x, x + alpha * y),
    "aten::mul_.Tensor": lambda x, y: in_place(x, x * y),
    "aten::clone": lambda x, _: np.array(x),
    "aten::linear": lambda x, w, b: x @ w.T + (0 if b is None else b),
    "aten::hardtanh": np.clip,
    "aten::slice.Tensor": lambda x, dim, start, end, step: np.moveaxis(
        np.moveaxis(x, dim, 0)[start:end:step], 0, dim
    ),
    "aten::select.int": lambda x, dim, index: np.moveaxis(x, dim, 0)[index],
    "aten::permute": np.transpose,
    "aten::mm": lambda x, y: x @ y,
    "aten::matmul": lambda x, y: x @ y,
    "aten::addmm": lambda bias, x, y, beta, alpha: beta * bias + alpha * (x @ y),
    "aten::cat": np.concatenate,
    "aten::detach": lambda x: x,
    "aten::alias": lambda x: x,
    "aten::zeros": lambda size, *_: np.zeros(size, np.float32),
    "aten::full": lambda size, fill, *_: np.full(size, fill, np.float32),
    "aten::clamp": lambda x, low, high: np.clip(x, low, high),
    "aten::reshape": np.reshape,
    "aten::view": np.reshape,
    "aten::item": lambda x: x.item(),
    "aten::_local_scalar_dense": lambda x: x.item(),
    "aten::_assert_scalar": lambda holds, message: (),
    "aten::sym_constrain_range_for_size": lambda size, low, high: (),
    "aten::sym_size.int": lambda x, dim: x.shape[dim],
    "aten::Float.int": float,
    "aten::add.int": lambda a, b: a + b,
    "aten::sub.int": lambda a, b: a - b,
    "aten::mul.int": lambda a, b: a * b,
    "aten::floordiv.int": lambda a, b: a // b,
    "aten::remainder.int": lambda a, b: a % b,
    "aten::mul.float": lambda a, b: a * b,
    "aten::div.float": lambda a, b: a / b,
    "aten::lt.int": lambda a, b: a < b,
    "aten::le.int": lambda a, b: a <= b,
    "aten::gt.int": lambda a, b: a > b,
    "aten::ge.int": lambda a, b: a >= b,
    "aten::eq.int": lambda a, b: a == b,
    "prim::max.int": max,
    "prim::min.int": min,
    "prepacked::linear_clamp_run": run_packed,
}
