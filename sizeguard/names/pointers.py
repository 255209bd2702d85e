"""Read the addresses in the words of a loaded ELF image, as columns."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int
from sizeguard.formats.elf import Elf
from sizeguard.formats.elf.image import RELOCATION_TYPES, Section
from sizeguard.formats.elf.layout import signed
from sizeguard.formats.elf.relocations import Relocations


@dataclass(frozen=True, slots=True)
class Pointers:
    """Places of words, ascending, and the address in each."""

    at: Int
    target: Int

    @staticmethod
    def of(parts: Iterable[Pointers]) -> Pointers:
        """Join several; if they share a place, the last one counts."""
        columns = [(part.at, part.target) for part in parts] or [(_NOTHING, _NOTHING)]
        at, target = (np.concatenate(column) for column in zip(*columns, strict=True))
        order = np.argsort(at, kind="stable")
        at, target = at[order], target[order]
        is_last = np.append(at[1:] != at[:-1], True)[: len(at)]
        return Pointers(at[is_last], target[is_last])


_NOTHING = np.zeros(0, np.int64)


def relative_pointers(image: Elf) -> Pointers:
    """Return the addresses that relocations without a symbol write."""
    parts = []
    for _, table in _relocations(image):
        own = table.symbol == 0
        offset, addend = table.offset[own], table.addend[own]
        # REL and RELR store the addend in place.
        in_place = np.flatnonzero(addend == 0)
        target = addend.copy()
        target[in_place] = _words_at(image, offset[in_place])
        parts.append(Pointers(offset, target))
    return Pointers.of(parts)


def symbolic_pointers(image: Elf) -> Pointers:
    """Return the addresses that relocations with a symbol of the image write.

    Types differ by machine. Those that write something else do not write the address of a text
    beside that of a function.
    """
    parts = []
    for section, table in _relocations(image):
        symbols = image.table_of(section)
        if symbols is None:
            continue
        rows = np.flatnonzero((table.symbol > 0) & (table.symbol < len(symbols)))
        value = symbols.address[table.symbol[rows]]
        parts.append(Pointers(table.offset[rows], np.where(value, value + table.addend[rows], 0)))
    return Pointers.of(parts)


def data_words(image: Elf, *, in_code: bool = False) -> Pointers:
    """Return all aligned words of data, for an image that is loaded where it was linked.

    in_code: also those of sections of code, where linker scripts of firmware put constants
    """
    width = image.layout.word_size
    parts = []
    for section in image.sections:
        if section.load_size and (in_code or not section.is_executable):
            start = -(-signed(section.address) // width) * width
            end = signed(section.address) + section.load_size
            at = np.arange(start, end - width + 1, width, dtype=np.int64)
            parts.append(Pointers(at, _words_at(image, at)))
    return Pointers.of(parts)


def _relocations(image: Elf) -> Iterable[tuple[Section, Relocations]]:
    for section in image.sections:
        if section.type in RELOCATION_TYPES and section.load_size:
            yield section, image.relocation_table(section)


def _words_at(image: Elf, address: Int) -> Int:
    """Read the word in the file at each address; 0 for addresses that are not in the file."""
    width = image.layout.word_size
    result = np.zeros(len(address), np.int64)
    for section in image.sections:
        if section.load_size < width:
            continue
        start = signed(section.address)
        here = np.flatnonzero((address >= start) & (address <= start + section.load_size - width))
        where = section.offset + address[here] - start
        raw = np.zeros((len(here), width), np.uint8)
        for i in range(width):
            raw[:, i] = image.data[where + i]
        result[here] = raw.reshape(-1).view(image.layout.word).astype(np.int64)
    return result
