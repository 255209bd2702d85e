"""Turns what can go wrong into one line and an exit code.

Exit codes: 0 holds, 1 a gate or claim fails, 2 usage, configuration or malformed input, 3 inconclusive,
4 a build failed or an internal error.
"""

from __future__ import annotations


class SizeguardError(Exception):
    """What a person did or gave cannot be used; str() is one line that says what, where and what to do."""

    exit_code = 4


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
