"""Dtypes that a program's operators get, by PyTorch's rules for the results of other operators."""

from __future__ import annotations

import pytest

from sizeguard.operators.dtypes import CODES, element_size
from sizeguard.runtimes.sizeguard.importing.builder import ProgramBuilder, Ref
from sizeguard.runtimes.sizeguard.importing.importer import default_library
from sizeguard.runtimes.sizeguard.program.program import Tag, TensorView, Value
from sizeguard.runtimes.sizeguard.program.reached_dtypes import operator_dtypes

LAST = "aten::neg"


def tensor(builder: ProgramBuilder, dtype: str) -> Ref:
    """Make a constant tensor with one element."""
    builder.storages.append(bytes(element_size(CODES[dtype])))
    return builder.tensor(TensorView(CODES[dtype], (1,), (1,), 0, len(builder.storages) - 1))


def reached(operator: str, arguments: list[str | list[str] | int], result: int) -> frozenset[str]:
    """Return the dtypes of an operator that takes one of another's results.

    arguments: dtypes of tensors, or of lists of tensors, and whole numbers; "floor" is a text
    """
    builder = ProgramBuilder("p")
    given = []
    for argument in arguments:
        if isinstance(argument, int):
            given.append(builder.constant(Value(Tag.INT, integer=argument)))
        elif isinstance(argument, list):
            items = [builder.value(tensor(builder, dtype)).integer for dtype in argument]
            given.append(builder.constant(Value(Tag.TENSOR_LIST, integers=tuple(items))))
        elif argument in CODES:
            given.append(tensor(builder, argument))
        else:
            given.append(builder.constant(Value(Tag.STRING, text=argument)))
    library = default_library()
    made = [builder.variable(Tag.TENSOR) for _ in library[operator].schema.returns]
    last = builder.variable(Tag.TENSOR)
    builder.call(operator, given, made)
    builder.call(LAST, [made[result]], [last])
    builder.outputs = [last]
    return operator_dtypes(builder.finish(), library)[LAST]


@pytest.mark.parametrize(
    ("operator", "arguments", "result", "dtype"),
    [
        ("aten::div.Tensor_mode", ["Long", "Long", "floor"], 0, "Long"),
        ("aten::any", ["Byte"], 0, "Byte"),
        ("aten::all.dim", ["Byte", 0, 0], 0, "Byte"),
        ("aten::any", ["Float"], 0, "Bool"),
        ("aten::max.dim", ["Float", 0, 0], 1, "Long"),
        ("aten::max_pool2d_with_indices", ["Half", 1, 1, 0, 1, 0], 1, "Long"),
        ("aten::max.dim", ["Float", 0, 0], 0, "Float"),
        ("aten::cat", [["Byte", "Char"], 0], 0, "Short"),
        ("aten::stack", [["Half", "BFloat16"], 0], 0, "Float"),
        ("aten::index_select", ["Bool", 0, 1], 0, "Bool"),
    ],
)
def test_a_result_has_the_dtype_that_pytorch_gives_it(
    operator: str, arguments: list[str | list[str] | int], result: int, dtype: str
) -> None:
    assert dtype in reached(operator, arguments, result)
