"""Functions around a function, by its name, and the limit on comparing names."""

from __future__ import annotations

import pytest

from sizeguard.formats.dwarf.case_aliases import _Around
from sizeguard.formats.dwarf.debug_info import DwarfError


def test_functions_around_a_lambda_are_in_its_name() -> None:
    spent: list[int] = []
    outer, inner = b"_Z1fv", b"_ZZ1fvENKUlvE_clEv"
    around = _Around([inner, outer, 7], spent.append)
    for _ in range(2):
        assert around.of(b"_ZZZ1fvENKUlvE_clEvENKUlvE_clEv") == [outer, inner]
    assert around.of(inner) == [outer]
    assert around.of(outer) == around.of(7) == []
    assert spent == [len(b"1fv") + len(b"1fvENKUlvE_clEv"), len(b"1fv")]


def test_comparing_names_ends_at_the_limit() -> None:
    """Names of 8 KiB with an end at each letter are compared 8,192 times each."""
    left = [1 << 20]

    def spend(count: int) -> None:
        left[0] -= count
        if left[0] < 0:
            raise DwarfError("nested without end")

    keys = [b"_ZZ" + b"E" * length for length in range(1, 4000)]
    with pytest.raises(DwarfError, match="without end"):
        _Around(keys, spend).of(keys[-1])
