"""Turns functions into their results on two threads. Numpy lets another thread run while it works on columns."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from typing import TypeVar

A = TypeVar("A")
R = TypeVar("R")

_THREADS = 2


def in_threads(function: Callable[[A], R], items: Iterable[A]) -> list[R]:
    """function(item) of each, in the order of the items, whichever thread made it. The items are made one by one, as they are taken.

    The first error that a thread meets is raised when both have ended.
    """
    waiting = enumerate(items)
    lock = threading.Lock()
    results: dict[int, R] = {}
    errors: list[BaseException] = []

    def work() -> None:
        try:
            while not errors:
                with lock:
                    found = next(waiting, None)
                if found is None:
                    return
                results[found[0]] = function(found[1])
        except BaseException as error:  # to be raised where it belongs
            errors.append(error)

    others = [_started(work) for _ in range(min(_THREADS, os.cpu_count() or 1) - 1)]
    work()
    for other in others:
        if other is not None:
            other.join()
    if errors:
        raise errors[0]
    return [results[i] for i in range(len(results))]


def beside(function: Callable[[], R]) -> Callable[[], R]:
    """Starts the function on a thread of its own. What comes back waits for its result, or raises what it raised."""
    results: list[R] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(function())
        except BaseException as error:  # to be raised where it belongs
            errors.append(error)

    other = _started(work)

    def result() -> R:
        if other is not None:
            other.join()
        elif not results and not errors:
            work()
        if errors:
            raise errors[0]
        return results[0]

    return result


def _started(work: Callable[[], None]) -> threading.Thread | None:
    """None where the system allows no more threads."""
    thread = threading.Thread(target=work, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        return None
    return thread
