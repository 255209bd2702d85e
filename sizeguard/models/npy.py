"""Read and write .npy files of the dtypes that the runtime knows; nothing is unpickled.

.npy files and arrays store bfloat16 as '<V2': two bytes without a meaning.
"""

from __future__ import annotations

import ast
import math
import warnings
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.files import write_atomic
from sizeguard.base.input_files import read_input
from sizeguard.models.exported_program import MAXIMUM_DIMENSIONS
from sizeguard.operators.dtypes import CODES, ELEMENT_SIZES, NPY_NAMES, SUPPORTED

MAGIC = b"\x93NUMPY"
MAXIMUM_HEADER = 1 << 16  # bytes; our own headers have 118

# Two bytes have no order: NumPy writes |V2, too.
_DTYPES = {npy: name for name, npy in NPY_NAMES.items()}
_DTYPES["|V2"] = _DTYPES["<V2"]


@dataclass(frozen=True, slots=True)
class Array:
    """An array.

    dtype: PyTorch's name
    data:  the elements row by row, little endian
    """

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    @property
    def code(self) -> int:
        """The dtype's code in c10."""
        return CODES[self.dtype]


def read_npy(path: Path) -> Array:
    """Read an array.

    Raises InputError for a malformed file, for object arrays, and for dtypes that the runtime
    lacks.
    """
    content = read_input(path)
    header, start = _header(content, path)
    fields = header.keys() if isinstance(header, dict) else set()
    if not isinstance(header, dict) or fields != {"descr", "fortran_order", "shape"}:
        raise InputError(f"{path}: not a .npy file: its header lacks descr, fortran_order or shape")
    descr, shape = header["descr"], header["shape"]
    if not isinstance(descr, str) or descr.startswith("|O") or descr not in _DTYPES:
        raise InputError(
            f"{path}: dtype {ascii(descr)[:40]} is not supported; save it as one of {SUPPORTED},"
            " little endian"
        )
    if not isinstance(shape, tuple) or not all(
        type(size) is int and 0 <= size < 2**63 for size in shape
    ):
        raise InputError(f"{path}: its header has no shape")
    if len(shape) > MAXIMUM_DIMENSIONS:
        raise InputError(
            f"{path}: {len(shape)} dimensions; at most {MAXIMUM_DIMENSIONS} are supported"
        )
    if header["fortran_order"] is not False and len(shape) > 1:
        raise InputError(f"{path}: stored in Fortran order; save numpy.ascontiguousarray of it")
    dtype = _DTYPES[descr]
    size = math.prod(shape) * ELEMENT_SIZES[dtype]
    if len(content) - start != size:
        raise InputError(
            f"{path}: {len(content) - start} bytes of data, but its shape {shape} needs {size}"
        )
    return Array(dtype, shape, content[start:])


def write_npy(path: Path, array: Array) -> None:
    """Write an array as numpy.save does."""
    text = (
        f"{{'descr': '{NPY_NAMES[array.dtype]}', 'fortran_order': False, 'shape': {array.shape}, }}"
    )
    # The data starts at a multiple of 64; the header ends with a newline.
    padding = -(len(MAGIC) + 4 + len(text) + 1) % 64
    header = (text + " " * padding + "\n").encode("latin-1")
    write_atomic(
        path, MAGIC + b"\x01\x00" + len(header).to_bytes(2, "little") + header + array.data
    )


def _header(content: bytes, path: Path) -> tuple[object, int]:
    """Return the header, a Python literal, and the start of the data."""
    version = content[6:8]
    if content[:6] != MAGIC or version not in (b"\x01\x00", b"\x02\x00", b"\x03\x00"):
        raise InputError(f"{path}: not a .npy file")
    width = 2 if version == b"\x01\x00" else 4
    start = 8 + width + int.from_bytes(content[8 : 8 + width], "little")
    if start > MAXIMUM_HEADER:
        raise InputError(f"{path}: not a .npy file: its header is {start:,} bytes long")
    if start > len(content):
        raise InputError(f"{path}: truncated: its header ends at byte {start:,}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of escapes in a damaged header
            return ast.literal_eval(content[8 + width : start].decode("latin-1").strip()), start
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise InputError(f"{path}: not a .npy file: its header cannot be read") from error
