"""Ask the file system once for all builds that are checked at the same moment.

A gate checks a hundred apps that read the same thousand files. Within `one_moment()`, answers are
kept for at most two seconds; elsewhere, every question is asked again. So a check after a run
sees what changed during the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import TypeVar, cast

from sizeguard.base.dataclass import dataclass

_SECONDS = 2.0  # a gate of 300 builds takes 9, and hashes all sources again after each time
_T = TypeVar("_T")


@dataclass(slots=True)
class _Moment:
    since: float
    answers: dict[Hashable, object] = field(default_factory=dict)


_now: _Moment | None = None


@contextmanager
def one_moment() -> Iterator[None]:
    """Keep answers until the block ends, a tool runs or they become too old."""
    global _now
    outer, _now = _now, _Moment(time.monotonic())
    try:
        yield
    finally:
        _now = outer
        ask_again()


def ask_again() -> None:
    """Discard all answers, because a tool may have changed files."""
    if _now is not None:
        _now.since = time.monotonic()
        _now.answers.clear()


def kept_now(question: Hashable, ask: Callable[[], _T]) -> _T:
    """Return the answer that is kept for a question, else ask; nothing is kept elsewhere."""
    if _now is None:
        return ask()
    if time.monotonic() - _now.since > _SECONDS:
        ask_again()
    if question not in _now.answers:
        _now.answers[question] = ask()
    return cast(_T, _now.answers[question])
