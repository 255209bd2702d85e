"""Parse PyTorch's operator schemas: aten::add.Tensor(Tensor self, …) -> Tensor."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.operators.schema import (
    PLAIN_TYPES,
    Alias,
    Argument,
    Default,
    FunctionSchema,
    Return,
    Type,
)

_Item = TypeVar("_Item")
_Scalar = None | bool | int | float | str

# Names that schemas use as defaults of enumerations, with c10's codes.
NAMED_DEFAULTS = {"contiguous_format": 0, "strided": 0, "long": 4, "Mean": 1}

# Of int[N]. PyTorch's longest is int[4]; a typing error must not fill the memory.
MAXIMUM_LIST_LENGTH = 1000

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<string>'[^']*'|"[^"]*")
      | (?P<number>[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?))
      | (?P<name>[A-Za-z_][\w.]*)
      | (?P<mark>->|::|[()\[\]?,=*!|])
    )""",
    re.VERBOSE,
)


class SchemaError(InputError):
    """Raised for a schema that PyTorch would refuse, or that uses a type unknown here."""


def parse_schema(text: str) -> FunctionSchema:
    """Parse one schema. Raises SchemaError with the error and its place in the text."""
    return _Parser(text).schema()


class _Parser:
    """Parse one schema, from left to right. Each method reads the part that it is named after."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        position = 0
        end = len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None or match.lastgroup is None:
                raise SchemaError(
                    f"schema '{text}': cannot read '{text[position:].strip()[:20]}' (column"
                    f" {position + 1})"
                )
            self.tokens.append(
                (match.lastgroup, match.group(match.lastgroup), match.start(match.lastgroup))
            )
            position = match.end()
        self.next = 0

    def fail(self, wanted: str) -> SchemaError:
        if self.next < len(self.tokens):
            _, found, column = self.tokens[self.next]
            return SchemaError(
                f"schema '{self.text}': expected {wanted}, found '{found}' (column {column + 1})"
            )
        return SchemaError(f"schema '{self.text}': expected {wanted}, found the end")

    def at(self, mark: str) -> bool:
        return self.next < len(self.tokens) and self.tokens[self.next][:2] == ("mark", mark)

    def accept(self, mark: str) -> bool:
        found = self.at(mark)
        self.next += found
        return found

    def expect(self, mark: str) -> None:
        if not self.accept(mark):
            raise self.fail(f"'{mark}'")

    def take(self, kind: str, wanted: str) -> str:
        if self.next >= len(self.tokens) or self.tokens[self.next][0] != kind:
            raise self.fail(wanted)
        self.next += 1
        return self.tokens[self.next - 1][1]

    def schema(self) -> FunctionSchema:
        namespace = self.take("name", "a namespace such as aten")
        self.expect("::")
        base, _, overload = self.take("name", "an operator name").partition(".")
        if "." in namespace or not base or "." in overload or overload.startswith("."):
            raise SchemaError(f"schema '{self.text}': a name is namespace::operator.overload")
        arguments = self.arguments()
        self.expect("->")
        returns = tuple(self.sequence(self.result)) if self.at("(") else (self.result(),)
        if self.next != len(self.tokens):
            raise self.fail("the end")
        return FunctionSchema(namespace, base, overload, arguments, returns)

    def sequence(self, item: Callable[[], _Item]) -> list[_Item]:
        """Parse items in round brackets, with commas between them."""
        self.expect("(")
        items: list[_Item] = []
        while not self.accept(")"):
            if items:
                self.expect(",")
            items.append(item())
        return items

    def arguments(self) -> tuple[Argument, ...]:
        kwarg_only = False

        def argument() -> Argument | None:
            nonlocal kwarg_only
            if not kwarg_only and self.accept("*"):
                kwarg_only = True
                return None
            return self.argument(kwarg_only)

        found = tuple(argument for argument in self.sequence(argument) if argument is not None)
        names = [argument.name for argument in found]
        for name in names:
            if names.count(name) > 1:
                raise SchemaError(f"schema '{self.text}': two arguments are named {name}")
        return found

    def argument(self, kwarg_only: bool) -> Argument:
        type_, alias = self.type()
        name = self.take("name", "an argument name")
        if not self.accept("="):
            return Argument(name, type_, alias, kwarg_only)
        return Argument(
            name, type_, alias, kwarg_only, has_default=True, default=self.default(type_)
        )

    def result(self) -> Return:
        type_, alias = self.type()
        named = self.next < len(self.tokens) and self.tokens[self.next][0] == "name"
        return Return(type_, self.take("name", "a name") if named else "", alias)

    def type(self) -> tuple[Type, Alias | None]:
        name = self.take("name", "a type")
        if name not in PLAIN_TYPES and not name.startswith("__torch__."):
            self.next -= 1
            raise self.fail("a type")
        alias = self.alias()
        optional = self.accept("?")
        if not self.accept("["):
            return Type(name, optional=optional), alias
        length = None if self.at("]") else self.length()
        self.expect("]")
        alias = alias or self.alias()
        return (
            Type(
                name,
                optional=self.accept("?"),
                is_list=True,
                element_optional=optional,
                length=length,
            ),
            alias,
        )

    def length(self) -> int:
        text = self.take("number", "a length")
        if not re.fullmatch(r"\d{1,9}", text) or not 0 < int(text) <= MAXIMUM_LIST_LENGTH:
            raise SchemaError(
                f"schema '{self.text}': a list length is 1 to {MAXIMUM_LIST_LENGTH}, not {text}"
            )
        return int(text)

    def alias(self) -> Alias | None:
        if not self.accept("("):
            return None
        before, is_write = self.alias_sets()
        after = self.alias_sets()[0] if self.accept("->") else before
        self.expect(")")
        return Alias(before, after, is_write)

    def alias_sets(self) -> tuple[tuple[str, ...], bool]:
        names: list[str] = []
        while not names or self.accept("|"):
            names.append("*" if self.accept("*") else self.take("name", "an alias set"))
        return tuple(names), self.accept("!")

    def default(self, type_: Type) -> Default:
        if not type_.is_list:
            return self.scalar(type_.name, type_.optional)
        if not self.accept("["):
            value = self.scalar(type_.name, type_.optional)
            if value is None:
                return None
            if type_.length is None:
                raise SchemaError(
                    f"schema '{self.text}': a list without a length cannot have one number as its"
                    " default"
                )
            return _as_list([value] * type_.length)
        values: list[_Scalar] = []
        while not self.accept("]"):
            if values:
                self.expect(",")
            values.append(self.scalar(type_.name, False))
        return _as_list(values)

    def scalar(self, name: str, optional: bool) -> _Scalar:
        """Parse a default of a type; None only if the type is optional."""
        if self.next >= len(self.tokens):
            raise self.fail("a default")
        kind, text, _ = self.tokens[self.next]
        self.next += 1
        value = _scalar(kind, text, name, optional)
        if isinstance(value, _NoDefault):
            self.next -= 1
            raise self.fail(f"a default of type {name}")
        return value


@dataclass(frozen=True, slots=True)
class _NoDefault:
    """Marks a token that is not a default of the type."""


def _scalar(kind: str, text: str, type_name: str, optional: bool) -> _Scalar | _NoDefault:
    numeric = type_name in ("float", "Scalar")
    if kind == "name" and text == "None" and optional:
        return None
    if kind == "name" and text in ("True", "False") and type_name in ("bool", "Scalar"):
        return text == "True"
    if kind == "name" and text in ("inf", "nan") and numeric:
        return float(text)
    if (
        kind == "name"
        and text in NAMED_DEFAULTS
        and type_name in ("int", "ScalarType", "Layout", "MemoryFormat")
    ):
        return NAMED_DEFAULTS[text]
    if kind == "string" and type_name == "str":
        return text[1:-1]
    if kind == "number" and re.fullmatch(r"[-+]?\d{1,19}", text) and type_name != "float":
        return (
            int(text)
            if type_name in ("int", "SymInt", "Scalar", "ScalarType", "Layout", "MemoryFormat")
            else _NoDefault()
        )
    return float(text) if kind == "number" and numeric else _NoDefault()


def _as_list(values: list[_Scalar]) -> Default:
    """Convert the values of a list to a tuple of one type.

    Values other than numbers were refused by the element's type, or are not list defaults in
    PyTorch.
    """
    if all(isinstance(value, bool) for value in values):
        return tuple(bool(value) for value in values)
    if all(isinstance(value, int) for value in values):
        return tuple(value for value in values if isinstance(value, int))
    return tuple(float(value) for value in values if isinstance(value, int | float))
