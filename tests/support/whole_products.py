"""Choose between a few cases that cover a claim and all cases, which `make soak` runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

VARIABLE = "SIZEGUARD_WHOLE"
_T = TypeVar("_T")


def choose(few: Sequence[_T], whole: Sequence[_T]) -> Sequence[_T]:
    """Return all cases if the environment asks for them; the few must be among them."""
    assert all(case in whole for case in few)
    return whole if is_whole() else few


def is_whole() -> bool:
    """Return whether SIZEGUARD_WHOLE is set, as `make soak` does."""
    return bool(os.environ.get(VARIABLE))
