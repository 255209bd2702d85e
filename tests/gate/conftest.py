"""Recorded programs that tests of the gate share, and a judge of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.gate.policy.checks import SizeReference
from tests.support.builds.recorded_builds import unpack
from tests.support.verdicts.app_judge import Judge


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("programs", tmp_path_factory.mktemp("recorded"))


@pytest.fixture
def judge(programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Judge:
    made = Judge(tmp_path, programs, monkeypatch)
    made.count_from(SizeReference("baseline", None, "no baseline"), "")
    return made
