"""Names as users write them match exactly the symbols and operators that they mean."""

from __future__ import annotations

import itertools
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.names.globs import common_pattern, is_glob
from sizeguard.names.resolve_names import DROPPED, KEPT, KnownNames, SymbolNames, find_operators
from sizeguard.names.spelling import shown_symbol
from tests.support.drawn import at_least

# Each symbol with its spellings by nm, c++filt, llvm-cxxfilt, rustfilt or users.
SPELLINGS = {
    "_ZN2ns3fooEi": ("ns::foo(int)", "ns::foo", "foo(int)", "foo", "void ns::foo(int)"),
    "_ZGVbN4vl__ZN2ns4waveEii": (
        "ns::wave(int, int) [clone ._ZGVbN4vl]",
        "ns::wave(int, int)",
        "wave(int, int)",
        "wave",
    ),
    # A generic lambda of a variable as a template argument, which LLVM's demangler refuses
    "_ZN2ns5visitINS_6lambdaMUlT_E_EEEiT_": (
        "int ns::visit<ns::lambda::'lambda'(auto)>(ns::lambda::'lambda'(auto))",
        "int ns::visit<ns::lambda::{lambda(auto:1)#1}>(ns::lambda::{lambda(auto:1)#1})",
        "ns::visit",
    ),
    "_ZN2ns2coEPZNS_2coEPiE18_ZN2ns2coEPi.Frame.actor": (
        "ns::co(ns::co(int*)::_ZN2ns2coEPi.Frame*) [clone .actor]",
        "ns::co",
    ),
    "_ZNK2ns3Box3getEv": ("ns::Box::get() const", "ns::Box::get()", "ns::Box::get", "Box::get"),
    "_ZN2ns3BoxIiED2Ev": ("ns::Box<int>::~Box()", "ns::Box::~Box()", "ns::Box::~Box", "~Box"),
    "_ZN2ns3BoxIiEC1Ev": ("ns::Box<int>::Box()", "ns::Box<int>::Box", "ns::Box::Box"),
    "_ZN2ns12_GLOBAL__N_16hiddenEv": (
        "ns::(anonymous namespace)::hidden()",
        "ns::{anonymous}::hidden()",
        "ns::hidden()",
        "ns::hidden",
        "hidden",
    ),
    "_ZN2ns4tagsB5cxx11Ev": ("ns::tags[abi:cxx11]()", "ns::tags()", "ns::tags[abi:cxx11]"),
    "_ZN2ns5applyIiLb1EEEvT_": (
        "void ns::apply<int, true>(int)",
        "void ns::apply<int, (bool)1>(int)",
        "ns::apply<int, true>(int)",
        "ns::apply<int,true>",
        "ns::apply(int)",
        "ns::apply",
    ),
    "_ZN2ns4joinERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE": (
        "ns::join(std::__cxx11::basic_string<char, std::char_traits<char>,"
        " std::allocator<char> > const&)",
        "ns::join(std::string const&)",
        "ns::join(const std::string&)",
        "ns::join",
    ),
    "_ZZN2ns3runEvENKUliE0_clEi": (
        "ns::run()::{lambda(int)#2}::operator()(int) const",
        "ns::run()::'lambda0'(int)::operator()(int) const",
    ),
    "_ZTVN2ns3BoxIiEE": ("vtable for ns::Box<int>", "vtable for ns::Box"),
    "_ZN2ns3fooEv.cold": ("ns::foo() [clone .cold]", "ns::foo().cold"),
    "_ZN2nsmlERKNS_3BoxIiEES3_": ("ns::operator*(ns::Box<int> const&, ns::Box<int> const&)",),
    "_ZN2ns4scanEPKcPi": ("ns::scan(char const*, int*)", "ns::scan(const char*, int*)"),
    "_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE": (
        "<alloc::string::String as core::fmt::Debug>::fmt",
        "<alloc::string::String as core::fmt::Debug>::fmt::h0123456789abcdef",
    ),
    "_RNvXs_NtCs4X4t9plMPHF_4core3fmtaNtB4_5Debug3fmt": (
        "<i8 as core::fmt::Debug>::fmt",
        "<i8 as core[39b02397e671b2d1]::fmt::Debug>::fmt",
    ),
    "_ZN9addr2line4line11render_file17h6f107e442ea9a5d1E": (
        "addr2line::line::render_file",
        "addr2line::line::render_file::h6f107e442ea9a5d1",
        "render_file",
    ),
    "_RNvMs5_NtNtCskbEd6xbsJ5x_4pyo38internal5stateNtB5_15ForbidAttaching4bail.llvm.1269": (
        "<pyo3::internal::state::ForbidAttaching>::bail",
        "<pyo3[eb2406aa1dffddbd]::internal::state::ForbidAttaching>::bail",
    ),
    "_ZTSFN2ns3BoxIiEERKS1_E": (
        "typeinfo name for ns::Box<int> (ns::Box<int> const&)",
        "typeinfo name for ns::Box (ns::Box const&)",
    ),
    "_ZTIZN2ns5localIiEEvT_EUliE_": (
        "typeinfo for ns::local<int>(int)::{lambda(int)#1}",
        "typeinfo for void ns::local<int>(int)::'lambda'(int)",
    ),
    "_ZN2ns4bindIXadL_ZNS_4makeIiEENS_1AET_EEEEvv": (
        "void ns::bind<&(ns::A ns::make<int>(int))>()",
        "void ns::bind<&ns::A ns::make<int>(int)>()",
        "ns::bind<&(ns::A ns::make<int>(int))>",
        "ns::bind",
    ),
    "_ZN2ns3runIZNS_4eachIiEEvvEUlvE_EEvT_.cold": (
        "void ns::run<ns::each<int>()::{lambda()#1}>(ns::each<int>()::{lambda()#1}) [clone .cold]",
        "void ns::run<void ns::each<int>()::'lambda'()>(void ns::each<int>()::'lambda'()) (.cold)",
    ),
    "_ZN2ns5chainIiEEPFvvEv": ("void (*ns::chain<int>())()", "ns::chain<int>", "ns::chain"),
    "_ZThn16_N2ns3BoxIiED0Ev": ("non-virtual thunk to ns::Box<int>::~Box()",),
    "_ZN2nslsERSoi": (
        "ns::operator<<(std::basic_ostream<char, std::char_traits<char> >&, int)",
        "ns::operator<<(std::ostream&, int)",
    ),
    "_ZN2ns4goneIiEENSt9enable_ifIXnt9is_same_vIT_fEEiE4typeES2_": (
        "std::enable_if<!(is_same_v<int, float>), int>::type ns::gone<int>(int)",
        "std::enable_if<!is_same_v<int, float>, int>::type ns::gone<int>(int)",
    ),
    "_ZN2ns4pickILDnEEEvv": (
        "void ns::pick<decltype(nullptr)>()",
        "ns::pick<nullptr>",
    ),
    "_ZN2ns6StreamclIiEEvT_": (
        "void ns::Stream::operator()<int>(int)",
        "void ns::Stream::operator() <int>(int)",
        "ns::Stream::operator() <int>",
    ),
    "_ZN2ns6StreamlsIA9_cEERS0_RKT_": (
        "ns::Stream& ns::Stream::operator<< <char [9]>(char const (&) [9])",
        "ns::Stream::operator<< <char [9]>(char const (&) [9])",
        "ns::Stream::operator<< <char [9]>",
        "ns::Stream::operator<<<char [9]>",
    ),
    "_ZN2ns6StreamltIiEEbT_": ("ns::Stream::operator< <int>(int)", "ns::Stream::operator<<int>"),
    "_ZZN2ns4eachEvENKUlRT_E_clIiEEDaS1_": (
        "auto ns::each()::{lambda(auto:1&)#1}::operator()<int>(int&) const",
        "auto ns::each()::'lambda'(auto&)::operator()<int>(auto&) const",
    ),
    "_ZN2ns4callIXadL_ZNS_3BoxIiE3runEiEEEEvv": (
        "void ns::call<&ns::Box<int>::run>()",
        "void ns::call<&(ns::Box<int>::run(int))>()",
    ),
    "_ZN2ns4withIZ5plainIiEvT_EUlvE_EEvT_": (
        "void ns::with<plain<int>(int)::{lambda()#1}>(plain<int>(int)::{lambda()#1})",
        "void ns::with<void plain<int>(int)::'lambda'()>(void plain<int>(int)::'lambda'())",
    ),
    "main": ("main", "main(int, char**)"),
}
KNOWN = SymbolNames.of(SPELLINGS)
MACHO = SymbolNames.of((f"_{symbol}" for symbol in SPELLINGS), KEPT)
DROPPED_NAMES = SymbolNames.of(SPELLINGS, DROPPED)
OPERATORS = ("aten::add.Tensor", "aten::add.Scalar", "aten::gelu")


