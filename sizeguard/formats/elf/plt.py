"""Turns the stubs of a procedure linkage table into the slots that they jump through."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.formats.elf.image import Elf, Section
from sizeguard.formats.elf.layout import SHT_REL, SHT_RELA, signed
from sizeguard.formats.texts import Int

Bytes = npt.NDArray[np.uint8]

NOWHERE = -(1 << 62)


def stubs(image: Elf, section: Section) -> tuple[Int, Int]:
    """Where in the section each stub begins, in order, and the address of its slot, NOWHERE if it shows none.

    Known of x86-64, i386 and aarch64; of others there are none.
    """
    content = image.view(section)
    if image.machine == "x86_64":
        return _x86(image, section, content, pc_relative=True)
    if image.machine == "i386":
        return _x86(image, section, content, pc_relative=False)
    if image.machine == "aarch64" and image.layout.order == "<":
        return _aarch64(section, content)
    nothing = np.zeros(0, np.int64)
    return nothing, nothing


def _x86(image: Elf, section: Section, content: Bytes, *, pc_relative: bool) -> tuple[Int, Int]:
    """Stubs of 16 bytes, 8 in .plt.got without endbr: `jmp *slot`, or `push index` of those whose jump is in .plt.sec."""
    width = 8 if section.entry_size == 8 else 16
    count = len(content) // width
    rows = content[: count * width].reshape(count, width).astype(np.int64)
    offset = width * np.arange(count, dtype=np.int64)
    slot = np.full(count, NOWHERE, np.int64)
    at = np.full(count, -1)
    for position in range(min(8, width - 5), -1, -1):
        jump = (rows[:, position] == 0xFF) & (rows[:, position + 1] == 0x25)
        at[jump] = position
    found = np.flatnonzero(at >= 0)
    if len(found):
        operand = _little(rows, found, at[found] + 2)
        here = signed(section.address) + offset[found] + at[found] + 6
        slot[found] = here + operand if pc_relative else operand & 0xFFFFFFFF
    # push imm32 is 68; the first stub of .plt pushes the link map by ff 35.
    lazy = section.name == ".plt"
    table = next((s for s in image.sections if s.type in (SHT_REL, SHT_RELA) and s.name.endswith(".plt")), None) if lazy else None
    if table is None or width != 16:
        return offset, slot
    places = image.relocation_table(table).offset
    scale = 1 if pc_relative else image.layout.relocation(addend=table.type == SHT_RELA).itemsize
    for position in (0, 4, 6):
        pushes = np.flatnonzero((rows[:, position] == 0x68) & (slot == NOWHERE))
        index = _little(rows, pushes, np.full(len(pushes), position + 1)) // scale
        good = (index >= 0) & (index < len(places))
        slot[pushes[good]] = places[index[good]]
    return offset, slot


def _little(rows: Int, row: Int, column: Int) -> Int:
    """Four bytes as a signed number."""
    value: Int = sum((rows[row, column + i] << (8 * i) for i in range(4)), np.zeros(len(row), np.int64))
    return value - ((value >> 31) << 32)


def _aarch64(section: Section, content: Bytes) -> tuple[Int, Int]:
    """`adrp x16, page; ldr x17, [x16, offset]`, perhaps behind `bti c`."""
    words = content[: len(content) // 4 * 4].view("<u4").astype(np.int64)
    if len(words) < 2:
        nothing = np.zeros(0, np.int64)
        return nothing, nothing
    is_page = (words[:-1] & 0x9F00001F) == 0x90000010
    is_load = (words[1:] & 0xFFC003FF) == 0xF9400211
    first = np.flatnonzero(is_page & is_load)
    word = words[first]
    pages = ((word >> 5 & 0x7FFFF) << 2) | (word >> 29 & 3)
    pages -= (pages >> 20) << 21
    page = (signed(section.address) + 4 * first & ~0xFFF) + (pages << 12)
    slot = page + (words[first + 1] >> 10 & 0xFFF) * 8
    begin = first - (np.where(first > 0, words[first - 1], 0) == 0xD503245F)
    return 4 * begin, slot
