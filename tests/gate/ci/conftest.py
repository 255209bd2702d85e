"""The API of GitHub that tests of CI share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.services.local_hub import LocalHub, served


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    """Serve GitHub's API on this machine."""
    with served(LocalHub()) as found:
        yield found
