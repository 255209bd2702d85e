"""Numbers of examples that a law draws: few in each run, many in tests/soak/laws.py."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

# Examples of a test that states no number
EXAMPLES = int(os.environ.get("SIZEGUARD_EXAMPLES", "40"))


def at_least(count: int, **more: Any) -> settings:
    """Draw so many examples, or more if the run wants more."""
    return settings(max_examples=max(count, EXAMPLES), deadline=None, **more)
