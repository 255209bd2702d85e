"""Test that a file is hashed again once it changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sizeguard.base import fingerprint
from sizeguard.base.fingerprint import file_hash
from sizeguard.base.kept.stored_facts import facts_stored_in
from tests.support.tricks.kept_files import changed_byte, settle


def test_an_edit_that_keeps_size_and_time_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "a.c"
    file.write_text("1")
    settle()
    before, about = file_hash(file), file.stat()
    file.write_text("2")
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert file_hash(file) != before


def test_a_stored_hash_stands_for_a_file_until_its_state_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, folder = tmp_path / "a.o", tmp_path / "facts"
    file.write_text("1")
    settle()
    with facts_stored_in(folder):
        first = file_hash(file)
    with monkeypatch.context() as nothing_is_read, facts_stored_in(folder):
        nothing_is_read.setattr(fingerprint, "_hash", None)
        assert file_hash(file) == first
    with changed_byte(file), facts_stored_in(folder):
        assert file_hash(file) != first
    with facts_stored_in(folder):
        assert file_hash(file) == first
        assert file_hash(file.rename(tmp_path / "b.o")) == first
