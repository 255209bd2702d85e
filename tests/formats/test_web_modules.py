"""WebAssembly modules with newer types and memories, written by binaryen's wasm-as."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sizeguard.formats.sectioned import SectionedImage
from sizeguard.formats.wasm.reader import parse_wasm

HEADER = b"\0asm\1\0\0\0"
# (import "string" "const" (global (ref extern))), (import "env" "f2" (func)), and an exported
# function
IMPORTS = bytes.fromhex(
    "01040160000002 1b 02 06737472696e67 05636f6e7374 03 646f 00 03656e76 02 6632 00 00"
    "03020100 070701 03666f6f 00 01 0a0601 04 001000 0b".replace(" ", "")
)


def module(content: bytes) -> SectionedImage:
    return parse_wasm(Path("x"), np.frombuffer(HEADER + content, np.uint8))


def test_imports_of_references_have_types_of_several_bytes() -> None:
    image = module(IMPORTS)
    assert (image.ram, image.needed) == (0, ("env", "string"))
    assert [row.names for row in image.ranges] == [(b"foo",)]


@pytest.mark.parametrize(
    ("memory", "ram", "arch"),
    [
        ("050301 00 01", 1 << 16, "wasm32"),
        ("050501 08 e807 00", 1000, "wasm32"),  # (memory 1000 (pagesize 1))
        ("050301 04 02", 2 << 16, "wasm64"),
    ],
)
def test_memories_have_pages_of_their_size(memory: str, ram: int, arch: str) -> None:
    image = module(bytes.fromhex(memory.replace(" ", "")))
    assert (image.ram, image.arch) == (ram, arch)


def test_a_linked_module_may_have_the_symbols_of_its_objects() -> None:
    """As wasm-ld --emit-relocs leaves them."""
    linking = bytes.fromhex("0009076c696e6b696e6702")
    assert module(linking).is_object
    assert not module(bytes.fromhex("0503010001") + linking).is_object


@pytest.mark.parametrize(
    ("custom", "ram"),
    [
        ("09 076c696e6b696e67 02", 3),  # linking: an object, with 3 bytes of data
        ("10 0864796c696e6b2e30 01 05 8827020000", 5000),  # dylink.0, memory of 5000 bytes
        ("0c 0664796c696e6b 8827020000", 5000),  # dylink of older linkers
        ("", 1 << 16),
    ],
)
def test_objects_and_side_modules_import_the_memory_of_their_program(custom: str, ram: int) -> None:
    """Each object of an archive counted for a page, and side modules for none of their data."""
    section = bytes.fromhex(f"00{custom}") if custom else b""
    imports = bytes.fromhex("020a 01 03656e76 016d 02 00 01")  # (import "env" "m" (memory 1))
    data = bytes.fromhex("0b09 01 00 41000b 03 010203")
    assert module(section + imports + data).ram == ram
