"""Compare the hashes in names of Rust, which tell functions and versions of a crate apart."""

from __future__ import annotations

import re

# The end of a mangled function of Rust before its v0 mangling: _ZN4core3fmt17h0123456789abcdefE
MANGLED_HASH = re.compile(r"17h([0-9a-f]{16})E")
_OF_FUNCTION = re.compile(r"::h([0-9a-f]{16})\Z")
_OF_CRATE = re.compile(r"(?<=\w)\[([0-9a-f]{5,16})\]")  # core[39b02397e671b2d1]
_CRATE = re.compile(r"C(?:s([0-9a-zA-Z]*)_)?(?=\d|u\d)")  # Cs4X4t9plMPHF_4core
_LEGACY = re.compile(rf"__?ZN.*{MANGLED_HASH.pattern}")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def has_hashes(symbol: str, text: str) -> bool:
    """Return whether a symbol has all hashes that a spelling of it contains.

    Symbols of other languages have none, so nothing in their spellings is a hash.
    """
    if (legacy := _LEGACY.match(symbol)) and (function := _OF_FUNCTION.search(text)):
        return function[1] == legacy[1]
    crates = _OF_CRATE.findall(text)
    if not crates or not symbol.startswith(("_R", "__R")):
        return True
    return {int(each, 16) for each in crates} <= {
        _number(each[1]) for each in _CRATE.finditer(symbol)
    }


def _number(digits: str | None) -> int:
    """Return the number of a crate that is written in base 62; _ is 1, 0_ is 2."""
    if digits is None:
        return 0
    value = 0
    for digit in digits:
        value = value * len(_DIGITS) + _DIGITS.index(digit)
    return value + 2 if digits else 1
