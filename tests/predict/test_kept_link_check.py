"""Test that predictions check once whether a full build's files are of one link."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sizeguard.base.errors import InconclusiveError
from sizeguard.base.fingerprint import PACKAGE
from sizeguard.base.import_closure import import_closure
from sizeguard.builds.build_record import Build
from sizeguard.builds.open_build import Files, files_of
from sizeguard.verify.evidence import image_presence
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.gather_evidence import gather
from sizeguard.verify.kept_link_check import FILE, ROOMS, checked_map
from tests.support.tricks.kept_files import changed_byte, settle


def test_the_rooms_are_those_whose_code_checks() -> None:
    files = import_closure("sizeguard.verify.evidence.image_presence")
    rooms = {path.relative_to(PACKAGE).parts[0] for path in files if path.parent != PACKAGE}
    assert rooms <= set(ROOMS)


@pytest.fixture
def build(recorded_build: Build) -> Build:
    (recorded_build.image.parent / FILE).unlink(missing_ok=True)
    settle()
    return recorded_build


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Record the images whose files are checked."""
    found: list[Path] = []
    real = image_presence.check_one_link

    def counted(files: Files) -> Evidence:
        found.append(files.image)
        return real(files)

    monkeypatch.setattr(image_presence, "check_one_link", counted)
    return found


def test_files_are_checked_once(build: Build, checks: list[Path]) -> None:
    first, again = checked_map(build), checked_map(build)
    assert len(checks) == 1
    assert first is not None and again is not None
    assert first.placed == again.placed == gather(files_of(build)).link_map.placed


def test_changed_files_are_refused_again_and_again(build: Build, checks: list[Path]) -> None:
    checked_map(build)
    other = replace(build, objects=build.objects[1:2])
    with changed_byte(build.image), changed_byte(build.objects[-1]):
        checked_map(build)  # bytes that belong to no section
    assert len(checks) == 2
    text = build.map.read_bytes()
    try:
        build.map.write_bytes(text.replace(b" 0x00000000000", b" 0x00000000010"))
        for _ in range(2):
            with pytest.raises(InconclusiveError):
                checked_map(build)
    finally:
        build.map.write_bytes(text)
    assert len(checks) == 4
    checked_map(other)
    assert len(checks) == 5
