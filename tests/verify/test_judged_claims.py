"""Verdicts on single claims: what was found, what was expected, and whether evidence is missing.

The evidence is that of recorded programs, with a gap or without.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from sizeguard.claims.claim import Claim, LostCode
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
)
from sizeguard.formats.elf import STT_TLS
from sizeguard.names.registered import Registration
from sizeguard.verify.code_presence import FoundCode, judge_code, look_for
from sizeguard.verify.evidence import ways
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.object_evidence import NamedPiece
from sizeguard.verify.judge_claims import judge_same, united
from sizeguard.verify.registrations import judge_registered
from tests.support.builds.recorded_evidence import Opener, the_piece
from tests.support.verdicts.made_verdicts import verdict

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
    piece = the_piece(evidence, "subject")
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
    piece = the_piece(evidence, "main")
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
    found = look_for(gone, [the_piece(gone, "subject")], ["subject"])
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
    piece = the_piece(evidence, "main")
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
    piece, main = the_piece(evidence, "subject"), the_piece(evidence, "main")
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
    piece = the_piece(evidence, "subject")
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
    pieces = (the_piece(evidence, "main"),) if written else ()
    tables = MadeTables(evidence, (entry,) * entries, pieces)
    for expect, expected in ((PRESENT, present), (ABSENT, absent)):
        judged = judge_registered(tables, "operator", "aten::x", expect)
        assert (judged.verdict, judged.how, judged.expect) == (*expected, expect)
        assert judged.bytes == 16 * entries
    failed = judge_registered(tables, "operator", "aten::x", ABSENT)
    if entries:
        assert failed.cause.startswith("registered in " if written else "registered")
        assert bool(failed.chain) == written
