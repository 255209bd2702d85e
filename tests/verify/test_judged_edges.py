"""Edges of the evidence for single claims: inlined, tiny and unplaced code, tables, no names.

The evidence is that of recorded builds, with a part changed. `subject` of program 13 is 18 bytes at
0x1150; in program 00 it was discarded, and `main` is 3 bytes at 0x1040.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.claims.listed_names import BuildNames, FeatureMarks
from sizeguard.claims.verdict import ABSENT, FAIL, INCONCLUSIVE, NOT_APPLICABLE, PASS
from sizeguard.formats.elf import (
    SHN_ABS,
    STT_FUNC,
    STT_IFUNC,
    STT_NOTYPE,
    STT_OBJECT,
    STT_TLS,
    Symbol,
)
from sizeguard.names.demangle import function_text
from sizeguard.names.registered import Registration
from sizeguard.runtimes.sizeguard.claims.build_claims import WORDS
from sizeguard.verify import canaries
from sizeguard.verify.code_presence import judge_code, look_for
from sizeguard.verify.evidence.evidence import Evidence, Inlined
from sizeguard.verify.evidence.object_evidence import NamedPiece
from sizeguard.verify.features.feature_verdicts import judge_absent_feature, signs_of
from sizeguard.verify.registrations import Kernels, Registrations, judge_registered
from sizeguard.verify.returns import is_unused, judge_returns
from sizeguard.verify.startup import judge_exports, judge_initializers
from sizeguard.verify.why_there import explain
from tests.support.builds.recorded_evidence import Opener, the_piece

KERNELS = "sg::kernels::"


def without_places(evidence: Evidence) -> Evidence:
    """Return the evidence without places, as of an image without a map."""
    placement = replace(evidence.placement, address={}, _starts=[], _nodes=[])
    return replace(evidence, placement=placement)


def without_names(evidence: Evidence) -> Evidence:
    """Return the evidence with neither places nor symbols, as of a stripped image without a map."""
    blind = without_places(evidence)
    blind.__dict__["symbols"] = {}
    return blind


def test_code_without_a_name_or_place_is_found_by_its_bytes(opened: Opener) -> None:
    evidence = without_names(opened("13"))
    piece = the_piece(evidence, "subject")
    found = look_for(evidence, [piece], ["subject"])
    assert (found.there, found.placed, found.host) == (((0x1150, 18),), (), "")
    assert found.evidence == ("the machine code of program.o is at 0x1150",)
    assert judge_code(evidence, "symbol", "subject", ABSENT, found).verdict == FAIL


@pytest.mark.parametrize(
    ("symbol", "note"),
    [
        ("subject", ", and the machine code of 1 is nowhere"),
        ("main", ""),  # three bytes may be anywhere
    ],
)
def test_bytes_of_a_tiny_function_are_not_looked_for(
    opened: Opener, symbol: str, note: str
) -> None:
    evidence = without_names(opened("00"))
    found = look_for(evidence, [the_piece(evidence, symbol)], [symbol])
    assert found.there == ()
    told = "not in the image: the map has no definition of it"
    assert found.evidence == (f"{told}{note}",)


@pytest.mark.parametrize(("address", "host"), [(0x1041, "main"), (0x9000, "")])
def test_inlined_code_is_there(opened: Opener, address: int, host: str) -> None:
    evidence = opened("00")
    evidence.__dict__["inlined"] = {"subject": Inlined(address, 2, "main")}
    found = look_for(evidence, [the_piece(evidence, "subject")], ["subject", "nobody"])
    assert (found.there, found.host) == (((address, 2),), host)
    main = the_piece(evidence, "main")
    assert found.placed == (
        (NamedPiece(main.object, main.section, 1, 2, "main"),) if host else ()
    )  # fmt: skip
    assert found.evidence == (f"2 bytes of it are inside of main, at {address:#x}",)
    judged = judge_code(evidence, "symbol", "subject", ABSENT, found)
    assert judged.verdict == FAIL
    assert (judged.cause == "inlined: into main") == bool(host)
    # A definition of its own is told in place of it
    there = look_for(evidence, [main], ["subject"])
    assert (there.there, there.host) == (((0x1040, 3),), "")


@pytest.mark.parametrize("is_placed", [True, False])
def test_the_cause_of_an_entry_is_that_of_a_placed_table(opened: Opener, is_placed: bool) -> None:
    evidence = opened("00")
    gone, kept = the_piece(evidence, "subject"), the_piece(evidence, "main")
    written = [gone, kept] if is_placed else [gone]
    tables: Any = SimpleNamespace(
        evidence=evidence,
        entries=lambda kind, name: (Registration(name, 0x2000, 0x1000, 16),),
        written=lambda kind, name: written,
    )
    judged = judge_registered(tables, "operator", "x::f", ABSENT)
    assert (judged.verdict, judged.cause) == (FAIL, "registered in program.o")
    assert judged.chain == explain(evidence, kept if is_placed else gone)[1]


def test_tables_are_those_of_the_kind(runtime: Evidence) -> None:
    tables = Registrations(runtime)
    for kind, is_known in (("operator", True), ("class", False)):
        assert bool(tables.entries(kind, "aten::relu")) == is_known
        assert bool(tables.written(kind, "aten::relu")) == is_known


def test_a_function_with_the_name_of_a_kernel_is_none_if_it_is_a_helper(runtime: Evidence) -> None:
    kernels = Kernels(runtime, KERNELS)
    known = {**runtime.symbols, **runtime.inlined}
    named = [symbol for symbol in known if kernels.function_of(symbol) == "relu"]
    assert named
    assert kernels.find("relu").there
    unplaced = Kernels(without_places(runtime), KERNELS).find("relu")
    assert any(note.startswith("the image names ") for note in unplaced.evidence)
    helpers = frozenset(map(function_text, named))
    found = Kernels(runtime, KERNELS, helpers).find("relu")
    assert (found.there, found.pieces) == ((), ())


@pytest.mark.parametrize(
    ("symbol", "function"),
    [
        ("_ZN2sg7kernels4reluEi", "relu"),
        ("_ZN2sg7kernels12_GLOBAL__N_14reluEi", "relu"),
        ("_ZN2sg7kernels4reluEi.cold", "relu"),
        ("_ZN2sg5other4reluEi", ""),
        ("_ZN2sg7kernels4RuleC1Ei", ""),  # a method of a class in the namespace
        ("_ZN2sg4callIXadL_ZNS_7kernels4reluEiEEEEvv", "relu"),  # void sg::call<&relu>()
        # Inlined code without a linkage name has the name with its scopes
        ("sg::kernels::relu()", "relu"),
        ("sg::other::relu()", ""),
        ("relu", ""),
    ],
)
def test_the_kernel_that_a_symbol_names(runtime: Evidence, symbol: str, function: str) -> None:
    assert Kernels(runtime, KERNELS).function_of(symbol) == function


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [
        ("sg::kernels::scale(int)", True),
        ("sg::kernels::(anonymous namespace)::scale(int)", True),
        ("sg::kernels::relu(int)", False),
        ("sg::kernels::(anonymous namespace)::relu(int)", False),
        ("sg::kernels::relu((anonymous namespace)::Fast)", False),
        ("sg::kernels::relu<float>((anonymous namespace)::Fast)", False),
    ],
)
def test_a_full_build_adds_no_helper_with_the_name_of_a_known_kernel(
    text: str, is_taken: bool
) -> None:
    """Such a helper would excuse a copy of the kernel."""
    known = BuildNames({"aten::relu": "relu"}, {}, (), {})
    full = BuildNames({"aten::relu": "relu"}, {}, (), {}, helpers=frozenset({text}))
    assert (text in known.with_full(full).helpers) == is_taken


@pytest.mark.parametrize(
    ("symbol", "is_helper"),
    [
        ("_ZN2sg7kernels4reluEi", True),
        ("_ZN2sg7kernels4reluEf", False),
        ("_ZN2sg7kernels4convEi", False),
        ("_ZN2sg7kernels4tanhEi", False),  # the helper has another parameter, too
        ("_ZN2sg7kernels4tanhEii", True),
        # Without parameters, any helper of the name is meant
        ("sg::kernels::relu()", True),
        ("sg::kernels::rel()", False),
        ("sg::kernels::conv()", False),
    ],
)
def test_a_helper_is_known_by_its_parameters(
    runtime: Evidence, symbol: str, is_helper: bool
) -> None:
    helpers = frozenset({"sg::kernels::relu(int)", "sg::kernels::tanh(int, int)"})
    assert Kernels(runtime, KERNELS, helpers).is_helper(symbol) == is_helper
    assert not Kernels(runtime, KERNELS).is_helper(symbol)


def test_an_initializer_that_only_registers_passes(runtime: Evidence) -> None:
    found = list(judge_initializers(runtime, Registrations(runtime), WORDS.registering))
    assert found
    assert {(each.verdict, each.expect, each.kind) for each in found} == {
        (PASS, ABSENT, "initializer")
    }


@pytest.mark.parametrize("is_cut", [True, False])
def test_an_initializer_without_readable_calls(opened: Opener, is_cut: bool) -> None:
    """A damaged object has no relocations, or numbers of symbols that it lacks."""
    evidence = opened("01")
    assert evidence.reasons.edges_from((0, 0)) is not None  # reads the whole object before
    file = evidence.objects.files[0]
    (usual,) = judge_initializers(evidence, Registrations(evidence), WORDS.registering)
    if is_cut:
        last = max(max(table.symbol.tolist(), default=0) for table in file.relocations.values())
        file.__dict__["symbols"] = file.symbols[:last]
    else:
        kept = {
            section: table
            for section, table in file.relocations.items()
            if not file.elf.sections[section].is_executable
        }
        file.__dict__["relocations"] = kept
    (found,) = judge_initializers(evidence, Registrations(evidence), WORDS.registering)
    assert (found.verdict, found.evidence) == (FAIL, usual.evidence)


@pytest.mark.parametrize(
    ("section", "kind", "expected"),
    [
        (1, STT_FUNC, FAIL),
        (1, STT_OBJECT, FAIL),
        (1, STT_IFUNC, FAIL),
        (1, STT_TLS, FAIL),
        (1, STT_NOTYPE, FAIL),  # a label of assembly
        (SHN_ABS - 0x10000, STT_FUNC, PASS),
        (0, STT_FUNC, PASS),  # undefined: a library has it
    ],
)
def test_a_defined_symbol_is_an_export(
    opened: Opener, section: int, kind: int, expected: str
) -> None:
    evidence = opened("00")
    (main,) = evidence.symbols["main"]
    symbol: Symbol = replace(main, section=section, type=kind)
    twin: Any = SimpleNamespace(dynamic_symbols=[SimpleNamespace(objects=lambda: (symbol,))])
    (found,) = judge_exports(replace(evidence, twin=twin))
    assert (found.verdict, found.name) == (
        expected,
        "main" if expected == FAIL else "any definition",
    )


@pytest.mark.parametrize(
    ("has_frames", "undescribed", "inlined", "against", "absent"),
    [
        (True, (), {}, 1, PASS),
        (True, (), {"gone": Inlined(0x1041, 2, "main")}, 0, INCONCLUSIVE),
        (True, ("a.o",), {}, 0, INCONCLUSIVE),
        (False, (), {}, 0, INCONCLUSIVE),
        (False, ("a.o",), {}, 0, INCONCLUSIVE),
    ],
)
def test_functions_that_are_gone_are_a_sign_where_inlined_code_is_known(
    opened: Opener,
    has_frames: bool,
    undescribed: tuple[str, ...],
    inlined: dict[str, Inlined],
    against: int,
    absent: str,
) -> None:
    evidence = opened("00")
    frames = SimpleNamespace() if has_frames else None
    evidence.__dict__.update(frames=frames, undescribed=undescribed, inlined=inlined)
    signs = signs_of(evidence, FeatureMarks(functions=("gone", "lost")), ())
    assert (len(signs.for_), len(signs.against)) == (0, against)
    assert judge_absent_feature(evidence, "f", signs).verdict == absent
    # A symbol says more than what is missing
    both = signs_of(evidence, FeatureMarks(functions=("gone", "main")), ())
    assert (len(both.for_), len(both.against)) == (1, 0)
    # Without functions to look for, nothing is missing
    assert signs_of(evidence, FeatureMarks(), ()).against == ()


def test_a_text_of_its_own_is_told_though_the_toolchain_has_it_as_a_part(opened: Opener) -> None:
    evidence = opened("15")
    evidence.__dict__["foreign_data"] = b"a failure of the toolchain\0"
    assert signs_of(evidence, FeatureMarks(texts=("failure",)), ()).bytes == 8
    assert signs_of(evidence, FeatureMarks(texts=("failur",)), ()).bytes == 0


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("subject", {}, True),
        ("main", {}, False),
        ("subject", {"undescribed": ("a.o",)}, False),
        ("subject", {"frames": None}, False),
        ("subject", {"inlined": {"_Z7subjectv": Inlined(0x1041, 2, "main")}}, False),
        ("main", {"symbols": {}}, False),  # its section is placed
        ("nobody", {}, True),
    ],
)
def test_a_handler_is_unused_if_nothing_of_it_is_there(
    opened: Opener, name: str, changes: dict[str, Any], expected: bool
) -> None:
    evidence = opened("00")
    known = {"undescribed": (), "frames": SimpleNamespace(), "inlined": {}}
    evidence.__dict__.update({**known, **changes})
    assert is_unused(evidence, name) == expected
    lacks = replace(evidence, gaps=("no map",))
    lacks.__dict__.update({**known, **changes})
    assert not is_unused(lacks, name)
    # The program names no declarations, so nothing else is known of a handler
    verdict = judge_returns(evidence, f"7{name}")
    assert verdict.verdict == (NOT_APPLICABLE if expected else INCONCLUSIVE)
    assert verdict.expect == ABSENT


def judged_names(evidence: Evidence, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the symbols that the canaries ask for."""
    asked: list[str] = []

    def judge_named(names: object, text: str, expect: str) -> tuple[Any, ...]:
        asked.append(text)
        return (SimpleNamespace(verdict=FAIL, kind="symbol", name=text, expect=expect),)

    monkeypatch.setattr(canaries, "judge_named", judge_named)
    assert canaries.check_symbols(evidence) == []
    return asked


