"""Other readings of an unknown spelling: integer types, nullptr, a space before brackets."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

# What int, long and pointers are: of 64-bit Unix, 64-bit Windows, and machines of 32 bits
LP64, LLP64, ILP32 = "LP64", "LLP64", "ILP32"

_WIDE_MACHINES = ("s390x", "alpha", "ve", "cuda", "amdgcn", "bpf")
_NARROW_FILES = ("ilp32", "64_32")

# Types of 64 bits, of 32 bits, and of a pointer's size, the likeliest first. int64_t is long long
# on macOS, int32_t is long and size_t unsigned int for ARM without an operating system.
_TYPES = {
    LP64: (("long", "long long"), ("int",), ("long",)),
    LLP64: (("long long",), ("int",), ("long long",)),
    ILP32: (("long long",), ("int", "long"), ("int", "long")),
}
_WIDE, _INT, _POINTER = range(3)
_SIZED = {
    "size_t": (_POINTER, "unsigned "),
    "ssize_t": (_POINTER, ""),
    "ptrdiff_t": (_POINTER, ""),
    "intptr_t": (_POINTER, ""),
    "uintptr_t": (_POINTER, "unsigned "),
    "int32_t": (_INT, ""),
    "uint32_t": (_INT, "unsigned "),
    "int64_t": (_WIDE, ""),
    "uint64_t": (_WIDE, "unsigned "),
}
_SMALL = {
    "int8_t": "signed char",
    "int16_t": "short",
    "uint8_t": "unsigned char",
    "uint16_t": "unsigned short",
}
_INTEGER = re.compile(rf"(?<![\w:])(?:std::)?({'|'.join([*_SIZED, *_SMALL])})\b(?!::)")
_SPACED = re.compile(r"(?<=[^\s(,]) \((?![*&])")
# Members of std::string before C++11, and of streams: mangled names abbreviate the class.
_OF_STD = re.compile(
    r"\bstd::basic_(string|istream|ostream|iostream)"
    r"(?:<char, ?std::char_traits<char>(?:, ?std::allocator<char> ?)? ?>)?(?=::|\Z)"
)
_NULL = re.compile(r"\bdecltype ?\(nullptr\)")  # how binutils spells nullptr as an argument, too


def data_model(machine: str, *, is_windows: bool = False) -> str:
    """Return what int, long and pointers are for a machine, by its name in formats."""
    is_narrow = "64" not in machine or any(part in machine for part in _NARROW_FILES)
    if machine and is_narrow and not machine.startswith(_WIDE_MACHINES):
        return ILP32
    return LLP64 if is_windows else LP64


def second_readings(text: str, model: str) -> Iterator[tuple[str, ...]]:
    """Yield readings in the order of their likelihood; of several at once only one may be known.

    A mangled name has types instead of size_t and int64_t, which depend on the system.
    """
    tight = _SPACED.sub("(", text)
    if tight != text:
        yield (tight,)
    if _OF_STD.search(tight):
        yield (_OF_STD.sub(r"std::\1", tight),)
    if _NULL.search(tight):
        yield (_NULL.sub("nullptr", tight),)
    if _INTEGER.search(tight):
        choices = itertools.product(*_TYPES[model])
        yield tuple(dict.fromkeys(_with_types(tight, types) for types in choices))


def _with_types(text: str, types: tuple[str, ...]) -> str:
    def type_of(match: re.Match[str]) -> str:
        if match[1] in _SMALL:
            return _SMALL[match[1]]
        size, sign = _SIZED[match[1]]
        return sign + types[size]

    return _INTEGER.sub(type_of, text)
