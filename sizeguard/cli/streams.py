"""Keep the exit code when a reader of standard output or error goes away, as `head` does."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _UntilClosed(io.FileIO):
    """A file that discards output after its reader has closed the pipe."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write, or drop the data if the reader has closed the pipe."""
        try:
            return super().write(data)
        except BrokenPipeError:
            return memoryview(data).nbytes


class _AsciiText(io.TextIOWrapper):
    """A stream that gets only ASCII."""

    def write(self, text: str, /) -> int:
        """Write a text, with ASCII for other characters."""
        # Imported on call: few commands need it.
        from sizeguard.report.writers.style import in_ascii

        return super().write(in_ascii(text))


def prepare_streams() -> None:
    """Let a command end with its own exit code even if the reader of its output has gone.

    `sizeguard gate | head` fails if the gate fails. A stream that is closed from the start is
    treated like one without a reader. Characters that the encoding lacks are shown as escapes.
    """
    sys.stdout = _prepared(sys.stdout, sys.__stdout__)
    sys.stderr = _prepared(sys.stderr, sys.__stderr__)


def print_ascii() -> None:
    """Print only ASCII from here on."""
    sys.stdout = _in_ascii(sys.stdout)
    sys.stderr = _in_ascii(sys.stderr)


def _in_ascii(stream: TextIO) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper) or isinstance(stream, _AsciiText):
        return stream  # a caller of main() replaced it, or it is done
    line_buffering = stream.line_buffering
    # Click takes "ascii" for a wrong locale, and writes UTF-8 instead.
    return _AsciiText(stream.detach(), encoding="utf-8", line_buffering=line_buffering)


def _prepared(stream: TextIO | None, original: TextIO | None) -> TextIO:
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 not a user's path
    if stream is not original or not isinstance(stream, io.TextIOWrapper):
        return stream  # a caller of main() replaced it
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_UntilClosed(stream.fileno(), "wb", closefd=False)),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
    )
