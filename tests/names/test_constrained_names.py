"""Names of functions with constraints, as clang 17 and later mangle them.

Demanglers write the constraint behind the parameters, where it looked like another name.
"""

from __future__ import annotations

import pytest

from sizeguard.names.demangle import demangle
from sizeguard.names.resolve_names import SymbolNames
from sizeguard.names.short import bare_name, split_name
from sizeguard.verify.leaks.hidden_code import code_name

GATHER = "_ZN1k6gatherIiEET_S1_Qsr3stdE7same_asIS1_iE"
MEMBER = "_ZNK1k1SIiE3memEiQaagtstT_Li2Esr3stdE8integralIS2_E"
FRIEND = "_ZN1k1SIiEF2frES1_iQsr3stdE8integralIT_E"
# Of functions in `static int f(T x) requires std::integral<T>`
LAMBDA = "_ZZN1k1SIiE3lamEiQsr3stdE8integralIT_EENKUlS2_E_clIiEEDaS2_Qeqszfp_Li4E"
LOCAL = "_ZZN1k1SIiE3locEiQsr3stdE8integralIT_EEN1L3runEi"
BEFORE = "_ZNK1k2laMUlTyQsr3stdE8integralIT_ES1_E_clIiEEDaS1_"  # []<class T> requires …
SYMBOLS = (GATHER, MEMBER, FRIEND, LAMBDA, LOCAL, BEFORE)
MEANS = {
    "k::gather": GATHER,
    "k::gather<int>(int)": GATHER,
    "int k::gather<int>(int)": GATHER,
    "k::gather<int>(int) requires std::same_as<int, int>": GATHER,
    "k::g*": GATHER,
    "*gather*int)": GATHER,
    "*requires std::same_as*": GATHER,
    "k::S::mem": MEMBER,
    "k::S<int>::m*(int) const": MEMBER,
    "k::S::fr": FRIEND,
    "*::fr(*": FRIEND,
    "k::S<int>::lam*lambda*": LAMBDA,
    "k::S<int>::loc(int)::L::run": LOCAL,
    "*L::run": LOCAL,
    "k::la::*": BEFORE,
}


@pytest.mark.parametrize("text", MEANS)
def test_a_constraint_hides_no_function(text: str) -> None:
    """verify --absent 'k::g*' passed, although k::gather was there."""
    assert SymbolNames.of(SYMBOLS).meant(text).names == (MEANS[text],)


def test_a_constraint_is_no_name() -> None:
    names = {GATHER: "gather", MEMBER: "mem", FRIEND: "fr", LAMBDA: "lam", LOCAL: "run"}
    for symbol, name in names.items():
        assert code_name(symbol) == name
        assert "requires" in demangle(symbol)
    for symbol in (GATHER, MEMBER, FRIEND):
        assert bare_name(demangle(symbol)) == names[symbol]
    assert split_name(demangle(MEMBER)).suffix == " const"
