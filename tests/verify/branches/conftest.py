"""Evidence that tests of branches share."""

from __future__ import annotations

import pytest

from sizeguard.verify.evidence.evidence import Evidence
from tests.support.builds.recorded_evidence import Opener, opener_of_programs


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Opener:
    """Open the program's evidence; with a gap if `lacks` is true."""
    programs = opener_of_programs(tmp_path_factory.mktemp("recorded"))

    def opener(*, lacks: bool = False) -> Evidence:
        found = programs(lacks=lacks)
        found.__dict__["undescribed_notes"] = ()  # as if it had debug information
        return found

    return opener
