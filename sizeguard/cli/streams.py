"""Streams of a command: they outlive their reader, and fit the screen.

A reader of standard output or error can go away, as `head` does.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO, TextIO

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


class _FittedText(io.TextIOBase):
    """A stream that breaks the lines of tables and sentences at a width.

    breaks: whether the output is for people; asked at each line, when all options are known
    """

    def __init__(self, stream: TextIO, width: int, breaks: Callable[[], bool]) -> None:
        """Write to a stream, at most `width` characters a line."""
        self._stream, self._width, self._breaks = stream, width, breaks
        self._line = ""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the stream."""
        return self._stream.encoding

    @property
    def buffer(self) -> BinaryIO:
        """The stream for bytes, which are not changed."""
        return self._stream.buffer

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """Return the descriptor of the stream."""
        return self._stream.fileno()

    def write(self, text: str, /) -> int:
        """Write the lines that are complete."""
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            self._stream.write(f"{self._fitted(line)}\n")
        return len(text)

    def finish(self) -> None:
        """Write the last line if no newline ends it."""
        line, self._line = self._line, ""
        self._stream.write(self._fitted(line) if line else "")

    def flush(self) -> None:
        """Flush the complete lines."""
        self._stream.flush()

    def _fitted(self, line: str) -> str:
        if len(line) <= self._width or not self._breaks():
            return line
        # Imported for long lines: few commands need it.
        from sizeguard.report.screen.fit import fit
        from sizeguard.report.writers.style import Style

        return "\n".join(fit([line], Style(width=self._width), by_column=True))


def fit_output(name: str, width: int, breaks: Callable[[], bool]) -> Callable[[], None]:
    """Break long lines of a stream from here on; return the function that ends this.

    name: stdout or stderr
    """
    before: TextIO = getattr(sys, name)
    fitted = _FittedText(before, width, breaks)
    setattr(sys, name, fitted)

    def end() -> None:
        fitted.finish()
        if getattr(sys, name) is fitted:
            setattr(sys, name, before)

    return end


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
