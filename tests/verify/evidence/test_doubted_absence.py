"""Doubts whether code is absent: unreadable or scopeless debug information, objects without names.

The evidence is that of recorded builds, with a part changed. In program 00 `main` is 3 bytes at
0x1040.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.claims.verdict import ABSENT, FAIL, INCONCLUSIVE, PASS, PRESENT, UNKNOWN
from sizeguard.formats.elf import STT_FUNC, STT_TLS
from sizeguard.verify.code_presence import judge_code, look_for, nameless
from sizeguard.verify.evidence import evidence as evidence_module
from sizeguard.verify.evidence.evidence import Evidence, Inlined
from sizeguard.verify.known_names import ClaimNames
from sizeguard.verify.named_symbols import judge_named
from tests.support.builds.recorded_evidence import Opener
from tests.support.images.made_frames import frames_over

FUNCTION, LAMBDA = "_ZN2ns1gEi", "_ZZ4mainENKUliE_clEi"  # ns::g(int), of main's first lambda


@pytest.mark.parametrize(
    ("symbol", "name", "verdict"),
    [
        (FUNCTION, "ns::g()", FAIL),
        # Without scopes, as of -g1 and -gmlt
        (FUNCTION, "g", INCONCLUSIVE),
        (FUNCTION, "other::g()", PASS),
        (FUNCTION, "h", PASS),
        (LAMBDA, "main::{unnamed}::operator()()", INCONCLUSIVE),
        (LAMBDA, "operator()", INCONCLUSIVE),
        (LAMBDA, "other::{unnamed}::operator()()", PASS),
        (LAMBDA, "main::A::operator()()", PASS),
        (LAMBDA, "{unnamed}::operator()()", PASS),
        # A function of C is not the one of C++
        ("subject", "subject()", PASS),
    ],
)
def test_an_inlined_function_that_may_be_the_claimed_one_leaves_a_doubt(
    opened: Opener, symbol: str, name: str, verdict: str
) -> None:
    evidence = opened("00")
    evidence.__dict__["inlined"] = {name: Inlined(0x1041, 2, "main")}
    judged = judge_code(evidence, "symbol", symbol, ABSENT, look_for(evidence, [], [symbol]))
    assert judged.verdict == verdict
    if verdict == INCONCLUSIVE:
        assert judged.how == UNKNOWN
        assert judged.evidence[0] == (
            f"2 bytes of a function {name}, which may be it, are inlined at 0x1041 into main"
        )


def test_debug_information_that_cannot_be_read_decides_no_absence(opened: Opener) -> None:
    evidence = opened("13")
    assert (
        judge_code(evidence, "symbol", "f", ABSENT, look_for(evidence, [], ["f"])).verdict == PASS
    )
    evidence.__dict__["_frames"] = None, "it is damaged"
    for expect, verdict in ((ABSENT, INCONCLUSIVE), (PRESENT, FAIL)):
        found = judge_code(evidence, "symbol", "f", expect, look_for(evidence, [], ["f"]))
        assert found.verdict == verdict
    there = judge_code(evidence, "symbol", "f", ABSENT, look_for(evidence, [], ["main"]))
    assert there.verdict == FAIL


def test_a_separate_debug_file_is_read_with_its_image(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence = opened("00")
    read = {(evidence.image.path,): "none", (evidence.image.path, Path("app.debug")): "damaged"}
    monkeypatch.setattr(evidence_module, "frames_of", lambda *paths: (None, read[paths]))
    evidence.__dict__["debug_file"] = Path("app.debug"), True
    assert evidence.unreadable == "damaged"
    without = opened("00")
    without.__dict__["debug_file"] = None
    assert without.unreadable == ""


@pytest.mark.parametrize("is_own", [False, True])
def test_a_linked_debug_file_counts_for_images_without_their_own(
    opened: Opener, monkeypatch: pytest.MonkeyPatch, is_own: bool
) -> None:
    linked = Path("app.debug"), True
    monkeypatch.setattr(evidence_module, "linked_debug_file", lambda _: linked)
    monkeypatch.setattr(Evidence, "_has_own_debug", is_own)
    assert opened("00").debug_file == (None if is_own else linked)


@pytest.mark.parametrize(
    ("file", "is_doubted"), [(None, False), ((Path("x"), True), False), ((Path("x"), False), True)]
)
def test_a_debug_file_of_another_image_leaves_inlined_code_unknown(
    opened: Opener, file: tuple[Path, bool] | None, is_doubted: bool
) -> None:
    evidence = opened("00")
    changes = {"undescribed": (), "debug_file": file, "_frames": (frames_over([]), "")}
    evidence.__dict__.update(changes)
    (note,) = evidence.undescribed_notes or ("",)
    assert ("its CRC-32 differs" in note) == is_doubted


def test_only_names_that_are_not_mangled_are_of_local_functions(opened: Opener) -> None:
    evidence = opened("00")
    inside = Inlined(0x1041, 2, "main")
    evidence.__dict__["inlined"] = dict.fromkeys((FUNCTION, "ns::g()", "g", "h()"), inside)
    assert evidence.inlined_locals == {"g": ["ns::g()", "g"], "h": ["h()"]}


@pytest.mark.parametrize("has_twin", [False, True])
@pytest.mark.parametrize("code", [None, b"code"])
def test_copies_are_looked_for_outside_of_loaded_sections(
    opened: Opener, has_twin: bool, code: bytes | None
) -> None:
    def find_outside(pattern: bytes, *, is_stripped: bool) -> list[int]:
        assert (pattern, is_stripped) == (code, has_twin)
        return [0x40]

    evidence = opened("00")
    placement: Any = SimpleNamespace(code_of=lambda _: code)
    changed = replace(evidence, placement=placement, twin=evidence.image if has_twin else None)
    changed.__dict__["shipped_bytes"] = SimpleNamespace(find_outside=find_outside)
    found = changed.unloaded_copies(evidence.objects.find("subject")[0])
    assert found == ([0x40] if code else [])


def test_objects_that_were_not_given_may_have_code_without_a_name() -> None:
    """Those of systems and compilers have none that a project removes."""
    paths = ("own.o", "libk.a", "/usr/lib/libz.a", "tools/libgcc.a", "libs.a")
    files = [SimpleNamespace(label=path, path=Path(path), nameless={1}) for path in paths]
    files[-1].nameless = set()
    evidence: Any = SimpleNamespace(
        objects=SimpleNamespace(files=files),
        nameless=("own.o has code without a symbol",),
        own=1,
        placement=SimpleNamespace(
            address={(number, index): 0 for number in range(len(files)) for index in (1, 2)},
            section=lambda node: SimpleNamespace(name=f".text{node[1]}"),
        ),
    )
    assert nameless(evidence) == (
        "own.o has code without a symbol",
        "libk.a has code or data without a symbol in .text1",
    )


def test_given_objects_of_the_image_may_have_code_without_a_name(opened: Opener) -> None:
    files = [SimpleNamespace(label=path, nameless={2}) for path in ("a.o", "b.o", "c.o", "lib.o")]
    files[1].nameless = set()
    placement: Any = SimpleNamespace(
        address={
            (number, index): 0 for number in (0, 1, 3) for index in (1, 2)
        },  # c.o has no place
        section=lambda node: SimpleNamespace(name=f".s{node[1]}", is_executable=True),
    )
    objects: Any = SimpleNamespace(files=files)
    evidence = replace(opened("00"), objects=objects, placement=placement, own=3)
    assert evidence.nameless == ("a.o has code without a symbol in .s2",)
    more = replace(evidence, own=4)
    assert [note.split()[0] for note in more.nameless] == ["a.o", "lib.o"]


def test_an_absolute_number_with_a_claimed_name_leaves_its_doubt(opened: Opener) -> None:
    """Neither the map nor an object has the name."""
    evidence = opened("00")
    (main,) = evidence.symbols["main"]
    evidence.__dict__["symbols"] = {"number": [replace(main, section=-1, address=7, size=0)]}
    (found,) = judge_named(ClaimNames(evidence), "number", PRESENT)
    assert (found.verdict, found.how) == (INCONCLUSIVE, UNKNOWN)
    assert "--defsym" in found.evidence[-1]
    absent = judge_code(evidence, "symbol", "f", PRESENT, look_for(evidence, [], ["f"]))
    assert absent.verdict == FAIL


@pytest.mark.parametrize(
    ("kind", "machine", "places"),
    [
        (STT_FUNC, "x86_64", (0x1150, 0x1190)),
        (STT_TLS, "x86_64", (0x1150,)),
        (STT_FUNC, "ppc64", (0x1150,)),
    ],
)
def test_a_symbol_elsewhere_is_another_place_unless_its_address_means_something_else(
    opened: Opener, kind: int, machine: str, places: tuple[int, ...]
) -> None:
    """Thread-locals have offsets, and some machines the addresses of descriptors."""
    evidence = opened("13")
    (symbol,) = evidence.symbols["subject"]
    evidence.image.__dict__["machine"] = machine
    evidence.__dict__["symbols"] = {"subject": [replace(symbol, type=kind, address=0x1190)]}
    found = look_for(evidence, evidence.objects.find("subject"), ["subject"])
    assert tuple(address for address, _ in found.there) == places