@pytest.mark.parametrize(
    ("symbol", "text"),
    [(symbol, text) for symbol, texts in SPELLINGS.items() for text in (symbol, *texts)],
)
def test_every_spelling_finds_its_symbol_on_elf_and_macho(symbol: str, text: str) -> None:
    assert symbol in KNOWN.find(text)
    assert f"_{symbol}" in MACHO.find(text)
    # A table with Rust names, such as KNOWN, searches for words without their lengths
    assert symbol in SymbolNames.of([symbol]).find(text)
    # verify reads Mach-O symbols without their underscore, but users copy it from nm
    assert symbol in DROPPED_NAMES.find(f"_{symbol}")


@pytest.mark.parametrize(
    "text",
    [
        "ns::fo",
        "ns::foo(long)",
        "ns::Foo",
        "nsx::foo",
        "ns::Box<long>::~Box()",
        "ns::Box<int>::get() volatile",
        "other::hidden",
        "(anonymous namespace)::ns::hidden()",
        "ns::tags[abi:cxx12]()",
        "ns::apply<int, false>",
        "int ns::apply<int, true>(int)",
        "ns::scan(char const*, long*)",
        "typeinfo for ns::Box<int>",
        "ns::foo().part",
        "ns::operator<<(std::istream&, int)",
        "auto ns::each()::{lambda(auto:1&)#1}::operator()<int>(int*) const",
        "void ns::call<&ns::Box<long>::run>()",
        "void ns::with<plain<long>(int)::{lambda()#1}>(plain<int>(int)::{lambda()#1})",
        "typeinfo for ns::local<long>(int)::{lambda(int)#1}",
        "typeinfo for int ns::local<int>(long)::{lambda(int)#1}",
        "void ns::bind<&(ns::A ns::make<long>(int))>()",
        "void ns::run<ns::each<int>()::{lambda()#2}>(ns::each<int>()::{lambda()#2})",
        "void ns::run<ns::other<int>()::{lambda()#1}>(ns::each<int>()::{lambda()#1})",
        "<i16 as core::fmt::Debug>::fmt",
        "_ZN2ns3fooEl",
        "Main",
    ],
)
def test_a_name_that_differs_is_unknown(text: str) -> None:
    found = KnownNames(KNOWN, OPERATORS).resolve(text)
    assert (found.names, found.is_glob) == ((), False)


