"""Spellings that binutils, LLVM and compilers write differently find the same symbol."""

from __future__ import annotations

import itertools

import pytest

from sizeguard.base.nearest import nearest_names
from sizeguard.names.demangle import MOST_SHOWN, demangle, without_clones
from sizeguard.names.resolve_names import NOT_ADDED, KnownNames, SymbolNames
from sizeguard.names.scan.rust_grammar import references
from sizeguard.names.short import template_of
from sizeguard.names.spelling import shown_symbol

STRING = "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
SPELLINGS = {
    # A constructor with a tag, whose first parameter binutils shows as a result
    "_ZN2ns3BoxIiEC1B3tagIRKccEEOT_OT0_": (
        "char const& ns::Box<int>::Box[abi:tag]<char const&, char>(char&&)",
        "ns::Box<int>::Box[abi:tag]<char const&, char>(char const&, char&&)",
        "ns::Box<int>::Box<char const&, char>",
    ),
    "_ZN2ns4PairIiEC1B3tagIRA4_KccEEOT_OT0_": (
        "char const (&ns::Pair<int>::Pair[abi:tag]<char const (&) [4], char>(char&&)) [4]",
        "ns::Pair<int>::Pair[abi:tag]<char const (&) [4], char>(char const (&) [4], char&&)",
    ),
    f"_ZTSFvRK{STRING}E": (
        "typeinfo name for void (std::basic_string const&)",
        "typeinfo name for void (std::__cxx11::basic_string<char, std::char_traits<char>,"
        " std::allocator<char> > const&)",
        "typeinfo name for void (std::string const&)",
    ),
    f"_ZZN2ns4readERK{STRING}E5table": (
        "ns::read(std::basic_string const&)::table",
        "ns::read(const std::string&)::table",
    ),
    "_ZN2ns3putIiJELDn0EEEvT_DpOT0_Dn": (
        "void ns::put<int, , (decltype(nullptr))0>(int, , decltype(nullptr))",
        "void ns::put<int, nullptr>(int, std::nullptr_t)",
        "ns::put<int, , (decltype(nullptr))0>",
    ),
    "_ZNSs4_Rep10_M_refcopyEv": (
        "std::string::_Rep::_M_refcopy()",
        "std::basic_string<char, std::char_traits<char>, std::allocator<char> >::_Rep"
        "::_M_refcopy()",
        "std::basic_string::_Rep::_M_refcopy",
    ),
    "_ZNSolsEm": (
        "std::basic_ostream<char, std::char_traits<char> >::operator<<(unsigned long)",
        "std::ostream::operator<<(unsigned long)",
        "std::basic_ostream::operator<<",
    ),
    "_ZTVSo": (
        "vtable for std::basic_ostream<char, std::char_traits<char> >",
        "vtable for std::basic_ostream",
        "vtable for std::ostream",
    ),
    "_ZTIPN2ns3BoxE": ("typeinfo for ns::Box*",),
    "_ZN2ns4callEU13block_pointerFiPU13block_pointerFvbEPFvvEE": (
        "ns::call(int ( block_pointer)(void ( block_pointer*)(bool), void (*)()))",
        "ns::call(int (void (bool) block_pointer*, void (*)()) block_pointer)",
        "ns::call(int (^)(void (^*)(bool), void (*)()))",
    ),
    "_ZTSPKm": ("typeinfo name for unsigned long const*",),
    "_ZNK2ns4dataIKiEEPKT_v": (
        "int const* ns::data<int const>() const",
        "const int* ns::data<const int>() const",
    ),
    "_ZGRZN2ns3mapEvE5table_": (
        "reference temporary #0 for ns::map()::table",
        "reference temporary for ns::map()::table",
    ),
    "_ZN2ns4pickILl2EEENSt9enable_ifIXooeqT_Li1EeqT_Li2EEiE4typeEv": (
        "std::enable_if<((2l)==(1))||((2l)==(2)), int>::type ns::pick<2l>()",
        "std::enable_if<2l == 1 || 2l == 2, int>::type ns::pick<2l>()",
    ),
    "_ZN2ns6HolderIiEcvNS_3PtrIiEEEv": (
        "ns::Holder<int>::operator ns::Ptr<int>()",
        "ns::Holder<int>::operator ns::Ptr<int>",
    ),
    "_ZZN2ns3runEvENUliE_D1Ev": (
        "ns::run()::{lambda(int)#1}::~run()",
        "ns::run()::'lambda'(int)::~()",
    ),
    "_ZN2ns4callIiEEDTclfp_Li0EEET_": (
        "decltype ({parm#1}(0)) ns::call<int>(int)",
        "decltype(fp(0)) ns::call<int>(int)",
    ),
    "_ZZN2ns4walkEvENUlDpOT_E_D1Ev": (
        "ns::walk()::{lambda((auto:1&&)...)#1}::~walk()",
        "ns::walk()::'lambda'(auto&&...)::~()",
    ),
}
KNOWN = SymbolNames.of(SPELLINGS)


