"""Claims of `verify` with every spelling of random symbols, and with edited names.

tests/soak/verifier/name_spellings.py tests more symbols, of more images.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.names.demangle import demangle
from sizeguard.names.resolve_names import KnownNames, Resolved, SymbolNames
from sizeguard.verify.known_names import ClaimNames
from tests.soak.verifier.name_spellings import claim_faults, faults
from tests.support.builds.recorded_builds import recorded_runtime


@pytest.mark.native
def test_claims_on_drawn_and_edited_names(tmp_path: Path) -> None:
    image = recorded_runtime(tmp_path).build.image
    assert faults(image, count=60, seed=13) == []
    assert claim_faults(image, count=60, seed=13) == []


@pytest.mark.native
def test_a_wrong_verdict_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: a verifier that resolves no names has many faults."""
    image = recorded_runtime(tmp_path).build.image
    monkeypatch.setattr(ClaimNames, "resolve", lambda names, text: Resolved(text, (), False))
    assert len(claim_faults(image, count=5, seed=13)) >= 10


def test_names_of_more_than_4_kib() -> None:
    """Symbols are found as they are spelled; other long texts find nothing, without an error."""
    long = f"_Z5000{'a' * 5000}v"
    deep = f"_ZN{'1a' * 2500}Ev"
    wide = f"_Z1fI{'N2ns1AE' * 900}Evv"
    known = KnownNames(SymbolNames.of([long, deep, wide, "_Z1gv"]))
    for symbol in (long, deep, wide):
        assert known.resolve(symbol).names == (symbol,)
        assert known.resolve(symbol.replace("v", "w")).names == ()
    for text in ("a::" * 3000 + "b", "<" * 6000, "(" * 6000, "f<" * 3000, "[abi:x]" * 1000):
        assert known.resolve(text).names == ()


def test_a_name_that_is_shown_mangled_is_found_by_its_path() -> None:
    # Each type is a pair of the previous one, so the demangled name has 2**20 words.
    doubled = "4pairIiiE" + "".join(f"S0_IS{each}_S{each}_E" for each in "123456789ABCDEFGHIJK")
    for symbol in (f"_ZN2ns4wideI{'N2ns1AE' * 900}EEvv", f"_ZN2ns4deepE{doubled}"):
        assert demangle(symbol) == symbol
        table = SymbolNames.of([symbol, "_ZN2ns5otherEv"])
        path = "ns::wide" if "wide" in symbol else "ns::deep"
        for text in (symbol, f"_{symbol}", path, path.removeprefix("ns::")):
            assert table.find(text) == (symbol,)
        for text in (path.upper(), f"other::{path}", f"{path}(int)", f"{path}<int>", "ns"):
            assert table.find(text) == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ns::f", ["ns::f()"]),
        ("::ns::f", ["ns::f()"]),
        ("ns::f(int)", ["ns::f()"]),
        ("g", ["(anonymous namespace)::g()"]),
        ("Box::get", ["(anonymous namespace)::Box::get<int>()"]),
        ("Box::get<int>(int) const", ["(anonymous namespace)::Box::get<int>()"]),
        ("Box::get<float>", []),
        ("h(int)::Own::run(int)", ["h()::Own::run()"]),
        ("other::f", ["_ZN5other1fEi"]),
        ("other::f(int)", ["_ZN5other1fEi"]),
        ("other::f(float)", []),
        # The end of a path may be of several functions; parameters are known of one alone.
        ("f", ["_ZN5other1fEi", "ns::f()"]),
        ("f(int)", ["_ZN5other1fEi", "ns::f()"]),
        ("::f", []),
        ("s::f", []),
    ],
)
def test_local_functions_that_gcc_inlines_have_their_scopes(text: str, found: list[str]) -> None:
    """Debug information of gcc has neither a linkage name nor parameters for them."""
    local = ["ns::f()", "(anonymous namespace)::g()", "(anonymous namespace)::Box::get<int>()"]
    table = SymbolNames.of(["main", "_ZN5other1fEi", "h()::Own::run()", *local])
    assert sorted(table.find(text)) == found


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("Box::*", 1),
        ("Box::get<*>", 1),
        ("Box::g*", 1),
        ("(anonymous namespace)::Box::g*", 1),
        ("*::g*", 2),
        ("g*", 1),
        ("ns::*", 1),
        ("ns::f(*)", 1),
        ("get*", 0),
    ],
)
def test_patterns_match_local_functions_that_gcc_inlines(pattern: str, found: int) -> None:
    local = ["ns::f()", "(anonymous namespace)::g()", "(anonymous namespace)::Box::get<int>()"]
    assert len(SymbolNames.of(["main", *local]).glob(pattern)) == found
