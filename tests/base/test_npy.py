"""Arrays in .npy files: NumPy and sizeguard read each other's files; nothing is unpickled.

The error for a damaged file is one line.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.base.errors import InputError
from sizeguard.models.npy import Array, read_npy, write_npy
from tests.support.drawn import at_least

# NumPy's name of each dtype; it has no bfloat16.
NUMPY = {
    "Byte": "u1", "Char": "i1", "Short": "<i2", "Int": "<i4", "Long": "<i8", "Half": "<f2",
    "Float": "<f4", "Double": "<f8", "Bool": "?", "BFloat16": "V2",
}  # fmt: skip

SHAPES = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@given(st.sampled_from(sorted(NUMPY)), SHAPES, st.randoms(use_true_random=False))
@at_least(60)
def test_numpy_and_we_read_each_other(
    tmp_path_factory: pytest.TempPathFactory,
    dtype: str,
    shape: tuple[int, ...],
    generator: random.Random,
) -> None:
    path = tmp_path_factory.mktemp("npy") / "a.npy"
    data = generator.randbytes(int(np.prod(shape, dtype=int)) * np.dtype(NUMPY[dtype]).itemsize)
    if dtype == "Bool":
        data = bytes(byte & 1 for byte in data)
    array = Array(dtype, shape, data)
    write_npy(path, array)
    assert read_npy(path) == array
    by_numpy = np.load(path, allow_pickle=False)
    assert (by_numpy.shape, by_numpy.dtype.newbyteorder("<").str, by_numpy.tobytes()) == (
        shape,
        np.dtype(NUMPY[dtype]).str,
        data,
    )
    np.save(path, by_numpy)
    assert read_npy(path) == array


def test_an_array_of_objects_is_not_unpickled(tmp_path: Path) -> None:
    marker = tmp_path / "ran"

    class Runs:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return Path.touch, (str(marker),)

    np.save(tmp_path / "a.npy", np.array([Runs()], dtype=object), allow_pickle=True)
    with pytest.raises(
        InputError, match=r"a.npy: dtype '\|O' is not supported; save it as one of Byte, Char"
    ):
        read_npy(tmp_path / "a.npy")
    assert not marker.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a .npy file"),
        (b"\x93NUMPY\x09\x00" + b"\x00" * 100, "not a .npy file"),
        (b"\x93NUMPY\x01\x00\xff\xff{}", "its header is 65,545 bytes long"),
        (b"\x93NUMPY\x01\x00v\x00{}", "truncated: its header ends at byte 128"),
        (b"\x93NUMPY\x01\x00\x04\x00{}  ", "its header lacks descr"),
        (b"\x93NUMPY\x01\x00\x04\x00__x(", "its header cannot be read"),
        (
            b"\x93NUMPY\x01\x00\x3c\x00"
            + b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, -1)}".ljust(60),
            "has no shape",
        ),
        (
            b"\x93NUMPY\x01\x00\x3c\x00"
            + b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}".ljust(60),
            "0 bytes of data",
        ),
        (
            b"\x93NUMPY\x01\x00\x3c\x00"
            + b"{'descr': ['<f4'], 'fortran_order': 0, 'shape': (2, 3)}".ljust(60),
            "is not supported",
        ),
    ],
)
def test_a_damaged_file_is_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_npy(tmp_path / "a.npy")
    assert message in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.native
def test_mutated_files_are_refused_or_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(6, dtype=np.float32).reshape(2, 3))
    whole = (tmp_path / "a.npy").read_bytes()
    generator = random.Random(3)
    refused = 0
    for _ in range(2000):
        data = bytearray(whole)
        for _ in range(generator.randint(1, 3)):
            data[generator.randrange(len(data))] = generator.randrange(256)
        (tmp_path / "a.npy").write_bytes(data)
        try:
            array = read_npy(tmp_path / "a.npy")
        except InputError as error:
            assert str(error).isprintable()
            refused += 1
            continue
        assert len(array.data) == int(np.prod(array.shape)) * np.dtype(NUMPY[array.dtype]).itemsize
    assert 0 < refused < 2000
