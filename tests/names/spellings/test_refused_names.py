"""Names that LLVM's demangler refuses are shown as binutils shows them."""

from __future__ import annotations

import pytest

from sizeguard.names.demangle import demangle
from sizeguard.names.resolve_names import SymbolNames

_OF_STD = "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
REFUSED = {
    "_ZZN2ns3lamEiENK3$_0clIiEEDaT_": "auto ns::lam(int)::$_0::operator()<int>(int) const",
    "_ZZZN2ns3lamEvENK3$_0clIiEEDaT_ENKUlvE_clEv": (
        "ns::lam()::$_0::operator()<int>(int) const::'lambda'()::operator()() const"
    ),
    # A reference to the function's namespace
    "_ZZN2ns3lamEvENK3$_1clINS_1BEEEDaT_": ("auto ns::lam()::$_1::operator()<_::B>(_::B) const"),
    f"_ZNO2ns1Acv{_OF_STD}Ev": (
        "ns::A::operator std::__cxx11::basic_string<char, std::char_traits<char>,"
        " std::allocator<char>>() &&"
    ),
    "_ZN2ns1AcvSt6vectorIT_SaIS2_EEIiEEv": (
        "ns::A::operator std::vector<int, std::allocator<int>><int>()"
    ),
    # Members of classes in gcc's conditions; literals of enumerations before them
    "_ZN2ns1AIiLNS_4kindE40EE2goIiEENSt9enable_ifIXoosrSt7is_sameIT_iE5valuesrS5_IS6_lE5valueEvE"
    "4typeERKS6_PSB_": (
        "std::enable_if<std::is_same<int, int>::value || std::is_same<int, long>::value,"
        " void>::type ns::A<int, (ns::kind)40>::go<int>(int const&, int const*)"
    ),
    "_ZN2ns4pickINS_1VIlEEL5color1EEENSt9enable_ifIXntsrSt7is_sameIT_NS1_IiEEE5valueES6_E4typeES6_"
    "PKS6_": (
        "std::enable_if<!std::is_same<ns::V<long>, ns::V<int>>::value, ns::V<long>>::type"
        " ns::pick<ns::V<long>, (color)1>(ns::V<long>, ns::V<long> const*)"
    ),
    "_ZN2ns6halvesIiEENSt9enable_ifIXeqrmclsrNS_1VIT_EE4sizeELi2ELi0EES4_E4typeES4_S4_": (
        "std::enable_if<ns::V<int>::size() % 2 == 0, ns::V<int>>::type"
        " ns::halves<int>(ns::V<int>, ns::V<int>)"
    ),
    "_ZN2ns4readIiEENSt9enable_ifIXsrSt5__or_IISt7is_sameIT_iES3_IS4_sEEE5valueEiE4typeES4_": (
        "std::enable_if<std::__or_<std::is_same<int, int>, std::is_same<int, short>>::value, int>"
        "::type ns::read<int>(int)"
    ),
    "_ZN2ns3putIIiPKcEEEvDpOT_": "void ns::put<int, char const*>(int&&, char const*&&)",
}


@pytest.mark.parametrize(("name", "text"), REFUSED.items())
def test_names_that_llvm_refuses_are_shown(name: str, text: str) -> None:
    assert demangle(name) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("_ZGTtNK2ns3Box4whatEv", "transaction clone for ns::Box::what() const"),
        ("_ZGTtN2ns3BoxD1Ev", "transaction clone for ns::Box::~Box()"),
        ("_ZGTtx", "_ZGTtx"),
    ],
)
def test_copies_for_transactions_are_shown(name: str, text: str) -> None:
    assert demangle(name) == text
    assert SymbolNames.of([name, "_ZNK2ns3Box4whatEv"]).find(text) == (name,)


def test_a_pattern_matches_names_that_llvm_refuses() -> None:
    names = SymbolNames.of([*REFUSED, "_ZN2ns3lamEi", "_ZN5other3lamEi"])
    assert set(names.glob("ns::*")) == {*REFUSED, "_ZN2ns3lamEi"}
    assert names.glob("ns::lam(int)*") == ("_ZZN2ns3lamEiENK3$_0clIiEEDaT_", "_ZN2ns3lamEi")
    assert names.find("ns::A::operator std::string") == (f"_ZNO2ns1Acv{_OF_STD}Ev",)


@pytest.mark.parametrize("count", [40, 1500])
def test_nested_names_that_llvm_refuses_end(count: int) -> None:
    assert demangle("_Z" + "Z" * count + "1fvE" + "NK3$_0clIiEEDaT_E" * count + "1x")
    assert demangle(f"_ZN1Acv{'SaI' * count}cEv")
