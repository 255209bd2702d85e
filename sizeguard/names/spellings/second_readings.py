"""Other readings of an unknown spelling: names of integer types, a space before brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WIDE = ("long", "long long")  # of 64 bits, on Linux and on macOS
_UNSIGNED_WIDE = ("unsigned long", "unsigned long long")
_INTEGERS = {
    "size_t": ("unsigned long",),
    "ssize_t": ("long",),
    "ptrdiff_t": ("long",),
    "intptr_t": ("long",),
    "uintptr_t": ("unsigned long",),
    "int8_t": ("signed char",),
    "int16_t": ("short",),
    "int32_t": ("int",),
    "int64_t": _WIDE,
    "uint8_t": ("unsigned char",),
    "uint16_t": ("unsigned short",),
    "uint32_t": ("unsigned int",),
    "uint64_t": _UNSIGNED_WIDE,
}
_INTEGER = re.compile(rf"(?<![\w:])(?:std::)?({'|'.join(_INTEGERS)})\b(?!::)")
_SPACED = re.compile(r"(?<=[^\s(,]) \((?![*&])")


def second_readings(text: str) -> Iterator[tuple[str, ...]]:
    """Yield readings in the order of their likelihood; of several at once only one may be known.

    A mangled name has types instead of size_t and int64_t; the latter depends on the system.
    """
    tight = _SPACED.sub("(", text)
    if tight != text:
        yield (tight,)
    if _INTEGER.search(tight):
        yield tuple(dict.fromkeys(_with_types(tight, wide) for wide in (0, 1)))


def _with_types(text: str, wide: int) -> str:
    def type_of(match: re.Match[str]) -> str:
        types = _INTEGERS[match[1]]
        return types[min(wide, len(types) - 1)]

    return _INTEGER.sub(type_of, text)
