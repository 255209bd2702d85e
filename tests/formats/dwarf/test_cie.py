"""Forms of the pointers of FDEs, from the augmentation of their CIE."""

from __future__ import annotations

import pytest

from sizeguard.formats.elf.cie import OMIT, pointer_forms, pointer_width

PCREL, INDIRECT = 0x1B, 0x9B  # relative to its own place, in four signed bytes; through a slot


def cie(augmentation: bytes, *fields: int, version: int = 1) -> bytes:
    """Return the bytes after the id, with an alignment and, in version 3, a register of two bytes.

    fields: data of the augmentation.
    """
    register = [16] if version == 1 else [0x90, 1]
    numbers = [0x81, 0, 0x78, *register, len(fields), *fields]
    return bytes([version]) + augmentation + b"\0" + bytes(numbers)


@pytest.mark.parametrize("version", [1, 3])
@pytest.mark.parametrize(
    ("form", "word_size", "width"),
    [(0, 4, 4), (0, 8, 8), (PCREL, 8, 4), (INDIRECT, 4, 4), (0x0C, 4, 8), (0x0A, 8, 2)],
)
def test_forms_after_a_personality_routine(
    form: int, word_size: int, width: int, version: int
) -> None:
    """An absolute pointer to it has the size of a word, in 32-bit Mach-O files, too."""
    assert pointer_width(form, word_size) == width
    fields = (form, *[0xAA] * width, 0x10, PCREL)
    assert pointer_forms(cie(b"zPLR", *fields, version=version), word_size) == (PCREL, 0x10)


def test_other_augmentations() -> None:
    assert pointer_forms(cie(b"zRS", PCREL), 8) == (PCREL, OMIT)
    assert pointer_forms(cie(b"zSR", PCREL), 8) == (PCREL, OMIT)
    assert pointer_forms(cie(b""), 8) == (0, OMIT)
    assert pointer_forms(cie(b"eh", 1, 2, 3, 4), 8) == (OMIT, OMIT)
    assert pointer_width(OMIT, 8) == 0


def test_a_cut_cie_has_no_known_form() -> None:
    whole = cie(b"zPLR", PCREL, 1, 2, 3, 4, PCREL, 0)
    assert pointer_forms(whole, 8) == (0, PCREL)
    for size in range(len(whole)):
        assert pointer_forms(whole[:size], 8) == (OMIT, OMIT)
