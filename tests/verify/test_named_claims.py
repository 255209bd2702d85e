"""Claims on symbols that users name: spellings, patterns, constants, operators, unknown names.

The programs are recorded. `subject` of program 13 is 18 bytes at 0x1150 and has an eight-byte
constant at 0x1152; `main` is 21 bytes at 0x1040, and padding follows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sizeguard.base.errors import InputError
from sizeguard.claims.verdict import (
    ABSENT,
    DISCARDED_BY_LINKER,
    FAIL,
    INCONCLUSIVE,
    NOT_GENERATED,
    PASS,
    PRESENT,
    STILL_THERE,
    THERE,
    UNKNOWN,
    Verdict,
)
from sizeguard.formats.linkmap.link_map import MapSymbol
from sizeguard.names.resolve_names import DROPPED, NOT_ADDED, SymbolNames
from sizeguard.verify import named_symbols
from sizeguard.verify.evidence.evidence import Evidence, Inlined
from sizeguard.verify.known_names import ClaimNames
from sizeguard.verify.named_symbols import judge_named
from tests.support.builds.recorded_evidence import Opener

CONSTANT = "0x5d1ec7b39e010101"


def judged(evidence: Evidence, text: str, expect: str = ABSENT, *, ok: bool = False) -> Verdict:
    (found,) = judge_named(ClaimNames(evidence, unknown_ok=ok), text, expect)
    assert found.kind == "symbol"
    assert found.expect == expect
    return found


@pytest.mark.parametrize("text", ["", " ", "\t"])
def test_a_claim_needs_a_name(opened: Opener, text: str) -> None:
    with pytest.raises(InputError, match="--absent: the name is empty"):
        judge_named(ClaimNames(opened("00")), text, ABSENT)


@pytest.mark.parametrize(
    ("ok", "lacks", "present", "absent"),
    [
        (False, False, (INCONCLUSIVE, UNKNOWN), (INCONCLUSIVE, UNKNOWN)),
        (False, True, (INCONCLUSIVE, UNKNOWN), (INCONCLUSIVE, UNKNOWN)),
        (True, False, (FAIL, NOT_GENERATED), (PASS, NOT_GENERATED)),
        (True, True, (INCONCLUSIVE, UNKNOWN), (INCONCLUSIVE, UNKNOWN)),
    ],
)
def test_an_unknown_name_is_decided_on_request(
    opened: Opener, ok: bool, lacks: bool, present: tuple[str, str], absent: tuple[str, str]
) -> None:
    evidence = opened("13")
    evidence = replace(evidence, gaps=("no map",)) if lacks else evidence
    for expect, expected in ((PRESENT, present), (ABSENT, absent)):
        found = judged(evidence, "nobody", expect, ok=ok)
        assert (found.verdict, found.how) == expected
        if lacks:
            assert "no map" in found.evidence
        if not ok:
            assert found.cause == "unknown name: nothing is called nobody"


def test_an_unknown_name_has_a_nearest(opened: Opener) -> None:
    found = judged(opened("13"), "subjec")
    assert found.verdict == INCONCLUSIVE
    assert found.evidence == (
        "unknown name: nothing is called subjec; nearest is subject",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "lacks", "present", "absent"),
    [
        ("nobody*", False, (INCONCLUSIVE, UNKNOWN), (PASS, NOT_GENERATED)),
        ("nobody*", True, (INCONCLUSIVE, UNKNOWN), (INCONCLUSIVE, UNKNOWN)),
        ("sub*", False, (PASS, THERE), (FAIL, STILL_THERE)),
        ("sub*", True, (PASS, THERE), (FAIL, STILL_THERE)),
    ],
)
def test_a_pattern_claims_all_that_it_matches(
    opened: Opener, pattern: str, lacks: bool, present: tuple[str, str], absent: tuple[str, str]
) -> None:
    evidence = opened("13")
    evidence = replace(evidence, gaps=("no map",)) if lacks else evidence
    for expect, expected in ((PRESENT, present), (ABSENT, absent)):
        found = judged(evidence, pattern, expect)
        assert (found.verdict, found.how) == expected
        assert (found.name, found.bytes) == (("subject", 18) if pattern == "sub*" else (pattern, 0))


def test_a_function_and_its_clones_get_one_verdict(opened: Opener) -> None:
    """`main` of program 15 has 12 bytes, and `main.cold` 6."""
    found = judged(opened("15"), "main*")
    assert (found.name, found.verdict, found.bytes) == ("main", FAIL, 18)
    method = judged(opened("15"), "Failure::subject")
    assert (method.verdict, method.bytes) == (FAIL, 18)
    several = judge_named(ClaimNames(opened("15")), "Failure::*", ABSENT)
    assert {each.name for each in several} >= {"Failure::subject() const", "Failure::what() const"}


def test_names_that_only_the_map_has_are_those_of_its_places(opened: Opener) -> None:
    """Linkers write some names otherwise, so a function that was there passed as absent, too."""
    evidence = opened("13")
    assert evidence.link_map is not None
    again, cold, plt = "subject[abi:x]", "subother [clone .cold]", "subject@@V1"
    symbols = tuple(
        MapSymbol(at, 0, name, 0) for at, name in ((0x1150, again), (0x1154, cold), (1, plt))
    )
    evidence = replace(evidence, link_map=replace(evidence.link_map, symbols=symbols))
    for expect, verdict in ((ABSENT, FAIL), (PRESENT, PASS)):
        found = judge_named(ClaimNames(evidence), "sub*", expect)
        assert {(each.name, each.verdict) for each in found} == {
            ("subject", verdict),
            (cold, verdict),
        }
        assert judged(evidence, cold, expect).verdict == verdict
        assert (judged(evidence, again, expect).verdict, judged(evidence, again).bytes) == (
            verdict,
            18,
        )


@pytest.mark.parametrize("pattern", ["sub[jk]ec*", "[!t]ubject*", "{subject,main}*", "sub{j,k}*"])
def test_a_pattern_of_a_shell_is_undecided(opened: Opener, pattern: str) -> None:
    found = judged(opened("13"), pattern)
    assert found.verdict == INCONCLUSIVE
    assert "only * and ? are special" in found.evidence[0]
    for other in ("nobody*[3]", "nobody[abi:v2]*", "nobody::{lambda(int, int)#1}*", "*operator[]x"):
        assert judged(opened("13"), other).verdict == PASS


def test_names_with_dots_are_no_clones_of_another_function(opened: Opener) -> None:
    """main.F of Go is no clone of main."""
    evidence = opened("13")
    symbols = {"main.F": evidence.symbols["subject"], "main.(*T).M": evidence.symbols["main"]}
    evidence.__dict__["symbols"] = symbols
    evidence.__dict__["names"] = SymbolNames.of(symbols)
    found = judge_named(ClaimNames(evidence), "main.*", ABSENT)
    assert {each.name for each in found} == {"main.F", "main.(*T).M"}


@pytest.mark.parametrize(
    ("text", "expect", "verdicts"),
    [
        ("nobod*", ABSENT, [INCONCLUSIVE]),
        ("subjec*", ABSENT, [PASS, INCONCLUSIVE]),
        ("mai*", ABSENT, [FAIL, INCONCLUSIVE]),
        ("mai*", PRESENT, [PASS]),
        ("nobod*", PRESENT, [INCONCLUSIVE]),
    ],
)
def test_a_pattern_may_match_code_without_a_name(
    opened: Opener, text: str, expect: str, verdicts: list[str]
) -> None:
    evidence = opened("00")
    known = [each.verdict for each in judge_named(ClaimNames(evidence), text, expect)]
    assert known == (verdicts[:1] if expect == PRESENT or len(verdicts) > 1 else [PASS])
    evidence.__dict__["nameless"] = ("a.o has code without a symbol in .text",)
    found = judge_named(ClaimNames(evidence), text, expect)
    assert [each.verdict for each in found] == verdicts
    assert ("a.o has code" in "".join(found[-1].evidence)) == (expect == ABSENT)


@pytest.mark.parametrize("text", ["subject@0x12", "subject@0xno", "sub*@0x1"])
def test_a_constant_that_is_too_short_is_no_name(opened: Opener, text: str) -> None:
    with pytest.raises(InputError, match="5 to 16 hexadecimal digits"):
        judge_named(ClaimNames(opened("13")), text, ABSENT)


@pytest.mark.parametrize("text", ["sub*", "nobody*", "*"])
def test_a_constant_needs_one_name(opened: Opener, text: str) -> None:
    """The constant would not be looked for, and a pattern that matches nothing would pass."""
    with pytest.raises(InputError, match="a constant goes with one name"):
        judge_named(ClaimNames(opened("13")), f"{text}@{CONSTANT}", ABSENT)


@pytest.mark.parametrize(
    ("text", "size", "note"),
    [
        (f"subject@{CONSTANT}", 18, f"its constant {CONSTANT} is at 0x1152"),
        # At the very start of the function
        ("subject@0xc7b39e010101b848", 18, "its constant 0xc7b39e010101b848 is at 0x1150"),
        # In code that has another name, which counts alone
        (f"nobody@{CONSTANT}", 8, f"its constant {CONSTANT} is at 0x1152, in subject"),
        ("nobody@0xfde8c3c0", 4, "its constant 0xfde8c3c0 is at 0x104c, in main"),
        ("subject@0xfde8c3c0", 22, "its constant 0xfde8c3c0 is at 0x104c, in main"),
    ],
)
def test_a_constant_shows_that_code_is_there(
    opened: Opener, text: str, size: int, note: str
) -> None:
    found = judged(opened("13"), text)
    assert (found.verdict, found.how, found.bytes) == (FAIL, STILL_THERE, size)
    assert found.evidence[0] == note
    assert found.cause.startswith("reference: ")
    # The constant of an unknown name proves nothing about that name
    present = judged(opened("13"), text, PRESENT)
    assert present.verdict == (INCONCLUSIVE if text.startswith("nobody") else PASS)


@pytest.mark.parametrize(("order", "expected"), [("<", INCONCLUSIVE), (">", FAIL)])
def test_constants_of_a_big_endian_image_are_in_its_order(
    opened: Opener, order: str, expected: str
) -> None:
    """They were not found, and the function passed as absent."""
    evidence = opened("00")
    shipped: Any = evidence.shipped
    section = shipped.section(".text")
    first = shipped.content(section)[:8]
    made = replace(shipped, layout=replace(shipped.layout, order=order))
    changed = replace(evidence, twin=made)
    assert judged(changed, f"subject@0x{first.hex()}").verdict == expected
    assert judged(changed, f"subject@0x{first[::-1].hex()}").verdict == FAIL


@pytest.mark.parametrize("constant", [CONSTANT, "0xfde8c3c0"])  # nowhere; in main
def test_an_inlined_function_with_a_constant_has_its_host(opened: Opener, constant: str) -> None:
    evidence = replace(opened("13"))
    evidence.__dict__["inlined"] = {"small": Inlined(0x1041, 2, "main")}
    assert judged(evidence, f"small@{constant}", ok=True).cause == "inlined: into main"


def test_a_constant_in_one_of_two_parts(opened: Opener) -> None:
    found = judged(opened("15"), "main@0xc3c031ff")
    assert (found.bytes, found.evidence[0]) == (18, "its constant 0xc3c031ff is at 0x10c8")


def test_a_constant_behind_the_function_is_not_in_it(opened: Opener) -> None:
    """Nothing owns the padding, whose instruction is at 0x1055 and at other places."""
    evidence = opened("13")
    padding = bytes.fromhex("662e0f1f")
    sections = [s for s in evidence.image.sections if s.is_allocated and s.file_size]
    places = sum(evidence.image.content(section).count(padding) for section in sections)
    found = judged(evidence, "main@0x1f0f2e66")
    assert found.bytes == 21 + 4 * places
    assert "its constant 0x1f0f2e66 is at 0x1055" in found.evidence


@pytest.mark.parametrize(
    ("program", "text", "expected"),
    [
        ("00", "subject@0x5d1ec7b39b010101", (PASS, DISCARDED_BY_LINKER)),
        # No object has this one
        ("00", f"subject@{CONSTANT}", (INCONCLUSIVE, UNKNOWN)),
        ("13", "subject@0x5d1ec7b39e010102", (FAIL, STILL_THERE)),
    ],
)
def test_a_constant_that_is_nowhere(
    opened: Opener, program: str, text: str, expected: tuple[str, str]
) -> None:
    found = judged(opened(program), text)
    assert (found.verdict, found.how) == expected
    assert f"its constant {text.partition('@')[2]} is not in the image" in found.evidence
    unknown = judged(opened(program), text.replace("subject", "nobody"))
    assert (unknown.verdict, unknown.how) == (INCONCLUSIVE, UNKNOWN)
    accepted = judged(opened(program), text.replace("subject", "nobody"), ok=True)
    assert accepted.verdict == PASS


@pytest.mark.parametrize(
    ("text", "names"),
    [("aten::relu", {"aten::relu"}), ("aten::erf", set())],
)
def test_an_operator_is_judged_by_its_entries(
    runtime: Evidence, text: str, names: set[str]
) -> None:
    for expect, expected in ((PRESENT, PASS), (ABSENT, FAIL)):
        found = judge_named(ClaimNames(runtime), text, expect)
        kinds = {(each.kind, each.name, each.verdict) for each in found}
        assert kinds == (
            {("operator", name, expected) for name in names} or {("symbol", text, INCONCLUSIVE)}
        )
    (known,) = judge_named(ClaimNames(runtime, operators=("aten::erf",)), "aten::erf", ABSENT)
    assert (known.kind, known.verdict) == ("operator", PASS)


def test_a_pattern_means_operators_and_symbols(runtime: Evidence) -> None:
    """The operator is gone, and functions whose names match are still there."""
    known = ClaimNames(runtime, operators=("aten::retain_grad",))
    found = judge_named(known, "*retain*", ABSENT)
    kinds = {(each.kind, each.verdict) for each in found}
    assert kinds >= {("operator", PASS), ("symbol", FAIL)}
    assert any(each.name.startswith("sg::Context::retain(") for each in found)
    (alone,) = judge_named(known, "aten::retain*", ABSENT)
    assert (alone.kind, alone.verdict) == ("operator", PASS)


def test_a_discarded_function_with_a_clone_of_the_map_alone_has_a_verdict(opened: Opener) -> None:
    """The linker names a place that holds nothing of the image."""
    evidence = opened("00")
    assert evidence.link_map is not None
    clone = MapSymbol(1, 0, "subject.cold", 0)
    evidence = replace(evidence, link_map=replace(evidence.link_map, symbols=(clone,)))
    for expect, verdict in ((PRESENT, FAIL), (ABSENT, PASS)):
        found = judged(evidence, "subj*", expect)
        assert (found.name, found.verdict, found.how) == ("subject", verdict, DISCARDED_BY_LINKER)


def test_a_pattern_without_the_outer_scopes_is_decided_on_request(runtime: Evidence) -> None:
    undecided = judged(runtime, "erf(*")
    assert (undecided.verdict, undecided.how) == (INCONCLUSIVE, UNKNOWN)
    assert "; with more scopes it matches sg::kernels::erf(" in undecided.evidence[0]
    decided = judged(runtime, "erf(*", ok=True)
    assert (decided.verdict, decided.evidence[0]) == (PASS, "matches nothing: erf(*")


@pytest.mark.parametrize("text", ["tensor.cpp", "tensor", "crtstuff.c", "_main", "init"])
def test_names_of_source_files_and_half_names_are_unknown(runtime: Evidence, text: str) -> None:
    """The symbol table has a file tensor.cpp and functions main and _init."""
    for expect in (ABSENT, PRESENT):
        (found,) = judge_named(ClaimNames(runtime), text, expect)
        assert (found.verdict, found.how) == (INCONCLUSIVE, UNKNOWN)
    assert judged(runtime, "_init" if text == "init" else "main").verdict == FAIL


def test_present_means_what_the_base_had(opened: Opener) -> None:
    """The base has a function `subject`; what is left is Failure::subject, the end of a path."""
    now, base = opened("15"), opened("13").image.path
    assert judged(now, "subject", PRESENT).verdict == PASS
    (lost,) = judge_named(ClaimNames(now, others=(base,)), "subject", PRESENT)
    assert (lost.verdict, lost.bytes) == (FAIL, 0)
    for text in ("Failure::subject", "::Failure::subject"):
        (there,) = judge_named(ClaimNames(now, others=(base,)), text, PRESENT)
        assert there.verdict == PASS
    several = judge_named(ClaimNames(now, others=(base,)), "*subject", PRESENT)
    assert {(each.name, each.verdict) for each in several} == {
        ("Failure::subject() const", PASS),
        ("subject", FAIL),
    }
    (still,) = judge_named(ClaimNames(now, others=(base,)), "subject", ABSENT)
    assert (still.verdict, still.bytes) == (FAIL, 18)


def test_a_symbol_of_the_objects_the_image_or_its_debug_information_is_defined(
    opened: Opener,
) -> None:
    evidence = opened("00")
    evidence.__dict__["symbols"] = {"named": evidence.symbols["main"]}
    evidence.__dict__["inlined"] = {"inside": Inlined(0x1040, 2, "main")}
    names = ClaimNames(evidence)
    found = [each for each in ("subject", "named", "inside", "nobody") if names.is_defined(each)]
    assert found == ["subject", "named", "inside"]


@pytest.mark.parametrize(
    ("underscore", "linker", "name"),
    [(DROPPED, "ld64", "f"), (DROPPED, "GNU ld", "_f"), (NOT_ADDED, "ld64", "_f")],
)
def test_only_maps_of_mach_o_linkers_add_an_underscore(
    opened: Opener, underscore: str, linker: str, name: str
) -> None:
    evidence = opened("00")
    assert evidence.link_map is not None
    symbols = (MapSymbol(0x1040, 0, "_f", 0),)
    link_map = replace(evidence.link_map, linker=linker, symbols=symbols)
    evidence = replace(evidence, link_map=link_map)
    evidence.__dict__["names"] = replace(evidence.names, underscore=underscore)
    assert ClaimNames(evidence).mapped == {name: [*symbols]}


def test_a_constant_of_one_image_alone_is_known(opened: Opener) -> None:
    """An object of the image or the base has it; the other does not."""
    now, base = opened("00"), opened("13").image.path
    value = int(CONSTANT, 16)
    assert not ClaimNames(now).have_constant(value)
    assert ClaimNames(now, others=(base,)).have_constant(value)


TEXT = "the text aten::gelu is at 0x2010: code may register it"


@pytest.fixture(params=[True, False])
def is_written(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the image has the text aten::gelu."""
    notes = (TEXT,) if request.param else ()
    monkeypatch.setattr(ClaimNames, "perhaps_registered", lambda names, text: iter(notes))
    return bool(request.param)


