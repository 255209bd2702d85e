"""Read the pointers that dyld writes from rebase and bind opcodes, as columns.

A loop finds only where each opcode begins; their numbers and places are columns. On 300,000 opcodes
of TensorFlow's dylib, that takes a third of the time of a loop over all of it.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int
from sizeguard.formats.macho.image import MachO
from sizeguard.formats.macho.uleb import UlebReader, read_ulebs_at

Word = npt.NDArray[np.uint64]

_TEXT, _DONE = -1, -2  # an opcode that a string follows, and the one that ends a table
_MANY = 1 << 62  # bytes between the ends of a run, above all addresses

# ULEB128 numbers that follow each opcode, which is the upper half of its byte.
_REBASE = {
    0x00: _DONE,
    0x10: 0,  # type
    0x20: 1,  # segment and offset
    0x30: 1,  # advance
    0x40: 0,  # advance by pointers
    0x50: 0,  # some pointers
    0x60: 1,  # more pointers
    0x70: 1,  # a pointer, and bytes to skip
    0x80: 2,  # pointers, and bytes to skip after each
}
_BIND = {
    0x00: _DONE,
    0x10: 0,  # library
    0x20: 1,
    0x30: 0,
    0x40: _TEXT,  # name
    0x50: 0,  # type
    0x60: 1,  # addend
    0x70: 1,  # segment and offset
    0x80: 1,  # advance
    0x90: 0,  # a pointer
    0xA0: 1,  # a pointer, and bytes to skip
    0xB0: 0,  # a pointer, and pointers to skip
    0xC0: 2,  # pointers, and bytes to skip after each
}
_LAZY_BIND = {**_BIND, 0x00: 0}  # there, 0x00 ends the entry of one import, not the table


class WrittenPointers(NamedTuple):
    """Pointers that opcodes bind, as columns of Fixups. target: the addend."""

    address: Int
    symbol: Int
    target: Int


@dataclass(frozen=True, slots=True)
class Written:
    """Pointers that opcodes write, in their order.

    address, offset: in memory and in the file
    opcode:          the row of the opcode that writes it
    """

    address: Int
    offset: Int
    opcode: Int


def rebased(image: MachO) -> Written:
    """Return the pointers into the image itself.

    Raises ValueError or IndexError for damaged opcodes.
    """
    table = _OpcodeTable.of(image.part("rebase opcodes").tobytes(), _REBASE, "rebase")
    kind, immediate, size = table.kind, table.immediate.astype(np.uint64), image.pointer_size
    count, skip, advance = (np.zeros(len(kind), np.uint64) for _ in range(3))
    count[kind == 0x50] = immediate[kind == 0x50]
    count[kind == 0x70] = 1
    for opcode in (0x60, 0x80):
        count[kind == opcode] = table.numbers(kind == opcode)
    skip[kind == 0x70] = table.numbers(kind == 0x70)
    skip[kind == 0x80] = table.numbers(kind == 0x80, 1)
    advance[kind == 0x30] = table.numbers(kind == 0x30)
    advance[kind == 0x40] = immediate[kind == 0x40] * np.uint64(size)
    return _Runs.of(image, table, 0x20, advance, count, skip).pointers()


def bound(image: MachO, part: str, imports: list[str]) -> WrittenPointers:
    """Return the pointers that a table of bind opcodes binds; the target is the addend.

    Names are added to `imports`. Raises ValueError or IndexError for damaged opcodes.
    """
    follows = _LAZY_BIND if part == "lazy bind opcodes" else _BIND
    table = _OpcodeTable.of(image.part(part).tobytes(), follows, "bind")
    kind, size = table.kind, image.pointer_size
    count, skip, advance = (np.zeros(len(kind), np.uint64) for _ in range(3))
    count[np.isin(kind, (0x90, 0xA0, 0xB0))] = 1
    count[kind == 0xC0] = table.numbers(kind == 0xC0)
    skip[kind == 0xA0] = table.numbers(kind == 0xA0)
    skip[kind == 0xB0] = table.immediate[kind == 0xB0].astype(np.uint64) * np.uint64(size)
    skip[kind == 0xC0] = table.numbers(kind == 0xC0, 1)
    advance[kind == 0x80] = table.numbers(kind == 0x80)
    found = _Runs.of(image, table, 0x70, advance, count, skip).pointers()
    symbol = _latest(kind == 0x40, _named(table, imports), -1)
    addend = _latest(kind == 0x60, _addends(table), 0)
    return WrittenPointers(found.address, symbol[found.opcode], addend[found.opcode])


def _named(table: _OpcodeTable, imports: list[str]) -> Int:
    """Return the import of each opcode with a name; new ones are added to `imports`."""
    known: dict[bytes, int] = {}
    symbols = array("q")
    for place in table.place[table.kind == 0x40].tolist():
        name = table.data[place + 1 : table.data.index(b"\0", place + 1)]
        symbol = known.setdefault(name, len(imports))
        if symbol == len(imports):
            imports.append(name.decode("utf-8", "backslashreplace"))
        symbols.append(symbol)
    return np.array(symbols, np.int64)


def _addends(table: _OpcodeTable) -> Int:
    """Return the addend of each opcode with one. Raises ValueError if it needs over 64 bits."""
    places = table.place[table.kind == 0x60].tolist()
    addends = [UlebReader(table.data, place + 1).sleb() for place in places]
    for addend in addends:
        if not -(1 << 63) <= addend < 1 << 63:
            raise ValueError(f"addend {addend:#x}")
    return np.array(addends, np.int64)


def _latest(which: npt.NDArray[np.bool_], values: Int, otherwise: int) -> Int:
    """Return the value that the last chosen row up to each row has; `otherwise` before them."""
    return np.append(np.int64(otherwise), values)[np.cumsum(which)]


@dataclass(frozen=True, slots=True)
class _OpcodeTable:
    """The opcodes of a table, as columns; place: of each in `data`."""

    data: bytes
    place: Int
    kind: npt.NDArray[np.uint8]
    immediate: npt.NDArray[np.uint8]

    @staticmethod
    def of(data: bytes, follows: Mapping[int, int], what: str) -> _OpcodeTable:
        """Find the opcodes up to the end of the table."""
        place = np.array(_places(data, follows, what), np.int64)
        byte = np.frombuffer(data, np.uint8)[place]
        return _OpcodeTable(data, place, byte & np.uint8(0xF0), byte & np.uint8(0x0F))

    def numbers(self, rows: npt.NDArray[np.bool_], nth: int = 0) -> Word:
        """Return the first or second number that follows some opcodes."""
        bytes_ = np.frombuffer(self.data, np.uint8)
        value, end = read_ulebs_at(bytes_, self.place[rows] + 1)
        return read_ulebs_at(bytes_, end)[0] if nth else value


def _places(data: bytes, follows: Mapping[int, int], what: str) -> array[int]:
    """Return where each opcode begins. Raises IndexError if the last one is incomplete.

    follows: the numbers after each opcode, _TEXT for a string, _DONE at the end of the table.
    """
    of_byte = [follows.get(byte & 0xF0) for byte in range(256)]
    places = array("q")
    position, size = 0, len(data)
    while position < size:
        count = of_byte[data[position]]
        if count is None:
            raise ValueError(f"{what} opcode {data[position]:#x}")
        if count == _DONE:
            break
        places.append(position)
        position += 1
        if count == _TEXT:
            position = data.index(b"\0", position) + 1
        while count > 0:
            while data[position] >= 0x80:
                position += 1
            position += 1
            count -= 1
    return places


@dataclass(frozen=True, slots=True)
class _Runs:
    """Pointers at equal distances: address and file offset of the first, number, distance.

    opcode: the row of the opcode that writes them
    """

    address: Int
    offset: Int
    count: Int
    step: Int
    opcode: Int

    @staticmethod
    def of(
        image: MachO, table: _OpcodeTable, set_opcode: int, advance: Word, count: Word, skip: Word
    ) -> _Runs:
        """Follow the place that opcodes write to, which they move and set.

        set_opcode: sets it to an offset of a segment; advance, count, skip: of each opcode.

        Raises ValueError for a pointer outside its segment.
        """
        is_set = table.kind == set_opcode
        segment = table.immediate[is_set].astype(np.int64)
        if len(segment) and int(segment.max()) >= len(image.segments):
            raise ValueError(f"segment {segment.max()} of {len(image.segments)}")
        # An image cannot have more pointers than bytes / 4, but damaged opcodes could state any
        # number.
        most = image.size // 4
        if len(count) and (int(count.max()) > most or int(count.sum()) > most):
            raise ValueError("more pointers than fit into the image")
        step = skip + np.uint64(image.pointer_size)  # 64 bits, so that a large skip moves back
        moved = advance + np.where(count > 0, step * count, np.uint64(0))
        passed = np.append(np.uint64(0), np.cumsum(moved, dtype=np.uint64))
        rows = np.flatnonzero(count)
        nth = np.cumsum(is_set)[rows]
        start = np.append(np.uint64(0), table.numbers(is_set) - passed[:-1][is_set])
        inside = start[nth] + passed[rows]
        in_segment = np.append(-1, segment)[nth]
        steps = step[rows].view(np.int64)
        counts = count[rows].astype(np.int64)
        _check(image, in_segment, inside, counts, steps)
        address, offset = (
            np.array([getattr(s, name) for s in image.segments], np.int64)[in_segment]
            for name in ("address", "offset")
        )
        place = inside.astype(np.int64)
        return _Runs(address + place, offset + place, counts, steps, rows)

    def pointers(self) -> Written:
        """Return each pointer of the runs."""
        run = np.repeat(np.arange(len(self.count)), self.count)
        nth = np.arange(len(run)) - np.repeat(np.cumsum(self.count) - self.count, self.count)
        way = self.step[run] * nth
        return Written(self.address[run] + way, self.offset[run] + way, self.opcode[run])


def _check(image: MachO, segment: Int, start: Word, count: Int, step: Int) -> None:
    """Raise ValueError if a run is not in its segment.

    segment: -1 before the first opcode that sets it; start: in the segment.
    """
    sizes = [s.file_size for s in image.segments]
    most = np.array([*sizes, 0], np.int64)[segment] - image.pointer_size
    is_far = start > np.maximum(most, 0).astype(np.uint64)
    # A run across 2^62 bytes is outside; a float shows that without wrapping around.
    is_far |= np.abs(step.astype(np.float64)) * count >= _MANY
    first = np.where(is_far, 0, start.astype(np.int64))
    last = first + np.where(is_far, 0, step) * (count - 1)
    outside = is_far | (segment < 0) | (most < first) | (last < 0) | (last > most)
    if outside.any():
        i = int(np.argmax(outside))
        where = (int(start[i]) + int(step[i]) * (int(count[i]) - 1)) % (1 << 64)
        name = image.segments[int(segment[i])].name if segment[i] >= 0 else ""
        raise ValueError(f"a pointer at {where:#x} of segment {name}")
