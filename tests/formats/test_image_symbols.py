"""The definitions of an image by name agree with its symbol tables, and few objects are made."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.formats.binary import ImageSymbols
from sizeguard.formats.elf import Symbol, read_elf
from sizeguard.formats.elf.symbols import SymbolTable
from sizeguard.verify.evidence.macho import MachoSymbolTable
from tests.support.drawn import at_least
from tests.support.images.made_elf import Form, MadeSection, MadeSymbol, make_elf

NAMES = st.sampled_from(["", "f", "g", "f@@V1", "g@V2", "é"])
ROWS = st.tuples(NAMES, st.integers(0, 3), st.integers(0, 9), st.integers(1, 2))
TABLES = st.lists(st.lists(ROWS, max_size=6), max_size=3)


@at_least(200)
@given(TABLES)
def test_each_name_has_its_symbols_in_order_of_the_tables(
    tables: list[list[tuple[str, int, int, int]]],
) -> None:
    made = [MachoSymbolTable(tuple(Symbol(n, a, s, 2, 1, k) for n, a, s, k in t)) for t in tables]
    expected: dict[str, list[Symbol]] = {}
    for table in made:
        for symbol in table.objects():
            found = expected.setdefault(symbol.name.partition("@")[0], [])
            if all(other.address != symbol.address for other in found):
                found.append(symbol)
    expected.pop("", None)
    assert dict(ImageSymbols.of(made)) == expected
    assert [*ImageSymbols.of(made)] == [*expected]
    assert len(ImageSymbols.of(made)) == len(expected)


def elf_table(folder: Path, *symbols: MadeSymbol) -> SymbolTable:
    rows, strings = Form().symbols(symbols)
    content = make_elf(
        Form(),
        [
            MadeSection(".text", 1, content=bytes(64), flags=6),
            MadeSection(".symtab", 2, content=rows, link=3, entry_size=24),
            MadeSection(".strtab", 3, content=strings),
        ],
    )
    (folder / "image").write_bytes(content)
    return read_elf(folder / "image").static_symbols[0]


def test_only_requested_symbols_become_objects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = (MadeSymbol("f", 16, 4), MadeSymbol("import", 0, 0, section=0), MadeSymbol("g", 32, 8))
    table = elf_table(tmp_path, *made)
    monkeypatch.delattr(SymbolTable, "objects")
    symbols = ImageSymbols.of([table])
    assert [*symbols] == ["f", "g"]
    assert symbols["g"] == [Symbol("g", 32, 8, 2, 1, 1)]
    assert "import" not in symbols
    with pytest.raises(KeyError):
        symbols["import"]
