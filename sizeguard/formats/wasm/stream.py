"""Read numbers and names of a WebAssembly section, with bounds checks."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from sizeguard.base.errors import InputError


class Stream:
    """Bytes of a section, read from the beginning. Raises InputError at the end of the data."""

    def __init__(self, path: Path, data: bytes, offset: int) -> None:
        """Read `data`, which is at `offset` of the file."""
        self.path = path
        self.data = data
        self.offset = offset
        self.at = 0

    @property
    def is_at_end(self) -> bool:
        """Return whether all bytes are read."""
        return self.at >= len(self.data)

    def number(self) -> int:
        """Read an unsigned LEB128 number."""
        value = shift = 0
        while True:
            if self.at >= len(self.data) or shift > 63:
                self.damaged("a number has no end")
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def count(self) -> int:
        """Read the number of the following entries; each takes at least one byte."""
        count = self.number()
        if count > len(self.data) - self.at:
            self.damaged(f"{count} entries in {len(self.data) - self.at} bytes")
        return count

    def skip(self, count: int) -> int:
        """Move `count` bytes forward; return their start."""
        start = self.at
        if count > len(self.data) - start:
            self.damaged(f"{count} bytes of {len(self.data) - start}")
        self.at += count
        return start

    def name(self) -> bytes:
        """Read a name."""
        start = self.skip(self.number())
        return self.data[start : self.at]

    def damaged(self, what: str) -> NoReturn:
        """Raise the error for a damaged file."""
        raise InputError(
            f"{self.path}: a damaged WebAssembly file: {what} at {self.offset + self.at}"
        )
