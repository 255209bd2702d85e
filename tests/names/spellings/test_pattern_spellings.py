"""A pattern matches every spelling of a symbol, so that `--absent PATTERN` misses none.

A pattern that matches nothing passes as absent, unless only some of its scopes are missing.
"""

from __future__ import annotations

import pytest

from sizeguard.names.resolve_names import KEPT, SymbolNames
from sizeguard.names.spelling import shown_symbol

FOO = "_ZN2ns3fooEmPKc"  # ns::foo(unsigned long, char const*)
GET = "_ZNK2ns3Box3getEv"
HIDDEN = "_ZN2ns12_GLOBAL__N_16hiddenEv"
TAGS = "_ZN2ns4tagsB5cxx11Ev"
APPLY = "_ZN2ns5applyIiLb1EEEvT_"  # void ns::apply<int, true>(int)
PUSH = "_ZNSt6vectorIiSaIiEE9push_backERKi"
CLEAR = "_ZNSt3mapIiN2ns1AESt4lessIiESaISt4pairIKiS1_EEE5clearEv"
JOIN = "_ZN2ns4joinERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
COLD = "_ZN2ns4coldEv.cold"
WRITE = "_ZNSo5writeEPKcl"
TEXT = "_Z4textNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
AREA = "_RNvXNtCs6GmmlP4bgsG_1r3appNtB2_2SqNtB2_5Shape4area"
AREA_OF_VEC = (
    "_RNvXs_NtCs6GmmlP4bgsG_1r3appINtNtCslNYArtu3iFV_5alloc3vec3VecNtB4_2SqENtB4_5Shape4areaB6_"
)
CLOSURE = "_RNCNvNtCs6GmmlP4bgsG_1r3app4clos0B5_"
VISIT = "_ZN2ns5visitINS_6lambdaMUlT_E_EEEiT_"  # its argument is a generic lambda of a variable
BIND = "_ZN2ns4bindIXadL_ZNS_4stopEiEEEEii"
CREND = "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE5crendEv"
LEAK = "_ZNSs7_M_leakEv"  # of std::string before C++11
BOXED = "_ZN2ns5BoxedIXadL_ZNS_4itemERNS_7ContextEEEE4callEi"
TAKE = "_RNvMNtNtCsjrHSEGnQ3l9_3std3net3tcpNtB2_9TcpStream10take_error"
START = "_RNvNtCsjrHSEGnQ3l9_3std2rt5start"
_CLASS = "basic_string<char, std::char_traits<char>, std::allocator<char> >"
MATCHES = {
    # Members of std::string, which demanglers call by its template
    "std::string::c*": CREND,
    f"std::__cxx11::{_CLASS}*crend*": CREND,
    f"std::{_CLASS}::cr*": CREND,
    f"std::{_CLASS}::_M*": LEAK,
    "std::basic_string<char*leak*": LEAK,
    "std::basic_string<*>::_M*": LEAK,
    "ns::join(std::basic_string<char*": JOIN,
    # A function among the arguments, without the parameters that binutils leaves out
    "*::item>::call*": BOXED,
    "ns::Boxed<*::item>::*": BOXED,
    # Hashes of crates, as binutils shows them, and a wildcard for them
    "<std[e28293b1aa0f68bd]::net::*": TAKE,
    "<std[*]::net::tcp::*": TAKE,
    "std[*]::net::*": TAKE,
    "std[*]::rt::*": START,
    "ns::vis*": VISIT,
    "ns::visit<ns::lambda*": VISIT,
    "ns::bind<&ns::stop>*": BIND,  # binutils' demangler leaves the parameters out
    "ns::f*": FOO,
    "ns::foo(*": FOO,
    "ns::f*(size_t, *": FOO,
    "ns::f*(long unsigned int, const char*)": FOO,
    "ns::f*( unsigned long , const char * )": FOO,
    "ns :: f*(unsigned long,char const*)": FOO,
    "void ns::f*(unsigned long, const char*)": FOO,
    "ns::B*::get()": GET,
    "ns::Box::g*() const": GET,
    "ns::h*": HIDDEN,
    "ns::hidden(*": HIDDEN,
    "ns::{anonymous}::h*()": HIDDEN,
    "ns::(anonymous namespace)::h*": HIDDEN,
    "ns::t*()": TAGS,
    "ns::tags(*": TAGS,
    "ns::t*[abi:cxx11]()": TAGS,
    "ns::apply(*": APPLY,
    "ns::a*(int)": APPLY,
    "void ns::a*(int)": APPLY,
    "ns::a*<int,true>": APPLY,
    "ns::a*<int, (bool)1>(int)": APPLY,
    "std::vector<int>::p*": PUSH,
    "std::v*::push_back(const int&)": PUSH,
    "std::map<int, ns::A>::c*": CLEAR,
    "std::map<int, ns::A, std::less<int>>::c*()": CLEAR,
    "ns::j*(std::string const&)": JOIN,
    "ns::j*(const std::basic_string<char>&)": JOIN,
    "ns::c*()": COLD,
    "ns::c*().cold": COLD,
    "ns::c* [clone .cold]": COLD,
    "std::basic_ostream::w*": WRITE,
    "std::ostream::w*(char const*, long)": WRITE,
    "main(*": "main",
    "tex*std::string*": TEXT,
    "main::{lambda*": "_ZZ4mainENUliE_4_FUNEi",
    "main::{lambda(int)#*::_FUN*": "_ZZ4mainENUliE_4_FUNEi",
    "g()::{lambda(int)#2}*": "_ZZ1gvENKUliE0_clEi.isra.0",
    "r::app::Sq::*": AREA,
    "r::app::Sq::a*": AREA,
    "<r::app::Sq as *": AREA,
    "alloc::vec::Vec::*": AREA_OF_VEC,
    "alloc::vec::Vec<r::app::Sq>::ar*": AREA_OF_VEC,
    "*{{closure}}*": CLOSURE,
    "r::app::clos::{{closure*": CLOSURE,
    "h::{lambda*": "_ZZ1hvENK3$_1clEi",
    "h::*lambda*": "_ZZ1hvENK3$_1clEi",
    "text*string*": TEXT,
    "ns::v2::i*l(int)": "_ZN2ns2v23inlEi",
    "ns::v2::inl(*)::Local*": "_ZZN2ns2v23inlEiEN5Local1gEv",
    "main.f*(Swift.Int)": "$s4main3fooyySiF",
}
TABLE = dict.fromkeys(MATCHES.values())
ELF = SymbolNames.of(TABLE)
MACHO = SymbolNames.of((f"_{symbol}" for symbol in TABLE), KEPT)


