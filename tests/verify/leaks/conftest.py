"""Evidence of a recorded program that tests of leaks share."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.verify.evidence.gather_evidence import gather
from tests.support.builds.recorded_builds import program_with
from tests.support.builds.recorded_evidence import Opener


@pytest.fixture
def opened(tmp_path: Path) -> Opener:
    """Return a function that opens a program with some bytes added or changed."""
    return lambda *changes: gather(program_with(tmp_path, *changes))