def test_a_written_part_must_agree() -> None:
    both = SymbolNames.of(["_ZN1a1fIiEEvT_", "_ZN1a1fIlEEvT_", "_ZN1b1a1fEi"])
    assert both.find("a::f") == ("_ZN1a1fIiEEvT_", "_ZN1a1fIlEEvT_")
    assert both.find("a::f<long>") == ("_ZN1a1fIlEEvT_",)
    # A full path wins over the end of a longer path
    assert both.find("b::a::f") == ("_ZN1b1a1fEi",)


def test_clones_go_with_their_function() -> None:
    table = SymbolNames.of(["_Z1fv", "_Z1fv.cold", "_Z1fv.part.0", "_Z1fvx", "f", "f.isra.0"])
    assert table.find("_Z1fv") == ("_Z1fv", "_Z1fv.cold", "_Z1fv.part.0")
    assert set(table.find("f()")) == {"_Z1fv", "_Z1fv.cold", "_Z1fv.part.0"}
    assert table.find("f") == ("f", "f.isra.0")
    of_path = SymbolNames.of(["_ZN1a1fEi.constprop.0.isra.0", "_ZN1a1fEi.cold", "_ZN1a1fEi"])
    assert len(of_path.find("a::f")) == 3
    for text in ("a::f [clone .constprop.0] [clone .isra.0]", "a::f.constprop.0.isra.0"):
        assert of_path.find(text) == ("_ZN1a1fEi.constprop.0.isra.0",)
    assert of_path.find("a::f.part.0") == ()


