"""References of objects: their encodings, and operator names in constant data."""

from __future__ import annotations

import struct
from types import MethodType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sizeguard.base.errors import InconclusiveError
from sizeguard.formats.elf import SHT_CREL, SHT_REL, SHT_RELA
from sizeguard.formats.elf.image import Elf
from sizeguard.formats.elf.layout import Layout
from sizeguard.formats.elf.relocations import read_plain
from sizeguard.linkgraph.elf.literals import find_literals
from sizeguard.linkgraph.elf.object_columns import _table_of

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


def relocation_section(type_: int, size: int, offset: int = 0) -> Any:
    return SimpleNamespace(name=".rel", type=type_, file_size=size, offset=offset)


def test_relocations_of_sections_are_joined_in_any_encoding() -> None:
    layout = Layout(is_64=True, order="<")
    plain = struct.pack("<QQq", 16, 7 << 32 | 4, -4) + struct.pack("<QQq", 32, 8 << 32 | 2, 0)
    data = np.frombuffer(plain, np.uint8)
    elf = SimpleNamespace(data=data, layout=layout)
    elf.relocation_table = lambda s: read_plain(data, layout, s.offset, s.file_size, addend=True)
    elf.relocation_tables = MethodType(Elf.relocation_tables, elf)
    found: Any = SimpleNamespace(elf=elf, label="a.o")
    parts = [(SHT_RELA, 24, 0), (SHT_RELA, 30, 24)]
    expected, lengths = _table_of(found, [relocation_section(*part) for part in parts])
    assert (expected.offset.tolist(), lengths) == ([16, 32], [1, 1])
    assert (expected.symbol.tolist(), expected.type.tolist()) == ([7, 8], [4, 2])
    mixed = [relocation_section(SHT_CREL, 24), relocation_section(SHT_RELA, 24, 24)]
    table, lengths = _table_of(found, mixed)
    assert lengths == [1, 1]
    for column in ("offset", "type", "symbol", "addend"):
        assert getattr(table, column).tolist() == getattr(expected, column).tolist()
    with pytest.raises(InconclusiveError, match=r"a.o: relocations without addends \(.rel\)"):
        _table_of(found, [*mixed, relocation_section(SHT_REL, 16)])
