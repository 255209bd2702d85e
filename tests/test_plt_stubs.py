"""Stubs of procedure linkage tables in forms that few linkers write."""

from __future__ import annotations

from pathlib import Path

from sizeguard.formats.elf import parse_elf
from sizeguard.formats.elf.plt import NOWHERE, stubs
from tests.support.made_elf import Form, MadeSection, make_elf


def slots_of(name: str, content: bytes, entry_size: int = 0) -> list[tuple[int, int]]:
    section = MadeSection(name, flags=6, address=0x1000, content=content, entry_size=entry_size)
    image = parse_elf(Path("x"), make_elf(Form(), [section]))
    offset, slot = stubs(image, image.sections[1])
    return list(zip(offset.tolist(), slot.tolist(), strict=True))


def test_stubs_of_mold_pass_the_index_in_r11() -> None:
    head = bytes.fromhex("f30f1efa4153ff355c240000ff255e240000") + b"\xcc" * 14
    stub = bytes.fromhex("f30f1efa41bb00000000ff2500200000")
    assert slots_of(".plt", head + stub) == [(0, NOWHERE), (16, NOWHERE), (32, 0x3030)]


def test_a_jump_that_a_stub_of_8_bytes_cuts_off_is_none() -> None:
    assert slots_of(".plt.got", bytes.fromhex("909090ff25000000"), 8) == [(0, NOWHERE)]