@pytest.mark.parametrize(
    ("symbol", "text"), [(symbol, text) for symbol, texts in SPELLINGS.items() for text in texts]
)
def test_every_demangler_s_spelling_finds_its_symbol(symbol: str, text: str) -> None:
    assert KNOWN.find(text) == (symbol,)


@pytest.mark.parametrize(
    "text",
    [
        "long const& ns::Box<int>::Box[abi:tag]<char const&, char>(char&&)",
        "char const& ns::Box<int>::Box[abi:tag]<char const&, char>(long&&)",
        "char const (&ns::Pair<int>::Pair[abi:tag]<char const (&) [4], char>(char&&)) [5]",
        "typeinfo name for void (std::basic_istream const&)",
        "void ns::put<int, long, (decltype(nullptr))0>(int, , decltype(nullptr))",
        "reference temporary #0 for ns::map()::tables",
        "std::enable_if<((2l)==(1))||((2l)==(3)), int>::type ns::pick<2l>()",
        "ns::Holder<int>::operator ns::Ptr<long>()",
        "ns::run()::{lambda(long)#1}::~run()",
        "decltype ({parm#1}(1)) ns::call<int>(int)",
    ],
)
def test_what_differs_in_them_is_unknown(text: str) -> None:
    assert KNOWN.find(text) == ()


def test_a_name_too_long_to_show_is_found_by_its_whole_spelling() -> None:
    scope = "scope" * 200
    symbol = f"_ZN{len(scope)}{scope}1fINS_1AENS_1BENS_1CENS_1DENS_1EEEEvT_"
    whole = demangle(symbol, 16 << 10)
    assert len(whole) > MOST_SHOWN and shown_symbol(symbol) == symbol
    table = SymbolNames.of([symbol])
    assert table.find(whole) == table.find(whole.split(" ", 1)[1].partition("(")[0]) == (symbol,)
    assert table.find(whole.replace("::E>", "::F>")) == ()


def test_a_short_overload_does_not_hide_one_too_long_to_show() -> None:
    scope = "scope" * 200
    short, long = (f"_ZN1000{scope}1fINS_1AENS_1BEEEv{types}" for types in ("v", "T_T0_"))
    assert shown_symbol(short) != short and shown_symbol(long) == long
    found = SymbolNames.of([short, long]).find(f"{scope}::f<{scope}::A, {scope}::B>")
    assert set(found) == {short, long}


@pytest.mark.parametrize("text", ["gleu", "eglu", "geul"])
def test_swapped_letters_of_a_short_name(text: str) -> None:
    """No two neighbours of gelu are neighbours in gleu."""
    others = [f"_ZN2sg7kernels5other{n}Ev" for n in range(100)] + [f"x{n:05}" for n in range(100)]
    names = SymbolNames.of(["gelu", "_ZN2sg7kernels4geluEv", *others], NOT_ADDED)
    assert names.nearest(text) == "gelu"
    assert names.nearest(f"sg::kernels::{text}") == "sg::kernels::gelu()"
    operators = ("aten::gelu", "aten::add.Tensor")
    assert KnownNames(SymbolNames.of(others, NOT_ADDED), operators).nearest(text) == "aten::gelu"
    assert nearest_names(text, operators) == ("aten::gelu",)
    assert nearest_names(f"other::{text}s", operators) == ()


def test_the_nearest_name_shares_most_pieces() -> None:
    table = SymbolNames.of(["_ZN2ns9quantizedEv", "_ZN2ns9quantizerEv", "_ZN2ns4moveEv"])
    assert table.nearest("ns::quantizedd") == "ns::quantized()"


def test_the_nearest_name_of_a_short_one_is_short() -> None:
    """Pieces of two characters are in many long names."""
    longer = [f"_ZN2ns{number}_invariant_inventorvtEv" for number in range(100)]
    table = SymbolNames.of([*longer, "_init", "_fini"])
    assert {name: table.nearest(name) for name in ("_invt", "_inti", "_iit", "_fnii")} == {
        "_invt": "_init", "_inti": "_init", "_iit": "_init", "_fnii": "_fini",
    }  # fmt: skip


