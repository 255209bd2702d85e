"""Find strings and padding in bytes without a symbol, where they are certain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sizeguard.columns.texts import Int, Int8
from sizeguard.formats.elf import SHF_STRINGS, Elf
from sizeguard.ledger.elf.owner_table import Line

STRING, PADDING = 0, 1

Flags = npt.NDArray[np.bool_]

SHORTEST_STRING = 4  # bytes without the NUL
WIDEST_PADDING = 64  # largest padding in bytes, in data and for different nops
WIDEST_FILL = 4096  # largest padding of one repeated byte, in code
FUNCTION_ALIGNMENT = 16
# Bytes that are processed at a time; they fit the cache. Their places take eight times as much.
_BATCH = 1 << 16

_CONTROLS = (0x09, 0x0A, 0x0D, 0x1B)  # characters of text below 0x20
# Bytes of nops: on x86, where the longest is 66 66 2e 0f 1f 84 00 00 00 00 00, and on aarch64, 1f
# 20 03 d5.
_NOP = np.isin(
    np.arange(256),
    [0x00, 0xCC, 0x90, 0x66, 0x2E, 0x0F, 0x1F, 0x40, 0x44, 0x80, 0x84, 0x20, 0x03, 0xD5],
)
_FILL = np.isin(np.arange(256), [0x00, 0xCC, 0x90])


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
    searched = np.flatnonzero(about.is_fixed[section])
    text_start, text_end = _texts(image, start[searched], end[searched], section[searched], about)
    if not len(text_start):
        nothing = np.zeros(0, np.int64)
        return np.flatnonzero(_is_padding(image, start, end, section, about)), FilledGaps(
            nothing, nothing, nothing.astype(np.int8)
        )
    has_text = np.zeros(len(start), np.bool_)
    has_text[np.searchsorted(start, text_start, side="right") - 1] = True
    plain, mixed = np.flatnonzero(~has_text), np.flatnonzero(has_text)
    whole = plain[_is_padding(image, start[plain], end[plain], section[plain], about)]
    # The rest is between the strings.
    rest_start, rest_end = _merged(start[mixed], text_end), _merged(text_start, end[mixed])
    left = rest_start < rest_end
    rest_start, rest_end = rest_start[left], rest_end[left]
    home = section[mixed[np.searchsorted(start[mixed], rest_start, side="right") - 1]]
    padding = np.flatnonzero(_is_padding(image, rest_start, rest_end, home, about))
    found_start = np.concatenate([text_start, rest_start[padding]])
    order = np.argsort(found_start, kind="stable")
    what = np.repeat(np.array([STRING, PADDING], np.int8), [len(text_start), len(padding)])
    return whole, FilledGaps(
        found_start[order], np.concatenate([text_end, rest_end[padding]])[order], what[order]
    )


def _texts(image: Elf, start: Int, end: Int, section: Int, about: _Sections) -> tuple[Int, Int]:
    """Find the strings of gaps in read-only sections.

    In string sections, an entire gap counts as strings.
    """
    whole = about.is_text[section]
    searched = np.flatnonzero(~whole & (end - start > SHORTEST_STRING))
    texts = list(_strings(image, start[searched], end[searched], about.to_file[section[searched]]))
    return _merged(start[whole], *(first for first, _ in texts)), _merged(
        end[whole], *(last for _, last in texts)
    )


def _is_padding(image: Elf, start: Int, end: Int, section: Int, about: _Sections) -> Flags:
    """Check which ranges are padding.

    In code, fewer than 16 bytes before a multiple of 16 count as padding without being read, since
    the 400,000 gaps of libtorch_cpu.so are spread over all its pages.
    """
    size, boundary = end - start, end + about.to_address[section]
    good: Flags = (
        about.is_code[section] & (size < FUNCTION_ALIGNMENT) & (boundary % FUNCTION_ALIGNMENT == 0)
    )
    others = np.flatnonzero(~good)
    start, size, section, boundary = start[others], size[others], section[others], boundary[others]
    reach = np.left_shift(1, np.frexp(np.maximum(size, 1).astype(np.float64))[1].astype(np.int64))
    aligned = boundary % np.minimum(reach, WIDEST_FILL) == 0
    is_code, is_nobits = about.is_code[section], about.is_nobits[section]
    good[others] = is_nobits & aligned & (size < WIDEST_PADDING)
    read = np.flatnonzero(
        aligned & ~is_nobits & (size < np.where(is_code, WIDEST_FILL, WIDEST_PADDING))
    )
    good[others[read]] |= _blank(
        image, start[read], size[read], about.to_file[section[read]], is_code[read]
    )
    return good


def _merged(*columns: Int) -> Int:
    """Merge sorted columns; a stable sort merges runs."""
    return np.sort(np.concatenate(columns), kind="stable")


def _strings(image: Elf, start: Int, end: Int, to_file: Int) -> Iterator[tuple[Int, Int]]:
    """Yield starts and ends on the line of the runs of strings in gaps, a batch at a time."""
    for low, high in _batches(end - start + 1):
        # Each gap is followed by a byte that is neither text nor NUL.
        length = end[low:high] - start[low:high] + 1
        if high - low == 1:
            first_byte = int(start[low] + to_file[low])
            content = np.append(
                image.data[first_byte : first_byte + int(length[0]) - 1], np.uint8(1)
            )
            first, after = string_runs(content, np.array([len(content) - 1]))
            yield first + start[low], after + start[low]
        else:
            place, last = _spread(start[low:high], length)
            to_data = np.repeat(to_file[low:high], length)
            content = image.data[np.minimum(place + to_data, len(image.data) - 1)]
            content[last] = 1
            first, after = string_runs(content, last)
            yield place[first], place[after - 1] + 1


def string_runs(content: npt.NDArray[np.uint8], last: Int) -> tuple[Int, Int]:
    """Find runs of adjacent strings.

    content: bytes of gaps, one after the other; the byte at each index in `last` ends a gap, and is
    1, which is neither text nor NUL.

    A string is text of SHORTEST_STRING bytes or more between NULs; the beginning of a gap can
    replace the first NUL. Returns the start of each run, and the index after its last NUL.
    """
    change = np.flatnonzero(np.diff(_is_text(content), prepend=False, append=False))
    first, after = change[::2], change[1::2]
    # Index -1 before the text at index 0 is the last byte, which is the end of a gap.
    ends_gap = np.zeros(len(content), np.bool_)
    ends_gap[last] = True
    is_string = (
        (after - first >= SHORTEST_STRING)
        & (content[np.minimum(after, len(content) - 1)] == 0)
        & ((content[first - 1] == 0) | ends_gap[first - 1])
    )
    first, after = first[is_string], after[is_string] + 1
    is_new = np.ones(len(first), np.bool_)
    is_new[1:] = first[1:] != after[:-1]
    is_end = np.ones(len(first), np.bool_)
    is_end[:-1] = is_new[1:]
    return first[is_new], after[is_end]


def _is_text(content: npt.NDArray[np.uint8]) -> Flags:
    """Check which bytes are text; a table of 256 flags takes five times as long."""
    found: Flags = (content - np.uint8(0x20)) < 0x5F
    for control in _CONTROLS:
        found |= content == control
    return found


def _blank(image: Elf, start: Int, size: Int, to_file: Int, is_code: Flags) -> Flags:
    """Check which ranges contain only zeros or, in code, only nops or one repeated filler byte."""
    good = np.zeros(len(start), bool)
    for low, high in _batches(size):
        length = size[low:high]
        place, last = _spread(start[low:high] + to_file[low:high], length)
        content = image.data[place]
        first = last - length + 1
        smallest, largest = np.minimum.reduceat(content, first), np.maximum.reduceat(content, first)
        nops = np.logical_and.reduceat(_NOP[content], first) & (length < WIDEST_PADDING)
        good[low:high] = np.where(
            is_code[low:high], nops | (_FILL[smallest] & (smallest == largest)), largest == 0
        )
    return good


def _batches(length: Int) -> Iterator[tuple[int, int]]:
    """Yield runs of ranges with about _BATCH bytes in total, at least one range each."""
    ends = np.cumsum(length)
    low = 0
    while low < len(length):
        done = int(ends[low - 1]) if low else 0
        high = max(low + 1, int(np.searchsorted(ends, done + _BATCH, side="right")))
        yield low, high
        low = high


def _spread(start: Int, length: Int) -> tuple[Int, Int]:
    """Return all places of ranges, one range after the other, and the index of each range's last.

    Each range has at least one byte.
    """
    last = np.cumsum(length) - 1
    place = np.arange(int(last[-1]) + 1, dtype=np.int64)
    place += np.repeat(start - (last - length + 1), length)
    return place, last
