"""Let interrupts (Ctrl-C, SIGTERM) end parallel work where no lock is held.

Python raises KeyboardInterrupt between any two instructions of the main thread. Within a lock's
acquisition, the lock is never released and other threads wait for it forever; within a finalizer,
the exception is printed and lost. Here a signal is noted first. Work with threads raises it itself.
"""

from __future__ import annotations

import signal
import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager

# A signal that reaches another thread does not wake the main thread: waits end after this time.
POLL = 0.2  # seconds


class _Interrupts:
    """Interrupts of this process. holds: contexts in which none is raised."""

    def __init__(self) -> None:
        self.holds = 0
        self.noted = False

    def handle(self, number: int, frame: types.FrameType | None) -> None:
        self.noted = True
        if not self.holds:
            raise KeyboardInterrupt


_STATE = _Interrupts()


def handle_interrupts() -> None:
    """Handle SIGTERM like Ctrl-C; both can be held back from now on."""
    _STATE.noted = False
    signal.signal(signal.SIGTERM, _STATE.handle)
    # A shell ignores Ctrl-C for commands in the background
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _STATE.handle)


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Hold interrupts back in the main thread; call raise_interrupt() where they may end work."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _STATE.holds += 1
    try:
        yield
    finally:
        _STATE.holds -= 1


def raise_interrupt() -> None:
    """Raise KeyboardInterrupt if an interrupt was noted, also one that was raised and lost."""
    if _STATE.noted and threading.current_thread() is threading.main_thread():
        _STATE.noted = False
        raise KeyboardInterrupt