@pytest.mark.parametrize(
    ("text", "glob"),
    [
        ("*gemm*", True),
        ("ns::f*", True),
        ("ns::f(*)", True),
        ("ns::Box<*>", True),
        ("ns::f(*", True),
        ("_ZN2ns?foo*", True),
        ("vtable for ns::*", True),
        ("ns::X::operator<<*", True),
        ("ns::X::operator<?", True),
        ("ns::f(char*)", False),
        ("ns::f(void (*)(int), char const* const*)", False),
        ("ns::Box<int*>::get", False),
        ("ns::operator*(ns::X const&)", False),
        ("ns::X::operator*", False),
        ("ns::X::operator()(long, char const*, char*) const", False),
        ("ns::X::operator char*() const", False),
        ("ns::X::operator->*(int)", False),
        ("typeinfo for int*", False),
        ("typeinfo for ns::Box<int*>", False),
        ("typeinfo for ns::Box* const", False),
        ("typeinfo name for void (*)(int*)", False),
        ("typeinfo for ns::f(int*)::{lambda(char*)#1}", False),
        ("typeinfo name for ns::Box<(E)2>::run(A const*)::'lambda0'(int*)", False),
        ("typeinfo for ns::*", True),
        ("typeinfo for *Box", True),
        ("typeinfo name for ns::Box<*>", True),
        ("char* ns::make<char>(int*)", False),
        ("ns::foo", False),
        ("-[Rows *]", True),
        ("-[Rows plain]", False),
        ("<* as a::Op>::run", True),
        ("<a::T as a::Op<*mut u8>>::run", False),
        ("<lambda(char*)>", False),
    ],
)
def test_a_star_of_a_type_is_no_glob(text: str, glob: bool) -> None:
    assert is_glob(text) is glob


@pytest.mark.parametrize(
    ("pattern", "count"),
    [("ns::Box*", 3), ("*foo*", 2), ("_ZN2ns3foo*", 2), ("ns::apply*", 1), ("nothing*", 0)],
)
def test_globs_match_every_spelling(pattern: str, count: int) -> None:
    for table in (KNOWN, MACHO):
        assert len(table.glob(pattern)) == count
    assert KnownNames(KNOWN).resolve(pattern).is_glob


def test_operators_with_or_without_their_overload() -> None:
    assert find_operators("aten::gelu", OPERATORS) == ("aten::gelu",)
    assert find_operators("aten::add", OPERATORS) == ("aten::add.Tensor", "aten::add.Scalar")
    assert find_operators("aten::add.Scalar", OPERATORS) == ("aten::add.Scalar",)
    assert find_operators("aten::a*", OPERATORS) == ("aten::add.Tensor", "aten::add.Scalar")
    assert find_operators("aten::ad", OPERATORS) == ()


def test_the_nearest_name_is_said() -> None:
    known = KnownNames(KNOWN, OPERATORS)
    assert known.resolve("aten::gelo").nearest == "aten::gelu"
    assert known.resolve("ns::aply").nearest == "void ns::apply<int, true>(int)"
    assert known.resolve("ns::Boxx::get").nearest == "ns::Box::get() const"
    assert known.resolve("_ZN2ns3fooEl").nearest == "_ZN2ns3fooEi"
    assert known.resolve("completely_different").nearest == ""


def test_names_of_a_section_graph_have_both_formats() -> None:
    """`why` searches the graph's symbols; those of Mach-O objects have a leading underscore."""
    table = SymbolNames.of(["__ZL7table_ai", "__Z4deadi", "_main"], KEPT)
    assert table.find("table_a") == ("__ZL7table_ai",)
    assert table.find("dead(int)") == ("__Z4deadi",)
    assert table.find("main") == ("_main",)
    assert table.find("__Z4deadi") == ("__Z4deadi",)


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        ("a*", "*a", "a*a"),
        ("a*b", "*c*", "a*c*b"),
        ("a::*", "*::add**", "a::*::add*"),
        ("?x", "a?", "ax"),
        ("a*", "ab*", "ab*"),
        ("a", "a", "a"),
        ("a", "b", ""),
        ("a*", "b*", ""),
        ("a", "ab", ""),
        ("a?", "a", ""),
    ],
)
def test_what_two_patterns_have_in_common(one: str, other: str, common: str) -> None:
    assert common_pattern(one, other) == common
    assert bool(common_pattern(other, one)) == bool(common)


PATTERNS = st.text("ab*?", min_size=1, max_size=5)


@at_least(200)
@given(PATTERNS, PATTERNS)
def test_common_patterns_match_what_both_match(one: str, other: str) -> None:
    found = common_pattern(one, other)
    words = ["".join(w) for n in range(1, 7) for w in itertools.product("ab", repeat=n)]
    both = [w for w in words if fnmatchcase(w, one) and fnmatchcase(w, other)]
    assert bool(found) or not both
    if found:
        assert fnmatchcase(found, one) and fnmatchcase(found, other)
        assert {w for w in words if fnmatchcase(w, found)} <= {*both}


