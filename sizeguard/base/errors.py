"""Errors that end a command with one line on stderr and an exit code.

Exit codes: 0 everything holds, 1 a gate or claim fails, 2 usage, configuration or malformed input,
3 inconclusive, 4 a build failed or an internal error.
"""

from __future__ import annotations

from collections.abc import Sequence


class SizeguardError(Exception):
    """An input, a request or an environment that cannot be used.

    str() is one line that says what is wrong, where, and how to fix it.

    Messages can contain names from damaged files. Characters that would break the line or control
    the terminal are escaped.
    """

    exit_code = 4

    def __init__(self, message: str) -> None:
        """Store the message, with unprintable characters escaped."""
        super().__init__(
            "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in message)
        )


class GateError(SizeguardError):
    """A gate or a claim fails."""

    exit_code = 1


class InputError(SizeguardError):
    """Usage, configuration or an input file is wrong."""

    exit_code = 2


class OutputError(SizeguardError):
    """A file that a command will replace by its result is one of its inputs.

    It is no InputError: readers that go on without a wrong input do not expect it.
    """

    exit_code = 2


class InconclusiveError(SizeguardError):
    """The evidence for an answer is missing."""

    exit_code = 3


class BuildError(SizeguardError):
    """A compiler, a linker or a program that we built failed."""

    exit_code = 4


class StorageError(SizeguardError):
    """The disk is full or fails."""

    exit_code = 4


def listed(names: Sequence[str], most: int = 4) -> str:
    """Join the first names for a message, and say how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
