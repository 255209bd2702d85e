"""Operator names in constant data that linkers do not merge."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sizeguard.linkgraph.elf.literals import find_literals

NAME = b"aten::add.Tensor"


@pytest.mark.parametrize(
    ("content", "place", "expected"),
    [
        (NAME + b"\0", 0, {0: "aten::add.Tensor"}),
        (b"\0\0" + NAME + b"\0aten::x\0", 2, {0: "aten::add.Tensor"}),
        (b"aten::" + b"a" * 900 + b"\0", 0, {0: "aten::" + "a" * 900}),
        (NAME, 0, {}),  # without an end; the name was cut to aten::add.Tenso
        (b"aten::" + b"a" * 1000 + b"\0", 0, {}),
        (NAME + b"\0", 40, {}),
        (NAME + b"\0", -4, {}),
    ],
)
def test_a_name_ends_within_its_section(
    content: bytes, place: int, expected: dict[int, str]
) -> None:
    section = SimpleNamespace(is_nobits=False)
    elf = SimpleNamespace(sections=[section], content=lambda _: content)
    loaded: Any = SimpleNamespace(machine="aarch64", objects=[SimpleNamespace(elf=elf)])
    one = np.zeros(1, np.int64)
    sections: Any = SimpleNamespace(flags=one, is_input=one == 0, object=one, index=one)
    relocations: Any = SimpleNamespace(symbol=one, addend=one + place, type=one)
    symbols: Any = SimpleNamespace(value=one)
    assert find_literals(loaded, sections, relocations, symbols, one) == expected
