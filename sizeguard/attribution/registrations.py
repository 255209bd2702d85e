"""Turns the tables by which an image registers its operators into operator → function, without symbols or objects.

A table is an array of entries, each with a pointer to a name such as aten::add.out, or a schema that begins with one, and behind it a
pointer to code. In a position-independent image relocations hold them, as addends or in place; in others the words themselves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sizeguard.formats.elf import Elf
from sizeguard.formats.elf.image import RELOCATION_TYPES, Section
from sizeguard.formats.elf.layout import signed
from sizeguard.formats.texts import Int

_NAME = re.compile(rb"[A-Za-z_]\w*::[A-Za-z_][\w.]*(?=[\0(])")

_FIRST = np.array([chr(i).isalpha() or i == ord("_") for i in range(128)] + [False] * 128, np.bool_)
_WORD = _FIRST | np.array([ord("0") <= i <= ord("9") for i in range(256)], np.bool_)

LONGEST_ENTRY = 128  # bytes between the pointer to a name and the one to its function
LONGEST_NAME = 200
FEWEST = 2  # entries of a table: one pair of pointers proves nothing


@dataclass(frozen=True, slots=True)
class Registration:
    """An entry: bytes [address, address + size) of the image register `operator`, served by the code at `function`."""

    operator: str
    function: int
    address: int
    size: int


def read_registrations(image: Elf) -> tuple[Registration, ...]:
    """All entries, in order of address. Empty for what has none, and for relocatable objects: their tables are not linked."""
    if image.is_relocatable:
        return ()
    at, target = _pointers(image)
    order = np.argsort(at, kind="stable")
    at, target = at[order], target[order]
    is_code = _inside(target, [s for s in image.sections if s.is_allocated and s.is_executable and s.load_size])
    strings = [s for s in image.sections if s.is_allocated and not s.is_executable and s.load_size]
    named = np.flatnonzero(may_be_names(image, strings, target))
    names = {i: name for i in named.tolist() if (name := _name(image, strings, int(target[i])))}
    code = np.flatnonzero(is_code)
    rows = np.array(sorted(names), np.int64)
    if not len(rows) or not len(code):
        return ()
    following = np.searchsorted(code, rows)
    rows, following = rows[following < len(code)], following[following < len(code)]
    function = code[following]
    distance = at[function] - at[rows]
    # The name of the next entry must not come first.
    next_name = np.append(at[rows[1:]], np.iinfo(np.int64).max)
    ok = (distance <= LONGEST_ENTRY) & (at[function] < next_name)
    rows, function = rows[ok], function[ok]
    found = []
    word = image.layout.word_size
    for low, high, stride in _tables(at[rows], at[function] - at[rows]):
        for i in range(low, high):
            size = stride or int(at[function[i]] - at[rows[i]]) + word
            found.append(Registration(names[int(rows[i])], int(target[function[i]]), int(at[rows[i]]), size))
    return tuple(found)


def _tables(at: Int, distance: Int) -> list[tuple[int, int, int]]:
    """Runs [low, high) of entries of one shape, one behind the other, and how far apart they are."""
    tables = []
    low = 0
    while low < len(at):
        high = low + 1
        stride = int(at[high] - at[low]) if high < len(at) else 0
        while high < len(at) and at[high] - at[high - 1] == stride and distance[high] == distance[low] and stride <= LONGEST_ENTRY:
            high += 1
        if high - low >= FEWEST:
            tables.append((low, high, stride))
            low = high
        else:
            low += 1
    return tables


def _pointers(image: Elf) -> tuple[Int, Int]:
    """Addresses of words that hold an address, and what they hold."""
    columns = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    tables = [s for s in image.sections if s.type in RELOCATION_TYPES and s.is_allocated and s.load_size]
    for section in tables:
        table = image.relocation_table(section)
        own = table.symbol == 0
        offset, addend = table.offset[own], table.addend[own]
        # REL and RELR keep the addend in place.
        in_place = np.flatnonzero(addend == 0)
        target = addend.copy()
        target[in_place] = _words_at(image, offset[in_place])
        columns.append((offset, target))
    if sum(len(offset) for offset, _ in columns) == 0:
        columns.extend(_words(image, section) for section in image.sections if section.is_allocated and not section.is_executable)
    return np.concatenate([c[0] for c in columns]), np.concatenate([c[1] for c in columns])


def _words(image: Elf, section: Section) -> tuple[Int, Int]:
    """All aligned words of a section."""
    width = image.layout.word_size
    count = section.load_size // width
    address = _address(section) + width * np.arange(count, dtype=np.int64)
    return address, _words_at(image, address)


def _words_at(image: Elf, address: Int) -> Int:
    """The word in the file at each address; 0 for addresses that the file does not hold."""
    width = image.layout.word_size
    result = np.zeros(len(address), np.int64)
    for section in image.sections:
        if not section.is_allocated or section.load_size < width:
            continue
        here = np.flatnonzero((address >= _address(section)) & (address <= _address(section) + section.load_size - width))
        where = section.offset + address[here] - _address(section)
        raw = np.zeros((len(here), width), np.uint8)
        for i in range(width):
            raw[:, i] = image.data[where + i]
        result[here] = raw.reshape(-1).view(image.layout.word).astype(np.int64)
    return result


def _address(section: Section) -> int:
    return signed(section.address)


def _inside(address: Int, sections: list[Section]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    result = np.zeros(len(address), np.bool_)
    for section in sections:
        result |= (address >= _address(section)) & (address < _address(section) + section.load_size)
    return result


def may_be_names(image: Elf, sections: list[Section], address: Int) -> npt.NDArray[np.bool_]:
    """Where a word and two colons stand. All pointers at once, a character at a time, of which few are left after three: one by one
    the 147,927 of libtensorflow_cc.so.2 took 0.8 s."""
    found = np.zeros(len(address), np.bool_)
    at = np.full(len(address), -1, np.int64)
    for section in sections:
        here = np.flatnonzero(_inside(address, [section]))
        at[here] = address[here] - _address(section) + section.offset
    live = np.flatnonzero(at >= 0)
    live = live[_FIRST[image.data[at[live]]]]
    for k in range(1, LONGEST_NAME):
        live = live[at[live] + k + 1 < len(image.data)]
        if not len(live):
            break
        byte = image.data[at[live] + k]
        colons = live[byte == ord(":")]
        found[colons[image.data[at[colons] + k + 1] == ord(":")]] = True
        live = live[_WORD[byte]]
    return found


def _name(image: Elf, sections: list[Section], address: int) -> str:
    for section in sections:
        if _address(section) <= address < _address(section) + section.load_size:
            start = section.offset + address - _address(section)
            end = min(start + LONGEST_NAME, section.offset + section.load_size)
            match = _NAME.match(image.data[start:end].tobytes())
            return match[0].decode() if match else ""
    return ""