@pytest.mark.parametrize(("pattern", "symbol"), MATCHES.items())
def test_a_pattern_matches_every_spelling(pattern: str, symbol: str) -> None:
    assert ELF.meant(pattern).names == (symbol,)
    assert MACHO.meant(pattern).names == (f"_{symbol}",)


@pytest.mark.parametrize(
    "pattern",
    [
        "foo*",
        "hidden*",
        "ns::foo(int, *",
        "ns::f*(size_t, int*)",
        "ns::B*::get() volatile",
        "(anonymous namespace)::h*",
        "ns::t*[abi:cxx12]()",
        "int ns::apply(*",
        "ns::a*<long,true>",
        "std::map<int, ns::B>::c*",
        "ns::c*().part",
        "vtable for ns::*",
        "mai?(*)x",
    ],
)
def test_a_pattern_with_another_part_matches_nothing(pattern: str) -> None:
    found = ELF.meant(pattern)
    assert (found.names, found.is_glob) == ((), True)


@pytest.mark.parametrize(
    ("pattern", "near"),
    [
        ("f*", "ns::foo(unsigned long, char const*)"),
        ("foo(size_t, *", "ns::foo(unsigned long, char const*)"),
        ("hidden*", "ns::(anonymous namespace)::hidden()"),
        ("a*<int, true>", "void ns::apply<int, true>(int)"),
        ("Box::g*", "ns::Box::get() const"),
        ("::f*", ""),
        ("oo*", ""),
        ("A*", ""),  # only as an argument
        ("foo(int, *", ""),
        ("nobody::*", ""),
        ("ns::inl*", "ns::v2::inl(int)"),  # an inline namespace
        ("int ns::inl*", "ns::v2::inl(int)"),
        ("::ns::inl*", "ns::v2::inl(int)"),
        ("ns::Local::*", "ns::v2::inl(int)::Local::g()"),
        ("Local::*", "ns::v2::inl(int)::Local::g()"),
        ("ns::A*", ""),  # only as an argument
        ("::inl*", ""),
        ("ns::*::nobody*", ""),
    ],
)
def test_missing_scopes_of_a_pattern_are_known(pattern: str, near: str) -> None:
    found = ELF.meant(pattern)
    assert (found.names, found.nearest) == ((), near)


