"""Find the stubs of a procedure linkage table, and the slots that they jump through."""

from __future__ import annotations

import numpy as np

from sizeguard.columns.texts import Bytes, Int
from sizeguard.formats.elf.image import Elf, Section
from sizeguard.formats.elf.layout import SHT_REL, SHT_RELA, signed

NOWHERE = -(1 << 62)


def stubs(image: Elf, section: Section) -> tuple[Int, Int]:
    """Return the offset of each stub in the section, ascending, and the address of its slot.

    A stub without a visible slot has NOWHERE. Stubs are known for x86-64, i386 and aarch64; for
    other machines the result is empty.
    """
    content = image.view(section)
    if image.machine in ("x86_64", "x32"):
        return _x86(image, section, content, pc_relative=True)
    if image.machine == "i386":
        return _x86(image, section, content, pc_relative=False)
    if image.machine == "aarch64":
        return _aarch64(section, content)
    nothing = np.zeros(0, np.int64)
    return nothing, nothing


def _x86(image: Elf, section: Section, content: Bytes, *, pc_relative: bool) -> tuple[Int, Int]:
    """Find stubs of 16 bytes, or of 8 in .plt.got without endbr.

    A stub is `jmp *slot`, or `push index` if its jump is in .plt.sec.
    """
    width = 8 if section.entry_size == 8 else 16
    count = len(content) // width
    rows = content[: count * width].reshape(count, width).astype(np.int64)
    offset = width * np.arange(count, dtype=np.int64)
    slot = np.full(count, NOWHERE, np.int64)
    jump = np.full(count, -1)
    if width == 16:
        # mold's stub puts the index into r11 before it jumps.
        is_mold = (rows[:, 4] == 0x41) & (rows[:, 5] == 0xBB)
        jump[is_mold & (rows[:, 10] == 0xFF) & (rows[:, 11] == 0x25)] = 10
    for position in range(min(8, width - 6), -1, -1):
        jump[(rows[:, position] == 0xFF) & (rows[:, position + 1] == 0x25)] = position
    found = np.flatnonzero(jump >= 0)
    if len(found):
        operand = _little(rows, found, jump[found] + 2)
        behind = signed(section.address) + offset[found] + jump[found] + 6
        slot[found] = behind + operand if pc_relative else operand & 0xFFFFFFFF
    if section.name == ".plt" and width == 16:
        _add_pushed(image, rows, slot, pc_relative=pc_relative)
    return offset, slot


def _add_pushed(image: Elf, rows: Int, slot: Int, *, pc_relative: bool) -> None:
    """Fill in the slots of stubs that push their relocation, by index or (on i386) offset."""
    table = next(
        (s for s in image.sections if s.type in (SHT_REL, SHT_RELA) and s.name.endswith(".plt")),
        None,
    )
    if table is None:
        return
    places = image.relocation_table(table).offset
    scale = 1 if pc_relative else image.layout.relocation(addend=table.type == SHT_RELA).itemsize
    # push imm32 is 68; the first stub of .plt pushes the link map with ff 35.
    for position in (0, 4, 6):
        pushes = np.flatnonzero((rows[:, position] == 0x68) & (slot == NOWHERE))
        index = _little(rows, pushes, np.full(len(pushes), position + 1)) // scale
        good = (index >= 0) & (index < len(places))
        slot[pushes[good]] = places[index[good]]


def _little(rows: Int, row: Int, column: Int) -> Int:
    """Read four bytes as a signed number."""
    value: Int = sum(
        (rows[row, column + i] << (8 * i) for i in range(4)), np.zeros(len(row), np.int64)
    )
    return value - ((value >> 31) << 32)


def _aarch64(section: Section, content: Bytes) -> tuple[Int, Int]:
    """Find `adrp x16, page; ldr x17, [x16, offset]`, possibly after `bti c`."""
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
