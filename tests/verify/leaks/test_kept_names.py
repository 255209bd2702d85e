"""Test that the names kept beside a full build are used only if its files are unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sizeguard.base.errors import InconclusiveError
from sizeguard.builds.build_record import Build
from sizeguard.builds.open_build import Files, files_of
from sizeguard.claims.names_file import names_text
from sizeguard.runtimes.known import runtime_named
from sizeguard.verify import kept_names
from sizeguard.verify.build_names import names_of
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.gather_evidence import gather
from sizeguard.verify.kept_names import FILE, names_of_build
from tests.support.tricks.kept_files import changed_byte, settle

WORDS = runtime_named("sizeguard").vocabulary


@pytest.fixture
def build(recorded_build: Build) -> Build:
    (recorded_build.image.parent / FILE).unlink(missing_ok=True)
    settle()
    return recorded_build


@pytest.fixture(scope="module")
def evidence() -> dict[object, Evidence]:
    """Return a cache of evidence, which takes 0.4 s to read; no test reads changed files."""
    return {}


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch, evidence: dict[object, Evidence]) -> list[Path]:
    """Record the images whose files are read."""
    found: list[Path] = []
    real = kept_names.gather

    def counted(files: Files, prefixes: Sequence[str]) -> Evidence:
        found.append(files.image)
        key = (files.image, files.objects, tuple(prefixes))
        if key not in evidence:
            evidence[key] = real(files, prefixes)
        return evidence[key]

    monkeypatch.setattr(kept_names, "gather", counted)
    return found


def test_what_is_kept_is_what_is_read(build: Build, readings: list[Path]) -> None:
    first, again = names_of_build(build, WORDS), names_of_build(build, WORDS)
    assert len(readings) == 1
    read = names_of(gather(files_of(build), WORDS.hidden_prefixes), WORDS)
    assert len(read.operators) > 2 and read.bodies
    assert first == again
    assert names_text(first) == names_text(read)


def test_another_byte_of_any_file_is_read_again(build: Build, readings: list[Path]) -> None:
    """Change a byte, but keep the size and the times."""
    names_of_build(build, WORDS)
    for path in (build.shipped, build.map, build.gc_log, build.objects[-1]):
        readings.clear()
        with changed_byte(path):  # part of a name, or the end of a line
            names_of_build(build, WORDS)
        assert len(readings) == 1, path


def test_other_words_and_other_files_are_read_again(build: Build, readings: list[Path]) -> None:
    names_of_build(build, WORDS)
    names_of_build(build, replace(WORDS, kernels="other::"))
    assert len(readings) == 2
    names_of_build(replace(build, objects=build.objects[::-1]), replace(WORDS, kernels="other::"))
    assert len(readings) == 3


def test_members_of_thin_archives_are_not_kept(build: Build, readings: list[Path]) -> None:
    evidence = gather(files_of(build), WORDS.hidden_prefixes)
    paths = evidence.files_read()
    assert paths is not None and set(build.objects) < set(paths)
    thin = build.image.with_name("thin.a")
    thin.write_bytes(b"!<thin>\n")
    file = replace(evidence.objects.files[0], path=thin)
    objects = replace(evidence.objects, files=(file, *evidence.objects.files))
    assert replace(evidence, objects=objects).files_read() is None


def test_a_full_build_without_an_object_is_refused(build: Build) -> None:
    for objects in ((), build.objects[:-1], build.objects[1:]):
        with pytest.raises(InconclusiveError, match="objects are missing in the full build"):
            names_of_build(replace(build, objects=objects), WORDS)
