"""Search an image for the bytes of an input section, under any name.

Bytes that a relocation changes are masked. So are the preceding bytes that linkers rewrite when
they relax a load of an address into the address itself.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int
from sizeguard.formats.binary import Binary
from sizeguard.formats.elf import Elf, Relocations, Section

# Fewer fixed bytes than this may occur anywhere, such as `xor eax, eax; ret`.
DECISIVE = 12

_MAX_CANDIDATES = 4096
_AROUND = 64  # bytes on each side of a frequent run
_OUTSIDE = 64  # bytes beyond a section, more than any relocation changes

# Instructions without effect between functions: x86-64 up to 15 bytes, aarch64.
_PADDING = re.compile(
    rb"(?:\x00|\x90|\xcc|\x66\x90|\x0f\x1f\x00|\x0f\x1f\x40\x00|\x0f\x1f\x44\x00\x00"
    rb"|\x66\x0f\x1f\x44\x00\x00|\x0f\x1f\x80\x00{4}|\x0f\x1f\x84\x00{5}"
    rb"|\x66{1,9}\x0f\x1f\x84\x00{5}|\x66{0,9}\x2e\x0f\x1f\x84\x00{5}"
    rb"|\x1f\x20\x03\xd5|\x00\x00\x20\xd4|\x20\x00\x20\xd4"
    # mold's jump to distant code on aarch64: adrp x16; add x16, x16, n; br x16.
    rb"|[\x10\x30\x50\x70\x90\xb0\xd0\xf0]..[\x90\xb0\xd0\xf0]\x10.[\x00-\x3f]\x91\x00\x02\x1f\xd6)*",
    re.DOTALL,
)
WITH_KNOWN_PADDING = ("x86_64", "aarch64", "arm64")

# Bytes before and after r_offset that may change, by relocation type; (0, 4) for others.
_X86_64 = {
    1: (0, 8),  # 64
    24: (0, 8),  # PC64
    25: (0, 8),  # GOTOFF64
    16: (0, 8),  # DTPMOD64
    17: (0, 8),  # DTPOFF64
    18: (0, 8),  # TPOFF64
    27: (0, 8),  # GOT64
    28: (0, 8),  # GOTPCREL64
    29: (0, 8),  # GOTPC64
    30: (0, 8),  # GOTPLT64
    31: (0, 8),  # PLTOFF64
    33: (0, 8),  # SIZE64
    12: (0, 2),
    13: (0, 2),
    14: (0, 1),
    15: (0, 1),
    9: (3, 4),  # GOTPCREL
    41: (2, 4),  # GOTPCRELX
    42: (3, 4),  # REX_GOTPCRELX
    43: (4, 4),
    19: (4, 12),  # TLSGD: lea and call become a load and an addition
    20: (3, 9),  # TLSLD
    22: (3, 4),  # GOTTPOFF
    34: (3, 4),  # GOTPC32_TLSDESC
    35: (0, 2),  # TLSDESC_CALL
}
_I386 = {
    20: (0, 2),
    21: (0, 2),
    22: (0, 1),
    23: (0, 1),
    15: (2, 4),  # TLS_IE
    16: (2, 4),  # TLS_GOTIE
    18: (3, 9),  # TLS_GD
    19: (2, 9),  # TLS_LDM
    39: (2, 4),  # TLS_GOTDESC
    40: (0, 2),  # TLS_DESC_CALL
    43: (2, 4),  # GOT32X
}
_S390X = {
    1: (0, 1),
    3: (0, 2),
    16: (0, 2),
    17: (0, 2),  # PC16DBL
    18: (0, 2),  # PLT16DBL
    22: (0, 8),  # 64
    23: (0, 8),  # PC64
    24: (0, 8),  # GOT64
    25: (0, 8),  # PLT64
    26: (2, 4),  # GOTENT: a load becomes an address
    28: (0, 8),  # GOTOFF64
    37: (0, 6),  # TLS_LOAD, GDCALL and LDCALL: the instruction itself
    38: (0, 6),
    39: (0, 6),
    41: (0, 8),  # TLS_GD64
    44: (0, 8),  # TLS_GOTIE64
    46: (0, 8),  # TLS_LDM64
    48: (0, 8),  # TLS_IE64
    49: (2, 4),  # TLS_IEENT
    51: (0, 8),  # TLS_LE64
    53: (0, 8),  # TLS_LDO64
}
# REL24 and the following nop, ADDR64, UADDR64, REL64, TOC, DTPMOD64, TPREL64, DTPREL64
_PPC64 = dict.fromkeys((10, 38, 43, 44, 51, 68, 73, 78), (0, 8))
# CALL and CALL_PLT are two instructions; 64, ADD64, SUB64, TLS_DTPREL64 and TLS_TPREL64 are data.
_RISCV64 = dict.fromkeys((18, 19, 2, 36, 40, 9, 11), (0, 8))
# 64, DTPMOD64, DTPREL64 and TPREL64; the first one of up to three types counts.
_MIPS64 = dict.fromkeys((18, 40, 41, 48), (0, 8))
# 64, TLS_DTPMOD64, TLS_DTPREL64, TLS_TPREL64, ADD64, SUB64, 64_PCREL and CALL36
_LOONGARCH64 = dict.fromkeys((2, 7, 9, 11, 51, 56, 109, 110), (0, 8))
_AARCH64_DATA = {257: 8, 260: 8, 258: 4, 261: 4, 259: 2, 262: 2}
_AARCH64 = {number: (0, size) for number, size in _AARCH64_DATA.items()}
_TABLES = {
    "x86_64": _X86_64,
    "x32": _X86_64,
    "i386": _I386,
    "s390x": _S390X,
    "ppc64": _PPC64,
    "ppc64le": _PPC64,
    "riscv64": _RISCV64,
    "mips64": _MIPS64,
    "mips64el": _MIPS64,
    "loongarch64": _LOONGARCH64,
    "aarch64": _AARCH64,
    "arm64": _AARCH64,
}
_OTHER_TYPE = 300  # above all of these types


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """Bytes to search for; only the fixed ones are compared."""

    data: npt.NDArray[np.uint8]
    fixed: npt.NDArray[np.bool_]

    @property
    def strength(self) -> int:
        """Count the bytes that are compared, without zeros at the ends, which are everywhere.

        A jump of ppc64 is followed by 12 zeros, which describe the function to debuggers.
        """
        told = np.flatnonzero(self.data[self.fixed])
        return int(told[-1] - told[0]) + 1 if len(told) else 0

    def matches(self, found: npt.NDArray[np.uint8]) -> bool:
        """Return whether bytes equal the pattern outside the masked bytes."""
        if len(found) != len(self.data):
            return False
        return not bool(((found != self.data) & self.fixed).any())

    def part(self, offset: int, size: int) -> Pattern:
        """Cut a part of the pattern."""
        return Pattern(self.data[offset : offset + size], self.fixed[offset : offset + size])


def patterns_of(
    elf: Elf, sections: Sequence[Section], relocations: Relocations, counts: Sequence[int]
) -> list[Pattern]:
    """Predict the bytes of an object's sections in the image, before linking.

    relocations: of all these sections, joined in their order
    counts:      how many of them each section has
    """
    parts = [elf.view(section) for section in sections]
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    size = np.diff(ends, prepend=0)
    first, length = np.repeat(ends - size, counts), np.repeat(size, counts)
    # Bytes outside the section do not count, however far away they are.
    offset = np.clip(relocations.offset, -_OUTSIDE, length + _OUTSIDE)
    before, after = _changed(elf.machine, offset, relocations.type)
    start = np.clip(offset - before, 0, length)
    end = np.clip(offset + after, start, length)
    total = int(ends[-1]) if parts else 0
    opened = np.bincount(first + start, minlength=total + 1)
    closed = np.bincount(first + end, minlength=total + 1)
    fixed = np.cumsum(opened - closed)[:total] == 0
    bounds = zip((ends - size).tolist(), ends.tolist(), strict=True)
    return [
        Pattern(np.array(part), fixed[begin:stop])
        for part, (begin, stop) in zip(parts, bounds, strict=True)
    ]


def _changed(machine: str, offset: Int, types: npt.NDArray[np.uint32]) -> tuple[Int, Int]:
    """Return how many bytes before and after each place may change."""
    before, after = _extents(machine)[np.minimum(types, _OTHER_TYPE)].T
    # An instruction changes as a whole. On big-endian PowerPC, most places are its second half.
    if machine in ("aarch64", "ppc64"):
        is_code = ~np.isin(types, list(_AARCH64_DATA if machine == "aarch64" else _PPC64))
        before = np.where(is_code, offset % 4, before)
        after = np.where(is_code, 4 - offset % 4, after)
    return before, after


@functools.cache
def _extents(machine: str) -> Int:
    """Return the bytes before and after a place that may change, by relocation type."""
    table = _TABLES.get(machine, {})
    extents = np.full((_OTHER_TYPE + 1, 2), (0, 4), np.int64)
    for number, extent in table.items():
        extents[number] = extent
    return extents


def is_padding(data: bytes) -> bool:
    """Return whether bytes of code only fill the space between functions."""
    return _PADDING.fullmatch(data) is not None


class LoadedBytes(NamedTuple):
    """The bytes of a section at its address. numbers: the same as content, as an array."""

    section: str
    address: int
    numbers: npt.NDArray[np.uint8]
    content: bytes


@dataclass(frozen=True, eq=False)
class ImageBytes:
    """The loaded bytes of an image, by address."""

    elf: Binary

    @cached_property
    def parts(self) -> tuple[LoadedBytes, ...]:
        """Sections with content."""
        found = []
        for section in self.elf.sections:
            if section.is_allocated and section.file_size:
                content = self.elf.content(section)
                numbers = np.frombuffer(content, np.uint8)
                found.append(LoadedBytes(section.name, section.address, numbers, content))
        return tuple(found)

    @cached_property
    def outside(self) -> npt.NDArray[np.uint8]:
        """The bytes of the file, by offset, with zeros for those of loaded sections.

        Stripping keeps other bytes, too: between sections, behind them, and of unloaded sections.
        """
        data = np.array(self.elf.data)
        for section in self.elf.sections:
            if section.is_allocated and section.file_size:
                data[section.offset : section.offset + section.file_size] = 0
        return data

    @cached_property
    def _unloaded(self) -> list[tuple[int, bytes]]:
        """Parts of the file outside of loaded sections, by offset."""
        return list(_between(self.elf, [s for s in self.elf.sections if s.is_allocated]))

    @cached_property
    def _in_no_section(self) -> list[tuple[int, bytes]]:
        """Parts of the file outside of all sections, by offset."""
        return list(_between(self.elf, self.elf.sections))

    @cached_property
    def outside_bytes(self) -> bytes:
        """The same as `outside`."""
        return self.outside.tobytes()

    def at(self, address: int, size: int) -> npt.NDArray[np.uint8]:
        """Return the bytes at an address; fewer if the image ends before."""
        for _, start, numbers, _ in self.parts:
            if start <= address < start + len(numbers):
                return numbers[address - start : address - start + size]
        return np.zeros(0, np.uint8)

    def has_at(self, pattern: Pattern, address: int) -> bool:
        """Return whether a pattern is at an address, which sections of an overlay share."""
        return any(
            pattern.matches(numbers[address - start : address - start + len(pattern.data)])
            for _, start, numbers, _ in self.parts
            if start <= address < start + len(numbers)
        )

    def find(self, pattern: Pattern) -> list[int]:
        """Return the addresses where a pattern occurs."""
        return [
            address + place
            for _, address, numbers, content in self.parts
            for place in _places(pattern, content, numbers)
        ]

    def find_outside(self, pattern: Pattern, *, is_stripped: bool) -> list[int]:
        """Return the offsets in the file, outside of loaded sections, where a pattern occurs.

        is_stripped: whether unloaded sections count, too: they have no debug information
        """
        parts = self._unloaded if is_stripped else self._in_no_section
        return [
            offset + place
            for offset, content in parts
            for place in _places(pattern, content, np.frombuffer(content, np.uint8))
        ]

    def constant(self, value: bytes) -> list[int]:
        """Return the addresses where some bytes occur."""
        return [
            address + position
            for _, address, _, content in self.parts
            for position in occurrences(content, value)
        ]


def _between(elf: Binary, sections: Iterable[Section]) -> Iterator[tuple[int, bytes]]:
    """Yield the offset and bytes of the parts of a file that no section has."""
    ends = sorted((s.offset, s.offset + s.file_size) for s in sections if s.file_size)
    place = 0
    for start, end in (*ends, (len(elf.data), len(elf.data))):
        if start > place:
            yield place, elf.data[place:start].tobytes()
        place = max(place, end)


def _places(pattern: Pattern, content: bytes, numbers: npt.NDArray[np.uint8]) -> Iterator[int]:
    """Yield the places of a pattern. numbers: the content as an array."""
    for first in _candidates(pattern, content):
        if first >= 0 and pattern.matches(numbers[first : first + len(pattern.data)]):
            yield first


def _candidates(pattern: Pattern, content: bytes) -> Iterator[int]:
    """Yield where a pattern may begin: at its longest run of fixed bytes.

    If that is frequent, bytes around it decide, too: all functions of aarch64 may begin alike.
    """
    start, length = _anchor(pattern.fixed)
    if length == 0:
        return
    anchor = pattern.data[start : start + length].tobytes()
    position = -1
    for position in occurrences(content, anchor):
        yield position - start
    if content.find(anchor, position + 1) < 0:
        return
    expression = _around(pattern, start, min(start + length, start + _AROUND))
    while found := expression.search(content, position + 1):
        position = found.start()
        yield position - start


def _around(pattern: Pattern, start: int, end: int) -> re.Pattern[bytes]:
    """Return an expression for the fixed bytes [start, end) among those before and after them."""
    each = [
        re.escape(bytes([byte])) if is_fixed else b"."
        for byte, is_fixed in zip(pattern.data.tolist(), pattern.fixed.tolist(), strict=True)
    ]
    before, own, after = (
        b"".join(part)
        for part in (each[max(start - _AROUND, 0) : start], each[start:end], each[end:][:_AROUND])
    )
    return re.compile(own + b"(?<=" + before + own + b")" + after, re.DOTALL)


def _anchor(fixed: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """Return start and length of the longest run of fixed bytes."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], fixed, [False]]).astype(np.int8)))
    if not len(edges):
        return 0, 0
    starts, lengths = edges[::2], edges[1::2] - edges[::2]
    longest = int(lengths.argmax())
    return int(starts[longest]), int(lengths[longest])


def occurrences(content: bytes, wanted: bytes) -> Iterator[int]:
    """Yield the places of some bytes, at most 4,096 of them."""
    position = content.find(wanted)
    for _ in range(_MAX_CANDIDATES):
        if position < 0:
            return
        yield position
        position = content.find(wanted, position + 1)
