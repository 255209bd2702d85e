"""Spellings that people write by hand mean the symbol, and no other one.

A source has size_t, std::vector<int> and ::ns::f; gcc writes long unsigned int; a symbol has the
types behind them. Ambiguous spellings are unknown, so that no claim on them passes.
"""

from __future__ import annotations

import pytest

from sizeguard.names.resolve_names import DROPPED, KEPT, NOT_ADDED, SymbolNames
from sizeguard.names.spellings.omitted import without_defaults_of_std
from sizeguard.names.spellings.second_readings import data_model

WRITTEN = {
    "_ZN2ns3fooEmPKc": (
        "::ns::foo",
        "ns :: foo",
        "::ns::foo(unsigned long, const char*)",
        "ns::foo( unsigned long , const char * )",
        "ns::foo (unsigned long, char const*)",
        "ns::foo(size_t, char const*)",
        "foo(std::size_t, const char *)",
        "ns::foo(uint64_t, const char*)",
        "ns::foo(long unsigned int, const char*)",
        "void ns::foo(unsigned long int, const char*)",
    ),
    "_ZN2ns3barElixsth": (
        "ns::bar(long int, signed int, long long int, short int, short unsigned int, uint8_t)",
        "ns::bar(int64_t, int32_t, long long, int16_t, uint16_t, unsigned char)",
        "ns::bar(signed long, signed, signed long long, signed short, unsigned short, uint8_t)",
    ),
    "_ZN2ns4joinERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE": (
        "ns::join(std::basic_string<char> const&)",
        "ns::join(const std::basic_string<char>&)",
        "ns::join(::std::string const &)",
    ),
    "_ZNSt6vectorIiSaIiEE9push_backERKi": (
        "std::vector<int>::push_back(const int&)",
        "std::vector<int>::push_back",
        "vector<int>::push_back",
    ),
    "_ZNSt3mapIiN2ns1AESt4lessIiESaISt4pairIKiS1_EEE5clearEv": (
        "std::map<int, ns::A>::clear()",
        "std::map<int, ns::A, std::less<int>>::clear",
    ),
    "_ZNSt10unique_ptrIN2ns1AESt14default_deleteIS1_EED2Ev": (
        "std::unique_ptr<ns::A>::~unique_ptr()",
    ),
    "_ZN2ns4bitsILm8EEEvv": ("ns::bits<8>", "ns::bits<8UL>()", "void ns::bits<8ul>()"),
    "_ZN2ns4byteILh8EEEvv": ("ns::byte<8>()", "ns::byte<(unsigned char)8>"),
    "_ZN2nsltERKNS_1AES2_": ("ns::operator <", "operator < (const ns::A&, const ns::A&)"),
    "_ZN2nslsERSoRKNS_1AE": ("ns::operator<<(std::basic_ostream<char>&, ns::A const&)",),
    "_ZNSo5writeEPKcl": ("std::basic_ostream::write(char const*, long)", "std::ostream::write"),
    "_ZNSolsEi": ("std::basic_ostream::operator<<(int)", "std::ostream::operator <<"),
    "_ZNKSs4findEc": ("std::basic_string::find(char) const", "std::string::find(char)"),
    "_ZTCNSt3__18pairablyIcEE16_NS_13basic_ostreamIcNS_11char_traitsIcEEEE": (
        "construction vtable for std::__1::basic_ostream-in-std::__1::pairably",
        "construction vtable for std::ostream-in-std::pairably<char>",
    ),
    "_RINvNtCs1234_4core3num5limbsC3f16EB2_": (
        "core[3c1c0]::num::limbs::<f16[0]>",
        "core::num::limbs::<f16>",
    ),
    "_ZN2ns1BclEi": ("ns::B::operator() (int)", "ns::B::operator ()"),
    "_RINvC7mycrate4pickReKb1_Kc78_EB2_": (
        "mycrate::pick::<&str, true: bool, 'x': char>",
        "mycrate::pick::<&str, true, 'x'>",
        "mycrate::pick<&str, true, 'x'>",
        "mycrate::pick",
    ),
    "_RINvC7mycrate5greekKc3bb_EB2_": ("mycrate::greek::<'\\u{3bb}': char>", "mycrate::greek"),
    "_Z6oddityDv4_fCdDu": ("oddity(float __vector(4), double _Complex, char8_t)",),
    "_Z10structuralIXtl1PLi1ELd4004000000000000EEEEiv": (
        "int structural<P{1, (double)[4004000000000000]}>()",
    ),
    "_Z6singleILf3dcccccdEEvv": ("void single<(float)[3dcccccd]>()",),
    "_Z6memberM1PKDoFifE": ("member(int (P::*)(float) noexcept const)",),
    "_RNvMs_Cs1234_7mycrateNtB4_3Foo3bar": ("mycrate::Foo::bar", "Foo::bar"),
    "_RNvNtCs1234_7mycrate8unsigned3bar": ("mycrate::unsigned::bar",),
    "_ZTVN2ns1VE": ("vtable for ns::V",),
    "_ZTIPFviE": ("typeinfo for void (*)(int)",),
    "_ZN2ns3mapESt3mapIiNS_1AESt4lessIiESaISt4pairIKiS1_EEE": (
        "ns::map(std::map<int, ns::A>)",
        "ns::map(std::map<int, ns::A, std::less<int>,"
        " std::allocator<std::pair<int const, ns::A>>>)",
        "ns::map(std::map<int, ns::A, std::less<int>>)",
    ),
    "_ZN2ns1AC2Ev": ("ns::A::A()",),
    "_ZN2ns1ED2Ev": ("ns::E::~ E()", "ns::E::~E"),
    "_ZZ3runvENKUlvE_clEv": ("run()::{lambda()#1}::operator()() const",),
    "$s4main3fooyySiF": ("main.foo(Swift.Int) -> ()", "main.foo(Swift.Int)", "main.foo"),
}
KNOWN = SymbolNames.of(WRITTEN)
MACHO = SymbolNames.of((f"_{symbol}" for symbol in WRITTEN), KEPT)


