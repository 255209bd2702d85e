"""C functions over columns, for loops that numpy needs many passes for."""

from __future__ import annotations

import ctypes
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sizeguard.base.errors import InputError
from sizeguard.base.kept.compiled_library import compiled_library

# Without -march=native: machines can share a home.
FLAGS = ("-std=c17", "-O3", "-fPIC", "-shared", "-fvisibility=hidden")


class CompiledCode:
    """Functions of the C files in a folder, compiled on first use.

    A function takes int64_t for an integer and a pointer for an array, and returns int64_t. It
    trusts the lengths that it is told; callers check what a file says.
    """

    def __init__(self, folder: Path) -> None:
        """Store the folder; the first call compiles or loads its library."""
        self._folder = folder

    def call(self, name: str, *arguments: npt.NDArray[np.generic] | int) -> int:
        """Call a function, without the interpreter's lock.

        Raises ValueError for an array that is not contiguous, and InputError without a compiler or
        if the library cannot be loaded.
        """
        function = getattr(self._library, name)
        function.restype = ctypes.c_int64
        return int(function(*map(_passed, arguments)))

    @cached_property
    def _library(self) -> ctypes.CDLL:
        """The loaded library."""
        sources = sorted(self._folder.glob("*.[ch]"))
        library = compiled_library(sources, FLAGS)
        if library is None:
            raise InputError(
                f"{self._folder}: cannot be compiled; reading binaries needs a C compiler the first"
                " time: install gcc or clang with the headers of the C library, and make"
                " ~/.cache/sizeguard/tools writable for you alone"
            )
        try:
            return ctypes.CDLL(str(library))
        except OSError as error:  # damaged, or on a disk from which nothing may be run
            raise InputError(
                f"{library}: cannot be loaded: {error}; remove it, or set XDG_CACHE_HOME to a"
                " folder from which programs may run"
            ) from error


def compiled_beside(file: str) -> CompiledCode:
    """Return the code in the folder `compiled` beside a module; file: the module's __file__."""
    return _code_in(Path(file).with_name("compiled"))


@cache
def _code_in(folder: Path) -> CompiledCode:
    return CompiledCode(folder)


def addresses(*arrays: npt.NDArray[np.generic]) -> npt.NDArray[np.uintp]:
    """Return the addresses of arrays, as a C structure of pointers.

    The arrays must live as long as C uses them. Raises ValueError for one that is not contiguous.
    """
    return np.array([_address(array) for array in arrays], np.uintp)


def _address(array: npt.NDArray[np.generic]) -> int:
    if not array.flags.c_contiguous:
        raise ValueError("an array must be contiguous")
    address: int = array.__array_interface__["data"][0]
    return address


def _passed(argument: npt.NDArray[np.generic] | int) -> ctypes.c_int64 | ctypes.c_void_p:
    if isinstance(argument, np.ndarray):
        return ctypes.c_void_p(_address(argument))
    return ctypes.c_int64(argument)
