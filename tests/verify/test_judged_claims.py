"""Verdicts on single claims: what was found, what was expected, and whether evidence is missing.

The evidence is that of recorded programs, with a gap or without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from sizeguard.claims.claim import Claim, LostCode
from sizeguard.claims.listed_names import FeatureMarks
from sizeguard.claims.verdict import (
    ABSENT,
    DISCARDED_BY_LINKER,
    FAIL,
    INCONCLUSIVE,
    NOT_APPLICABLE,
    NOT_GENERATED,
    PASS,
    PRESENT,
    REMOVED_BY_COMPILER,
    STILL_THERE,
    THERE,
    UNKNOWN,
    Verdict,
)
from sizeguard.formats.elf import (
    SHT_INIT_ARRAY,
    SHT_PROGBITS,
    STT_IFUNC,
    STT_TLS,
    Section,
    Symbol,
)
from sizeguard.formats.elf.layout import STT_OBJECT
from sizeguard.names.registered import Registration
from sizeguard.runtimes.sizeguard.claims.build_claims import WORDS
from sizeguard.verify import canaries
from sizeguard.verify.canaries import must_fail
from sizeguard.verify.code_presence import FoundCode, judge_code, look_for
from sizeguard.verify.evidence import ways
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.object_evidence import NamedPiece
from sizeguard.verify.features.feature_verdicts import (
    FeatureSigns,
    judge_absent_feature,
    judge_feature,
    judge_present_feature,
    lost_signs,
    signs_of,
)
from sizeguard.verify.judge_claims import judge_same, united
from sizeguard.verify.known_names import ClaimNames
from sizeguard.verify.registrations import Registrations, judge_registered
from sizeguard.verify.startup import judge_exports, judge_initializers, judge_ways
from tests.support.builds.recorded_evidence import Opener, opener_of_programs


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Opener:
    """Open a program's evidence; with a gap if `lacks` is true."""
    return opener_of_programs(tmp_path_factory.mktemp("recorded"))


def verdict(
    outcome: str, name: str = "x", size: int = 1, cause: str = "", kind: str = "symbol"
) -> Verdict:
    return Verdict(kind, name, ABSENT, outcome, UNKNOWN, size, (f"{outcome} {name}",), (), cause)


WHOLE = Claim("section", "whole", ABSENT, LostCode())


def test_the_worst_finding_decides_a_claim_on_the_whole_image() -> None:
    assert united(WHOLE, []) is None
    for worse, better in (
        (FAIL, INCONCLUSIVE), (FAIL, PASS), (FAIL, NOT_APPLICABLE), (INCONCLUSIVE, PASS),
        (INCONCLUSIVE, NOT_APPLICABLE), (PASS, NOT_APPLICABLE),
    ):  # fmt: skip
        for order in ((worse, better), (better, worse)):
            found = united(WHOLE, [verdict(each) for each in order])
            assert found is not None
            assert (found.verdict, found.name, found.kind) == (worse, "whole", "section")
            assert found.evidence == (f"x: {worse} x",)


def test_a_finding_names_its_cause_and_all_its_bytes() -> None:
    found = united(WHOLE, [verdict(FAIL, "a", 3, "vtable"), verdict(FAIL, "b", 4, "export")])
    assert found is not None
    assert (found.bytes, found.cause) == (7, "a: vtable; and 1 more")
    assert found.evidence == ("a: fail a", "b: fail b")
    one = united(WHOLE, [verdict(FAIL, "a"), verdict(PASS, "b", 9)])
    assert one is not None
    assert (one.bytes, one.cause) == (1, "a")
    itself = united(WHOLE, [verdict(FAIL, "whole", 1, "why")])
    assert itself is not None
    assert (itself.cause, itself.evidence) == ("why", ("fail whole",))
    doubt = united(WHOLE, [verdict(INCONCLUSIVE, "a"), verdict(INCONCLUSIVE, "b")])
    assert doubt is not None
    assert (doubt.verdict, doubt.cause) == (INCONCLUSIVE, "")


@pytest.mark.parametrize(
    ("expect", "count", "expected", "how"),
    [
        (ABSENT, 0, PASS, NOT_GENERATED),
        (PRESENT, 0, PASS, THERE),
        (ABSENT, 1, FAIL, STILL_THERE),
        (PRESENT, 4, FAIL, NOT_GENERATED),
        (ABSENT, 5, FAIL, STILL_THERE),
    ],
)
def test_a_build_keeps_its_selection(expect: str, count: int, expected: str, how: str) -> None:
    claim = Claim("selection", "it", expect, LostCode())
    found = judge_same(claim, [f"d{i}" for i in range(count)])
    assert (found.verdict, found.how, found.expect) == (expected, how, expect)
    if count:
        assert found.evidence[0].startswith(f"{count}: d0")
        assert found.evidence[0].endswith(" …") == (count > 4)
        assert (" more " if expect == ABSENT else " less ") in found.cause