@pytest.mark.parametrize(
    ("symbol", "text"), [(symbol, text) for symbol, texts in WRITTEN.items() for text in texts]
)
def test_a_written_spelling_means_its_symbol_alone(symbol: str, text: str) -> None:
    assert KNOWN.find(text) == (symbol,)
    assert MACHO.find(text) == (f"_{symbol}",)


@pytest.mark.parametrize(
    "text",
    [
        "ns::foo(uint32_t, char const*)",
        "ns::foo(ssize_t, char const*)",
        "ns::foo(long int, const char*)",
        "ns::size_t::foo",
        "ns::basic_ostream::write(char const*, long)",
        "std::vector<long>::push_back",
        "std::map<int, ns::B>::clear()",
        "std::map<int, ns::A, std::less<long>>::clear",
        "ns::bits<9>",
        "ns::bits<8u>",
        "ns::byte<8ul>",
        "ns::operator >",
        "mycrate::Bar::bar",
        "main.fo",
        "mycrate[0123456789abcdef]::pick::<&str, true: bool, 'x': char>",
        "core[3c1c1]::num::limbs::<f16>",
        "mycrate[12345]::Foo::bar",
        "ns::A::~ A",
        "ns::foo[0]",
        "vtable for const ns::V",
        "vtable for vtable for ns::V",
        "run()::{lambda()#0}::operator()() const",
        "typeinfo for void (**)(int)",
        "typeinfo for void (&)(int)",
        "ns::map(std::map<int, ns::A, std::less<int>, std::allocator<std::pair<int const, int>>>)",
    ],
)
def test_another_type_or_number_is_unknown(text: str) -> None:
    assert KNOWN.find(text) == MACHO.find(text) == ()


