"""Constants in code and data, whole or moved in halves."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from sizeguard.formats.elf import SHT_NOBITS, parse_elf
from sizeguard.verify.leaks.constants import constant_places
from tests.support.images.made_elf import Form, MadeSection, make_elf

AARCH64 = 183
ALLOC, CODE = 2, 6
OTHER = 0x8B020020  # add x0, x1, x2


def move(kind: str, register: int, part: int, half: int = 0, is_64: bool = False) -> int:
    """Encode movn, movz or movk of aarch64."""
    number = {"n": 0, "z": 2, "k": 3}[kind]
    return is_64 << 31 | number << 29 | 0x25 << 23 | half << 21 | part << 5 | register


@pytest.mark.parametrize(
    ("words", "value", "places"),
    [
        ((move("z", 3, 0xAA3B), move("k", 3, 0x3FB8, 1)), 0x3FB8AA3B, [0x1000]),
        ((OTHER, move("z", 3, 0x3FB8, 1), OTHER, move("k", 3, 0xAA3B)), 0x3FB8AA3B, [0x1004]),
        ((move("z", 3, 0xAA3B), move("k", 4, 0x3FB8, 1)), 0x3FB8AA3B, []),  # another register
        ((move("z", 3, 0xAA3B), *[OTHER] * 16, move("k", 3, 0x3FB8, 1)), 0x3FB8AA3B, []),
        ((move("z", 3, 0xAA3B), move("k", 3, 0x3FB9, 1)), 0x3FB8AA3B, []),
        ((move("n", 9, 0x0123),), 0xFFFFFEDC, [0x1000]),  # 32 bits
        ((move("n", 9, 0x0123, is_64=True),), 0xFFFFFEDC, []),
        ((move("n", 9, 0x0123, is_64=True),), 0xFFFFFFFFFFFFFEDC, [0x1000]),
        (
            (
                move("z", 1, 0x4444, is_64=True),
                move("k", 1, 0x3333, 1, is_64=True),
                move("k", 1, 0x2222, 2, is_64=True),
                move("k", 1, 0x1111, 3, is_64=True),
            ),
            0x1111222233334444,
            [0x1000],
        ),
        ((0x3FB8AA3B,), 0x3FB8AA3B, [0x1000]),  # as data between functions
    ],
)  # fmt: skip
@pytest.mark.parametrize("flags", [CODE, ALLOC])
def test_halves_of_a_constant_are_put_together_in_code(
    words: tuple[int, ...], value: int, places: list[int], flags: int
) -> None:
    content = struct.pack(f"<{len(words)}I", *words)
    image = parse_elf(Path("a"), made(content, flags, AARCH64))
    whole = words == (value,)
    assert constant_places(image, value) == (places if flags == CODE or whole else [])


def made(content: bytes, flags: int, machine: int) -> bytes:
    section = MadeSection(".x", flags=flags, address=0x1000, content=content)
    return make_elf(Form(), [section], machine=machine)


def test_debug_information_and_comments_have_no_constants() -> None:
    """They are not loaded, and name other code's constants, too."""
    value = 0x3FB8AA3B
    content = value.to_bytes(4, "little")
    sections = (
        MadeSection(".data", flags=ALLOC, address=0x1000, content=b"1234" + content),
        MadeSection(".debug_info", content=content),
        MadeSection(".bss", SHT_NOBITS, ALLOC, 0x2000, size=8),
    )
    image = parse_elf(Path("a"), make_elf(Form(), sections))
    assert constant_places(image, value) == [0x1004]
    assert constant_places(image, 0) == []