def test_a_planted_claim_has_to_fail() -> None:
    assert must_fail(verdict(FAIL)) == []
    for outcome in (PASS, INCONCLUSIVE, NOT_APPLICABLE):
        assert must_fail(verdict(outcome)) == [
            f"a planted claim (symbol x absent) came out {outcome}"
        ]


@pytest.mark.parametrize(
    ("dead", "alive", "notes"),
    [
        ((INCONCLUSIVE,), (FAIL,), 0),
        ((FAIL,), (FAIL,), 0),
        ((FAIL, PASS), (FAIL,), 1),
        ((PASS,), (PASS,), 2),
        ((FAIL,), (PASS,), 1),
        ((FAIL,), (INCONCLUSIVE,), 1),
        ((FAIL,), (PASS, FAIL), 0),
    ],
)
def test_a_verifier_that_misjudges_a_known_symbol_is_broken(
    opened: Opener,
    monkeypatch: pytest.MonkeyPatch,
    dead: tuple[str, ...],
    alive: tuple[str, ...],
    notes: int,
) -> None:
    asked = []

    def judge_named(names: ClaimNames, text: str, expect: str) -> tuple[Verdict, ...]:
        asked.append((text, expect))
        return tuple(map(verdict, dead if text == canaries.DEAD else alive))

    monkeypatch.setattr(canaries, "judge_named", judge_named)
    assert len(canaries.check_symbols(opened("00"))) == notes
    assert asked == [(canaries.DEAD, PRESENT), ("main", ABSENT)]


def test_the_largest_function_has_to_be_found_by_its_bytes(opened: Opener) -> None:
    evidence = opened("one-section")
    assert canaries.check_symbols(evidence) == []
    moved = {node: at + 1 for node, at in evidence.placement.address.items()}
    broken = replace(evidence, placement=replace(evidence.placement, address=moved))
    (note,) = canaries.check_symbols(broken)
    assert note.startswith("the machine code of .text was not found in the image")
    # Code of the toolchain alone is none that could be looked for
    assert canaries.check_symbols(replace(broken, own=0)) == []


@pytest.mark.parametrize("has_map", [True, False])
def test_a_symbol_that_must_be_there_is_known_for_every_image(
    opened: Opener, monkeypatch: pytest.MonkeyPatch, has_map: bool
) -> None:
    """A library has no entry point, so any of its functions or symbols counts."""
    monkeypatch.setattr(canaries, "_ALIVE", ("nobody",))
    evidence = opened("shared")
    if not has_map:
        evidence = replace(evidence, placement=replace(evidence.placement, address={}))
    asked: list[str] = []

    def judge_named(names: ClaimNames, text: str, expect: str) -> tuple[Verdict, ...]:
        asked.append(text)
        return (verdict(FAIL),)

    monkeypatch.setattr(canaries, "judge_named", judge_named)
    assert canaries.check_symbols(evidence) == []
    if has_map:
        assert evidence.objects.find(asked[1]) or asked[1] in evidence.symbols
        (piece,) = evidence.objects.find(asked[1])
        assert evidence.objects.section(piece).is_executable
    else:
        assert asked[1] in evidence.symbols


