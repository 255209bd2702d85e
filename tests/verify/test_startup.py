"""Verdicts on what runs before main, on exports, and on ways to code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sizeguard.claims.verdict import ABSENT, DISCARDED_BY_LINKER, FAIL, INCONCLUSIVE, PASS, UNKNOWN
from sizeguard.formats.elf import SHT_INIT_ARRAY, SHT_PROGBITS, STT_IFUNC, Section
from sizeguard.runtimes.sizeguard.claims.build_claims import WORDS
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.registrations import Registrations
from sizeguard.verify.startup import judge_exports, judge_initializers, judge_ways
from tests.support.builds.recorded_evidence import Opener


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


@pytest.mark.parametrize(("gaps", "expected"), [((), FAIL), (("b.o",), INCONCLUSIVE)])
def test_an_object_that_was_not_given_may_have_what_an_initializer_calls(
    runtime: Evidence, gaps: tuple[str, ...], expected: str
) -> None:
    files = tuple(map(replace, runtime.objects.files))  # without what was computed
    for file in files:
        symbols = file.symbols
        file.__dict__["symbols"] = [
            replace(each, section=0) if "register_library" in each.name else each
            for each in symbols
        ]
    index = runtime.objects.index
    own = {name: pieces for name, pieces in index.items() if "register_library" not in name}
    objects = replace(runtime.objects, files=files, _index=own)
    lost = replace(runtime, objects=objects, gaps=gaps)
    found = list(judge_initializers(lost, Registrations(lost), WORDS.registering))
    assert {each.verdict for each in found} == {expected}


@pytest.mark.parametrize(("gaps", "expected"), [((), FAIL), (("no map",), INCONCLUSIVE)])
def test_a_registration_without_a_known_place_is_undecided(
    runtime: Evidence, gaps: tuple[str, ...], expected: str
) -> None:
    """A stripped image without a map shows no place of tables, which have no code."""
    placement = runtime.placement
    kept = {
        node: at
        for node, at in placement.address.items()
        if placement.section(node).type == SHT_INIT_ARRAY or placement.section(node).is_executable
    }
    assert list(judge_initializers(runtime, Registrations(runtime), WORDS.registering))
    lost = replace(runtime, gaps=gaps, placement=replace(placement, address=kept))
    found = list(judge_initializers(lost, Registrations(lost), WORDS.registering))
    assert {each.verdict for each in found} == {expected}


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
    # Objects of the toolchain are not judged
    assert {each.verdict for each in judge_ways(replace(evidence, own=0))} <= {PASS}
    for changes in ({"has_map": False}, {"missing": ("b.o",)}):
        blind = replace(evidence, placement=replace(evidence.placement, **changes))
        undecided = list(judge_ways(blind))
        assert {each.verdict for each in undecided} == ({INCONCLUSIVE} if expected else set())
        assert all(each.expect == ABSENT for each in undecided)
