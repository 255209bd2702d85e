"""Evidence of recorded builds that tests of verdicts share."""

from __future__ import annotations

import pytest

from sizeguard.verify.evidence.evidence import Evidence
from tests.support.builds.recorded_evidence import Opener, opener_of_programs, runtime_evidence


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Opener:
    """Open a program's evidence; with a gap if `lacks` is true."""
    return opener_of_programs(tmp_path_factory.mktemp("recorded"))


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """Gather the evidence of the recorded runtime, once for the tests of a file."""
    return runtime_evidence(tmp_path_factory.mktemp("recorded"))
