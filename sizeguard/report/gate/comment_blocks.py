"""Blocks of a comment on a pull request, cut by rank to fit GitHub's limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from sizeguard.base.dataclass import dataclass
from sizeguard.report.writers.printable import at_most, counted
from sizeguard.report.writers.source_links import SourceLinks

MARKER = "<!-- sizeguard gate -->"  # later runs find the comment by it
COMMENT = 65_536  # bytes; GitHub's limit is as many characters
_MESSAGE = 1_200  # characters of one finding: a compiler's message can have 20,000
_NOTE = 400  # bytes reserved for the note on omitted parts


@dataclass(frozen=True, slots=True)
class Frame:
    """Texts around a result in a comment.

    marker:   the first line, by which later runs find the comment
    links:    to the sources; None for none
    measured: Markdown that names the measured commit; empty for the result's own text
    notes:    lines of Markdown below the title
    is_informational: nothing blocks a merge
    """

    marker: str = MARKER
    links: SourceLinks | None = None
    measured: str = ""
    notes: Sequence[str] = ()
    is_informational: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the comment.

    rank: parts of the highest rank are cut first
    rows: may be cut from the end; head and foot are kept or omitted as a whole
    """

    rank: int
    head: Sequence[str]
    rows: Sequence[str] = ()
    foot: Sequence[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Bytes of head and foot."""
        return _size(self.head) + _size(self.foot)


def short_message(text: str) -> str:
    """Truncate a finding's message or advice to the length that a comment shows."""
    return at_most(text, _MESSAGE)


def _size(lines: Iterable[str]) -> int:
    return sum(len(line.encode("utf-8", "backslashreplace")) + 1 for line in lines)


def fitted(blocks: Sequence[Block], limit: int) -> str:
    """Join the blocks that fit within the limit, by rank.

    The last line has the number of omitted rows and bytes.
    """
    left = limit - _NOTE
    kept: dict[int, int] = {}  # block → number of its rows that fit
    for i in sorted(range(len(blocks)), key=lambda i: (blocks[i].rank, i)):
        block = blocks[i]
        if block.size > left:
            continue
        left -= block.size
        kept[i] = 0
        for line in block.rows:
            size = _size([line])
            if size > left:
                break
            left -= size
            kept[i] += 1
    lines: list[str] = []
    rows = size = 0
    for i, block in enumerate(blocks):
        shown_ = kept.get(i)
        cut = block.rows[shown_ or 0 :]
        rows += len(cut) + (shown_ is None and not block.rows)
        size += _size(cut) + (block.size if shown_ is None else 0)
        if shown_ is not None:
            lines += [*block.head, *block.rows[:shown_], *block.foot]
    if rows or size:
        what = f"{counted(rows, 'row')}, {size:,} bytes"
        lines += [
            "",
            (
                f"_{what} omitted: GitHub allows {COMMENT:,} per comment. `sizeguard gate --format"
                " json` shows everything._"
            ),
        ]
    return "\n".join(lines)
