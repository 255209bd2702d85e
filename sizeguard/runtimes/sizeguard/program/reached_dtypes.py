"""Infer the dtypes that each operator of a program may get.

A program states only the dtypes of inputs and constants; dtypes of results follow from PyTorch's
rules. Unknown cases are widened, so that no possible dtype is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sizeguard.operators.dtypes import ELEMENT_SIZES, INTEGRAL, NAMES
from sizeguard.operators.library import Operator
from sizeguard.runtimes.sizeguard.program.program import Instruction, Kind, Program, Tag, Value

Dtypes = frozenset[str]

_NOTHING: Dtypes = frozenset()
_INDEX: Dtypes = frozenset(["Long"])
_NUMBER_DTYPES = {Tag.BOOL: "Bool", Tag.INT: "Long", Tag.DOUBLE: "Float"}


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Operators by the dtype of their results, for all overloads. Other operators get the widest rule.
_TO_BOOL = _names("eq ne lt le gt ge logical_not logical_and logical_or logical_xor")
_TRUTH = _names("any all")
_TO_LONG = _names("argmax argmin")
# Their second result has indices.
_WITH_INDICES = _names("max min max_pool2d_with_indices")
_AS_FIRST = _names(
    "view expand permute transpose t select slice squeeze unsqueeze unbind split_with_sizes reshape"
    " flatten detach alias clone contiguous relu relu_ hardtanh hardtanh_ copy_ fill_ add_ mul_"
    " dropout embedding full_like mm bmm addmm matmul linear lstm scaled_dot_product_attention"
    " convolution conv2d linear_clamp_run _native_batch_norm_legit_no_training batch_norm"
    " layer_norm _adaptive_avg_pool2d adaptive_avg_pool2d"
)
_PROMOTED = _names(
    "add sub mul remainder pow clamp where cat stack bitwise_and bitwise_xor __and__ __getitem__"
)
_TO_FLOATING = _names(
    "div sqrt sigmoid tanh erf gelu mean _softmax _log_softmax softmax log_softmax"
    " dequantize_per_tensor"
)
_TO_FLOATING |= _names("dequantize_per_channel")
_SUMS = _names("sum cumsum")


def operator_dtypes(program: Program, library: Mapping[str, Operator]) -> dict[str, Dtypes]:
    """Map each operator to the dtypes of the tensors that it may take or return.

    Steps are read in order, because jumps only go forward and only moves join the values of two
    branches.
    """
    held: dict[int, Dtypes] = {
        slot: _constant(program, value) for slot, value in enumerate(program.values)
    }
    held |= {
        item.slot: frozenset([NAMES[item.dtype]])
        for item in program.inputs
        if item.tag == Tag.TENSOR
    }
    found: dict[str, Dtypes] = dict.fromkeys(program.operators, _NOTHING)
    for step in program.instructions:
        given = [held.get(slot, _NOTHING) for slot in step.inputs]
        if step.kind == Kind.CALL:
            name = program.operators[step.target]
            made = _result(program, step, given, name, library.get(name))
            held |= dict.fromkeys(step.outputs, made)
            if _base(name) in _WITH_INDICES and len(step.outputs) == 2:
                held[step.outputs[1]] = _INDEX
            # Taking an element of a list computes nothing.
            is_item = name == "aten::__getitem__.t"
            results = [] if is_item else [held[slot] for slot in step.outputs]
            found[name] |= _NOTHING if is_item else _NOTHING.union(*results, *given)
        elif step.kind == Kind.LIST:
            held[step.outputs[0]] = _promoted(given)
        elif step.kind == Kind.MOVE:
            held[step.outputs[0]] = held.get(step.outputs[0], _NOTHING) | given[0]
    return found


def _base(name: str) -> str:
    return name.partition("::")[2].partition(".")[0]


def _constant(program: Program, value: Value) -> Dtypes:
    """Return the dtypes of the tensors in a constant."""
    if value.tag == Tag.TENSOR:
        return frozenset([NAMES[program.tensors[value.integer].dtype]])
    if value.tag == Tag.TENSOR_LIST:
        return _promoted(
            frozenset([NAMES[program.tensors[i].dtype]]) for i in value.integers if i >= 0
        )
    if value.tag == Tag.OBJECT:
        return _NOTHING.union(*(_constant(program, program.values[i]) for i in value.integers))
    return _NOTHING


def _result(
    program: Program, step: Instruction, given: list[Dtypes], name: str, operator: Operator | None
) -> Dtypes:
    """Infer the dtypes that the results of a call may have."""
    if operator is not None and not any(
        result.type.name in ("Tensor", "t") for result in operator.schema.returns
    ):
        return _NOTHING
    base = _base(name)
    asked = _asked_dtype(program, step, operator)
    if asked is not None:
        return frozenset([asked])
    if base in _TO_BOOL:
        return frozenset(["Bool"])
    if base in _TO_LONG:
        return _INDEX
    first = next((dtypes for dtypes in given if dtypes), _NOTHING)
    if base in _TRUTH:
        return frozenset("Byte" if dtype == "Byte" else "Bool" for dtype in first)
    if base in _AS_FIRST:
        return first
    if base in _SUMS:
        return frozenset("Long" if dtype in INTEGRAL else dtype for dtype in first)
    # The condition of where does not take part in promotion.
    tensors = given[1:] if base == "where" else given
    promoted = alone = _promoted(tensors)
    for numbers in _numbers(program, step, given, operator):
        promoted = (
            frozenset(_with_number(dtype, number) for dtype in promoted for number in numbers)
            or numbers
        )
    if base in _PROMOTED:
        return promoted
    floating = frozenset("Float" if dtype in INTEGRAL else dtype for dtype in promoted)
    # div.Tensor_mode rounds, and keeps integers.
    if base in _TO_FLOATING and not name.endswith("_mode"):
        return floating
    return alone | promoted | floating | _new_tensor(promoted)


def _new_tensor(promoted: Dtypes) -> Dtypes:
    """Return the additional dtypes that an unknown operator may make."""
    return (
        frozenset(["Long"])
        if promoted & INTEGRAL
        else frozenset()
        if promoted
        else frozenset(["Float"])
    )


def _numbers(
    program: Program, step: Instruction, given: list[Dtypes], operator: Operator | None
) -> Iterable[Dtypes]:
    """Return the dtypes of numbers in arguments that may be tensors or Scalars."""
    if operator is None:
        return
    for argument, slot, dtypes in zip(operator.schema.arguments, step.inputs, given, strict=False):
        if argument.type.name not in ("Tensor", "Scalar") or argument.type.is_list or dtypes:
            continue
        if slot >= len(program.values):
            yield frozenset(["Float", "Long"])  # a computed number
        elif program.values[slot].tag in _NUMBER_DTYPES and argument.name not in ("alpha", "beta"):
            yield frozenset([_NUMBER_DTYPES[program.values[slot].tag]])


def _with_number(dtype: str, number: str) -> str:
    """Promote a tensor and a number: to the tensor's dtype, unless the number has a higher kind."""
    return number if _kind(number) > _kind(dtype) else dtype


