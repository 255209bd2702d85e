"""The demangler, and the scanner of demangled names that short names use."""

from __future__ import annotations

import subprocess
import tracemalloc

import pycxxfilt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.names.demangle import MOST_SHOWN, demangle
from sizeguard.names.dtype_of import dtype_of
from sizeguard.names.short import (
    DemangledName,
    bare_name,
    last_arguments,
    member_of_template,
    qualified_name,
    short_name,
    shortened,
    split_name,
    template_of,
    without_parameters,
)


@pytest.mark.parametrize(
    ("mangled", "text"),
    [
        ("_ZN2ns3addEif", "ns::add(int, float)"),
        ("__ZN2ns3addEif", "ns::add(int, float)"),  # Mach-O
        ("_ZN2ns3addEif.cold", "ns::add(int, float) [clone .cold]"),
        ("_ZN2ns3addEif.isra.0", "ns::add(int, float) [clone .isra.0]"),
        ("_ZL5table.lto_priv.3", "table [clone .lto_priv.3]"),  # not read by c++filt
        ("_Z1fv.$_0", "f().$_0"),
        ("main", "main"),
        ("_Z?", "_Z?"),
        ("", ""),
    ],
)
def test_a_name_of_either_format_is_demangled(mangled: str, text: str) -> None:
    assert demangle(mangled) == text


_SUFFIXES = (
    ".isra.0",
    ".part.3",
    ".constprop.0",
    ".cold",
    ".cold.1",
    ".lto_priv.0",
    ".llvm.12345678901234",
    ".resolver",
    ".localalias",
    ".__uniq.4711",
    ".constprop.0.isra.0.cold",
    ".1",
)


