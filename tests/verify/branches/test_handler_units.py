"""Test which units declare a function, in images of any byte order and of Mach-O."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from sizeguard.formats.elf import read_elf
from sizeguard.verify.evidence.macho import read_macho_image
from sizeguard.verify.returns import declarations
from tests.support.builds.recorded_builds import recorded_images
from tests.support.images.made_elf import ET_DYN, Form, MadeSection, make_elf

# A unit a.cpp with one function _Z4lostv; the second one never returns.
NAMED, NEVER_RETURNS = bytes((2, 0x2E, 0, 0x6E, 8)), b"\x87\x01\x19"
UNIT = bytes((1, 0x11, 1, 3, 8, 0, 0))


def image(folder: Path, order: str, *, returns: bool, size: int = 0) -> Path:
    """Make an ELF image with debug information. size: the unit states it; 0 for the true one."""
    shape = NAMED + (b"" if returns else NEVER_RETURNS) + b"\0\0"
    entries = b"\x01a.cpp\0\x02_Z4lostv\0\0"
    body = struct.pack(f"{order}HIB", 4, 0, 8) + entries
    length = struct.pack(f"{order}I", size or len(body))
    sections = [
        MadeSection(".debug_info", content=length + body),
        MadeSection(".debug_abbrev", content=UNIT + shape + b"\0"),
    ]
    path = folder / "lib.so"
    path.write_bytes(make_elf(Form(order=order), sections, type_=ET_DYN))
    return path


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("returns", [True, False])
def test_images_of_both_byte_orders_are_read(tmp_path: Path, order: str, returns: bool) -> None:
    elf = read_elf(image(tmp_path, order, returns=returns))
    assert declarations(elf, b"4lostv") == [("a.cpp", not returns)]
    assert declarations(elf, b"5otherv") == []


def test_damaged_debug_information_declares_nothing(tmp_path: Path) -> None:
    elf = read_elf(image(tmp_path, "<", returns=False, size=9000))
    assert declarations(elf, b"4lostv") == []


def test_macho_images_are_read(tmp_path: Path) -> None:
    folder = recorded_images(tmp_path)
    found = declarations(read_macho_image(folder / "main-arm64-g.o"), b"Z3runi")
    assert [(Path(unit).name, is_noreturn) for unit, is_noreturn in found] == [("main.c", False)]
    # An image without its dSYM describes nothing
    assert declarations(read_macho_image(folder / "app-arm64"), b"Z3runi") == []
