"""Read the tables by which an image registers names, without symbols or objects.

A table is an array of entries. Each has a pointer to a name such as aten::add.out, or to a schema
that begins with a name, followed by a pointer to code. In a position-independent image the pointers
are in relocations, as addends or in place; in other images they are in the words themselves.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int
from sizeguard.formats.binary import Binary
from sizeguard.formats.elf import ET_EXEC, Elf, Section
from sizeguard.formats.elf.layout import signed
from sizeguard.names.pointers import (
    Pointers,
    data_words,
    relative_pointers,
    symbolic_pointers,
)

Bool = npt.NDArray[np.bool_]

_FIRST = np.array([chr(i).isalpha() or i == ord("_") for i in range(128)] + [False] * 128, np.bool_)
_WORD = _FIRST | np.isin(np.arange(256), np.frombuffer(b".0123456789", np.uint8))

LONGEST_NAMESPACE = 200
LONGEST_STRIDE = 128  # bytes from an entry to the next one in its table


@dataclass(frozen=True, slots=True)
class TableShape:
    """The form of table entries of one kind.

    text:         pattern of the text of the first pointer; group 1 is the name
    distance:     largest distance in bytes between the pointers to text and code
    fewest:       smallest number of entries of a table, which are evenly spaced
    is_qualified: whether every name has `::` after its first word
    longest:      bytes of a text to read
    """

    text: re.Pattern[bytes]
    distance: int = 8
    fewest: int = 1
    is_qualified: bool = True
    longest: int = 512


# For any runtime, with other fields between the pointers. A single pair of pointers is not enough.
NAMES = TableShape(
    re.compile(rb"([A-Za-z_]\w*::[A-Za-z_][\w.]*)(?=[\0(])"), LONGEST_STRIDE, 2, longest=200
)
# A schema next to its function.
SCHEMAS = TableShape(re.compile(rb"([A-Za-z_][\w.]*::[\w.]+)\("))


def exact_names(names: Sequence[str]) -> TableShape:
    """Return the shape of a table with these names, each next to a function."""
    known = b"|".join(re.escape(name.encode()) for name in names)
    return TableShape(re.compile(rb"(%s)(?=\0)" % (known or rb"(?!)")), is_qualified=False)


@dataclass(frozen=True, slots=True)
class Registration:
    """An entry of a registration table.

    The bytes [address, address + size) register `name`, served by the code at `function`.
    """

    name: str
    function: int
    address: int
    size: int


def read_registrations(image: Elf) -> tuple[Registration, ...]:
    """Return the entries of any runtime's tables, in order of address.

    Empty for images without tables, and for relocatable objects, whose tables are not linked.
    """
    if image.is_relocatable:
        return ()
    # A static program that is loaded where it was linked has relocations, too, of ifuncs; functions
    # that a library exports have relocations with their symbol.
    relative = relative_pointers(image)
    is_fixed = image.type == ET_EXEC or not len(relative.at)
    words = [data_words(image)] if is_fixed else []
    pointers = Pointers.of([*words, relative, symbolic_pointers(image)])
    return read_entries(image, pointers, NAMES, image.layout.word_size)


def read_entries(
    image: Binary,
    pointers: Pointers,
    shape: TableShape,
    word: int = 8,
    *,
    in_code: bool = False,
) -> tuple[Registration, ...]:
    """Return the entries of tables of a shape, in order of address.

    word:    bytes of a pointer
    in_code: whether tables and texts may be in sections of code, too
    """
    at, target = pointers.at, pointers.target
    data = [s for s in image.sections if s.load_size and (in_code or not s.is_executable)]
    code = np.flatnonzero(_inside(target, [s for s in image.sections if s.is_executable]))
    if in_code:
        code = code[~may_be_names(image, data, target[code])]
    rows, function = _near(pointers, data, code, shape.distance)
    if shape.is_qualified:
        may = may_be_names(image, data, target[rows])
        rows, function = rows[may], function[may]
    names = [_name(image, data, int(address), shape) for address in target[rows].tolist()]
    named = np.array([bool(name) for name in names], np.bool_)
    names = [name for name in names if name]
    rows, function = rows[named], function[named]
    # The next entry's name must not come first.
    ok = at[function] < np.append(at[rows[1:]], np.iinfo(np.int64).max)[: len(rows)]
    names = [names[i] for i in np.flatnonzero(ok).tolist()]
    rows, function = rows[ok], function[ok]
    found = []
    for low, high, stride in _tables(at[rows], at[function] - at[rows], shape.fewest):
        for i in range(low, high):
            size = stride or int(at[function[i]] - at[rows[i]]) + word
            found.append(Registration(names[i], int(target[function[i]]), int(at[rows[i]]), size))
    return tuple(found)


def _near(pointers: Pointers, data: Sequence[Section], code: Int, distance: int) -> tuple[Int, Int]:
    """Return the pointers to data that a pointer to code follows in their section, and the latter.

    code: rows of the pointers to code; distance: bytes between both at most
    """
    rows = np.flatnonzero(_inside(pointers.target, data))
    following = np.searchsorted(code, rows, side="right")
    rows, following = rows[following < len(code)], following[following < len(code)]
    function = code[following]
    home = _section_of(pointers.at, data)
    near = (pointers.at[function] - pointers.at[rows] <= distance) & (home[rows] >= 0)
    near &= home[rows] == home[function]
    return rows[near], function[near]


def _tables(at: Int, distance: Int, fewest: int) -> list[tuple[int, int, int]]:
    """Find runs [low, high) of evenly spaced entries of one shape, and their spacing.

    The spacing is 0 for a single entry.
    """
    tables = []
    low = 0
    while low < len(at):
        high = low + 1
        stride = int(at[high] - at[low]) if high < len(at) else 0
        while (
            high < len(at)
            and at[high] - at[high - 1] == stride
            and distance[high] == distance[low]
            and stride <= LONGEST_STRIDE
        ):
            high += 1
        if high - low >= fewest:
            tables.append((low, high, stride if high - low > 1 else 0))
            low = high
        else:
            low += 1
    return tables


def _inside(address: Int, sections: Sequence[Section]) -> Bool:
    """Return whether an address is in one of the sections."""
    return _section_of(address, sections) >= 0


def _section_of(address: Int, sections: Sequence[Section]) -> npt.NDArray[np.int32]:
    """Return the index of the section that contains each address; -1 if there is none."""
    result = np.full(len(address), -1, np.int32)
    for i, section in enumerate(sections):
        start = signed(section.address)
        result[(address >= start) & (address < start + section.load_size)] = i
    return result


def may_be_names(image: Binary, sections: Sequence[Section], address: Int) -> Bool:
    """Return whether a word and two colons are at each address.

    All pointers are checked together, a character at a time; few remain after three. One by one,
    the 147,927 of libtensorflow_cc.so.2 took 0.8 s.
    """
    found = np.zeros(len(address), np.bool_)
    at = np.full(len(address), -1, np.int64)
    for section in sections:
        here = np.flatnonzero(_inside(address, [section]))
        at[here] = address[here] - signed(section.address) + section.offset
    live = np.flatnonzero(at >= 0)
    live = live[_FIRST[image.data[at[live]]]]
    for k in range(1, LONGEST_NAMESPACE):
        live = live[at[live] + k + 1 < len(image.data)]
        if not len(live):
            break
        byte = image.data[at[live] + k]
        colons = live[byte == ord(":")]
        found[colons[image.data[at[colons] + k + 1] == ord(":")]] = True
        live = live[_WORD[byte]]
    return found


def _name(image: Binary, sections: Sequence[Section], address: int, shape: TableShape) -> str:
    for section in sections:
        start = signed(section.address)
        if start <= address < start + section.load_size:
            begin = section.offset + address - start
            end = min(begin + shape.longest, section.offset + section.load_size)
            match = shape.text.match(image.data[begin:end].tobytes())
            return match[1].decode() if match else ""
    return ""
