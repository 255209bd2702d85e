"""Find the stubs of a procedure linkage table, and the slots that they jump through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sizeguard.columns.texts import Bytes, Int
from sizeguard.formats.elf.image import Elf, Section
from sizeguard.formats.elf.layout import SHT_REL, SHT_RELA, signed

NOWHERE = -(1 << 62)


def stubs(image: Elf, section: Section) -> tuple[Int, Int]:
    """Return the offset of each stub in the section, ascending, and the address of its slot.

    A stub without a visible slot has NOWHERE. Stubs are known for x86, Arm, RISC-V and s390x, in
    the forms of GNU's linker and lld; for other machines the result is empty.
    """
    content = image.view(section)
    if image.machine in ("x86_64", "x32"):
        return _x86(image, section, content, pc_relative=True)
    if image.machine == "i386":
        return _x86(image, section, content, pc_relative=False)
    if image.machine not in _FIXED_WIDTH:
        nothing = np.zeros(0, np.int64)
        return nothing, nothing
    kind, find = _FIXED_WIDTH[image.machine]
    words = content[: len(content) // kind.itemsize * kind.itemsize].view(kind).astype(np.int64)
    begin, slot = find(np.pad(words, 2), signed(section.address))
    return begin, slot if image.layout.is_64 else slot & 0xFFFFFFFF


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
    return _signed(value, 32)


# The words of a section have two zeros before and after them; `first` is the index of a stub's
# first instruction among the words without these.


def _aarch64(words: Int, address: int) -> tuple[Int, Int]:
    """Find `adrp x16, page; ldr x17, [x16, offset]`, possibly after `bti c`."""
    is_page = (words[2:-2] & 0x9F00001F) == 0x90000010
    first = np.flatnonzero(is_page & ((words[3:-1] & 0xFFC003FF) == 0xF9400211))
    word = words[first + 2]
    pages = _signed((word >> 5 & 0x7FFFF) << 2 | (word >> 29 & 3), 21)
    page = (address + 4 * first & ~0xFFF) + (pages << 12)
    slot = page + (words[first + 3] >> 10 & 0xFFF) * 8
    return 4 * (first - (words[first + 1] == 0xD503245F)), slot


def _arm(words: Int, address: int) -> tuple[Int, Int]:
    """Find `add ip, pc, #a; add ip, ip, #b; ldr pc, [ip, #c]!`, possibly after Thumb's `bx pc`.

    The immediate of an addition is 8 bits, rotated right by twice the 4 bits above them.
    """
    is_first = (words[2:-2] & 0xFFFFF000) == 0xE28FC000
    is_second = (words[3:-1] & 0xFFFFF000) == 0xE28CC000
    first = np.flatnonzero(is_first & is_second & ((words[4:] & 0xFFFFF000) == 0xE5BCF000))
    slot = address + 4 * first + 8 + (words[first + 4] & 0xFFF)
    for word in (words[first + 2], words[first + 3]):
        turn = (word >> 8 & 0xF) * 2
        slot += (word & 0xFF) << (32 - turn) % 32
    return 4 * (first - (words[first + 1] == 0x46C04778)), slot


def _riscv(words: Int, address: int) -> tuple[Int, Int]:
    """Find `auipc t3, page; ld t3, offset(t3); jalr t1, t3`; lw in place of ld on riscv32."""
    is_load = np.isin(words[3:-1] & 0xFFFFF, (0xE2E03, 0xE3E03))
    is_stub = ((words[2:-2] & 0xFFF) == 0xE17) & is_load & (words[4:] == 0xE0367)
    first = np.flatnonzero(is_stub)
    page, offset = words[first + 2] & ~0xFFF, words[first + 3] >> 20
    return 4 * first, address + 4 * first + _signed(page, 32) + _signed(offset, 12)


def _s390x(words: Int, address: int) -> tuple[Int, Int]:
    """Find `larl %r1, slot; lg %r1, 0(%r1); br %r1`, in words of 2 bytes."""
    is_stub = (words[2:-2] == 0xC010) & (np.roll(words, -3)[2:-2] == 0xE310)
    first = np.flatnonzero(is_stub & (np.roll(words, -6)[2:-2] == 0x07F1))
    distance = _signed(words[first + 3] << 16 | words[first + 4], 32)
    return 2 * first, address + 2 * first + 2 * distance


def _signed(value: Int, bits: int) -> Int:
    """Read the lowest bits as a signed number."""
    return value - ((value >> bits - 1) << bits)


# By machine: the type of the words, and the search.
_FIXED_WIDTH: dict[str, tuple[np.dtype[Any], Callable[[Int, int], tuple[Int, Int]]]] = {
    "aarch64": (np.dtype("<u4"), _aarch64),
    "arm": (np.dtype("<u4"), _arm),
    "riscv32": (np.dtype("<u4"), _riscv),
    "riscv64": (np.dtype("<u4"), _riscv),
    "s390x": (np.dtype(">u2"), _s390x),
}
