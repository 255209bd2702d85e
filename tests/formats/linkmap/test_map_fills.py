"""Padding between the rows of a linker map."""

from __future__ import annotations

import time

from sizeguard.formats.linkmap.link_map import Fill, InputSection, OutputSection, fills_of

MANY = 20_000


def test_sections_of_one_name_have_their_own_padding() -> None:
    """A map may have thousands of them; comparing each row with each took 12 s."""
    outputs = [OutputSection(".text", 0x1000 + 32 * i, 32) for i in range(MANY)]
    placed = [InputSection(".text", ".text", "a.o", o.address, 24, False) for o in outputs]
    start = time.monotonic()
    fills = fills_of(outputs, placed)
    assert time.monotonic() - start < 5
    assert fills[:2] == (Fill(".text", 0x1018, 8), Fill(".text", 0x1038, 8))
    assert len(fills) == MANY
