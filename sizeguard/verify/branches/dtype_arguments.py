"""Template arguments and functions that name a dtype.

An argument names it by its type, by a type inside of it, or by the enumerator: float,
Wrapped<float>, (ScalarType)6.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sizeguard.names.demangle import demangle, function_text, without_clones
from sizeguard.names.short import split_name, top_level, without_parameters
from sizeguard.operators.dtypes import (
    CODES,
    ELEMENT_SIZES,
    NAME_OF_CPP_TYPE,
    NAME_OF_DIGITS,
    NPY_NAMES,
    dtype_of_type,
)

T = "T"
OVERLOADS = f"({T})"
_ENUMERATOR = re.compile(r"\(ScalarType\)(\d+)")
_LETTERS = {"f": ("f", "fp", "float"), "i": ("i", "s", "int"), "u": ("u", "uint")}
_LONGEST_FIRST = sorted(NAME_OF_CPP_TYPE, key=len, reverse=True)
# Not a part of another type, as in `long double`.
_TYPE = re.compile(
    rf"(?<!\w)(?<!long )(?<!unsigned )(?:{'|'.join(map(re.escape, _LONGEST_FIRST))})"
    r"(?!\w|::| (?!const\b|volatile\b)\w)"
)
# Words for dtypes in names: double, Double, f64, int32_t.
_DTYPE_OF_WORD = {
    **{name.lower(): name for name in CODES},
    **{each: name for each, name in NAME_OF_CPP_TYPE.items() if each.isalpha()},
    **{
        f"{letters}{8 * ELEMENT_SIZES[name]}": name
        for name, code in NPY_NAMES.items()
        for letters in _LETTERS.get(code[1], ())
    },
    "bf16": "BFloat16",
}
_ANY_WORD = "|".join(sorted(_DTYPE_OF_WORD, key=len, reverse=True))
_LAST_WORD = re.compile(rf"(?P<rest>\w+?)_*(?P<word>{_ANY_WORD})(?:_t)?", re.IGNORECASE)
_FIRST_WORD = re.compile(rf"(?P<word>{_ANY_WORD})(?:_t)?_*(?P<rest>\w+)", re.IGNORECASE)
_LAMBDA = "'lambda"
_QUALIFIERS = re.compile(r"\b(?:const|volatile|struct|enum)\b")
_TYPES = re.compile(r"[A-Za-z_][\w: ]*")  # in a parameter
_ADDRESS = re.compile(r"[*&\[<>]")  # a pointer, a reference, an array, a template


class TypedArgument(NamedTuple):
    """A template argument with T in place of its dtype: Wrapped<T>, and Float."""

    written: str
    dtype: str


def dtype_argument(argument: str) -> TypedArgument | None:
    """Read an argument, as `template_of` returns it; None if it names no dtype, or several."""
    if dtype := dtype_of_type(argument):
        return TypedArgument(T, dtype)
    if number := _ENUMERATOR.fullmatch(argument):
        dtype = NAME_OF_DIGITS.get(number[1], "")
        return TypedArgument(f"(ScalarType){T}", dtype) if dtype in CODES else None
    if argument.startswith("&") or _LAMBDA in argument:
        return None
    dtypes = {NAME_OF_CPP_TYPE[found] for found in _TYPE.findall(argument)}
    return TypedArgument(_TYPE.sub(T, argument), dtypes.pop()) if len(dtypes) == 1 else None


def parameter_dtypes(symbol: str) -> set[str]:
    """Return the dtypes of the elements that a function gets by address."""
    return {dtype for each in _parameters(symbol) if _ADDRESS.search(each) for dtype in _in(each)}


def served_dtypes(symbol: str) -> set[str]:
    """Return the dtypes of a function's elements, which it gets by address or else by value.

    Beside an address, a value is a number of elements or the like. Template arguments count, too,
    those of scopes as well.
    """
    parameters = _parameters(symbol)
    by_address = [each for each in parameters if _ADDRESS.search(each)]
    name = without_parameters(demangle(without_clones(symbol) or symbol))
    arguments = "".join(name[begin:end] for token, begin, end in top_level(name) if token == "<")
    return {
        *(dtype for each in by_address or parameters for dtype in _in(each)),
        *(NAME_OF_CPP_TYPE[found] for found in _TYPE.findall(arguments)),
        *(
            NAME_OF_DIGITS[found]
            for found in _ENUMERATOR.findall(arguments)
            if found in NAME_OF_DIGITS
        ),
    }


def split_dtype(name: str) -> tuple[str, str]:
    """Split the word of a dtype off a name: add and Double of add_f64, double_add or addDouble."""
    for pattern in (_LAST_WORD, _FIRST_WORD):
        if found := pattern.fullmatch(name):
            return found["rest"], _DTYPE_OF_WORD[found["word"].lower()]
    return name, ""


def _parameters(symbol: str) -> list[str]:
    """Return the parameters of a function; what is local to another one has its own."""
    name = split_name(demangle(without_clones(symbol) or symbol))
    inner = [name.suffix[begin:end] for token, begin, end in top_level(name.suffix) if token == "("]
    text = inner[-1] if inner else name.parameters
    return _QUALIFIERS.sub("", text.strip("()")).split(",")


def _in(parameter: str) -> set[str]:
    types = (name.rpartition("::")[2].strip() for name in _TYPES.findall(parameter))
    return {dtype for name in types if (dtype := dtype_of_type(name))}


def plain_patterns(name: str, called: Mapping[str, Iterable[str]]) -> list[str]:
    """Make patterns of the functions of one name that are no templates.

    called: symbols by the dtype whose case calls them

    `totals(T)` are overloads that get elements of the dtype by address. Others are written with
    scopes and parameters: `Double: app::of_doubles::totals(char*)`. A function that several dtypes
    call serves none of them.
    """
    pairs = sorted((dtype, symbol) for dtype, symbols in called.items() for symbol in symbols)
    if all(parameter_dtypes(symbol) == {dtype} for dtype, symbol in pairs):
        return [f"{name}{OVERLOADS}"]
    names = [(dtype, function_text(symbol)) for dtype, symbol in pairs]
    several = len(called) > 1
    if several and any(_LAMBDA in each for _, each in names):
        return []  # compilers number lambdas
    if len({each for _, each in names}) < len(names):
        return []
    return [f"{dtype}: {each}" for dtype, each in names]