# Types, special names and expressions whose words a mangled name abbreviates
ABBREVIATED = (
    *(f"_Z1f{code}" for code in "vwbcahstijlmxynofdegz"),
    *(f"_Z1fD{code}" for code in "dehisun"),
    *("_Z1fDF16_", "_Z1fDF32_", "_Z1fDF16b", "_Z1fDB8_", "_Z1fDU8_", "_Z1fDAs", "_Z1fDRs"),
    *("_Z1fCf", "_Z1fGe", "_Z1fDv4_f", "_Z1fDv4_p", "_Z1fDv_f", "_Z1fPDoFvvE"),
    *("_Z1fSs", "_Z1fSo", "_Z1fSa", "_Z1fSb"),
    *("_ZTW1x", "_ZTH1x", "_ZTC1A0_1B", "_ZGR1x_", "_ZThn8_N1A1fEv", "_ZTv0_n24_N1A1fEv"),
    *("_ZTAX1xE", "_ZGV1x", "_ZTT1A", "_ZTV1A", "_ZTI1A", "_ZTS1A", "_ZZ1fvEs", "_ZN1AawEv"),
    *(f"_Z1fIiEDT{code}T_fp_ES0_" for code in ("sc", "rc", "dc", "cc")),
    *(f"_Z1fIiEDT{code}fp_ES0_" for code in ("az", "nx", "sz", "dl", "tw", "te")),
    *("_Z1fIiEDTfpTES0_", "_Z1fIiEDTatT_ES0_", "_Z1fILDn0EEvv", "_ZN1AcvT_IiEEv"),
)


@pytest.mark.parametrize("symbol", ABBREVIATED)
def test_the_name_that_a_report_shows_finds_its_symbol(symbol: str) -> None:
    shown = shown_symbol(symbol)
    assert shown != symbol
    assert SymbolNames.of(["_Z5otherv", symbol, "_ZTV5other"]).find(shown) == (symbol,)


OF_MSVC = (
    *("??_7A@ns@@6B@", "??_8B@ns@@7B@", "??_R0?AUA@ns@@@8", "??_R3A@ns@@8", "??_R4A@ns@@6B@"),
    *("??_GA@ns@@UEAAPEAXI@Z", "??_9A@ns@@$BA@AA", "?f@A@ns@@W7EAAXXZ", "?st@A@ns@@2HA"),
    *("?f@ns@@YAXW4E@1@@Z", "?ph@ns@@3P6AHH@ZEA", "?f@A@ns@@IEAAXXZ"),
)


@pytest.mark.parametrize("symbol", [*ABBREVIATED, "_ZGIW4rows", "_ZGIW4rowsWP4part", *OF_MSVC])
def test_patterns_with_a_part_of_a_word_find_the_symbol(symbol: str) -> None:
    """The mangled name has no part of `static_cast` or `_Float16`."""
    shown = shown_symbol(symbol)
    names = SymbolNames.of(["_Z5otherv", symbol])
    for cut in range(3, len(shown) - 2):
        for pattern in (f"{shown[:cut]}*", f"*{shown[cut:]}"):
            found = names.meant(pattern)
            assert symbol in found.names or not found.is_glob, pattern


@pytest.mark.parametrize(
    ("text", "symbol"),
    [
        ("TLS wrapper function for ns::x", "_ZTWN2ns1xE"),
        ("TLS init function for ns::x", "_ZTHN2ns1xE"),
        ("f(unsigned __int128)", "_Z1fo"),
    ],
)
def test_the_words_of_binutils_find_a_symbol(text: str, symbol: str) -> None:
    names = SymbolNames.of(["_ZTWN2ns1xE", "_ZTHN2ns1xE", "_ZN2ns1xE", "_Z1fo", "_Z1fn", "_Z1fm"])
    assert names.find(text) == (symbol,)
    assert names.find(text.replace("x", "y").replace("f(", "g(")) == ()


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("TLS*", "WH"),
        ("TLS init*", "H"),
        ("TLS wrapper function for ns::*", "W"),
        ("TLS*ns::?", "WH"),
        ("*function for ns::*", "WH"),
        ("thread-local*", "WH"),
        ("thread-local init*", "H"),
        ("TLS*ns::y", ""),
        ("TLS", ""),
    ],
)
def test_patterns_match_the_words_of_both_demanglers(pattern: str, found: str) -> None:
    """LLVM says thread-local wrapper routine, binutils TLS wrapper function."""
    names = SymbolNames.of(["_ZTWN2ns1xE", "_ZTHN2ns1xE", "_ZN2ns1xE"])
    wanted = tuple(f"_ZT{letter}N2ns1xE" for letter in found)
    assert names.meant(pattern).names == wanted


