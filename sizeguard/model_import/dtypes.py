"""Turns dtype codes of c10, .pt2 files and .npy files into each other."""

from __future__ import annotations

# c10's ScalarType; the runtime computes with these.
NAMES = {
    0: "Byte",
    1: "Char",
    2: "Short",
    3: "Int",
    4: "Long",
    5: "Half",
    6: "Float",
    7: "Double",
    11: "Bool",
    15: "BFloat16",
}
CODES = {name: code for code, name in NAMES.items()}

ELEMENT_SIZES = {"Byte": 1, "Char": 1, "Short": 2, "Int": 4, "Long": 8, "Half": 2, "Float": 4, "Double": 8, "Bool": 1, "BFloat16": 2}

INTEGRAL = frozenset(("Byte", "Char", "Short", "Int", "Long", "Bool"))

# What .npy headers call them. NumPy has no bfloat16: it is kept as two bytes without a meaning.
NPY_NAMES = {
    "Byte": "|u1",
    "Char": "|i1",
    "Short": "<i2",
    "Int": "<i4",
    "Long": "<i8",
    "Half": "<f2",
    "Float": "<f4",
    "Double": "<f8",
    "Bool": "|b1",
    "BFloat16": "<V2",
}

# The codes of .pt2 files are the export schema's own.
PT2_NAMES = {
    1: "Byte",
    2: "Char",
    3: "Short",
    4: "Int",
    5: "Long",
    6: "Half",
    7: "Float",
    8: "Double",
    9: "ComplexHalf",
    10: "ComplexFloat",
    11: "ComplexDouble",
    12: "Bool",
    13: "BFloat16",
    28: "UInt16",
    29: "Float8_e4m3fn",
    30: "Float8_e5m2",
    31: "Float8_e4m3fnuz",
    32: "Float8_e5m2fnuz",
    33: "Float8_e8m0fnu",
    34: "UInt32",
    35: "UInt64",
}

SUPPORTED = ", ".join(NAMES.values())


def element_size(code: int) -> int:
    """Bytes of one element of a c10 dtype code."""
    return ELEMENT_SIZES[NAMES[code]]
