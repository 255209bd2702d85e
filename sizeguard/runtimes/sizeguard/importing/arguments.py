"""Lower an argument of a .pt2 node to a value, by its type in the operator's schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sizeguard.models.exported_program import (
    Argument,
    DtypeArgument,
    GraphArgument,
    Name,
    Unsupported,
)
from sizeguard.models.json_fields import INT64_MAX, INT64_MIN
from sizeguard.operators.dtypes import CODES, SUPPORTED
from sizeguard.operators.schema import Default, Type
from sizeguard.runtimes.sizeguard.importing.builder import ProgramBuilder, Ref
from sizeguard.runtimes.sizeguard.program.program import LIST_TAGS, Tag, Value

# The value tag of each scalar type in a schema.
_SCALAR_TAGS = {
    "int": Tag.INT,
    "SymInt": Tag.INT,
    "ScalarType": Tag.INT,
    "Layout": Tag.INT,
    "MemoryFormat": Tag.INT,
    "float": Tag.DOUBLE,
    "bool": Tag.BOOL,
    "str": Tag.STRING,
}
_LIST_TAGS = {
    "int": Tag.INT_LIST,
    "SymInt": Tag.INT_LIST,
    "float": Tag.DOUBLE_LIST,
    "bool": Tag.BOOL_LIST,
    "Tensor": Tag.TENSOR_LIST,
}
_NUMBERS = (Tag.BOOL, Tag.INT, Tag.DOUBLE)


class ArgumentError(ValueError):
    """An argument that does not fit its type; str() has the reason."""


class ArgumentLowering:
    """Makes constants, lists and conversions in a builder.

    look_up finds the value of a name in the graph; call adds a call of an operator.
    """

    def __init__(
        self,
        builder: ProgramBuilder,
        look_up: Callable[[Name], Ref],
        call: Callable[[str, Sequence[Ref], Sequence[Ref]], None],
    ) -> None:
        """Lower the arguments of one call; `look_up` finds the value of a node's name."""
        self.builder = builder
        self.look_up = look_up
        self.call = call

    def lower(self, argument: Argument | Default, type_: Type) -> Ref:
        """Return the value of an argument. Raises ArgumentError if it does not fit the type."""
        if type_.name == "Device":
            return self.none()  # the runtime has one device
        if argument is None:
            if not type_.optional:
                raise ArgumentError(f"expected {type_}, found None")
            return self.none()
        if type_.is_list:
            return self._list(argument, type_)
        return self._scalar(argument, type_)

    def none(self) -> Ref:
        """Return the constant None."""
        return self.builder.constant(Value(Tag.NONE))

    def number(self, value: bool | int | float) -> Ref:
        """Make a Python number a constant of the same kind."""
        if isinstance(value, bool):
            return self.builder.constant(Value(Tag.BOOL, integer=int(value)))
        if isinstance(value, float):
            return self.builder.constant(Value(Tag.DOUBLE, number=value))
        if not INT64_MIN <= value <= INT64_MAX:
            raise ArgumentError(f"{value} does not fit in 64 bits")
        return self.builder.constant(Value(Tag.INT, integer=value))

    def plain(self, argument: Argument) -> Ref:
        """Lower a value without a declared type: an operand of a branch, an output of a graph."""
        if isinstance(argument, Name):
            return self.look_up(argument)
        if argument is None:
            return self.none()
        if isinstance(argument, bool | int | float):
            return self.number(argument)
        if isinstance(argument, str):
            return self.builder.constant(Value(Tag.STRING, text=argument))
        if isinstance(argument, Unsupported):
            raise ArgumentError(f"{argument.kind} is not supported")
        raise ArgumentError(f"expected a tensor or a number, found {_shown(argument)}")

    def convert(self, ref: Ref, tag: Tag) -> Ref:
        """Convert a number without loss: bool to int, int to float."""
        if ref.tag == tag:
            return ref
        if ref.is_constant and ref.tag in (Tag.BOOL, Tag.INT):
            integer = self.builder.value(ref).integer
            if tag == Tag.INT:
                return self.number(integer)
            if tag == Tag.DOUBLE:
                return self.number(float(integer))
        if ref.tag == Tag.INT and tag == Tag.DOUBLE:
            made = self.builder.variable(Tag.DOUBLE)
            self.call("aten::Float.int", [ref], [made])
            return made
        raise ArgumentError(
            f"expected a number of kind {tag.name.lower()}, found {ref.tag.name.lower()}"
        )

    def _scalar(self, argument: Argument | Default, type_: Type) -> Ref:
        if isinstance(argument, DtypeArgument):
            if type_.name not in ("ScalarType", "int"):
                raise ArgumentError(f"expected {type_}, found a dtype")
            if argument.name not in CODES:
                raise ArgumentError(
                    f"dtype {argument.name} is not supported; the runtime has {SUPPORTED}"
                )
            return self.number(CODES[argument.name])
        if isinstance(argument, tuple):
            raise ArgumentError(f"expected {type_}, found a list")
        ref = self.plain(argument)
        if ref.tag == Tag.NONE and type_.optional:
            return ref
        if type_.name == "Tensor" and ref.tag in (Tag.TENSOR, *_NUMBERS):
            # The runtime makes tensors from numbers, but promotes them as numbers
            return ref
        if type_.name == "Scalar" and ref.tag in _NUMBERS:
            return ref
        tag = _SCALAR_TAGS.get(type_.name)
        if tag == ref.tag:
            return ref
        if tag in (Tag.INT, Tag.DOUBLE) and ref.tag in _NUMBERS:
            return self.convert(ref, tag)
        if type_.name == "t" and ref.tag != Tag.NONE:
            return ref
        raise ArgumentError(f"expected {type_}, found {_shown(argument)}")

    def _list(self, argument: Argument | Default, type_: Type) -> Ref:
        if isinstance(argument, Name):
            ref = self.look_up(argument)
            if ref.tag == _LIST_TAGS.get(type_.name) or type_.name == "t":
                return ref
        if not isinstance(argument, tuple):
            # int[2] accepts one number for both.
            argument = (argument,) * (type_.length or 1)
        element = Type(type_.name, optional=type_.element_optional)
        tag = _LIST_TAGS.get(type_.name)
        if tag is None:
            raise ArgumentError(f"lists of {type_.name} are not supported")
        return self._joined([self.lower(item, element) for item in argument], tag)

    def _joined(self, items: list[Ref], tag: Tag) -> Ref:
        """Join values to a list; it is a constant if all elements are constants."""
        if tag == Tag.TENSOR_LIST and any(item.tag not in (Tag.TENSOR, Tag.NONE) for item in items):
            raise ArgumentError("expected a list of tensors, found a number in it")
        if not all(item.is_constant for item in items):
            if tag not in LIST_TAGS:
                raise ArgumentError("a list of computed floats or bools is not supported")
            return self.builder.list_of(tag, items, _dtypes(items))
        values = [self.builder.value(item) for item in items]
        if tag == Tag.DOUBLE_LIST:
            return self.builder.constant(
                Value(tag, numbers=tuple(value.number for value in values))
            )
        integers = tuple(-1 if value.tag == Tag.NONE else value.integer for value in values)
        return self.builder.constant(Value(tag, integers=integers), _dtypes(items))


def _dtypes(items: Iterable[Ref]) -> frozenset[str]:
    return frozenset().union(*(item.dtypes for item in items))


def _shown(argument: object) -> str:
    match argument:
        case Name(name=name, kind=kind):
            return f"{name} of kind {kind}"
        case tuple():
            return "a list"
        case GraphArgument():
            return "a graph"
        case DtypeArgument():
            return "a dtype"
    return ascii(argument)[:40]