# Instances of templates whose path is read without demangling all of the name
INSTANCES = {
    "_ZN2ns3BoxIiE3runIS1_EEvT_": "ns::Box::run",
    "_ZNK2ns3BoxINS_1AIiEEE3getERKS2_": "ns::Box::get",
    "_ZN2ns3BoxIXadL_ZNS_4makeEiEEE4callEi": "ns::Box::call",
    "_ZN2ns3BoxIFRNS_1AERKS1_EED0Ev": "ns::Box::~Box",
    "_ZN2ns6STRIP_IiE3runEv": "ns::STRIP_::run",
    "_ZTVN2ns3BoxIFRNS_1AERKS1_EEE": "vtable for ns::Box",
    "_ZN12_GLOBAL__N_16HiddenIiE3runEv": "Hidden::run",
    "_ZN2ns3BoxIiE4tagsB5cxx11Ev": "ns::Box::tags",
    "_ZZN2ns3BoxIiE3runEvENKUlvE_clEvENKUlvE_clEv": "",
    "_ZN2nslsIiEEvT_": "",
}


@pytest.mark.parametrize(("symbol", "path"), INSTANCES.items())
def test_only_the_path_of_an_instance_counts_for_a_plain_spelling(symbol: str, path: str) -> None:
    table = SymbolNames.of([*INSTANCES, *SPELLINGS])
    if path:
        assert symbol in table.find(path)
        assert symbol in table.find(path.replace("ns::", ""))
        assert symbol not in table.find(f"other::{path}")
    for other in {*INSTANCES.values()} - {path, path.replace("ns::", ""), ""}:
        assert symbol not in table.find(other)


def test_a_path_that_is_the_whole_name_wins_over_templates_of_that_path() -> None:
    table = SymbolNames.of(["_ZN2ns1vE", "_ZN2ns1vE.lto_priv.0", "_ZN2ns1vIiEEvv", "_ZN1m2ns1vE"])
    assert table.find("ns::v") == ("_ZN2ns1vE", "_ZN2ns1vE.lto_priv.0")


def test_of_many_names_with_the_same_words_the_nearest_is_as_long_as_the_text() -> None:
    longer = [f"_ZN2ns12_GLOBAL__N_1{len(f'f{i}')}f{i}EN2ns4TypeE" for i in range(200)]
    known = KnownNames(SymbolNames.of([*longer, "_ZTIN2ns12_GLOBAL__N_14TypeE"]))
    found = known.resolve("typeinfo for ns::(anonymous namekpace)::Type")
    assert found.nearest == "typeinfo for ns::(anonymous namespace)::Type"


def test_an_operator_is_nearest_to_itself() -> None:
    """Its mangled name has two letters for it, and other members share more words."""
    others = [f"_ZN2at6Tensor3f{i}EN3c106ScalarE" for i in range(10, 99)]
    known = KnownNames(SymbolNames.of([*others, "_ZN2at6TensorpLERKN3c106ScalarE"]))
    found = known.resolve("at::Tensor::operator+=(c10::Scakar const&)")
    assert found.nearest == "at::Tensor::operator+=(c10::Scalar const&)"


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("ns::Box<int>::~Bxx()", "ns::Box<int>::~Box()"),
        ("ns::apply<int, trje>(int)", "void ns::apply<int, true>(int)"),
        ("typeinfo name for ns::Bxx<int> (ns::Box<int> const&)", "typeinfo name for ns::Box<int>"),
        ("_ZN2ns3fooEix", "_ZN2ns3fooEi"),
        ("ns::scan(char consq*, int*)", "ns::scan(char const*, int*)"),
    ],
)
def test_one_wrong_letter_has_the_right_name_nearest(text: str, nearest: str) -> None:
    found = KnownNames(KNOWN).resolve(text)
    assert not found.names
    assert found.nearest.startswith(nearest)
