"""Run a few cases of a test as unit tests, which stay fast, and the others as native tests."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def mostly_second(cases: Iterable[Any], units: Collection[Any]) -> list[Any]:
    """Mark all cases as native except `units`, which must be among them."""
    listed = list(cases)
    assert all(unit in listed for unit in units)
    return [each if each in units else _second(each) for each in listed]


def _second(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.native)