def test_a_text_that_code_may_register_leaves_absence_undecided(
    opened: Opener, is_written: bool
) -> None:
    for text in ("aten::gelu", "aten::gel*"):
        found = judged(opened("13"), text, ok=True)
        assert found.verdict == (INCONCLUSIVE if is_written else PASS)
        assert (TEXT in found.evidence) == is_written
    found = judged(opened("13"), "aten::gelu", PRESENT, ok=True)
    assert found.verdict == (INCONCLUSIVE if is_written else FAIL)
    # What is there needs no doubt
    assert judged(opened("13"), "subject").verdict == FAIL


@pytest.mark.parametrize("verdict", [PASS, FAIL])
def test_a_text_leaves_only_the_absence_of_an_operator_undecided(
    opened: Opener, monkeypatch: pytest.MonkeyPatch, is_written: bool, verdict: str
) -> None:
    def registered(names: ClaimNames, kind: str, name: str, expect: str) -> Verdict:
        return Verdict(kind, name, expect, verdict, UNKNOWN, 0, ("told",))

    monkeypatch.setattr(named_symbols, "judge_registered", registered)
    monkeypatch.setattr(ClaimNames, "operators_called", lambda names, text: ("aten::gelu",))
    names = ClaimNames(opened("13"))
    undecided = is_written and verdict == PASS
    (absent,) = judge_named(names, "aten::gelu", ABSENT)
    assert absent.verdict == (INCONCLUSIVE if undecided else verdict)
    assert absent.evidence == ((TEXT,) if undecided else ("told",))
    (present,) = judge_named(names, "aten::gelu", PRESENT)
    assert (present.verdict, present.evidence) == (verdict, ("told",))
    # A pattern may also mean what no table has
    several = judge_named(names, "aten::gel*", ABSENT)
    assert [each.kind for each in several] == ["operator", *(["symbol"] if is_written else [])]
    assert len(judge_named(names, "aten::gel*", PRESENT)) == 1


