"""Lower arithmetic on symbolic sizes (_operator.mul, torch.sym_max) to scalar operators.

Bounds of sizes come from their expressions.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence

from sizeguard.base.dataclass import dataclass
from sizeguard.models.exported_program import SymbolBounds
from sizeguard.models.json_fields import INT64_MAX
from sizeguard.runtimes.sizeguard.program.program import Dim, Tag

MAXIMUM_EXPRESSION = 4096  # characters; longer expressions get no bounds

_ARITHMETIC = {
    "_operator.add": "aten::add",
    "_operator.sub": "aten::sub",
    "_operator.mul": "aten::mul",
    "_operator.floordiv": "aten::floordiv",
    "_operator.mod": "aten::remainder",
    "_operator.neg": "aten::neg",
    "_operator.lshift": "aten::__lshift__",
    "_operator.rshift": "aten::__rshift__",
    "torch.sym_max": "prim::max",
    "torch.sym_min": "prim::min",
}
_COMPARISON = {
    f"_operator.{name}": f"aten::{name}" for name in ("eq", "ne", "lt", "le", "gt", "ge")
}
_LOGIC = {"_operator.and_": "aten::__and__", "_operator.or_": "aten::__or__"}
_IDENTITY = {
    ("_operator.pos", Tag.INT),
    ("_operator.pos", Tag.DOUBLE),
    ("torch.sym_float", Tag.DOUBLE),
    ("torch.sym_int", Tag.INT),
    ("math.trunc", Tag.INT),
}
_ARITY_ONE = (
    "_operator.neg",
    "_operator.pos",
    "math.trunc",
    "torch.sym_float",
    "torch.sym_int",
    "torch.sym_not",
    "torch.sym_sqrt",
)

TARGETS = frozenset(
    [*_ARITHMETIC, *_COMPARISON, *_LOGIC, *_ARITY_ONE, "_operator.truediv", "_operator.pow"]
)


@dataclass(frozen=True, slots=True)
class ScalarOperator:
    """An operator on numbers.

    name: "" if the result is the operand. Operands that differ from `operand` are converted.
    """

    name: str
    operand: Tag
    result: Tag


def scalar_operator(target: str, operands: Sequence[Tag]) -> ScalarOperator | None:
    """Return the scalar operator of a target for operands of these tags, or None.

    The names are TorchScript's; the overload depends on the operands' types.
    """
    if target not in TARGETS or len(operands) != (1 if target in _ARITY_ONE else 2):
        return None
    if not set(operands) <= {Tag.BOOL, Tag.INT, Tag.DOUBLE}:
        return None
    widest = max(operands)  # Bool < Int < Double
    overload = {Tag.BOOL: "bool", Tag.INT: "int", Tag.DOUBLE: "float"}[widest]
    if (target, widest) in _IDENTITY:
        return ScalarOperator("", widest, widest)
    if target in _ARITHMETIC:
        return ScalarOperator(f"{_ARITHMETIC[target]}.{overload}", widest, widest)
    if target in _COMPARISON:
        return ScalarOperator(f"{_COMPARISON[target]}.{overload}", widest, Tag.BOOL)
    if target in _LOGIC:
        return ScalarOperator(f"{_LOGIC[target]}.{overload}", widest, widest)
    if target == "_operator.truediv":
        return ScalarOperator(f"aten::div.{overload}", widest, Tag.DOUBLE)
    if target == "_operator.pow":
        return ScalarOperator(
            "aten::pow.int_to_int" if widest == Tag.INT else f"aten::pow.{overload}", widest, widest
        )
    if target == "torch.sym_not":
        return ScalarOperator("aten::__not__", Tag.BOOL, Tag.BOOL) if widest == Tag.BOOL else None
    if target == "torch.sym_sqrt":
        return ScalarOperator(f"aten::sqrt.{overload}", widest, Tag.DOUBLE)
    if target == "torch.sym_float":
        return ScalarOperator(f"aten::Float.{overload}", widest, Tag.DOUBLE)
    return ScalarOperator(f"aten::Int.{overload}", widest, Tag.INT)  # torch.sym_int, math.trunc


def bounds(size: int | str, ranges: Mapping[str, SymbolBounds]) -> Dim:
    """Return the bounds of a size from the ranges of its symbols."""
    if isinstance(size, int):
        return Dim(size, size)
    everything = Dim(0, INT64_MAX)
    if len(size) > MAXIMUM_EXPRESSION:
        return everything
    try:
        with warnings.catch_warnings():
            # Python's errors for a text that is not a SymPy expression
            warnings.simplefilter("ignore")
            interval = _interval(ast.parse(size, mode="eval").body, ranges)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return everything
    if interval is None:
        return everything
    # A size is never negative, even if the arithmetic allows it.
    minimum, maximum = (min(max(bound, 0), INT64_MAX) for bound in interval)
    return Dim(minimum, max(minimum, maximum))


def _interval(node: ast.expr, ranges: Mapping[str, SymbolBounds]) -> tuple[int, int] | None:
    """Return the interval of an expression in SymPy's form: Mul(Integer(2), Symbol('s0')).

    None if it is unknown.
    """
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
        return None
    if node.func.id == "Integer":
        number = ast.literal_eval(node.args[0])
        return (number, number) if isinstance(number, int) and abs(number) <= INT64_MAX else None
    if node.func.id == "Symbol":
        name = ast.literal_eval(node.args[0])
        known = (
            ranges.get(name, SymbolBounds(None, None))
            if isinstance(name, str)
            else SymbolBounds(None, None)
        )
        low = 0 if known.minimum is None else known.minimum
        return low, max(low, INT64_MAX if known.maximum is None else known.maximum)
    parts = [_interval(argument, ranges) for argument in node.args]
    found = [part for part in parts if part is not None]
    if len(found) != len(parts):
        return None
    if node.func.id == "Add":
        return sum(part[0] for part in found), sum(part[1] for part in found)
    if node.func.id == "Mul":
        low, high = 1, 1
        for part in found:
            corners = [a * b for a in (low, high) for b in part]
            low, high = min(corners), max(corners)
        return low, high
    return None
