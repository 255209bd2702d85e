"""External calls of recorded builds, and what they tell of a build feature."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from sizeguard.builds.open_build import files_of
from sizeguard.claims.listed_names import FeatureMarks
from sizeguard.claims.verdict import ABSENT, FAIL, INCONCLUSIVE, PASS, PRESENT
from sizeguard.verify.branches.references import References
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.gather_evidence import gather
from sizeguard.verify.features.external_calls import external_calls
from sizeguard.verify.features.feature_marks import feature_marks, signs_of_build
from sizeguard.verify.features.feature_verdicts import judge_feature, lost_signs
from tests.support.builds.recorded_builds import RecordedRuntime, recorded_runtime

LEAVE = "sg::(anonymous namespace)::leave(sg::Context&, sg::Error, char const*, sg::ScalarType)"
TAKE = "sg::Context::take(long, long)"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> RecordedRuntime:
    return recorded_runtime(tmp_path_factory.mktemp("recorded"))


@pytest.fixture(scope="module")
def runtime(recorded: RecordedRuntime) -> Evidence:
    return gather(files_of(recorded.build), ("sg::",))


def dynamic_names(image: Path) -> set[str]:
    """List the names that an image takes from libraries, or gives them, with another reader."""
    with image.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".dynsym")
        assert isinstance(table, SymbolTableSection)
        return {symbol.name for symbol in table.iter_symbols()}


def test_callers_are_the_runtimes_functions(runtime: Evidence) -> None:
    calls = external_calls(runtime)
    assert calls["longjmp"] == {LEAVE}
    assert calls["malloc"] == {TAKE}
    assert len(calls["close"]) == 3
    assert all(caller.startswith("sg::") for callers in calls.values() for caller in callers)


def test_the_image_takes_the_names_from_libraries(
    recorded: RecordedRuntime, runtime: Evidence
) -> None:
    names = external_calls(runtime).keys()
    assert names <= dynamic_names(recorded.build.image)
    assert not [name for name in names if name.startswith("_")]
    assert not names & {"memcpy", "memset", "strlen", "strcmp"}  # compilers choose these


def test_other_namespaces_do_not_count(runtime: Evidence) -> None:
    context = external_calls(replace(runtime, hidden_prefixes=("sg::Context::",)))
    assert {*context} == {"free", "malloc", "snprintf"}
    assert external_calls(replace(runtime, hidden_prefixes=("other::",))) == {}


def test_symbols_and_debug_information_name_the_callers(
    runtime: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them suffices."""
    both = external_calls(runtime)
    assert runtime.frames is not None
    bare = replace(runtime)
    bare.__dict__["frames"] = None  # as of a build without -g
    without = external_calls(bare)
    assert without.keys() == both.keys()
    assert (without["longjmp"], without["malloc"]) == ({LEAVE}, {TAKE})
    monkeypatch.setattr(References, "at", lambda *_: None)
    framed = external_calls(runtime)
    assert (framed["longjmp"], framed["malloc"]) == ({LEAVE}, {TAKE})
    assert external_calls(bare) == {}


def test_a_call_is_a_mark_if_the_build_without_the_feature_lacks_it(runtime: Evidence) -> None:
    full = signs_of_build(runtime)
    without = signs_of_build(replace(runtime, hidden_prefixes=("sg::Context::",)))
    calls = feature_marks(full, without).calls
    assert calls["longjmp"] == (LEAVE,)
    assert not {*calls} & {"free", "malloc", "snprintf"}
    assert feature_marks(full, full) == FeatureMarks()


@pytest.mark.parametrize(
    ("calls", "absent", "present"),
    [
        ({"longjmp": (LEAVE,)}, FAIL, PASS),
        ({"longjmp": (TAKE,)}, INCONCLUSIVE, INCONCLUSIVE),  # another function calls it
        ({"clock_gettime": (LEAVE,)}, INCONCLUSIVE, INCONCLUSIVE),  # nothing calls it
        ({"clock_gettime": (TAKE,), "malloc": ("sg::x()", TAKE)}, FAIL, PASS),
    ],
)
def test_a_call_decides_a_feature_without_other_marks(
    runtime: Evidence, calls: dict[str, tuple[str, ...]], absent: str, present: str
) -> None:
    marks = {"profiling": FeatureMarks(calls=calls)}
    found = judge_feature(runtime, "profiling", ABSENT, marks)
    assert found.verdict == absent
    assert bool([*lost_signs(runtime, marks["profiling"])]) == (absent != FAIL)
    assert judge_feature(runtime, "profiling", PRESENT, marks).verdict == present
    if absent == FAIL:
        assert "refers to" in " ".join(found.evidence)