def test_a_name_of_a_version_is_no_symbol_that_must_be_there(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ZLIB_1.2.2 is a number: no claim on it can fail, and libz.so was called broken."""
    evidence = opened("shared")
    evidence = replace(evidence, placement=replace(evidence.placement, address={}))
    version = Symbol("VERS_1", 0, 0, STT_OBJECT, 1, -15)
    evidence.__dict__["symbols"] = {"VERS_1": [version], **evidence.symbols}
    monkeypatch.setattr(canaries, "_ALIVE", ("nobody",))
    assert canaries.check_symbols(evidence) == []


def test_without_any_symbol_only_the_unknown_one_is_judged(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence = opened("shared")
    evidence = replace(evidence, placement=replace(evidence.placement, address={}))
    evidence.__dict__["symbols"] = {}
    monkeypatch.setattr(canaries, "_ALIVE", ("nobody",))
    asked: list[str] = []

    def judge_named(names: ClaimNames, text: str, expect: str) -> tuple[Verdict, ...]:
        asked.append(text)
        return (verdict(INCONCLUSIVE),)

    monkeypatch.setattr(canaries, "judge_named", judge_named)
    assert canaries.check_symbols(evidence) == []
    assert asked == [canaries.DEAD]


FOR, AGAINST = ("it is there",), ("it is not",)


@pytest.mark.parametrize(
    ("for_", "against", "lacks", "present", "absent"),
    [
        ((), (), False, INCONCLUSIVE, INCONCLUSIVE),
        ((), (), True, INCONCLUSIVE, INCONCLUSIVE),
        (FOR, (), False, PASS, FAIL),
        (FOR, (), True, PASS, FAIL),
        ((), AGAINST, False, FAIL, PASS),
        ((), AGAINST, True, FAIL, INCONCLUSIVE),
        (FOR, AGAINST, False, FAIL, FAIL),
    ],
)
def test_signs_decide_a_feature(
    opened: Opener,
    for_: tuple[str, ...],
    against: tuple[str, ...],
    lacks: bool,
    present: str,
    absent: str,
) -> None:
    evidence = opened("00", lacks=lacks)
    signs = FeatureSigns(for_, against, 7)
    on = judge_present_feature(evidence, "f", signs)
    off = judge_absent_feature(evidence, "f", signs)
    assert (on.verdict, on.expect) == (present, PRESENT)
    assert (off.verdict, off.expect) == (absent, ABSENT)
    assert on.bytes == (7 if present == PASS else 0)
    assert off.bytes == (7 if absent == FAIL else 0)
    if absent == INCONCLUSIVE:
        nothing = "nothing in the image shows whether it is there"
        assert off.evidence == (*(against or (nothing,)), *evidence.gaps)


def test_signs_are_read_from_the_image(opened: Opener) -> None:
    """`main` is in the program; its constants have the text of the version of the compiler."""
    evidence = opened("00")
    gone = "a text that nobody wrote"

    def signs(**marks: tuple[str, ...]) -> tuple[int, int]:
        found = signs_of(evidence, FeatureMarks(**marks), ())
        return len(found.for_), len(found.against)

    assert signs() == (0, 0)
    assert signs(texts=(gone,)) == (0, 1)
    assert signs(functions=("main",)) == (1, 0)
    assert signs(functions=("nobody",)) == (0, 0)
    # Builds without the feature have a text that is not here, in a function that is
    assert signs(without=(gone,), hosts=("main",)) == (1, 0)
    assert signs(without=(gone,), hosts=("nobody",)) == (0, 0)
    assert signs(hosts=("main",)) == (0, 0)
    shared = signs_of(evidence, FeatureMarks(texts=(gone,)), (gone,))
    assert (shared.for_, shared.against) == ((), ())
    marks = {"a": FeatureMarks(texts=(gone,)), "b": FeatureMarks(texts=(gone,))}
    assert judge_feature(evidence, "a", PRESENT, marks).verdict == INCONCLUSIVE
    assert judge_feature(evidence, "a", PRESENT, {"a": marks["a"]}).verdict == FAIL
    assert judge_feature(evidence, "a", ABSENT, {"a": marks["a"]}).verdict == PASS
    assert judge_feature(evidence, "none", ABSENT, marks).verdict == INCONCLUSIVE


@pytest.mark.parametrize(
    "marks, lost",
    [
        ({}, []),
        ({"texts": ("failure", "a text that nobody wrote")}, []),
        ({"texts": ("a text that nobody wrote",)}, ["none of the 1 texts"]),
        ({"functions": ("main", "nobody")}, []),
        ({"functions": ("nobody",)}, ["none of the 1 functions"]),
        ({"texts": ("failure",), "functions": ("nobody",)}, ["none of the 1 functions"]),
        ({"calls": {"clock": ("nobody",)}}, ["no call of clock"]),
        ({"hosts": ("nobody",), "without": ("nothing",)}, []),
    ],
)
def test_the_full_build_shows_each_kind_of_sign(
    opened: Opener, marks: dict[str, Any], lost: list[str]
) -> None:
    """Code of a feature would not show in an app's build if all its texts had changed."""
    evidence = opened("15")
    evidence.__dict__["undescribed_notes"] = ()
    assert [*lost_signs(evidence, FeatureMarks(**marks))] == lost
    evidence.__dict__["undescribed_notes"] = ("code without debug information",)
    told = [said for said in lost if "functions" not in said]
    assert [*lost_signs(evidence, FeatureMarks(**marks))] == told


@pytest.mark.parametrize(
    "changed, is_library, verdict",
    [
        ({}, True, NOT_APPLICABLE),
        ({}, False, FAIL),
        ({"texts": ("--gone", "a text")}, True, FAIL),
        ({"hosts": ("nobody",)}, True, FAIL),
        ({"calls": {"clock": frozenset({"nobody"})}}, True, FAIL),
        ({"without": ("failure",)}, True, FAIL),
        ({"functions": ("_ZNK7Failure7subjectEv",)}, True, PASS),
    ],
)
def test_a_library_has_no_options(
    opened: Opener,
    monkeypatch: pytest.MonkeyPatch,
    changed: dict[str, Any],
    is_library: bool,
    verdict: str,
) -> None:
    """A feature of a program's command line was said to be missing in libraries."""
    evidence = opened("15")
    if is_library:
        monkeypatch.setattr(Evidence, "is_program", False)
    marks = {"f": FeatureMarks(**{"texts": ("--gone",), **changed})}
    assert judge_feature(evidence, "f", PRESENT, marks).verdict == verdict
    assert judge_feature(evidence, "f", ABSENT, marks).verdict != NOT_APPLICABLE


@pytest.mark.parametrize(
    "options, verdict",
    [((), FAIL), (("--absent", "--missing"), NOT_APPLICABLE), (("--absent", "failure"), FAIL)],
)
def test_a_program_with_its_own_main_has_other_options(
    opened: Opener, options: tuple[str, ...], verdict: str
) -> None:
    """An app that selects the comparison of outputs lacked the options of run_program."""
    marks = {"f": FeatureMarks(texts=("--gone",), options=options)}
    found = judge_feature(opened("15"), "f", PRESENT, marks)
    assert (found.verdict, found.expect) == (verdict, PRESENT)
    if verdict == NOT_APPLICABLE:
        why = "a program with its own main has no --absent or --missing"
        assert found.evidence == (f"{why}, and the feature is the option --gone",)
    assert judge_feature(opened("15"), "f", ABSENT, marks).verdict != NOT_APPLICABLE


def test_texts_of_the_image_and_of_the_toolchain(opened: Opener) -> None:
    """The program has the constants `failure` and `7Failure`."""

    def signs(evidence: Evidence, **marks: tuple[str, ...]) -> tuple[int, int, int]:
        found = signs_of(evidence, FeatureMarks(**marks), ())
        return len(found.for_), len(found.against), found.bytes

    evidence = opened("15")
    assert signs(evidence, texts=("failure", "nobody wrote")) == (1, 0, 8)
    assert signs(evidence, without=("failure",)) == (0, 1, 0)
    assert signs(evidence, without=("failure",), hosts=("main",)) == (0, 1, 0)
    assert signs(evidence, without=("nobody wrote",), hosts=("main",)) == (1, 0, 0)
    # A part of a constant may be a text of the feature, but is no text of another build
    assert signs(evidence, texts=("7Failur",)) == (1, 0, 8)
    assert signs(evidence, without=("7Failur",)) == (0, 0, 0)
    evidence = opened("15")
    evidence.__dict__["foreign_data"] = b"failure\0"
    assert signs(evidence, texts=("failure",)) == (0, 1, 0)
    assert signs(evidence, without=("failure",)) == (0, 0, 0)
    assert signs(evidence, texts=("7Failure",)) == (1, 0, 9)


def placed_piece(evidence: Evidence, symbol: str) -> NamedPiece:
    (piece,) = evidence.objects.find(symbol)
    return piece


NOTHING = FoundCode((), (), (), ())


@pytest.mark.parametrize(
    ("kind", "there", "lacks", "present", "absent"),
    [
        ("symbol", False, False, (FAIL, REMOVED_BY_COMPILER), (PASS, REMOVED_BY_COMPILER)),
        ("symbol", False, True, (INCONCLUSIVE, UNKNOWN), (INCONCLUSIVE, UNKNOWN)),
        ("symbol", True, False, (PASS, THERE), (FAIL, STILL_THERE)),
        ("symbol", True, True, (PASS, THERE), (FAIL, STILL_THERE)),
        # The program has no debug information, so its code may have been inlined
        ("kernel", False, False, (FAIL, REMOVED_BY_COMPILER), (INCONCLUSIVE, UNKNOWN)),
        ("dtype", False, False, (FAIL, REMOVED_BY_COMPILER), (INCONCLUSIVE, UNKNOWN)),
        ("kernel", True, False, (PASS, THERE), (FAIL, STILL_THERE)),
    ],
)
def test_found_code_decides_a_claim(
    opened: Opener,
    kind: str,
    there: bool,
    lacks: bool,
    present: tuple[str, str],
    absent: tuple[str, str],
) -> None:
    evidence = opened("00", lacks=lacks)
    assert evidence.undescribed
    found = FoundCode(((0x1000, 3), (0x2000, 4)), (), (), ("here",)) if there else NOTHING
    for expect, expected in ((PRESENT, present), (ABSENT, absent)):
        judged = judge_code(evidence, kind, "x", expect, found)
        assert (judged.verdict, judged.how, judged.expect) == (*expected, expect)
        assert judged.bytes == (7 if there else 0)
        assert not judged.cause.startswith("inlined")
        assert judged.evidence[0] != "no object defines it" or judged.cause == judged.evidence[0]
    inlined = judge_code(evidence, kind, "x", ABSENT, replace(found, host="outer"))
    assert (inlined.cause == "inlined: into outer") == there
    never = judge_code(evidence, "symbol", "x", ABSENT, found, not_generated=True)
    assert never.how == (STILL_THERE if there else UNKNOWN if lacks else NOT_GENERATED)


def test_inlined_code_is_unknown_if_only_the_objects_have_debug_information(
    opened: Opener,
) -> None:
    """The linker's option -S leaves it out of the image."""
    evidence = opened("00")
    evidence.__dict__["undescribed"] = ()
    for kind, expected in (("kernel", INCONCLUSIVE), ("dtype", INCONCLUSIVE), ("symbol", PASS)):
        assert judge_code(evidence, kind, "x", ABSENT, NOTHING).verdict == expected


def test_a_definition_that_the_linker_discarded(opened: Opener) -> None:
    """Without a map entry, a definition is gone; a graph that keeps it makes that doubtful."""
    evidence = opened("00")
    piece = placed_piece(evidence, "subject")
    found = FoundCode((), (piece,), (), ())
    gone = judge_code(evidence, "symbol", "subject", ABSENT, found)
    assert (gone.verdict, gone.how) == (PASS, DISCARDED_BY_LINKER)
    lost = judge_code(evidence, "symbol", "subject", PRESENT, found)
    assert (lost.verdict, lost.how) == (FAIL, DISCARDED_BY_LINKER)
    assert (lost.expect, gone.expect) == (PRESENT, ABSENT)
    assert lost.cause == "discarded: nothing in the image refers to subject"


@pytest.mark.parametrize(
    ("user", "expected"), [("main", INCONCLUSIVE), (".eh_frame", PASS), ("", PASS)]
)
def test_code_without_a_place_that_the_image_refers_to_may_be_merged(
    opened: Opener, monkeypatch: pytest.MonkeyPatch, user: str, expected: str
) -> None:
    """lld merges equal functions (--icf), and a local one leaves no name."""
    evidence = opened("13")
    (piece,) = evidence.objects.index["subject"]
    node = piece.object, piece.section
    places = evidence.placement.address
    kept = {each: at for each, at in places.items() if each != node and user}
    without = replace(evidence, placement=replace(evidence.placement, address=kept))
    without.__dict__["symbols"] = {}
    if user == ".eh_frame":
        monkeypatch.setattr(ways, "_OF_EXCEPTIONS", ".text")
    found = FoundCode((), (piece,), (), ())
    judged = judge_code(without, "symbol", "subject", ABSENT, found)
    assert (judged.verdict, judged.expect) == (expected, ABSENT)
    if expected == INCONCLUSIVE:
        assert judged.evidence[0].startswith("main, which is in the image, leads to subject of ")
        main = evidence.placement.owner(evidence.symbols["main"][0].address)
        assert without.reasons.referrer_of(node) == main


def test_code_is_found_by_the_map_by_its_name_or_by_its_bytes(opened: Opener) -> None:
    evidence = opened("one-section")
    piece = placed_piece(evidence, "main")
    (symbol,) = evidence.symbols["main"]
    place = ((symbol.address, piece.size),)
    by_map = look_for(evidence, [piece], ["main"])
    assert (by_map.there, by_map.placed, by_map.host) == (place, (piece,), "")
    assert len(by_map.evidence) == 1
    assert look_for(evidence, [], ["main"]).there == ((symbol.address, symbol.size),)
    blind = replace(evidence, placement=replace(evidence.placement, address={}))
    blind.__dict__["symbols"] = {}
    by_bytes = look_for(blind, [piece], ["main"])
    assert by_bytes.placed == ()
    assert symbol.address in dict(by_bytes.there) or "not in the image" in by_bytes.evidence[0]
    assert look_for(evidence, [], []).evidence == ()
    gone = opened("00")
    found = look_for(gone, [placed_piece(gone, "subject")], ["subject"])
    assert found.there == ()
    assert found.evidence[0].startswith("not in the image: the map has no definition of it")


@pytest.mark.parametrize(("nameless", "verdict"), [((), PASS), (("one", "two"), INCONCLUSIVE)])
def test_code_without_a_name_may_be_what_no_object_defines(
    opened: Opener, nameless: tuple[str, ...], verdict: str
) -> None:
    evidence = opened("00")
    evidence.__dict__["nameless"] = nameless
    judged = judge_code(evidence, "symbol", "nobody", ABSENT, FoundCode((), (), (), ()))
    assert (judged.verdict, judged.expect) == (verdict, ABSENT)
    if nameless:
        assert judged.evidence == nameless


@pytest.mark.parametrize(("is_code", "verdict"), [(True, PASS), (False, INCONCLUSIVE)])
def test_bytes_of_a_function_in_data_do_not_show_its_code(
    opened: Opener, monkeypatch: pytest.MonkeyPatch, is_code: bool, verdict: str
) -> None:
    evidence = opened("one-section")
    monkeypatch.setattr(Evidence, "is_code", lambda self, address: is_code)
    monkeypatch.setattr(type(evidence.placement), "copies", lambda self, piece: [64])
    piece = placed_piece(evidence, "main")
    blind = replace(evidence, placement=replace(evidence.placement, address={}))
    blind.__dict__["symbols"] = {}
    found = look_for(blind, [piece], ["main"])
    assert found.there == ((64, piece.size),)
    assert judge_code(blind, "symbol", "main", PRESENT, found).verdict == verdict
    assert judge_code(blind, "symbol", "main", ABSENT, found).verdict == FAIL


@pytest.mark.parametrize(
    ("name", "verdict"), [("number", INCONCLUSIVE), ("main", PASS), ("both", PASS)]
)
def test_a_number_with_a_name_does_not_show_code(opened: Opener, name: str, verdict: str) -> None:
    evidence = opened("00")
    (main,) = evidence.symbols["main"]
    number = replace(main, section=-1, address=7, size=0)
    evidence.__dict__["symbols"] = {"number": [number], "main": [main], "both": [number, main]}
    judged = judge_code(evidence, "symbol", name, PRESENT, look_for(evidence, [], [name]))
    assert (judged.verdict, judged.expect) == (verdict, PRESENT)


def test_a_thread_local_variable_that_no_object_defines_is_there(opened: Opener) -> None:
    evidence = opened("00")
    (main,) = evidence.symbols["main"]
    counter = replace(main, type=STT_TLS, address=16, size=4)
    evidence.__dict__["symbols"] = {"counter": [counter]}
    found = look_for(evidence, [], ["counter"])
    assert found.there == ((16, 4),)
    assert judge_code(evidence, "symbol", "counter", ABSENT, found).verdict == FAIL


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_graph_that_contradicts_the_map_leaves_a_doubt(opened: Opener, is_kept: bool) -> None:
    """The map has no place for the function, whose section a recorded link may have to keep."""
    evidence = opened("00")
    piece, main = placed_piece(evidence, "subject"), placed_piece(evidence, "main")
    kept = piece if is_kept else main
    reachable = frozenset({(kept.object, kept.section)})
    evidence.__dict__["linked"] = replace(evidence.linked, reachable=reachable)
    found = FoundCode((), (piece,), (), ("found",))
    judged = judge_code(evidence, "symbol", "subject", ABSENT, found)
    assert judged.expect == ABSENT
    assert "found" in judged.evidence
    if is_kept:
        assert (judged.verdict, judged.how) == (INCONCLUSIVE, UNKNOWN)
        assert "but the map does not have it" in judged.evidence[0]
    else:
        assert (judged.verdict, judged.how) == (PASS, DISCARDED_BY_LINKER)
        assert judged.evidence[-2:] == (
            "no root of the section graph leads to it",
            "program.o has no debug information, so inlined code there is unknown",
        )


@pytest.mark.parametrize("member", ["a.o", ""])
@pytest.mark.parametrize("is_linked", [True, False])
def test_a_member_of_an_archive_that_was_not_linked(
    opened: Opener, member: str, is_linked: bool
) -> None:
    evidence = opened("00")
    piece = placed_piece(evidence, "subject")
    files = [replace(file, member=member) for file in evidence.objects.files]
    address = evidence.placement.address if is_linked else {}
    evidence = replace(
        evidence,
        objects=replace(evidence.objects, files=files),
        placement=replace(evidence.placement, address=address),
    )
    lost = judge_code(evidence, "symbol", "subject", PRESENT, FoundCode((), (piece,), (), ()))
    assert lost.cause.startswith("archive member not linked") == (bool(member) and not is_linked)


@dataclass(frozen=True)
class MadeTables:
    """Entries of a name: in the image, and in the objects."""

    evidence: Evidence
    in_image: tuple[Registration, ...]
    in_objects: tuple[NamedPiece, ...]

    def entries(self, kind: str, name: str) -> tuple[Registration, ...]:
        return self.in_image

    def written(self, kind: str, name: str) -> list[NamedPiece]:
        return list(self.in_objects)


@pytest.mark.parametrize(
    ("entries", "written", "lacks", "present", "absent"),
    [
        (0, False, False, (FAIL, NOT_GENERATED), (PASS, NOT_GENERATED)),
        (0, True, False, (FAIL, DISCARDED_BY_LINKER), (PASS, DISCARDED_BY_LINKER)),
        (0, False, True, (FAIL, NOT_GENERATED), (INCONCLUSIVE, UNKNOWN)),
        (0, True, True, (FAIL, DISCARDED_BY_LINKER), (INCONCLUSIVE, UNKNOWN)),
        (1, False, False, (PASS, THERE), (FAIL, STILL_THERE)),
        (2, True, True, (PASS, THERE), (FAIL, STILL_THERE)),
    ],
)
def test_entries_decide_a_registered_name(
    opened: Opener,
    entries: int,
    written: bool,
    lacks: bool,
    present: tuple[str, str],
    absent: tuple[str, str],
) -> None:
    evidence = opened("00", lacks=lacks)
    entry = Registration("aten::x", 0x2000, 0x1000, 16)
    pieces = (placed_piece(evidence, "main"),) if written else ()
    tables = MadeTables(evidence, (entry,) * entries, pieces)
    for expect, expected in ((PRESENT, present), (ABSENT, absent)):
        judged = judge_registered(tables, "operator", "aten::x", expect)
        assert (judged.verdict, judged.how, judged.expect) == (*expected, expect)
        assert judged.bytes == 16 * entries
    failed = judge_registered(tables, "operator", "aten::x", ABSENT)
    if entries:
        assert failed.cause.startswith("registered in " if written else "registered")
        assert bool(failed.chain) == written


@pytest.mark.parametrize(
    ("program", "lacks", "expected"),
    [
        ("00", False, []),
        ("01", False, [FAIL]),  # a static initializer
        ("01", True, [FAIL]),
        ("09", False, [FAIL]),  # a constructor function
    ],
)
def test_code_before_main_may_only_register(
    opened: Opener, program: str, lacks: bool, expected: list[str]
) -> None:
    evidence = opened(program, lacks=lacks)
    found = list(judge_initializers(evidence, Registrations(evidence), WORDS.registering))
    assert [(each.verdict, each.kind, each.expect) for each in found] == [
        (each, "initializer", ABSENT) for each in expected
    ]
    for each in found:
        assert "it runs before main, and registers nothing that is selected" in each.evidence
        assert each.bytes == 8
    if program == "01":
        assert found[0].evidence[1:] == ("_GLOBAL__sub_I_subject refers to subject",)
    if program == "09":
        assert len(found[0].evidence) == 1  # its own code is the function that runs


@pytest.mark.parametrize(
    ("name", "section", "note"),
    [
        ("getenv", 0, ("_GLOBAL__sub_I_subject calls getenv",)),
        ("getenv", 1, ()),  # defined in the object
        ("__stack_chk_fail", 0, ()),  # by the compiler
        ("_GLOBAL_OFFSET_TABLE_", 0, ()),
        ("main", 0, ()),  # an object of the image has it
    ],
)
def test_an_initializer_may_not_call_a_library(
    opened: Opener, name: str, section: int, note: tuple[str, ...]
) -> None:
    """Let the initializer refer to a symbol of another name."""
    evidence = opened("01")
    file = evidence.objects.files[0]
    symbols = [
        replace(each, name=name, section=section) if each.name == "subject" else each
        for each in file.symbols
    ]
    file.__dict__["symbols"] = symbols  # computed once, at first use
    (found,) = judge_initializers(evidence, Registrations(evidence), WORDS.registering)
    assert found.verdict == FAIL
    calls = tuple(each for each in found.evidence if " calls " in each)
    assert calls == note


def with_sections(evidence: Evidence, change: Callable[[Section], Section]) -> Evidence:
    """Change the section headers of the first object."""
    first, *others = evidence.objects.files
    elf: Any = first.elf
    made = replace(first, elf=replace(elf, sections=tuple(map(change, elf.sections))))
    objects = replace(evidence.objects, files=(made, *others))
    placement = replace(evidence.placement, objects=objects)
    return replace(evidence, objects=objects, placement=placement)


@pytest.mark.parametrize("name", [".ctors", ".ctors.65435", ".init_array.00101"])
def test_a_table_of_initializers_is_known_by_its_name(opened: Opener, name: str) -> None:
    """Linkers add .ctors to .init_array, and the section has no type of its own."""

    def renamed(section: Section) -> Section:
        is_table = section.type == SHT_INIT_ARRAY
        return replace(section, name=name, type=SHT_PROGBITS) if is_table else section

    evidence = with_sections(opened("09"), renamed)
    (found,) = judge_initializers(evidence, Registrations(evidence), WORDS.registering)
    assert (found.verdict, found.bytes) == (FAIL, 8)


def test_a_resolver_runs_before_main(opened: Opener) -> None:
    """A function of type IFUNC returns the address of the function to call."""
    evidence = opened("00")
    file = evidence.objects.files[0]
    main = [replace(s, type=STT_IFUNC) if s.name == "main" else s for s in file.symbols]
    file.__dict__["symbols"] = main
    (found,) = judge_initializers(evidence, Registrations(evidence), WORDS.registering)
    assert (found.verdict, found.expect) == (FAIL, ABSENT)
    assert found.cause == "leftover resolver: main"
    assert found.evidence == ("the loader calls main before main, to choose a function",)
    away = replace(evidence, placement=replace(evidence.placement, address={}))
    assert not list(judge_initializers(away, Registrations(away), WORDS.registering))


@pytest.mark.parametrize("lacks", [False, True])
def test_an_initializer_that_is_not_in_the_image(opened: Opener, lacks: bool) -> None:
    evidence = opened("01", lacks=lacks)
    nodes = evidence.placement.address
    names = {node: evidence.placement.section(node).name for node in nodes}
    kept = {node: at for node, at in nodes.items() if not names[node].startswith(".init_array")}
    assert len(kept) < len(nodes)
    without = replace(evidence, placement=replace(evidence.placement, address=kept))
    (found,) = judge_initializers(without, Registrations(without), WORDS.registering)
    assert (found.verdict, found.how) == (
        (INCONCLUSIVE, UNKNOWN) if lacks else (PASS, DISCARDED_BY_LINKER)
    )
    assert found.expect == ABSENT


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("00", {PASS}),
        ("export-dynamic", {FAIL}),
        ("export-dynamic-hidden", {PASS}),
        ("shared", set()),  # a library's version script decides
    ],
)
def test_a_program_exports_none_of_its_functions(
    opened: Opener, program: str, expected: set[str]
) -> None:
    found = list(judge_exports(opened(program)))
    assert {each.verdict for each in found} == expected
    assert all(each.expect == ABSENT for each in found)
    names = {each.name for each in found}
    # The start files' own definitions do not count
    assert names == {
        "00": {"any definition"}, "export-dynamic-hidden": {"any definition"},
        "export-dynamic": {"main", "subject"}, "shared": set(),
    }[program]  # fmt: skip
    if expected:
        nothing = replace(opened(program), own=0)
        (unknown,) = judge_exports(nothing)
        assert (unknown.verdict, unknown.how) == (INCONCLUSIVE, UNKNOWN)


@pytest.mark.parametrize(
    ("program", "expected"),
    [("00", {PASS}), ("no-gc", {FAIL}), ("shared", set()), ("undefined", {FAIL})],
)
def test_the_program_leads_to_all_its_code(
    opened: Opener, program: str, expected: set[str]
) -> None:
    evidence = opened(program)
    found = list(judge_ways(evidence))
    assert {each.verdict for each in found} == expected
    assert all(each.expect == ABSENT for each in found)
    assert (FAIL not in expected) or [each.name for each in found] == ["subject"]
    blind = replace(evidence, placement=replace(evidence.placement, has_map=False))
    # Objects of the toolchain are not judged
    assert {each.verdict for each in judge_ways(replace(evidence, own=0))} <= {PASS}
    undecided = list(judge_ways(blind))
    assert {each.verdict for each in undecided} == ({INCONCLUSIVE} if expected else set())
    assert all(each.expect == ABSENT for each in undecided)