@pytest.mark.native
def test_clones_are_spelled_as_the_demangler_of_gcc_does() -> None:
    heads = ("_Z1fi", "_ZNK1A3fooEv", "_ZNKR1A3fooEv", "_ZN1AcvbEv", "_ZZNK1A3fooEvENK1B3barEv")
    names = [head + suffix for head in heads for suffix in _SUFFIXES]
    answer = subprocess.run(
        ["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True
    )
    assert [demangle(name) for name in names] == answer.stdout.splitlines()


def _pairs(levels: int) -> str:
    """Return a mangled function; each argument is a pair of two copies of the one before it."""
    types = "".join(f"S_I{_reference(i)}{_reference(i)}E" for i in range(1, levels))
    return f"_Z1f4pairIiiE{types}"


def _packs(levels: int) -> str:
    """Return a mangled function whose parameters are nested expansions of a pack of sixty types."""
    nested = "T_"
    for _ in range(levels):
        nested = f"Dp1AI{nested}T_E"
    return f"_Z1fIJ{'i' * 60}EEv{nested}"


def _reference(number: int) -> str:
    """Refer to an earlier type in the name: S_, S0_, S1_ …, SZ_, S10_ …."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    text, rest = "", number - 1
    while rest >= 0:
        text, rest = digits[rest % 36] + text, rest // 36 - (rest < 36)
    return f"S{text}_"


@pytest.mark.parametrize("levels", [12, 20, 40, 100, 700])
def test_a_name_that_explodes_stays_as_it_is(levels: int) -> None:
    """A name of 210 bytes demangles to 33 MB; one of 410 bytes, to more than any memory."""
    tracemalloc.start()
    for name in (_pairs(levels), f"_{_pairs(levels)}", f"{_pairs(levels)}.isra.0"):
        assert demangle(name) == name
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=11))
def test_a_short_text_is_shown_however_the_name_refers(picks: list[tuple[int, int]]) -> None:
    name = "_Z1f4pairIiiE" + "".join(
        f"S_I{_reference(1 + min(a, i))}{_reference(1 + min(b, i))}E"
        for i, (a, b) in enumerate(picks)
    )
    text = pycxxfilt.demangle(name)
    assert demangle(name) == (text if len(text) <= MOST_SHOWN else name)


@pytest.mark.parametrize(
    "name",
    [
        "_Z1f" + "P" * 100_000 + "i",  # deep recursion in the demangler
        "_Z1f" + "1AI" * 50_000 + "i" + "E" * 50_000,
        "_Z" + f"{5000}{'a' * 5000}v",
        _packs(6),
    ],
)
def test_a_name_with_a_long_text_stays_as_it_is(name: str) -> None:
    assert demangle(name) == name


@pytest.mark.parametrize(
    ("text", "parts", "without"),
    [
        ("void f<int>(int)", ("void", "f<int>", "(int)", ""), "f<int>"),
        ("ns::Type::get() const", ("", "ns::Type::get", "()", " const"), "ns::Type::get"),
        ("ns::get() const &", ("", "ns::get", "()", " const &"), "ns::get"),
        ("vtable for ns::Type", ("vtable for", "ns::Type", "", ""), "ns::Type"),
        ("void f<int>(int)::table", ("void", "f<int>", "(int)", "::table"), "f<int>::table"),
        ("ns::f(int).$_0", ("", "ns::f", "(int)", ".$_0"), "ns::f.$_0"),
        (
            "void ns::f<int>() const [clone .isra.0] [clone .cold]",
            ("void", "ns::f<int>", "()", " const [clone .isra.0] [clone .cold]"),
            "ns::f<int> [clone .isra.0] [clone .cold]",
        ),
        ("x [clone .lto_priv.0]", ("", "x", "", " [clone .lto_priv.0]"), "x [clone .lto_priv.0]"),
        ("ns::A::f() const::x", ("", "ns::A::f", "()", " const::x"), "ns::A::f::x"),
        (
            "vtable for ns::A::f() const::Local",
            ("vtable for", "ns::A::f", "()", " const::Local"),
            "ns::A::f::Local",
        ),
        (
            "ns::f() const::'lambda'(int)::operator()(int) const",
            ("", "ns::f", "()", " const::'lambda'(int)::operator()(int) const"),
            "ns::f::'lambda'::operator()",
        ),
        (
            "ns::(anonymous namespace)::f((anonymous namespace)::Type)",
            ("", "ns::(anonymous namespace)::f", "((anonymous namespace)::Type)", ""),
            "ns::(anonymous namespace)::f",
        ),
        ("operator new(unsigned long)", ("", "operator new", "(unsigned long)", ""), None),
        ("A::operator bool() const", ("", "A::operator bool", "()", " const"), None),
        ("A::operator B*() const", ("", "A::operator B*", "()", " const"), None),
        ("A::operator->() const", ("", "A::operator->", "()", " const"), None),
        ("A::operator()(int)", ("", "A::operator()", "(int)", ""), None),
        ("bool operator<<A>(A, A)", ("bool", "operator<<A>", "(A, A)", ""), None),
        ("S& operator<<<A>(S&, A)", ("S&", "operator<<<A>", "(S&, A)", ""), None),
        ("S& ns::operator<<(S&, A const&)", ("S&", "ns::operator<<", "(S&, A const&)", ""), None),
        ("bool operator<=><A>(A)", ("bool", "operator<=><A>", "(A)", ""), None),
        ("decltype(auto) f<A>(A)", ("decltype(auto)", "f<A>", "(A)", ""), None),
        ("bool (*find<A>(A))(char)", ("bool", "find<A>", "(A)", "(char)"), None),
        ("f(int)::Local g<int>(int)", ("f(int)::Local", "g<int>", "(int)", ""), None),
        (
            "void f<(4 > 3), &A::operator-> >(A<(Kind)2>)",
            ("void", "f<(4 > 3), &A::operator-> >", "(A<(Kind)2>)", ""),
            None,
        ),
        ("main", ("", "main", "", ""), None),
        ("", ("", "", "", ""), None),
    ],
)
def test_a_name_is_split(text: str, parts: tuple[str, ...], without: str | None) -> None:
    found = split_name(text)
    assert found == DemangledName(*parts)
    assert qualified_name(text) == found.head
    assert without_parameters(text) == (found.head if without is None else without)


@given(st.text("ab<>(), :&*-=[]'~.", max_size=40))
def test_any_text_is_split_without_loss(text: str) -> None:
    parts = split_name(text)
    if "(*" not in text and "(&" not in text:
        joined = parts.result + parts.head + parts.parameters + parts.suffix
        assert joined.replace(" ", "") == text.replace(" ", "")
    assert without_parameters(text) or not text
    assert shortened(text, len(text)) == text
    assert isinstance(shortened(text, 5), str)


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("ns::(anonymous namespace)::floating<Exp>(int)", "floating"),
        ("void f<int>(int)::'lambda'()::operator()() const", "f"),
        ("ns::text[abi:cxx11]()", "text"),
        ("f(int) [clone .part.0]", "f"),
        ("ns::A::f() const [clone .part.0]", "f"),
        ("table.0", "table"),
    ],
)
def test_the_bare_name_is_the_functions_own(text: str, bare: str) -> None:
    assert bare_name(text) == bare


def test_short_names_leave_out_what_they_are_told() -> None:
    mangled = "_ZN2ns6detail12_GLOBAL__N_14loopIfNS_3AddEEEvl"
    assert demangle(mangled) == "void ns::detail::(anonymous namespace)::loop<float, ns::Add>(long)"
    assert short_name(mangled) == "ns::detail::loop<float, ns::Add>"
    assert short_name(mangled, ("ns::", "ns::detail::")) == "loop<float, Add>"
    assert short_name(f"_{mangled}", ("ns::", "ns::detail::")) == "loop<float, Add>"
    assert short_name("ns::f(int) const") == "ns::f(int) const"  # not a mangled name


@pytest.mark.parametrize(
    ("mangled", "name", "arguments"),
    [
        ("_ZN2ns4loopIfbNS_7GreaterEEEvl", "loop", ("float", "bool", "Greater")),
        ("_ZN2ns4loopIxEEvx.isra.0", "loop", ("long",)),
        ("_ZN2ns4loopISt6vectorINS_4HalfESaIS2_EEEEvl", "loop", ("vector<Half, allocator<Half>>",)),
        ("_ZN2ns5boxedIXadL_ZNS_3addENS_6TensorEEEE4callEv", "boxed", ("&add(Tensor)",)),
        ("_ZN2ns5plainEi", "plain", ()),
        ("_ZN2ns4loopB2v2IfEEvl", "loop", ("float",)),
        ("_ZN2nsW4rowsWP4part4loopIfEEvl", "loop", ("float",)),
        ("_ZNW4rows2ns4loopIfEEvl", "loop", ("float",)),
        ("_ZGVbN4v__ZN2ns4loopIfEEvl", "loop", ("float",)),
        ("main", "main", ()),
    ],
)
def test_a_template_and_its_arguments(mangled: str, name: str, arguments: tuple[str, ...]) -> None:
    assert template_of(mangled) == (name, arguments)


@pytest.mark.parametrize(
    ("mangled", "name", "arguments"),
    [
        ("_ZN2ns4SumsIdE3addEl", "add", ("double",)),
        ("_ZN2ns4SumsIxNS_5GreatEE3addEl.isra.0", "add", ("long", "Great")),
        ("_ZN2ns4SumsIdE5InnerIfE3addEl", "add", ("float",)),
        ("_ZN2ns4SumsIdE5Plain3addEl", "add", ("double",)),
        ("_ZN2ns4SumsIdE3addIfEEvl", "add<float>", ()),
        ("_ZN2ns4SumsIdEclEl", "operator()", ()),
        ("_ZN2ns3addEl", "add", ()),
        ("main", "main", ()),
    ],
)
def test_a_member_has_the_arguments_around_it(
    mangled: str, name: str, arguments: tuple[str, ...]
) -> None:
    assert member_of_template(mangled) == (name, arguments)


def test_the_last_arguments_are_those_that_a_name_ends_with() -> None:
    assert last_arguments("void A<int>::f<float, B<char>>(int)") == ("float", "B<char>")
    assert last_arguments("void f<float>(int)::table") == ()
    assert last_arguments("main") == ()


@pytest.mark.parametrize("underscore", ["", "_"])
def test_a_dtype_is_found_in_names_of_either_format(underscore: str) -> None:
    assert dtype_of(f"{underscore}_ZN2ns4loopIfNS_3AddEEEvl") == "Float"
    assert dtype_of(f"{underscore}_ZN2ns7convertIdxEEvl") == "Double+Long"
    assert dtype_of(f"{underscore}_ZN2ns4loopINS_8BFloat16EEEvl") == "BFloat16"
    assert dtype_of(f"{underscore}_ZZN2ns4bodyIfEEvlE5table") == ""


def test_a_name_is_cut_no_more_than_the_width_takes() -> None:
    text = "void ns::(anonymous namespace)::loop<A<B<C>>, D>(long, long)"
    for width, shown in [
        (len(text), text),
        (50, "void ns::loop<A<B<C>>, D>(long, long)"),
        (30, "ns::loop<A<B<C>>, D>"),
        (18, "ns::loop<A<…>, D>"),
        (12, "ns::loop<…>"),
        (3, "ns::loop<…>"),
    ]:
        assert shortened(text, width) == shown
