"""Turns what linker maps have in common into one row."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InputSection:
    """A piece of an object in the image: `file` as the linker calls it, such as libkernels.a(add.cpp.o).

    output:    the output section
    is_merged: strings or constants of several objects in one; the file is only the first of them
    """

    output: str
    name: str
    file: str
    address: int
    size: int
    is_merged: bool
