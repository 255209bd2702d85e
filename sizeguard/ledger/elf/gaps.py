"""Find strings and padding in bytes without a symbol, where they are certain."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.compiled_code import compiled_beside
from sizeguard.columns.texts import Int, Int8
from sizeguard.formats.elf import SHF_STRINGS, Elf
from sizeguard.ledger.elf.owner_table import Line

STRING, PADDING = 0, 1

Flags = npt.NDArray[np.bool_]

_CODE = compiled_beside(__file__)


@dataclass(frozen=True, slots=True)
class FilledGaps:
    """Ranges [start, end) on the line, sorted; what: STRING or PADDING."""

    start: Int
    end: Int
    what: Int8


@dataclass(frozen=True, slots=True)
class _Sections:
    """Properties of each section, as columns.

    to_file, to_address: the number to add to a place on the line.
    """

    is_fixed: Flags
    is_code: Flags
    is_nobits: Flags
    is_text: Flags
    to_file: Int
    to_address: Int

    @staticmethod
    def of(image: Elf, line: Line) -> _Sections:
        """Read the properties of all sections."""
        sections = image.sections
        fixed = np.array(
            [
                s.is_allocated and not (s.is_writable or s.is_executable or s.is_nobits)
                for s in sections
            ],
            np.bool_,
        )
        return _Sections(
            fixed,
            np.array([s.is_executable for s in sections], np.bool_),
            np.array([s.is_nobits for s in sections], np.bool_),
            np.array([bool(s.flags & SHF_STRINGS) and s.is_allocated for s in sections], np.bool_)
            & fixed,
            np.array([s.offset if s.file_size else 0 for s in sections], np.int64) - line.at,
            np.zeros_like(line.at) - line.at if image.is_relocatable else line.address - line.at,
        )


def look_into(image: Elf, line: Line, start: Int, end: Int, section: Int) -> tuple[Int, FilledGaps]:
    """Find gaps that are entirely padding, and strings and padding in the others.

    start, end: gaps on the line, sorted, each inside one section.

    Strings: text of four characters or more between NULs, in read-only sections.
    Padding: zeros or nops up to a multiple of the smallest power of two above their length.
    """
    about = _Sections.of(image, line)
    gaps = (
        *(image.data, len(image.data), about.is_fixed, about.is_code, about.is_nobits),
        *(about.is_text, about.to_file, about.to_address),
        *(start, end, section, len(start)),
    )
    whole, counts = np.empty(len(start), np.int64), np.zeros(2, np.int64)
    room = 2 * len(start) + 1000
    while True:
        first, last = np.empty(room, np.int64), np.empty(room, np.int64)
        what = np.empty(room, np.int8)
        _CODE.call("look_into", *gaps, whole, first, last, what, room, counts)
        many, count = counts.tolist()
        if count <= room:
            return whole[:many], FilledGaps(first[:count], last[:count], what[:count])
        room = count
