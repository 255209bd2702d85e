"""Turns what can go wrong into one line and an exit code.

Exit codes: 0 holds, 1 a gate or claim fails, 2 usage, configuration or malformed input, 3 inconclusive,
4 a build failed or an internal error.
"""

from __future__ import annotations


class SizeguardError(Exception):
    """What a person did or gave cannot be used; str() is one line that says what, where and what to do.

    Names out of damaged files stand in messages, so what would break the line or steer the terminal is shown as an escape.
    """

    exit_code = 4

    def __init__(self, message: str) -> None:
        super().__init__("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in message))


class GateError(SizeguardError):
    """A gate or a claim fails."""

    exit_code = 1


class InputError(SizeguardError):
    """Usage, configuration or an input file is wrong."""

    exit_code = 2


class InconclusiveError(SizeguardError):
    """The evidence for an answer is missing."""

    exit_code = 3


class BuildError(SizeguardError):
    """A compiler, a linker or a program that we built failed."""

    exit_code = 4
