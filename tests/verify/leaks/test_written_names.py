"""Verdicts on names of left-out operators, anywhere in an image, without a compiler.

The evidence is that of recorded programs with a text added.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.names.pointers import Pointers
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.leaks import written_names
from sizeguard.verify.leaks.deselected_code import DeselectedCode
from sizeguard.verify.leaks.foreign_code import KnownFunctions
from sizeguard.verify.leaks.written_names import judge_written_names
from tests.support.builds.recorded_evidence import Opener
from tests.support.images.made_frames import frames_over

RELOCATIONS = 0x520  # address and offset of .rela.dyn, which no input section fills
GELU = "aten::gelu"


def written(evidence: Evidence, full: bool = False) -> tuple[str, int, int]:
    code = DeselectedCode(evidence, evidence.objects if full else None)
    found = judge_written_names(code, [GELU, "aten::erf"])
    return found.verdict, found.bytes, len(found.evidence)


GONE = (PASS, 0, 1)


@pytest.mark.parametrize("at", [None, RELOCATIONS])
@pytest.mark.parametrize(
    "text, expected",
    [
        (GELU, (FAIL, 10, 1)),
        (f"{GELU}\0{GELU}", (FAIL, 20, 2)),
        (f"{GELU} aten::erf", (FAIL, 19, 2)),
        (f"({GELU})", (FAIL, 10, 1)),
        (f"{GELU}:", (FAIL, 10, 1)),
        (f":{GELU}", (FAIL, 10, 1)),
        (f"{GELU}_", GONE),
        (f"{GELU}.out", GONE),
        (f"x{GELU}", GONE),
        (f"my::{GELU}", GONE),
        (f"{GELU}::x", GONE),
        (f"aten::relu{GELU}aten::silu", (FAIL, 10, 1)),
        (f"{GELU}aten::silu", (FAIL, 10, 1)),
        (f"aten::add.Tensor{GELU}", (FAIL, 10, 1)),
        (f"{GELU}_aten::silu", GONE),
        (f"my::relu{GELU}", GONE),
        (f"aten::{GELU}", GONE),
        (f"aten::relu{GELU}_", GONE),
        ("aten::gel", GONE),
    ],
)
def test_a_name_fails_unless_it_is_part_of_a_longer_one(
    opened: Opener, text: str, expected: tuple[str, int, int], at: int | None
) -> None:
    evidence = opened("00", b"\0" + text.encode() + b"\0", at)
    assert written(evidence) == expected


@pytest.mark.parametrize(
    "text, verdict",
    [
        ("N2sg9GeluClassE", FAIL),
        ("9GeluClass", FAIL),
        ("N2sg10GeluClassesE", PASS),
        ("N2sg11MyGeluClassE", PASS),
        ("N2sg8GeluClassE", PASS),
        ("GeluClass", FAIL),
        ("torch.classes.GeluClass", FAIL),
        ("torch::GeluClass.__getstate__", FAIL),
        ("MyGeluClass", PASS),
        ("GeluClass_2", PASS),
        (f"10{GELU}", PASS),  # an operator is no part of a mangled name
    ],
)
@pytest.mark.parametrize("at", [None, RELOCATIONS])
def test_a_class_counts_in_mangled_names_and_in_scopes(
    opened: Opener, text: str, verdict: str, at: int | None
) -> None:
    code = DeselectedCode(opened("00", b"\0" + text.encode() + b"\0", at), None)
    assert judge_written_names(code, [GELU, "GeluClass"]).verdict == verdict


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-32-le"])
def test_a_wide_name_fails_in_any_word(opened: Opener, encoding: str) -> None:
    added = b"\0" * 4 + f"{GELU}_x".encode(encoding) + b"\0" * 4
    size = len(GELU.encode(encoding))
    assert written(opened("00", added)) == (FAIL, size, 1)
    assert written(opened("00", added, RELOCATIONS)) == (FAIL, size, 1)


@pytest.mark.parametrize(
    "changed, behind, loaded",
    [
        ({}, FAIL, FAIL),
        ({"own": 0}, PASS, PASS),
        ({"own": 0, "gaps": ("no objects",)}, INCONCLUSIVE, INCONCLUSIVE),
        ({"gaps": ("no map",)}, INCONCLUSIVE, INCONCLUSIVE),
        ({"twin": None}, PASS, FAIL),  # symbols and debug information have every name
    ],
)
def test_where_names_count(
    opened: Opener, changed: dict[str, Any], behind: str, loaded: str
) -> None:
    text = b"\0" + GELU.encode() + b"\0"
    assert written(replace(opened("00", text), **changed))[0] == behind
    assert written(replace(opened("00", text, RELOCATIONS), **changed))[0] == loaded


def test_eight_names_are_shown(opened: Opener) -> None:
    evidence = opened("00", b"\0".join([GELU.encode()] * 9))
    assert written(evidence) == (FAIL, 90, 8)


TEXTS, CODE, SYMBOL = 3, 1, 2  # sections of the object that has the name; symbol of the texts
DATA = 2  # another section
NAMED = b"x" + GELU.encode() + b"\0" + GELU.encode() + b"\0"  # whole at 12


def full_with(changed: dict[str, Any]) -> Any:
    """Return objects of a full build whose code refers to the name, with a change."""
    given: dict[str, Any] = {"symbol": SYMBOL, "target": 12, "source": CODE, "text": NAMED}
    given |= {"is_allocated": True, "is_executable": False} | changed
    kinds = {CODE: True, TEXTS: given["is_executable"]}
    sections = [
        SimpleNamespace(
            index=index,
            is_allocated=given["is_allocated"],
            is_executable=kinds.get(index, False),
            file_size=50,
        )
        for index in range(4)
    ]
    table = SimpleNamespace(
        offset=np.array([7]),
        symbol=np.array([given["symbol"]]),
        addend=np.array([given["target"] - 4]),
        type=np.array([2]),
    )
    elf = SimpleNamespace(
        sections=sections,
        content=lambda s: given["text"] if s.index == TEXTS else bytes(50),
        machine="x86_64",
    )
    symbols = [
        SimpleNamespace(name="", section=section, address=4, binding=0)
        for section in (0, CODE, TEXTS)
    ]
    file = SimpleNamespace(elf=elf, symbols=symbols, relocations={given["source"]: table})
    return SimpleNamespace(files=[file])


def calling_code(opened: Opener, changed: dict[str, Any], lto: Any = ()) -> Any:
    """Return code of an image whose code refers to the name, with a change."""
    given: dict[str, Any] = {"symbol": SYMBOL, "target": 12, "offset": 5, "placed": (0, CODE)}
    given |= changed
    addend = given["target"] - 4
    table = SimpleNamespace(
        offset=np.array([5, given["offset"]]),
        symbol=np.array([given["symbol"]] * 2),
        addend=np.array([addend, addend]),
        type=np.array([2, 2]),
    )
    sections = [SimpleNamespace(is_executable=index == CODE) for index in range(4)]
    elf = SimpleNamespace(machine="x86_64", sections=sections)
    symbols = [
        SimpleNamespace(name="", section=section, address=4, binding=0)
        for section in (0, CODE, TEXTS)
    ]
    relocations = {CODE: table} | ({given["table"]: table} if "table" in given else {})
    before = b"\0x" if given.get("is_tail") else b"\0"
    evidence = opened("00", before + GELU.encode() + b"\0", RELOCATIONS)
    objects: Any = SimpleNamespace(
        files=[SimpleNamespace(relocations=relocations, symbols=symbols, elf=elf)],
        made_by_lto=lto,
    )
    placement: Any = SimpleNamespace(address={given["placed"]: 0x1040})
    section = SimpleNamespace(index=TEXTS, is_executable=given.get("is_executable", False))
    return SimpleNamespace(
        evidence=replace(evidence, objects=objects, placement=placement),
        texts=[(0, section, given.get("content", NAMED))],
        is_of_full=lambda node, offset: (node, offset) == ((0, CODE), 5),
        full=full_with(given["full"]) if "full" in given else None,
    )


@pytest.mark.parametrize(
    "changed, verdict",
    [
        ({}, PASS),
        ({"target": 4}, PASS),  # relative to the next instruction
        ({"target": 3}, FAIL),
        ({"target": 13}, FAIL),
        ({"target": 0}, FAIL),
        ({"symbol": CODE}, FAIL),
        ({"symbol": 9}, FAIL),  # a damaged table
        ({"offset": 6}, FAIL),  # in a function that the full build lacks
        ({"placed": (0, TEXTS)}, FAIL),
        ({"is_executable": True}, FAIL),
        ({"table": TEXTS}, FAIL),
        ({"content": b"x" + NAMED[12:]}, FAIL),
        ({"content": NAMED[12:], "target": 0}, PASS),
        ({"full": {}}, PASS),
        ({"full": {"symbol": CODE}}, FAIL),  # code of the full build does not refer to it
        ({"full": {"target": 13}}, FAIL),
        ({"full": {"source": DATA}}, FAIL),  # only a table does
        ({"full": {"text": b"x" + NAMED[12:]}}, FAIL),
        ({"full": {"is_allocated": False}}, FAIL),
        ({"full": {"is_executable": True}}, FAIL),
    ],
)
def test_a_name_passes_where_only_known_functions_refer_to_it(
    opened: Opener, changed: dict[str, Any], verdict: str
) -> None:
    found = judge_written_names(calling_code(opened, changed), [GELU])
    assert found.verdict == verdict
    assert ("but for 1 that code calls by name" in found.evidence[0]) == (verdict == PASS)


@pytest.mark.parametrize(
    "lto, full, over, verdict",
    [
        ("lto.o", {}, ("_ZN2sg4callEv", "main"), PASS),
        ("lto.o", {}, ("main",), PASS),
        ("lto.o", {}, ("leaked", "main"), FAIL),
        ("lto.o", {}, ("_ZN2sg4callEv", "leaked", "main"), FAIL),
        ("lto.o", {}, None, INCONCLUSIVE),  # without debug information
        ("", {}, ("leaked", "main"), PASS),  # the object tells whose code it is
        ("", {}, None, PASS),
        ("lto.o", None, ("leaked", "main"), PASS),  # without a full build
    ],
)
def test_lto_hides_no_caller_in_a_known_function(
    opened: Opener,
    monkeypatch: pytest.MonkeyPatch,
    lto: str,
    full: dict[str, Any] | None,
    over: tuple[str, ...] | None,
    verdict: str,
) -> None:
    known = KnownFunctions(frozenset({"main", "_ZN2sg4callEv"}), frozenset())
    monkeypatch.setattr(KnownFunctions, "of", lambda _: known)
    code = calling_code(opened, {} if full is None else {"full": full}, (lto,) if lto else ())
    frames = frames_over([(0x1045, 0x1046, over)]) if over is not None else None
    code.evidence.__dict__["frames"] = frames
    found = judge_written_names(code, [GELU])
    assert found.verdict == verdict
    assert verdict != INCONCLUSIVE or GELU in found.evidence[0]


@pytest.mark.parametrize(
    "text, pointed, length, verdict",
    [
        (f"x{GELU}", 1, 0, FAIL),
        (f"x{GELU}", 0, 0, PASS),
        (f"x{GELU}", 2, 0, PASS),
        (f"my::{GELU}(t)", 4, 0, FAIL),
        (f"x{GELU}_", 1, 0, PASS),  # the name is longer
        (f"x{GELU}_", 1, len(GELU), FAIL),  # a string_view ends there
        (f"x{GELU}_", 1, len(GELU) + 1, PASS),
        (f"x{GELU}_", 0, len(GELU), PASS),
    ],
)
def test_a_part_of_a_text_is_a_name_if_a_pointer_leads_to_it(
    opened: Opener,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    pointed: int,
    length: int,
    verdict: str,
) -> None:
    """Linkers merge texts that end alike: aten::gelu may be the tail of another one."""
    word = length.to_bytes(8, "little")
    evidence = opened("00", word + b"\0" * 16 + text.encode() + b"\0", RELOCATIONS)
    (start,) = evidence.shipped_bytes.constant(text.encode())
    at, target = np.array([start - 16]), np.array([start + pointed])
    monkeypatch.setattr(written_names, "pointers_of", lambda _: Pointers(at, target))
    assert judge_written_names(DeselectedCode(evidence, None), [GELU]).verdict == verdict


@pytest.mark.parametrize(
    "changed, verdict, is_said",
    [
        ({"offset": 6}, FAIL, False),  # in a function that the full build lacks
        ({}, PASS, True),
        ({"target": 3}, PASS, False),  # nothing refers to the name
        ({"target": 1, "offset": 6}, PASS, False),  # a reference to bytes before the word
        ({"target": -3, "offset": 6}, FAIL, False),  # into the longer word, from the field's end
        ({"content": b"x" + NAMED[12:], "offset": 6}, PASS, False),  # no object has it as a text
    ],
)
def test_code_refers_to_the_tail_of_a_text(
    opened: Opener, changed: dict[str, Any], verdict: str, is_said: bool
) -> None:
    found = judge_written_names(calling_code(opened, {"is_tail": True} | changed), [GELU])
    assert found.verdict == verdict
    assert ("but for 1 that code calls by name" in found.evidence[0]) == is_said
