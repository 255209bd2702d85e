"""Numbers of examples that a law draws, and what several laws draw.

A run draws few examples, tests/soak/suites/laws.py many.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

# Examples of a test that states no number
EXAMPLES = int(os.environ.get("SIZEGUARD_EXAMPLES", "40"))

# Levels that a report groups rows by
LEVELS = st.lists(
    st.sampled_from(["operator", "kind", "symbol", "object", "dtype"]),
    min_size=1,
    max_size=3,
    unique=True,
)


def at_least(count: int, **more: Any) -> settings:
    """Draw so many examples, or more if the run wants more."""
    return settings(max_examples=max(count, EXAMPLES), deadline=None, **more)