def test_the_nearest_name_of_type_information_is_some() -> None:
    """Functions with the same words have the length that one expects of its mangled name."""
    functions = [f"_Z24f{number:023}RK6TensorRK6Scalar" for number in range(99)]
    table = SymbolNames.of([*functions, "_ZTSFvRK6TensorRK6ScalariiiiiiiE"])
    text = (
        "typeinfo name for void (Tensor const&, Scolar const&, int, int, int, int, int, int, int)"
    )
    assert table.nearest(text) == text.replace("Scolar", "Scalar")


def test_the_nearest_name_of_a_destructor_is_one() -> None:
    """Its mangled name has the class once, and other members have more pieces of it."""
    others = [f"_ZN2sg7Context{len(n)}{n}Ev" for n in (f"onx_xext_{i}" for i in range(100, 200))]
    table = SymbolNames.of([*others, "_ZN2sg7ContextD1Ev"])
    assert table.nearest("sg::Context::~Conxext()") == "sg::Context::~Context()"


def test_identifiers_of_rust_are_no_references() -> None:
    symbol = "_RINvNtC1a5Break5B0_xyNtB2_3FooBa_E"
    assert [symbol[slice(*place)] for place in references(symbol) or ()] == ["B2_", "Ba_"]
    # Lengths have no leading zeros: 00 are two names without letters.
    closures = "_RNCNCNvC1a1f00B3_"
    assert [closures[slice(*place)] for place in references(closures) or ()] == ["B3_"]


@pytest.mark.parametrize(
    ("symbol", "count"),
    [
        ("_RNvC1a1b", 0),
        ("_RNvMs2_NtC1a1bINtB3_1cReE1d", 1),
        ("_RINvC1a1bDNtC1a1tp1xlEL_E", 0),
        ("_RINvC1a1bFG_UKCRL0_hEuE", 0),
        ("_RINvC1a1bKj1f_KB2_E", 1),
        ("_RINvC1a1bAhj4_TlB2_EE", 1),
        ("_RNvYlNtC1a1t1f", 0),
    ],
)
def test_the_grammar_of_rust_is_read(symbol: str, count: int) -> None:
    found = references(symbol)
    assert found is not None and len(found) == count


@pytest.mark.parametrize("symbol", ["_RNvC1a9b", "_RR", "_RNvC1aB3", "_RINvC1a1b", "_R" + "P" * 9])
def test_a_malformed_name_of_rust_is_refused(symbol: str) -> None:
    assert references(symbol) is None


# Of addr2line in Rust's standard library: B_ in CsiK12aF3ve0B_ ends a crate's hash.
LONG = (
    "_RNvMs2_NtCsPlFyi5y0Kx_9addr2line6lookupINtB5_13LoopingLookupINtNtCsevLNFiNqfJP_4core6re"
    "sult6ResultINtNtB7_5frame9FrameIterINtNtNtCsiK12aF3ve0B_5gimli4read12endian_slice11Endia"
    "nSliceNtNtB23_9endianity12LittleEndianEENtB21_5ErrorEINtB5_12MappedLookupIBX_TINtNtB11_6"
    "option6OptionRINtNtB7_8function8FunctionB1W_EEIB44_NtB1B_8LocationEEB3r_EINtB5_12SimpleL"
    "ookupIBX_TNtB7_9DebugFileINtNtB21_5dwarf7UnitRefB1W_EEB3r_EB1W_NCNvMNtB7_4unitINtB6J_7Re"
    "sUnitB1W_E14dwarf_and_units4_0ENCNvB6I_25find_function_or_location0ENCNvMs_B7_INtB7_7Con"
    "textB1W_E11find_frames0E10new_lookupCsgHYyB3hU8Ec_3std"
)


