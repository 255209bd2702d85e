"""Run functions on a second thread.

Numpy lets other threads run while it processes columns.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from typing import TypeVar

from sizeguard.base.tuning import THREADS

A = TypeVar("A")
R = TypeVar("R")


def in_threads(function: Callable[[A], R], items: Iterable[A]) -> list[R]:
    """Return function(item) for each item, in order.

    A thread takes the next item from the iterable when it is free. The first error in a thread is
    raised once all threads have ended.
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
        except BaseException as error:  # raised again in the calling thread
            errors.append(error)

    others = [_started(work) for _ in range(min(THREADS, os.cpu_count() or 1) - 1)]
    work()
    for other in others:
        if other is not None:
            other.join()
    if errors:
        raise errors[0]
    return [results[i] for i in range(len(results))]


def beside(function: Callable[[], R]) -> Callable[[], R]:
    """Start the function on a new thread.

    Returns a function that waits for the result, or raises the thread's exception.
    """
    results: list[R] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(function())
        except BaseException as error:  # raised again in the calling thread
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
    """Start a daemon thread; None if the system does not allow more threads."""
    thread = threading.Thread(target=work, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        return None
    return thread
