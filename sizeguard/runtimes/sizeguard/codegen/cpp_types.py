"""C++ types and signature codes of operator schemas."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sizeguard.base.errors import InputError
from sizeguard.operators.schema import Argument, FunctionSchema, Return, Type

_PLAIN = {
    "Tensor": "Tensor",
    "int": "int64_t",
    "SymInt": "int64_t",
    "ScalarType": "ScalarType",
    "MemoryFormat": "int64_t",
    "Layout": "int64_t",
    "Device": "int64_t",
    "float": "double",
    "bool": "bool",
    "Scalar": "Scalar",
    "str": "const char*",
    "t": "const Value&",
}
_LISTS = {
    "int": "IntArrayRef",
    "SymInt": "IntArrayRef",
    "float": "DoubleArrayRef",
    "bool": "BoolArrayRef",
    "Tensor": "TensorList",
    "t": "const Value&",
}
_CODES = {
    "Tensor": "t",
    "int": "i",
    "SymInt": "i",
    "ScalarType": "i",
    "MemoryFormat": "i",
    "Layout": "i",
    "Device": "i",
    "float": "d",
    "bool": "b",
    "Scalar": "s",
    "str": "z",
    "t": "v",
}
_LIST_CODES = {"int": "I", "SymInt": "I", "float": "D", "bool": "B", "Tensor": "L", "t": "l"}
_RETURNS = {"Tensor", "Scalar", "int64_t", "bool", "double", "TensorList"}

# C++ keywords that schemas use or may use as names.
_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        "and auto bool break case char class const continue default delete do double else enum"
        " explicit extern false float for if int long namespace new not operator or private public"
        " register return short signed static struct switch template this throw true try typename"
        " union unsigned using virtual void while xor",
    )
)


def identifier(name: str) -> str:
    """Return the C++ identifier for a schema's name."""
    return f"{name}_" if name in _KEYWORDS else name


def argument_type(type_: Type) -> str:
    """Return the C++ type of an argument.

    None is an undefined Tensor, an empty optional or a list without data.
    """
    if type_.is_class:
        return "Object*"
    if type_.is_list:
        if type_.name not in _LISTS:
            raise InputError(f"an argument of type {type_} has no C++ type in this runtime")
        return _LISTS[type_.name]
    plain = _PLAIN[type_.name]
    if type_.optional and plain not in ("Tensor", "const char*", "const Value&"):
        return f"std::optional<{plain}>"
    return plain


def code(type_: Type) -> str:
    """Return the signature code; a kernel's caller checks values against it."""
    if type_.is_class:
        text = "c"
    elif type_.is_list:
        text = "O" if type_.element_optional else _LIST_CODES[type_.name]
    else:
        text = _CODES[type_.name]
    return text + ("?" if type_.optional else "")


def return_type(returns: Sequence[Return]) -> str:
    """Return the type of a kernel's result, such as Result<Tensor> or Status."""
    return f"Result<{value_type(returns)}>" if returns else "Status"


def value_type(returns: Sequence[Return]) -> str:
    """Return the type of the value inside a result."""
    if len(returns) > 1:
        if any(result.type != Type("Tensor") for result in returns):
            raise InputError(
                "several results must all be tensors, not "
                f"({', '.join(str(result.type) for result in returns)})"
            )
        return f"std::array<Tensor, {len(returns)}>"
    if returns[0].type.name == "t":
        return "Value"
    text = argument_type(returns[0].type)
    if text not in _RETURNS and not returns[0].type.is_class:
        raise InputError(f"a result of type {returns[0].type} has no C++ type in this runtime")
    return text


def signature(schema: FunctionSchema, wrap: str | None) -> str:
    """Return the signature, such as aten::add.Tensor(tts)t: name, argument codes, result codes."""
    arguments = "".join(
        "t" if argument.name == wrap else code(argument.type) for argument in schema.arguments
    )
    return f"{schema.name}({arguments}){''.join(code(result.type) for result in schema.returns)}"


def is_plain(schema: FunctionSchema) -> bool:
    """Return whether every type has a C++ type; custom classes and generic types have none."""
    types = [argument.type for argument in schema.arguments] + [
        result.type for result in schema.returns
    ]
    return not any(type_.is_class or type_.name == "t" for type_ in types)


def parameters(arguments: Sequence[Argument]) -> str:
    """List the parameters: `Context& context, Tensor self, Tensor other, Scalar alpha`."""
    named = (
        f"{argument_type(argument.type)} {identifier(argument.name)}" for argument in arguments
    )
    return ", ".join(["Context& context", *named])


def words(argument: Argument) -> list[str]:
    """Split an argument into words for call_words of native/runtime/dispatcher.h."""
    name = identifier(argument.name)
    type_ = argument_type(argument.type)
    if type_.startswith("std::optional<"):
        plain = type_.removeprefix("std::optional<").removesuffix(">")
        value = f"{name}.value_or({plain}())"
        return [
            f"word({name}.has_value())",
            *(
                [f"{value}.bits()", f"word({value}.tag())"]
                if plain == "Scalar"
                else [f"word({value})"]
            ),
        ]
    if type_ == "Scalar":
        return [f"{name}.bits()", f"word({name}.tag())"]
    if argument.type.is_list:
        return [f"word({name}.data())", f"word({name}.size())"]
    return [f"word({name})"]
