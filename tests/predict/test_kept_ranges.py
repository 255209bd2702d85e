"""Test that the code ranges kept beside a full build are used only if its files are unchanged."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from sizeguard.base.fingerprint import PACKAGE
from sizeguard.base.import_closure import import_closure
from sizeguard.builds.build_record import Build
from sizeguard.names.rules import Rules
from sizeguard.predict.savings import case_ranges as reader
from sizeguard.predict.savings.case_range_types import CaseRanges
from sizeguard.predict.savings.kept_ranges import FILE, ROOMS, case_ranges
from sizeguard.runtimes.known import runtime_named
from tests.support.tricks.kept_files import changed_byte, settle

RUNTIME = runtime_named("sizeguard")
RULES = RUNTIME.rules


def test_the_hashed_code_is_all_that_reads_ranges() -> None:
    files = import_closure("sizeguard.predict.savings.case_ranges")
    rooms = {path.relative_to(PACKAGE).parts[0] for path in files if path.parent != PACKAGE}
    assert rooms <= set(ROOMS)
    rules = {path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("names.yaml")}
    assert rules <= set(ROOMS)


@pytest.fixture
def build(recorded_build: Build) -> Build:
    (recorded_build.image.parent / FILE).unlink(missing_ok=True)
    settle()
    return recorded_build


@pytest.fixture(scope="module")
def functions(recorded_build: Build) -> frozenset[str]:
    """Return the functions with switches that have code of their own in the build."""
    every = reader.read_case_ranges(recorded_build.image, recorded_build.debug, RULES, ())
    return frozenset(case.function for case in every.cases)


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Record the images whose debug information is read."""
    found: list[Path] = []
    real = reader.read_case_ranges

    def counted(
        image: Path, debug: Path | None, rules: Rules, functions: Collection[str]
    ) -> CaseRanges:
        found.append(image)
        return real(image, debug, rules, functions)

    monkeypatch.setattr(reader, "read_case_ranges", counted)
    return found


def test_what_is_kept_is_what_is_read(
    build: Build, functions: frozenset[str], readings: list[Path]
) -> None:
    first, again = case_ranges(build, RUNTIME, functions), case_ranges(build, RUNTIME, functions)
    assert len(readings) == 1
    assert first.cases
    assert first == again == reader.read_case_ranges(build.image, build.debug, RULES, functions)


def test_another_byte_is_read_again(
    build: Build, functions: frozenset[str], readings: list[Path]
) -> None:
    """Change a byte of the image, but keep its size and its times."""
    case_ranges(build, RUNTIME, functions)
    with changed_byte(build.image):  # part of the section headers' last number
        case_ranges(build, RUNTIME, functions)
    assert len(readings) == 2


def test_other_functions_and_runtimes_are_read_again(
    build: Build, functions: frozenset[str], readings: list[Path]
) -> None:
    case_ranges(build, RUNTIME, functions)
    assert not case_ranges(build, RUNTIME, ()).inlined
    assert not case_ranges(build, runtime_named("executorch"), functions).cases
    assert len(readings) == 3
