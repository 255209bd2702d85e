"""Strings as places in a buffer, decoded on request."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.base.memory import release

Int32 = npt.NDArray[np.int32]
Int8 = npt.NDArray[np.int8]
Bytes = npt.NDArray[np.uint8]

Int = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Texts:
    """Half a million strings as columns: text i is the bytes buffer[start[i]:end[i]].

    buffer: uint8, often a mapped file; start, end: int64 offsets in it, 0 <= start <= end <=
    len(buffer).
    """

    buffer: npt.NDArray[np.uint8]
    start: Int
    end: Int

    def __len__(self) -> int:
        """Return the number of strings."""
        return len(self.start)

    def lengths(self) -> Int:
        """Return the lengths of the strings in bytes."""
        length: Int = self.end - self.start
        return length

    def raw(self, index: int) -> bytes:
        """Return one string's bytes."""
        return self.buffer[self.start[index] : self.end[index]].tobytes()

    def __getitem__(self, index: int) -> str:
        r"""Return one string, decoded; damaged UTF-8 is shown as \x escapes."""
        return self.raw(index).decode("utf-8", "backslashreplace")

    def initials(self) -> Bytes:
        """Return the first byte of each string; 0 for an empty one."""
        found = np.zeros(len(self), np.uint8)
        filled = np.flatnonzero(self.end > self.start)
        found[filled] = self.buffer[self.start[filled]]
        return found

    def take(self, indices: npt.ArrayLike) -> Texts:
        """Select strings by index, sharing the buffer."""
        where = np.asarray(indices, np.int64)
        return Texts(self.buffer, self.start[where], self.end[where])

    def tables(self) -> tuple[Texts, ...]:
        """Return the tables, each with one buffer, whose strings these are, in order."""
        return (self,)

    def release(self) -> None:
        """Free the memory of a mapped file's pages that contain the strings."""
        release(self.buffer)

    @staticmethod
    def of(texts: Iterable[str | bytes]) -> Texts:
        """Join strings in a new buffer."""
        raw = [
            text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")
            for text in texts
        ]
        length = np.fromiter(map(len, raw), np.int64, len(raw))
        end = np.cumsum(length, dtype=np.int64)
        return Texts(np.frombuffer(b"".join(raw), np.uint8), end - length, end)

    def all_raw(self) -> list[bytes]:
        """Return the bytes of all strings, in a third of the time of calling raw for each."""
        content = self.buffer.data
        return [
            bytes(content[start:end])
            for start, end in zip(self.start.tolist(), self.end.tolist(), strict=True)
        ]


def without_underscore(texts: Texts) -> Texts:
    """Remove one underscore from the beginning of the texts that have it."""
    begins = texts.initials() == ord("_")
    return Texts(texts.buffer, texts.start + begins, texts.end)