# <a::geo::Rows>::gather, <a::geo::Rows as a::geo::Op>::run, a::geo::generic::<u32, 7>
_OF_RUST = (
    "_RNvMNtCskFybzSCucbF_1a3geoNtB2_4Rows6gather",
    "_RNvXs_NtCskFybzSCucbF_1a3geoNtB4_4RowsNtB4_2Op3run",
    "_RINvNtCskFybzSCucbF_1a3geo7genericmKj7_EB4_",
)
_OF_OLD_RUST = (
    "_ZN1a3geo4Rows6gather17h4963c9e33473c147E",
    "_ZN43_$LT$a..geo..Rows$u20$as$u20$a..geo..Op$GT$3run17h72587bbcc59b8f30E",
    "_ZN1a3geo7generic17hef4fc27de2f9a704E",
)


@pytest.mark.parametrize("symbols", [_OF_RUST, _OF_OLD_RUST])
@pytest.mark.parametrize(
    ("pattern", "which", "nearest"),
    [
        ("a::geo::*run", 1, None),
        ("a::geo::Rows::r*", 1, None),
        ("a::geo::Rows::g*", 0, None),
        ("geo::Rows::g*", None, 0),
        ("Rows::g*", None, 0),
        ("<Rows>::g*", None, 0),
        ("geo::*run", None, 1),
        ("Rows::r*", None, 1),
        ("a::geo::Op::*", None, 1),  # a trait is no scope of the methods of a type
        ("geo::Op::*", None, 1),
        ("Op::r*", None, 1),
        ("geo::gen*", None, 2),
        ("<Rows as Op>::r*", None, 1),
        ("<geo::Rows as a::geo::Op>::r*", None, 1),
        ("*::Op::r*", None, 1),
        ("<Rows as Other>::r*", None, None),
        ("<Row as Op>::r*", None, None),
        ("<Rows as Op>::g*", None, None),
        ("::Rows::*", None, None),
        ("Row::*", None, None),
        ("Op::g*", None, None),
        ("other::Rows::*", None, None),
    ],
)
def test_patterns_of_rust_with_too_few_scopes_are_not_absent(
    symbols: tuple[str, ...], pattern: str, which: int | None, nearest: int | None
) -> None:
    """Methods have their scopes in brackets: <a::geo::Rows>::gather."""
    found = SymbolNames.of(symbols).meant(pattern)
    assert found.names == (() if which is None else (symbols[which],))
    assert found.nearest == ("" if nearest is None else shown_symbol(symbols[nearest]))


_OF_OTHERS = {
    "_D3geo4rows3Box6gatherMFiZi": ("geo.rows.*", "geo.rows.Box.g*", "Box.*", "gath*"),
    "_D3geo4cols__T7genericTfZQlFfZi": (
        "geo.cols.*",
        "generic*",
        "geo::*::gen*",
        "generic!*",
        "cols.generic!float*",
        "generic!(float)(float)*",
    ),
    "__lines_mod_MOD_merge": ("lines_mod*", "lines_mod.m*", "merge*"),
    "main.Table.Sort": ("Sort*", "Table.*", "Table::S*"),
    "-[Cells(More) fold:with:]": ("fold*", "Cells.*", "Cells::fold:*", "Cells.f*:with:"),
    "$s3app4MapsV6zipAllyS2iF": ("Maps.*", "Maps.z*", "zipAll*", "zipAll(*"),
    "pages__show": ("pages.*", "show*"),
}


@pytest.mark.parametrize(
    ("pattern", "symbol"),
    [(each, symbol) for symbol, patterns in _OF_OTHERS.items() for each in patterns],
)
def test_patterns_may_lack_scopes_of_other_languages(pattern: str, symbol: str) -> None:
    """In C, a__b is one name."""
    found = SymbolNames.of((*_OF_OTHERS, "_ada_main", "f.part.0")).meant(pattern)
    assert (found.names, found.nearest) == ((), shown_symbol(symbol))
    assert SymbolNames.of(("a__show", "f.part.0", "_D")).meant(pattern).nearest == ""
    assert SymbolNames.of((symbol, "_ada_main")).meant(f"::{pattern}").nearest == ""


@pytest.mark.parametrize(
    ("word", "symbol"), [*zip(("gath", "gen", "merge", "Sort", "fold"), _OF_OTHERS, strict=False)]
)
def test_a_wildcard_may_stand_for_all_scopes_of_other_languages(word: str, symbol: str) -> None:
    found = SymbolNames.of(tuple(_OF_OTHERS)).meant(f"*::{word}*")
    assert (found.names, found.nearest) == ((), symbol)


@pytest.mark.parametrize(
    "pattern", ["part*", "Box.zz*", "geo.Rows.*", "sort*", "ain*", "gen!float*", "operator!*"]
)
def test_patterns_of_other_names_match_no_language(pattern: str) -> None:
    assert SymbolNames.of((*_OF_OTHERS, "f.part.0")).meant(pattern).nearest == ""
