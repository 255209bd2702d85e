"""Code ranges of dtype branches and of inlined functions, by address in an image."""

from __future__ import annotations

from typing import NamedTuple


class CaseRange(NamedTuple):
    """Code [start, end) that serves one dtype, by address.

    function: bare name of the function that contains the switch, which may be inlined
    """

    start: int
    end: int
    function: str
    dtype: str


class InlinedRange(NamedTuple):
    """Code [start, end) of an inlined function, with its template arguments, by address."""

    start: int
    end: int
    function: str


class CaseRanges(NamedTuple):
    """The ranges of all switches of an image, in order of address."""

    cases: tuple[CaseRange, ...]
    inlined: tuple[InlinedRange, ...]