def test_a_rust_name_with_28_references_and_words_like_them_is_shown() -> None:
    assert len(references(LONG) or ()) > 20
    shown = shown_symbol(LONG)
    assert shown.startswith("<addr2line::lookup::LoopingLookup<core::result::Result<")
    assert shown.endswith("::find_frames::{closure#0}>>::new_lookup")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("_ZdlPvm@CXXABI_1.3.9", "operator delete(void*, unsigned long)@CXXABI_1.3.9"),
        ("_Znwm@@GLIBCXX_3.4", "operator new(unsigned long)@@GLIBCXX_3.4"),
        ("_Z1fv.isra.0@V_1.2", "f() [clone .isra.0]@V_1.2"),
    ],
)
def test_a_version_is_no_clone(name: str, text: str) -> None:
    assert demangle(name) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("_ZN40_$LT$a..Rev$LT$I$GT$$u20$as$u20$Iter$GT$4foldE", "<a::Rev<I> as Iter>::fold"),
        (
            "_ZN23_$LT$T$u20$as$u20$A$GT$3get17hbd13659dce00c65cE.llvm.12",
            "<T as A>::get::hbd13659dce00c65c [clone .llvm.12]",
        ),
        ("_ZN1a3f$xEv", "a::f$x()"),
    ],
)
def test_older_names_of_rust_are_read_without_their_hash_too(name: str, text: str) -> None:
    assert demangle(name) == text


@pytest.mark.parametrize(
    "name",
    ["_RNvNtCs1234_1r4kernu9gre_6ka8i", "_ZN1r4kern13gr$uf6$$udf$e17had99ff2bd3f17551E"],
)
@pytest.mark.parametrize("text", ["r::kern::größe", "größe", "*größe*", "r::*größe*"])
def test_rust_s_names_with_other_letters_are_found(name: str, text: str) -> None:
    assert SymbolNames.of(["_RNvC1a1b", name]).meant(text).names == (name,)


@pytest.mark.parametrize(
    "name",
    [
        "?f@@YAXP6AXHH@Z" + "".join(f"P6AX{str(i) * 40}@Z" for i in range(5)) + "@Z",
        "$s4main1fyyAA1CVyA200DG_ADyA200EG" + "".join(f"ADyA200{c}G" for c in "FGH") + "tF",
        *(f"_ZN{'9' * digits}$aE" for digits in (20, 5000)),
        *(f"_RNvC{'9' * digits}a1f" for digits in (20, 5000)),
        "_ZN10a$uffffff$17h0123456789abcdef",
    ],
)
def test_a_name_of_endless_text_or_length_is_shown_as_it_is(name: str) -> None:
    assert demangle(name) == name


def test_repeated_types_are_shown() -> None:
    assert "(int, int), void (__cdecl *)(void" in demangle("?f@@YAXP6AXHH@ZP6AX00@Z@Z")
    assert demangle("$s4main1fyyAA1CVyA3DGF").endswith("main.C<main.C, main.C, main.C>) -> ()")


@pytest.mark.parametrize("escape", ["uffffff", "ud800", "u00dfff"])
def test_an_escape_that_is_no_character_is_kept(escape: str) -> None:
    word = f"a${escape}$"
    assert demangle(f"_ZN{len(word)}{word}17h0123456789abcdefE") == f"{word}::h0123456789abcdef"


@pytest.mark.parametrize("text", ["f()::{lambda()#%s}", "decltype({parm#%s}) f()"])
def test_a_text_with_an_endless_number_is_unknown(text: str) -> None:
    assert not KNOWN.find(text % ("9" * 5000))


def test_other_parameters_than_those_of_c_plus_plus_are_not_those_of_c() -> None:
    names = SymbolNames.of(["log_it", "_ZL6log_itPKcz", "only_c"])
    assert names.find("log_it(char const*, ...)") == ("_ZL6log_itPKcz",)
    assert names.find("log_it(char coqst*, ...)") == ()
    assert names.find("only_c(int)") == ("only_c",)


@pytest.mark.parametrize("depth", [7, 12])  # 16 and 520 kB
def test_a_pattern_matches_names_too_long_to_show(depth: int) -> None:
    pairs = "".join(f"ENS1_IiS{'3579BDFHJLN'[i]}_EEE" for i in range(depth - 1))
    types = f"NS_19Expression_templateI{'NS1_I' * (depth - 1)}fNS1_IifEEE{pairs}EE"
    name = f"_ZN2ns8evaluateI{types}EiPT_"
    assert demangle(name) == name
    plus = name.replace("8evaluate", "pl")
    known = SymbolNames.of(["_ZN2nsplEi", plus])
    assert known.find("ns::operator+") == known.find("operator+") == ("_ZN2nsplEi", plus)
    names = SymbolNames.of([name, "_ZN2ns4deadEi"])
    for pattern in ("ns::*", "ns::evaluate*", "int ns::evaluate<*", "*evaluate*"):
        assert name in names.glob(pattern), pattern
    assert names.meant("evaluate*").nearest == name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("_ZN2ns2enINS_8._anon_0EEEiT_", "int ns::en<ns::._anon_0>(ns::._anon_0)"),
        ("_ZN2ns2enINS_3._0EEEiT_", "int ns::en<ns::._0>(ns::._0)"),
        (
            "_ZN2ns2enINS_8._anon_0EEEiT_.isra.0",
            "int ns::en<ns::._anon_0>(ns::._anon_0) [clone .isra.0]",
        ),
    ],
)
def test_unnamed_types_of_gcc_are_no_clones(name: str, text: str) -> None:
    assert demangle(name) == text
    names = SymbolNames.of(["_ZN2ns4deadEi", name])
    assert names.glob("ns::*") == ("_ZN2ns4deadEi", name)
    assert names.find("ns::en") == (name,)
    assert template_of(name) == ("en", ("._anon_0" if "anon" in name else "._0",))


