"""Turns a program into the dtypes that each of its operators may meet.

A program says the dtypes of its inputs and constants only; those of results follow from PyTorch's rules. What the
rules here do not know exactly is widened, so that no dtype that can occur is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sizeguard.model_import.dtypes import INTEGRAL, NAMES
from sizeguard.model_import.program import Instruction, Kind, Program, Tag, Value
from sizeguard.operator_library import Operator

Dtypes = frozenset[str]

_NOTHING: Dtypes = frozenset()
_NUMBER_DTYPES = {Tag.BOOL: "Bool", Tag.INT: "Long", Tag.DOUBLE: "Float"}

# Operators by what dtype their result has, whatever the overload.
_TO_BOOL = frozenset(["eq", "ne", "lt", "le", "gt", "ge", "logical_not", "logical_and", "logical_or", "logical_xor", "any", "all"])
_TO_LONG = frozenset(["argmax", "argmin"])
_TO_THE_SAME = frozenset(
    # fmt: off
    [
        "view",
        "expand",
        "permute",
        "transpose",
        "t",
        "select",
        "slice",
        "squeeze",
        "unsqueeze",
        "unbind",
        "split_with_sizes",
        "reshape",
        "flatten",
        "detach",
        "alias",
        "clone",
        "contiguous",
        "cat",
        "stack",
        "relu",
        "relu_",
        "__getitem__",
        "copy_",
        "fill_",
        "embedding",
        "dropout",
        "bitwise_and",
        "bitwise_xor",
        "__and__",
        "add_",
        "mul_",
        "hardtanh_",
    ]
    # fmt: on
)


def operator_dtypes(program: Program, library: Mapping[str, Operator]) -> dict[str, Dtypes]:
    """Operator → dtypes of the tensors that it may take or return.

    Steps are read in order: jumps go forward, and only moves bring the values of two branches together.
    """
    held: dict[int, Dtypes] = {slot: _constant(program, value) for slot, value in enumerate(program.values)}
    held |= {item.slot: frozenset([NAMES[item.dtype]]) for item in program.inputs if item.tag == Tag.TENSOR}
    found: dict[str, Dtypes] = dict.fromkeys(program.operators, _NOTHING)
    for step in program.instructions:
        given = _union([held.get(slot, _NOTHING) for slot in step.inputs])
        if step.kind == Kind.CALL:
            name = program.operators[step.target]
            made = _result(program, step, given, library.get(name), name)
            held |= dict.fromkeys(step.outputs, made)
            # Taking an element out of a list computes nothing.
            found[name] |= _NOTHING if name == "aten::__getitem__.t" else given | made
        elif step.kind == Kind.LIST:
            held[step.outputs[0]] = given
        elif step.kind == Kind.MOVE:
            held[step.outputs[0]] = held.get(step.outputs[0], _NOTHING) | given
    return found


def _union(sets: Sequence[Dtypes]) -> Dtypes:
    return _NOTHING.union(*sets)


def _constant(program: Program, value: Value) -> Dtypes:
    """The dtypes of the tensors in a constant."""
    if value.tag == Tag.TENSOR:
        return frozenset([NAMES[program.tensors[value.integer].dtype]])
    if value.tag == Tag.TENSOR_LIST:
        return frozenset(NAMES[program.tensors[i].dtype] for i in value.integers if i >= 0)
    if value.tag == Tag.OBJECT:
        return _union([_constant(program, program.values[i]) for i in value.integers])
    return _NOTHING


def _result(program: Program, step: Instruction, given: Dtypes, operator: Operator | None, name: str) -> Dtypes:
    """The dtypes that the results of a call may have."""
    returns = operator.schema.returns if operator else ()
    if operator is not None and not any(result.type.name in ("Tensor", "t") for result in returns):
        return _NOTHING
    base = name.partition("::")[2].partition(".")[0]
    asked = _asked_dtype(program, step, operator)
    if asked is not None:
        return frozenset([asked])
    if base in _TO_BOOL:
        return frozenset(["Bool"])
    if base in _TO_LONG:
        return frozenset(["Long"])
    if base in _TO_THE_SAME:
        return given
    numbers = [program.values[slot].tag for slot in step.inputs if slot < len(program.values)]
    wider = frozenset(_NUMBER_DTYPES[tag] for tag in numbers if tag in _NUMBER_DTYPES)
    # Sums of integers are Long, quotients and roots of integers Float, and so are new tensors of no given dtype.
    if given and not given & INTEGRAL:
        return given
    return given | wider | {"Float", "Long"} if given else wider | {"Float"}


def _asked_dtype(program: Program, step: Instruction, operator: Operator | None) -> str | None:
    """The dtype that a call asks for by its argument dtype; by out_dtype, where dtype says what it is given."""
    names = [argument.name for argument in operator.schema.arguments] if operator else []
    wanted = "out_dtype" if "out_dtype" in names else "dtype"
    slots = [slot for name, slot in zip(names, step.inputs, strict=False) if name == wanted and slot < len(program.values)]
    values = [program.values[slot] for slot in slots]
    return NAMES.get(values[0].integer) if values and values[0].tag == Tag.INT else None
