"""The demangler and the one scanner that short names stand on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.names.demangle import demangle
from sizeguard.names.dtype_of import dtype_of
from sizeguard.names.short import (
    DemangledName,
    bare_name,
    last_arguments,
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
        ("_ZN2ns3addEif.cold", "ns::add(int, float).cold"),
        ("_ZN2ns3addEif.isra.0", "ns::add(int, float).isra.0"),
        ("main", "main"),
        ("_Z?", "_Z?"),
        ("", ""),
    ],
)
def test_a_name_of_either_format_is_demangled(mangled: str, text: str) -> None:
    assert demangle(mangled) == text


@pytest.mark.parametrize(
    ("text", "parts", "without"),
    [
        ("void f<int>(int)", ("void", "f<int>", "(int)", ""), "f<int>"),
        ("ns::Type::get() const", ("", "ns::Type::get", "()", " const"), "ns::Type::get"),
        ("ns::get() const &", ("", "ns::get", "()", " const &"), "ns::get"),
        ("vtable for ns::Type", ("vtable for", "ns::Type", "", ""), "ns::Type"),
        ("void f<int>(int)::table", ("void", "f<int>", "(int)", "::table"), "f<int>::table"),
        ("ns::f(int).cold", ("", "ns::f", "(int)", ".cold"), "ns::f.cold"),
        ("ns::f() const.isra.0", ("", "ns::f", "()", " const.isra.0"), "ns::f.isra.0"),
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
        ("f(int).part.0", "f"),
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
    assert short_name("ns::f(int) const") == "ns::f(int) const"  # nothing that was mangled


@pytest.mark.parametrize(
    ("mangled", "name", "arguments"),
    [
        ("_ZN2ns4loopIfbNS_7GreaterEEEvl", "loop", ("float", "bool", "Greater")),
        ("_ZN2ns4loopIxEEvx.isra.0", "loop", ("long",)),
        ("_ZN2ns4loopISt6vectorINS_4HalfESaIS2_EEEEvl", "loop", ("vector<Half, allocator<Half>>",)),
        ("_ZN2ns5boxedIXadL_ZNS_3addENS_6TensorEEEE4callEv", "boxed", ("&add(Tensor)",)),
        ("_ZN2ns5plainEi", "plain", ()),
        ("main", "main", ()),
    ],
)
def test_a_template_and_its_arguments(mangled: str, name: str, arguments: tuple[str, ...]) -> None:
    assert template_of(mangled) == (name, arguments)


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