def _kind(dtype: str) -> int:
    return 0 if dtype == "Bool" else 1 if dtype in INTEGRAL else 2


def _promoted(sets: Iterable[Dtypes]) -> Dtypes:
    """Promote tensors of these dtypes.

    The result is the dtype of either one (one may have no dimensions), or the common one.
    """
    result = _NOTHING
    for dtypes in sets:
        result |= dtypes | frozenset(_common(a, b) for a in result for b in dtypes)
    return result


def _common(a: str, b: str) -> str:
    """Return PyTorch's promotion of two dtypes."""
    if {a, b} == {"Half", "BFloat16"}:
        return "Float"
    return (
        "Short"
        if {a, b} == {"Byte", "Char"}
        else max((a, b), key=lambda dtype: (_kind(dtype), ELEMENT_SIZES[dtype]))
    )


def _asked_dtype(program: Program, step: Instruction, operator: Operator | None) -> str | None:
    """Return the dtype that a call requests in its argument dtype.

    The argument is out_dtype if `dtype` describes the call's input.
    """
    names = [argument.name for argument in operator.schema.arguments] if operator else []
    wanted = "out_dtype" if "out_dtype" in names else "dtype"
    slots = [
        slot
        for name, slot in zip(names, step.inputs, strict=False)
        if name == wanted and slot < len(program.values)
    ]
    values = [program.values[slot] for slot in slots]
    return NAMES.get(values[0].integer) if values and values[0].tag == Tag.INT else None