@pytest.mark.parametrize(
    ("inlined", "text", "verdict"),
    [
        (("ns::f()",), "ns::f", FAIL),
        (("ns::f()",), "ns::f(int)", INCONCLUSIVE),
        (("_ZN2ns1fEi",), "ns::f(int)", FAIL),
        (("_ZN2ns1fEi", "ns::f()"), "f(int)", FAIL),  # one of those that it means is known
        (("ns::f()",), "*::f", FAIL),
        (("ns::f()",), "*::f(int)", INCONCLUSIVE),
        (("_ZN2ns1fEi",), "*::f(int)", FAIL),
        (("_ZN2ns1fEi", "ns::g()"), "*::g(int)", INCONCLUSIVE),
        # -g1 leaves scopes out; of C++ code alone
        (("f",), "ns::f*", PASS),
        (("f", "_ZN2ns1gEi"), "ns::f*", PASS),
    ],
)
def test_parameters_of_inlined_functions_may_be_unknown(
    opened: Opener, inlined: tuple[str, ...], text: str, verdict: str
) -> None:
    """gcc's debug information has no parameters of local functions."""
    evidence = opened("13")
    part = Inlined(0x1040, 4, "main")
    evidence.__dict__["inlined"] = dict.fromkeys(inlined, part)
    assert {each.verdict for each in judge_named(ClaimNames(evidence), text, ABSENT)} == {verdict}
    by_cxx = replace(part, host="_Z4mainv")
    evidence = opened("13")
    evidence.__dict__["inlined"] = dict.fromkeys(inlined, by_cxx)
    found = {each.verdict for each in judge_named(ClaimNames(evidence), text, ABSENT)}
    assert found == ({INCONCLUSIVE} if inlined == ("f",) else {verdict})
