"""Symbols of code for debug information: Thumb functions, marks, code at address 0."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sizeguard.base.errors import InconclusiveError
from sizeguard.formats.dwarf import inline_frames
from sizeguard.formats.dwarf.code_sections import elf_code, without_removed
from sizeguard.formats.dwarf.entry_names import NONE
from sizeguard.formats.dwarf.inline_tree import InlineTree
from sizeguard.formats.elf import parse_elf
from tests.support.images.made_elf import (
    SHT_STRTAB,
    SHT_SYMTAB,
    Form,
    MadeSection,
    MadeSymbol,
    make_elf,
)

ARM, NOTYPE, LOCAL = 40, 0, 0
FORM = Form(is_64=False)
LABEL = FORM.symbols([MadeSymbol("_init", 0x8000, 0, NOTYPE)])


def firmware(*symbols: MadeSymbol, address: int = 0x8000) -> bytes:
    table, strings = FORM.symbols(symbols)
    return make_elf(
        FORM,
        [
            MadeSection(".text", flags=6, address=address, content=bytes(0x40)),
            MadeSection(".symtab", SHT_SYMTAB, content=table, link=3, entry_size=16),
            MadeSection(".strtab", SHT_STRTAB, content=strings),
        ],
        machine=ARM,
    )


def test_thumb_functions_begin_at_even_addresses() -> None:
    marks = [
        MadeSymbol(name, at, 0, NOTYPE, LOCAL) for name, at in (("$t", 0x8000), ("$d", 0x8018))
    ]
    functions = (MadeSymbol("first", 0x8001, 0x10), MadeSymbol("second", 0x8011, 0x10))
    code = elf_code(parse_elf(Path("x"), firmware(*marks, *functions)))
    found = code.symbol_at(np.array([0x8000, 0x800E, 0x8010, 0x8018, 0x8020]))
    assert [code.names[int(i)] if i >= 0 else "" for i in found] == [
        "first",
        "first",
        "second",
        "second",
        "",
    ]


def test_a_label_names_no_code_of_the_next_section() -> None:
    """Code may have no symbol: `objcopy --strip-symbol` removes those of some names."""
    image = make_elf(
        FORM,
        [
            MadeSection(".init", flags=6, address=0x8000, content=bytes(8)),
            MadeSection(".text", flags=6, address=0x8008, content=bytes(0x10)),
            MadeSection(".symtab", SHT_SYMTAB, content=LABEL[0], link=4, entry_size=16),
            MadeSection(".strtab", SHT_STRTAB, content=LABEL[1]),
        ],
        machine=ARM,
    )
    code = elf_code(parse_elf(Path("x"), image))
    assert code.symbol_at(np.array([0x7FFF, 0x8000, 0x8007, 0x8008, 0x8018])).tolist() == [
        *(-1, 0, 0),
        *(-1, -1),
    ]


def test_only_the_function_of_the_symbol_is_at_address_0() -> None:
    kept, removed = 0, 2
    tree = InlineTree(
        parent=np.array([NONE, kept, NONE, removed, NONE], np.int32),
        depth=np.array([0, 1, 0, 1, 0], np.int32),
        entry=np.arange(1, 6),
        low=np.array([0, 0, 0, 0, 0x10]),
        high=np.array([0x10, 4, 0x20, 0x18, 0x20]),
        node=np.arange(5, dtype=np.int32),
    )
    symbols = (MadeSymbol("kept", 1, 0x10), MadeSymbol("next", 0x11, 0x10))
    code = elf_code(parse_elf(Path("x"), firmware(*symbols, address=0)))
    left = without_removed(tree, code)
    assert list(zip(left.low, left.high, left.node, strict=True)) == [
        (0, 0x10, 0),
        (0, 4, 1),
        (0x10, 0x20, 4),
    ]


def test_debug_information_that_dwz_moved_away_is_unknown(tmp_path: Path) -> None:
    """Functions that are inlined would have no names, as if nothing was inlined."""
    names = (".text", ".debug_info", ".gnu_debugaltlink")
    sections = [MadeSection(name, flags=6 * (name == ".text"), content=bytes(8)) for name in names]
    path = tmp_path / "image"
    path.write_bytes(make_elf(Form(), sections))
    with pytest.raises(InconclusiveError, match="dwz moved parts of its debug information"):
        inline_frames(path)
