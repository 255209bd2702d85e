"""The table of dtypes: a row for each, with its names in files, symbols and headers."""

from __future__ import annotations

from sizeguard.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Dtype:
    """A dtype of PyTorch.

    name:      name of the ScalarType
    code:      code of the ScalarType; .sgp and .pte files and template arguments use it, too
    size:      bytes of an element, or of the byte that several elements share
    pt2:       code in the export schema; 0 if it has none
    npy:       descriptor in .npy files; kernels compute with the dtypes that have one
    letters:   the C++ type in mangled names, on 64-bit targets
    spellings: the C++ type without its namespace, first as demanglers write it, then as gcc's debug
               information does
    real:      for a complex dtype, the dtype of its parts
    tolerance: relative and absolute, within which results are equal, as in PyTorch's tests
    """

    name: str
    code: int
    size: int
    pt2: int = 0
    npy: str = ""
    letters: str = ""
    spellings: tuple[str, ...] = ()
    real: str = ""
    tolerance: tuple[float, float] = (0.0, 0.0)


_LONG = ("long", "long long", "long int", "long long int")  # int64_t is long long on macOS

# In the order of their codes. NumPy has no bfloat16, so .npy files store it as two raw bytes.
TABLE = (
    Dtype("Byte", 0, 1, 1, "|u1", "h", ("unsigned char",)),
    Dtype("Char", 1, 1, 2, "|i1", "a", ("signed char",)),
    Dtype("Short", 2, 2, 3, "<i2", "s", ("short", "short int")),
    Dtype("Int", 3, 4, 4, "<i4", "i", ("int",)),
    Dtype("Long", 4, 8, 5, "<i8", "lx", _LONG),
    Dtype("Half", 5, 2, 6, "<f2", "", ("Half",), tolerance=(1e-3, 1e-5)),
    Dtype("Float", 6, 4, 7, "<f4", "f", ("float",), tolerance=(1.3e-6, 1e-5)),
    Dtype("Double", 7, 8, 8, "<f8", "d", ("double",), tolerance=(1e-7, 1e-7)),
    Dtype("ComplexHalf", 8, 4, 9, real="Half"),
    Dtype("ComplexFloat", 9, 8, 10, real="Float"),
    Dtype("ComplexDouble", 10, 16, 11, real="Double"),
    Dtype("Bool", 11, 1, 12, "|b1", "b", ("bool",)),
    Dtype("QInt8", 12, 1),
    Dtype("QUInt8", 13, 1),
    Dtype("QInt32", 14, 4),
    Dtype("BFloat16", 15, 2, 13, "<V2", "", ("BFloat16",), tolerance=(1.6e-2, 1e-5)),
    Dtype("QUInt4x2", 16, 1),
    Dtype("QUInt2x4", 17, 1),
    Dtype("Bits1x8", 18, 1),
    Dtype("Bits2x4", 19, 1),
    Dtype("Bits4x2", 20, 1),
    Dtype("Bits8", 21, 1),
    Dtype("Bits16", 22, 2),
    Dtype("Float8_e5m2", 23, 1, 30),
    Dtype("Float8_e4m3fn", 24, 1, 29),
    Dtype("Float8_e5m2fnuz", 25, 1, 32),
    Dtype("Float8_e4m3fnuz", 26, 1, 31),
    Dtype("UInt16", 27, 2, 28, letters="t"),
    Dtype("UInt32", 28, 4, 34, letters="j"),
    Dtype("UInt64", 29, 8, 35, letters="my"),
    Dtype("Float8_e8m0fnu", 44, 1, 33),
    Dtype("Float4_e2m1fn_x2", 45, 1),
)

# All dtypes, and other texts that replace a name.
SCALAR_TYPES = tuple(row.name for row in TABLE)
CODE_OF_NAME = {row.name: row.code for row in TABLE}
NAME_OF_CODE = {row.code: row.name for row in TABLE}
# By the digits of a text, which may be too many for a number.
NAME_OF_DIGITS = {str(row.code): row.name for row in TABLE}
NAME_OF_PT2 = {row.pt2: row.name for row in TABLE if row.pt2}
NAME_OF_LETTER = {letter: row.name for row in TABLE for letter in row.letters}
COMPLEX_OF_REAL = {row.real: row.name for row in TABLE if row.real}

# The dtypes that kernels compute with, which a dtype switch can have.
_COMPUTED = tuple(row for row in TABLE if row.npy)
DTYPES = tuple(row.name for row in _COMPUTED)
NAMES = {row.code: row.name for row in _COMPUTED}
CODES = {row.name: row.code for row in _COMPUTED}
ELEMENT_SIZES = {row.name: row.size for row in _COMPUTED}
INTEGRAL = frozenset(row.name for row in _COMPUTED if row.npy[1] in "uib")
NPY_NAMES = {row.name: row.npy for row in _COMPUTED}
TOLERANCES = {row.name: row.tolerance for row in _COMPUTED}
NAME_OF_CPP_TYPE = {spelling: row.name for row in _COMPUTED for spelling in row.spellings}

SUPPORTED = ", ".join(DTYPES)


def element_size(code: int) -> int:
    """Return the bytes of one element of a dtype that kernels compute with."""
    return ELEMENT_SIZES[NAMES[code]]


def dtype_of_type(cpp_type: str) -> str:
    """Return the dtype of a C++ type, as demanglers or gcc write it; empty if it has none."""
    return NAME_OF_CPP_TYPE.get(cpp_type.strip().rpartition("::")[2], "")
