"""Test that a file is hashed again once it changed."""

from __future__ import annotations

import os
from pathlib import Path

from sizeguard.base.fingerprint import file_hash
from tests.support.kept_files import settle


def test_an_edit_that_keeps_size_and_time_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "a.c"
    file.write_text("1")
    settle()
    before, about = file_hash(file), file.stat()
    file.write_text("2")
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert file_hash(file) != before
