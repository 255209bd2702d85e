"""Test which external functions the runtime's code refers to, and what it says of a feature."""

from __future__ import annotations

import io
from dataclasses import replace

import lief
import pytest

from sizeguard.builds.build_record import Build
from sizeguard.builds.open_build import files_of
from sizeguard.claims.claim import FeatureMarks
from sizeguard.claims.names_file import names_text, parse_names
from sizeguard.claims.universe import BuildNames
from sizeguard.claims.verdict import ABSENT, FAIL, PASS, PRESENT
from sizeguard.runtimes.known import runtime_named
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.gather_evidence import gather
from sizeguard.verify.evidence.object_evidence import ObjectFile
from sizeguard.verify.features.external_calls import external_calls
from sizeguard.verify.features.feature_marks import feature_marks
from sizeguard.verify.features.feature_verdicts import judge_feature, signs_of

TAKE = "sg::Context::take(long, long)"


@pytest.fixture
def evidence(recorded_build: Build) -> Evidence:
    prefixes = runtime_named("sizeguard").vocabulary.hidden_prefixes
    return gather(files_of(recorded_build), prefixes)


def undefined(file: ObjectFile) -> set[str]:
    read = lief.ELF.parse(io.BytesIO(bytes(file.elf.data)))
    assert read is not None
    return {str(symbol.name) for symbol in read.symbols if symbol.shndx == 0}


def test_calls_are_those_of_the_objects_symbol_tables(evidence: Evidence) -> None:
    calls = external_calls(evidence)
    assert calls["malloc"] == {TAKE}
    assert calls["strstr"] == {"sg::(anonymous namespace)::find_value(char const*, char const*)"}
    assert "sg::read_file(sg::Context&, char const*, unsigned long*)" in calls["fstat"]
    assert calls.keys() <= set[str]().union(*map(undefined, evidence.own_files()))
    # Compilers call these on their own, or a C library chooses them.
    assert not calls.keys() & {"memcpy", "memcmp", "strlen", "_setjmp", "__errno_location"}


def test_only_functions_of_the_runtime_count(evidence: Evidence) -> None:
    """An app may call what it likes."""
    callers = {caller for each in external_calls(evidence).values() for caller in each}
    assert callers and all(caller.startswith("sg::") for caller in callers)
    everyone = external_calls(replace(evidence, hidden_prefixes=("",)))
    assert "main" in everyone["fprintf"]


def test_symbols_tell_the_callers_without_debug_information(evidence: Evidence) -> None:
    evidence.__dict__["frames"] = None
    assert external_calls(evidence)["malloc"] == {TAKE}


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ({"malloc": (TAKE,)}, (f"{TAKE} refers to malloc, as only builds with it do",)),
        ({"malloc": ("sg::Context::give(void*, long)",)}, ()),
        ({"clock_gettime": (TAKE,)}, ()),
        ({}, ()),
    ],
)
def test_a_call_is_a_sign_if_the_same_function_makes_it(
    evidence: Evidence, calls: dict[str, tuple[str, ...]], said: tuple[str, ...]
) -> None:
    marks = FeatureMarks(texts=("a text that nobody wrote",), calls=calls)
    assert signs_of(evidence, marks, ()).for_ == said
    assert bool(signs_of(evidence, marks, ()).against) != bool(said)
    for expect, verdict in ((ABSENT, PASS), (PRESENT, FAIL)):
        found = judge_feature(evidence, "f", expect, {"f": marks}).verdict
        assert found == ({PASS: FAIL, FAIL: PASS}[verdict] if said else verdict)


def test_marks_are_the_calls_that_the_other_build_lacks(evidence: Evidence) -> None:
    assert feature_marks(evidence, evidence).calls == {}
    without = replace(evidence, own=0)
    assert feature_marks(evidence, without).calls["malloc"] == (TAKE,)


def test_the_file_of_names_keeps_calls() -> None:
    marks = FeatureMarks(texts=("a",), calls={"malloc": (TAKE,)}, load=3)
    names = BuildNames({}, {}, (), {"profiling": marks})
    assert parse_names(names_text(names), "names.json").features == {"profiling": marks}
    before = names_text(names).replace('"calls"', '"other"')
    assert parse_names(before, "names.json").features["profiling"].calls == {}
