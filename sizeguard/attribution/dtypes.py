"""Turns C++ types, as they are mangled, into dtypes."""

from __future__ import annotations

# c10's ScalarType, in the order of its codes; the runtime's own has the same.
SCALAR_TYPES = (
    *("Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double", "ComplexHalf", "ComplexFloat", "ComplexDouble", "Bool"),
    *("QInt8", "QUInt8", "QInt32", "BFloat16", "QUInt4x2", "QUInt2x4", "Bits1x8", "Bits2x4", "Bits4x2", "Bits8", "Bits16"),
    *("Float8_e5m2", "Float8_e4m3fn", "Float8_e5m2fnuz", "Float8_e4m3fnuz", "UInt16", "UInt32", "UInt64"),
)
DTYPES = (*SCALAR_TYPES, "Float8_e8m0fnu", "Float4_e2m1fn_x2")
CODES = {name: code for code, name in enumerate(DTYPES)}

# Letters of the mangling; x and y are long long, m is unsigned long: of 64-bit targets.
LETTERS = {
    "h": "Byte",
    "a": "Char",
    "s": "Short",
    "i": "Int",
    "l": "Long",
    "x": "Long",
    "f": "Float",
    "d": "Double",
    "b": "Bool",
    "t": "UInt16",
    "j": "UInt32",
    "m": "UInt64",
    "y": "UInt64",
}

COMPLEX = {"Half": "ComplexHalf", "Float": "ComplexFloat", "Double": "ComplexDouble"}

# Elements of std::vector<long> and the like are sizes and indices, not what a kernel computes with.
CONTAINERS = (
    *("ArrayRef", "vector", "optional", "List", "initializer_list", "SmallVector", "SmallVectorImpl", "SmallVectorTemplateCommon"),
    *("SmallVectorTemplateBase", "array", "allocator", "Span", "span", "unordered_map", "function", "_Optional_payload", "_Optional_base"),
    *(
        "_Optional_payload_base",
        "Array",
        "Dict",
        "tuple_element",
        "unique_ptr",
        "shared_ptr",
        "OptionalArrayRef",
        "OptionalBase",
        "integer_sequence",
    ),
)
