"""Names of Rust, Swift and Microsoft's C++, as people write them."""

from __future__ import annotations

import time

import pytest

from sizeguard.names.demangle import MOST_SHOWN, demangle

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        # Examples from Rust's RFC 2603.
        ("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"),
        ("__RNvC6_123foo3bar", "123foo::bar"),
        ("_RNvC7mycrate3foo.llvm.42", "mycrate::foo [clone .llvm.42]"),
        ("?foo@Bar@@QEAAHH@Z", "public: int __cdecl Bar::foo(int)"),
        # The next two are from the documentation of Swift's mangling.
        ("$s4main3FooV3baryyF", "main.Foo.bar() -> ()"),
        ("_$s4main3FooV3baryyF", "main.Foo.bar() -> ()"),
        ("_TFC4main3Foo3barfT_T_", "main.Foo.bar() -> ()"),
        ("$sold", "$sold"),
        ("_RUN_ME", "_RUN_ME"),
        ("?", "?"),
        ("_TIFFOpen", "_TIFFOpen"),
    ],
)
def test_names_of_other_languages(name: str, text: str) -> None:
    assert demangle(name) == text


def number(value: int) -> str:
    if value == 0:
        return "_"
    text, value = "", value - 1
    while True:
        text = _DIGITS[value % 62] + text
        value //= 62
        if not value:
            return text + "_"


def test_references_cannot_make_a_text_without_end() -> None:
    body, at = "INvC1a1b", 8
    body += "ThhE"
    for _ in range(60):  # each tuple contains the previous one twice
        pair = "T" + 2 * f"B{number(at)}" + "E"
        at = len(body)
        body += pair
    start = time.process_time()
    assert len(demangle(f"_R{body}E")) <= MOST_SHOWN
    for swift in ("$s" + "A" * 900, "$s" + "Si_" * 300 + "t", "$s" + "AaB" * 300):
        assert len(demangle(swift)) <= MOST_SHOWN
    assert time.process_time() - start < 1


@pytest.mark.parametrize("count", [3, 20, 21, 28, 29, 100])
def test_all_references_of_a_short_text_are_resolved(count: int) -> None:
    name = f"_RINvC1a1fNtC1b1c{'B7_' * count}E"
    assert demangle(name) == f"a::f::<{', '.join(['b::c'] * (count + 1))}>"