@pytest.mark.parametrize(
    ("machine", "text", "found"),
    [
        ("arm", "f(size_t)", ()),  # unsigned int or unsigned long: only the compiler knows
        ("arm", "f(uint64_t)", ("_Z1fy",)),
        ("arm", "f(uint32_t)", ()),
        ("arm", "g(size_t)", ("_Z1gj",)),
        ("arm", "h(size_t, int32_t)", ("_Z1hjl",)),
        ("x32", "g(size_t)", ("_Z1gj",)),
        ("aarch64_ilp32", "g(size_t)", ("_Z1gj",)),
        ("x86_64", "f(size_t)", ("_Z1fm",)),
        ("x86_64", "g(size_t)", ()),
        ("s390x", "f(size_t)", ("_Z1fm",)),
    ],
)
def test_size_t_depends_on_the_machine(machine: str, text: str, found: tuple[str, ...]) -> None:
    names = ["_Z1fj", "_Z1fm", "_Z1fy", "_Z1gj", "_Z1hjl"]
    assert SymbolNames.of(names, model=data_model(machine)).find(text) == found


def test_size_t_is_long_long_on_windows() -> None:
    names = SymbolNames.of(["_Z1fm", "_Z1fy"], model=data_model("x86_64", is_windows=True))
    assert names.find("f(size_t)") == names.find("f(uint64_t)") == ("_Z1fy",)
    assert names.find("f(unsigned long)") == ("_Z1fm",)
    assert names.glob("f*(size_t)") == ("_Z1fy",)


def test_a_type_of_two_systems_is_ambiguous_if_both_overloads_exist() -> None:
    both = SymbolNames.of(["_Z1fm", "_Z1fy", "_Z1gy"])
    assert both.find("f(uint64_t)") == ()
    assert both.find("f(size_t)") == ("_Z1fm",)
    assert both.find("g(uint64_t)") == ("_Z1gy",)
    assert both.find("g(size_t)") == ()


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("std::vector<int,std::allocator<int>>", "std::vector<int>"),
        ("f<std::set<A<int>,std::less<A<int>>,std::allocator<A<int>>>>", "f<std::set<A<int>>>"),
        ("std::map<K,V,std::less<K>,std::allocator<std::pair<K const,V>>>", "std::map<K,V>"),
        (
            "std::set<int,std::less<void>,std::allocator<int>>",
            "std::set<int,std::less<void>>",
        ),
        ("f<int,std::allocator<long>>", "f<int,std::allocator<long>>"),
        ("f<int,std::allocator<int>,long>", "f<int,std::allocator<int>,long>"),
    ],
)
def test_only_default_arguments_at_the_end_are_left_out(text: str, short: str) -> None:
    assert without_defaults_of_std(text) == short


@pytest.mark.parametrize("underscore", [NOT_ADDED, KEPT, DROPPED])
def test_an_underscore_is_part_of_a_name_unless_the_format_adds_it(underscore: str) -> None:
    """`start` is not _start, nor exit _exit; nm shows main of Mach-O as _main."""
    added = "_" * (underscore == KEPT)
    table = SymbolNames.of([f"{added}{name}" for name in ("_start", "main", "_ZN1aE")], underscore)
    assert table.find("_start") == (f"{added}_start",)
    assert table.find("main") == (f"{added}main",)
    assert table.find("__ZN1aE") == (f"{added}_ZN1aE",)
    assert table.find("_main") == ((f"{added}main",) if underscore != NOT_ADDED else ())
    assert table.find("start") == table.meant("start*").names == ()
    assert table.meant("_mai*").names == ((f"{added}main",) if underscore != NOT_ADDED else ())
    assert table.find("__main") == table.find("___start") == ()


@pytest.mark.parametrize(
    "text", ["main(", "main()::x", "vtable for main", "main<int>", "main.cold"]
)
def test_only_parameters_are_added_to_a_name_of_c(text: str) -> None:
    table = SymbolNames.of(["main"])
    assert table.find("main(int, char**)") == ("main",)
    assert table.find(text) == ()


def test_the_hash_of_a_rust_function_must_agree() -> None:
    one, other = (f"_ZN1a1f17h{digit * 16}E" for digit in "12")
    table = SymbolNames.of([one, other])
    assert table.find("a::f") == (one, other)
    assert table.find(f"a::f::h{'2' * 16}") == table.find(f"f::h{'2' * 16}") == (other,)
    assert table.find(f"a::f::h{'3' * 16}") == ()