@pytest.mark.parametrize("part", [".actor", ".actor.cold", ".destroy"])
def test_parts_of_coroutines_of_gcc_have_their_names(part: str) -> None:
    """verify --absent 'k::*' passed, although a coroutine k::gen was in the image."""
    symbol = "_ZN1k3genEPZNS_3genEiE17_ZN1k3genEi.Frame"
    assert without_clones(symbol + part) == symbol
    assert demangle(symbol) == "k::gen(k::gen(int)::_ZN1k3genEi.Frame*)"
    names = SymbolNames.of([symbol + part])
    for text in ("k::gen", "k::*"):
        assert names.find(text) == (symbol + part,) or names.glob(text) == (symbol + part,)


@pytest.mark.parametrize(
    ("symbol", "head"),
    [
        ("_ZN18_$LT$a..B$GT$3run17h0123456789abcdefE", ""),
        (
            "_ZN18_$LT$a..B$GT$3run17h0123456789abcdefE.llvm.12",
            "_ZN18_$LT$a..B$GT$3run17h0123456789abcdefE",
        ),
        ("_ZN3a..x", ""),
        ("_Z1fi.isra.0.cold", "_Z1fi"),
    ],
)
def test_paths_in_names_of_rust_are_no_clones(symbol: str, head: str) -> None:
    """doctor named the tables of all types in a crate _ZN18_$LT$a, and counted them as copies."""
    assert without_clones(symbol) == (head or symbol)


def test_the_nearest_name_is_written_as_it_was_asked_for() -> None:
    table = SymbolNames.of(["_Z11count_wordsPKc", "plain_words"], NOT_ADDED)
    for text, nearest in {
        "cuont_words": "count_words(char const*)",
        "cuont_words(int)": "count_words(char const*)",
        "_Z11cuont_wordsPKc": "_Z11count_wordsPKc",
        "plian_words": "plain_words",
    }.items():
        assert table.nearest(text) == nearest


@pytest.mark.parametrize(
    ("symbol", "text", "nearest"),
    [
        (
            "_ZTSFvRK3BoxE",
            "typeinko name for void (Box const&)",
            "typeinfo name for void (Box const&)",
        ),
        ("_ZTV3Box", "vtaxle for Box", "vtable for Box"),
        ("_ZNK3Box3getEv", "Box::get() conzt", "Box::get() const"),
        ("_ZN3Box3setEv", "Box::set() x", "Box::set()"),
        ("_Z3putRA9_KcmS1_", "put(char const (&) [9], uzsigned long, char const (&) [9])", ""),
        (
            "_ZN3MapImED1B3tagEv",
            "Map<unsigned lqng>::~Map[abi:tag]()",
            "Map<unsigned long>::~Map[abi:tag]()",
        ),
    ],
)
def test_words_that_symbols_do_not_spell_are_corrected(
    symbol: str, text: str, nearest: str
) -> None:
    others = [f"_ZN3Map3{name}ImED1Ev" for name in ("one", "two")]
    table = SymbolNames.of([symbol, *others], NOT_ADDED)
    assert table.nearest(text) == (nearest or shown_symbol(symbol))


def test_types_of_functions_are_compared_as_a_whole() -> None:
    """All these types have the same words, and more than 60 of them have the same length."""
    numbers = "cahstijlmxyfd"
    types = [f"_ZTSFv{''.join(p)}{15 * 'i'}R6TensorE" for p in itertools.product(numbers, repeat=2)]
    wanted = "typeinfo name for void (Tensor const&, Tensor const&, Tensor const&)"
    table = SymbolNames.of([*types, "_ZTSFvRK6TensorS1_S1_E"], NOT_ADDED)
    assert table.nearest(wanted.replace("Tensor const&)", "Tensor conkt&)")) == wanted