@pytest.mark.parametrize("has_symbols", [True, False])
def test_the_entry_point_is_known_by_its_symbol_or_by_the_map(
    opened: Opener, monkeypatch: pytest.MonkeyPatch, has_symbols: bool
) -> None:
    evidence = opened("00")
    if has_symbols:
        evidence = replace(evidence, placement=replace(evidence.placement, address={}))
    else:
        evidence.__dict__["symbols"] = {}
    assert judged_names(evidence, monkeypatch) == [canaries.DEAD, "main"]


def test_any_named_function_stands_for_a_missing_entry_point(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data and code without a name are passed over."""
    monkeypatch.setattr(canaries, "_ALIVE", ("nobody",))
    evidence = opened("13")
    nodes = dict(evidence.placement.address)
    data = next(n for n in nodes if not evidence.placement.section(n).is_executable)
    code = [n for n in nodes if evidence.placement.section(n).is_executable]
    order = [data, *code, *nodes]
    placement = replace(evidence.placement, address={node: nodes[node] for node in order})
    evidence = replace(evidence, placement=placement)
    names = {data: "data", code[1]: "function"}
    evidence.__dict__["reasons"] = SimpleNamespace(symbol_at=lambda node: names.get(node, ""))
    assert judged_names(evidence, monkeypatch)[1] == "function"
