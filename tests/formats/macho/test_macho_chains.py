"""Pointers of chained fix-ups that no linker here writes: those of arm64e, with addends."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest

from sizeguard.formats.macho.fixups import PTR_ARM64E, PTR_ARM64E_USERLAND, PTR_ARM64E_USERLAND24
from sizeguard.formats.macho.image import MachO
from tests.support.images.macho_samples import fixup_rows
from tests.support.images.made_macho import SEGMENTS, image_of

BIND, SIGNED = 1 << 62, 1 << 63
NO_ADDEND = [struct.pack("<I", 0)]


def chained(form: int, words: list[int], imports: list[bytes], import_form: int) -> MachO:
    """Build an image whose first segment begins with a chain of these pointers.

    form: of the pointers; imports: entries, all with the name at 0, "_f".
    """
    starts = struct.pack("<III", 2, 12, 0)  # the chains of each segment; the second one has none
    starts += struct.pack("<IHHQIHH", 24, 0x1000, form, 0, 0, 1, 0)
    table = b"".join(imports)
    names = 28 + len(starts) + len(table)
    header = struct.pack("<7I", 0, 28, 28 + len(starts), names, len(imports), import_form, 0)
    image = image_of({"chained fixups": header + starts + table + b"_f\0"})
    linked = [word | 1 << 51 for word in words[:-1]] + words[-1:]  # one word to the next
    data = image.data.copy()
    data[: 8 * len(words)] = np.array(linked, "<u8").view(np.uint8)
    return replace(image, data=data)


@pytest.mark.parametrize("form", [PTR_ARM64E, PTR_ARM64E_USERLAND, PTR_ARM64E_USERLAND24])
def test_addends_of_arm64e_have_a_sign(form: int) -> None:
    addends = (0, 1, -1, 0x3FFFF, -0x40000)
    words = [BIND | (addend & 0x7FFFF) << 32 for addend in addends]
    address = SEGMENTS[0][0]
    assert fixup_rows(chained(form, words, NO_ADDEND, 1)) == [
        (address + 8 * i, "_f", addend) for i, addend in enumerate(addends)
    ]


def test_a_signed_pointer_has_no_addend() -> None:
    """The bits are those of its signature."""
    words = [SIGNED | BIND | 0x7FFFF << 32]
    ((_, name, addend),) = fixup_rows(chained(PTR_ARM64E, words, NO_ADDEND, 1))
    assert (name, addend) == ("_f", 0)


@pytest.mark.parametrize(("form", "layout"), [(2, "<Ii"), (3, "<Qq")])
def test_addends_of_imports(form: int, layout: str) -> None:
    imports = [struct.pack(layout, 0, addend) for addend in (-8, 8)]
    words = [BIND, BIND | 1]
    rows = fixup_rows(chained(PTR_ARM64E, words, imports, form))
    assert [(name, addend) for _, name, addend in rows] == [("_f", -8), ("_f", 8)]
