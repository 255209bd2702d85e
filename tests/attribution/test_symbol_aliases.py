"""Test that rows list the aliases of their symbols, and that all names are hashed at once."""

from __future__ import annotations

import numpy as np
import pytest

from sizeguard.attribution import alias_rows
from sizeguard.attribution.alias_rows import SymbolAliases
from sizeguard.attribution.analysis import Aliases
from sizeguard.columns.label import Label
from sizeguard.columns.texts import Texts

ROWS = 3000


def names_in_pairs() -> tuple[Label, Aliases]:
    """Rows r0, r1, …; r0 and a0, r3 and a3, … are names of the same bytes."""
    pairs = [name for i in range(0, ROWS, 3) for name in (f"r{i}", f"a{i}")]
    first = np.arange(0, len(pairs) + 1, 2, dtype=np.int64)
    label = Label(np.arange(ROWS, dtype=np.int32), Texts.of(f"r{i}" for i in range(ROWS)))
    return label, Aliases(np.full(ROWS, -1, np.int32), first, Texts.of(pairs), None)


def test_rows_have_the_names_that_each_symbol_has_alone() -> None:
    label, aliases = names_in_pairs()
    known = SymbolAliases(aliases)
    found = list(known.of_rows(label))
    assert found == [(f"a{i}",) if i % 3 == 0 else () for i in range(ROWS)]
    assert found[:9] == [others(known, f"r{i}") for i in range(9)]
    assert others(known, "a3") == ("r3",)
    assert others(known, "elsewhere") == ()


def others(known: SymbolAliases, name: str) -> tuple[str, ...]:
    """Return the other names of one symbol's bytes."""
    (found,) = known.of_rows(Label(np.zeros(1, np.int32), Texts.of([name])))
    return found


def test_all_rows_are_hashed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    label, aliases = names_in_pairs()
    hashed: list[int] = []
    hash_texts = alias_rows.hash_texts

    def counted(texts: Texts) -> alias_rows.Hashes:
        hashed.append(len(texts))
        return hash_texts(texts)

    monkeypatch.setattr(alias_rows, "hash_texts", counted)
    list(SymbolAliases(aliases).of_rows(label))
    assert sorted(hashed) == sorted([len(aliases.names), ROWS])
