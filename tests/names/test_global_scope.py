"""A name that begins with `::` has all its scopes, for every user of names."""

from __future__ import annotations

import pytest

from sizeguard.names.find_operators import find_operators
from sizeguard.names.globs import is_glob
from sizeguard.names.resolve_names import KEPT, KnownNames, SymbolNames
from sizeguard.names.spelling import shown_symbol

RETAIN = "_ZN2sg7Context6retainERKNS_6TensorE"
MEANT = {
    "::sg::Context::retain": RETAIN,
    ":: sg :: Context :: retain": RETAIN,
    "::sg::Context::retain(sg::Tensor const&)": RETAIN,
    "::sg::Context::retain(const ::sg::Tensor&)": RETAIN,
    "void ::sg::Context::retain(::sg::Tensor const&)": RETAIN,
    "vtable for ::sg::Box": "_ZTVN2sg3BoxE",
    "::global": "_Z6globalv",
    "void ::global()": "_Z6globalv",
    "::operator delete(void*)": "_ZdlPv",
    "::sg::operator*": "_ZN2sgmlERKNS_1AES2_",
    "::hidden": "_ZN12_GLOBAL__N_16hiddenEv",
    "int* ::sg::get<int>()": "_ZN2sg3getIiEEPT_v",
    "int *::sg::get<int>()": "_ZN2sg3getIiEEPT_v",
    "::main": "main",
    "int ::main(int, char**)": "main",
}
UNKNOWN = {
    "::retain": RETAIN,
    ":: retain": RETAIN,
    "::Context::retain": RETAIN,
    "void ::retain(sg::Tensor const&)": RETAIN,
    "void ::Context::retain(::sg::Tensor const&)": RETAIN,
    "vtable for ::Box": "_ZTVN2sg3BoxE",
    "::operator*": "_ZN2sgmlERKNS_1AES2_",
    "int *::get<int>()": "_ZN2sg3getIiEEPT_v",
}
ELF = SymbolNames.of(MEANT.values())
MACHO = SymbolNames.of((f"_{symbol}" for symbol in MEANT.values()), KEPT)


@pytest.mark.parametrize(("text", "symbol"), MEANT.items())
def test_a_name_with_all_scopes_means_its_symbol(text: str, symbol: str) -> None:
    assert ELF.meant(text).names == (symbol,)
    assert MACHO.meant(text).names == (f"_{symbol}",)


@pytest.mark.parametrize(("text", "symbol"), UNKNOWN.items())
def test_no_scope_is_left_out_before_it(text: str, symbol: str) -> None:
    assert ELF.find(text.replace("::", "", 1)) == (symbol,)  # without it, scopes may be left out
    for names in (ELF, MACHO):
        found = KnownNames(names).resolve(text)
        assert (found.names, found.is_glob) == ((), False)
        assert found.nearest == shown_symbol(symbol)


@pytest.mark.parametrize(
    ("pattern", "symbols"),
    [("::sg::Context::ret*", {RETAIN}), ("::glob*", {"_Z6globalv"}), ("::ret*", set())],
)
def test_a_pattern_has_all_scopes(pattern: str, symbols: set[str]) -> None:
    assert {*ELF.meant(pattern).names} == symbols
    assert {*MACHO.meant(pattern).names} == {f"_{symbol}" for symbol in symbols}


def test_operators_have_all_their_scopes() -> None:
    known = ("aten::add.Tensor", "aten::add.out", "aten::gelu")
    assert find_operators("::aten::gelu", known) == ("aten::gelu",)
    assert find_operators("::aten::add*", known) == known[:2]
    assert find_operators("::gelu", known) == ()


@pytest.mark.parametrize(
    ("text", "glob"),
    [
        ("char *ns::f(int)", False),
        ("unsigned char **ns::f", False),
        ("ns::A &ns::f(int*)", False),
        ("char *ns::f*", True),
        ("void *gemm*", True),
        ("vtable for *Box", True),
        ("non-virtual thunk to *Box", True),
        ("*gemm", True),
    ],
)
def test_a_pointer_as_result_is_no_pattern(text: str, glob: bool) -> None:
    """A misspelt `char *ns::f(int)` would pass as absent, since a pattern may match nothing."""
    assert is_glob(text) == glob


def test_a_wildcard_beside_the_global_scope_is_no_part_of_it() -> None:
    names = SymbolNames.of(("_ZN2sg7Context6retainEv", "xretain"))
    assert set(names.glob("::*retain*")) == {"_ZN2sg7Context6retainEv", "xretain"}
    assert names.glob("*::retain") == ("_ZN2sg7Context6retainEv",)
