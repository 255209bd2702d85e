"""Read bytes that are already in memory or mapped as content."""

from __future__ import annotations

from collections.abc import Callable

from sizeguard.formats.containers.container import MemberContent


class FileSlice:
    """Content in a buffer, read without a copy of the whole."""

    def __init__(self, content: memoryview) -> None:
        """Begin at the first byte."""
        self._content = content
        self._at = 0

    @staticmethod
    def maker(content: memoryview) -> Callable[[], MemberContent]:
        """Return a function that opens the buffer."""
        return lambda: FileSlice(content)

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes."""
        end = len(self._content) if size < 0 else self._at + size
        piece = bytes(self._content[self._at : end])
        self._at += len(piece)
        return piece

    def close(self) -> None:
        """Do nothing, since the buffer has another owner."""
