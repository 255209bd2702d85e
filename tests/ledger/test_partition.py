"""The laws of a partition, against a byte-by-byte oracle.

One test checks the owners of parts and relocations in a real image.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.attribution.owners.graph_owners import reach
from sizeguard.attribution.owners.placed_owners import ENTRY_SIZE, entry_parts
from sizeguard.builds.build_record import Build
from sizeguard.formats.elf import read_elf
from sizeguard.formats.linkmap import read_map
from sizeguard.ledger.elf import elf_ledger
from sizeguard.ledger.kinds import KINDS
from sizeguard.ledger.partition import UNATTRIBUTED, Claims, partition
from sizeguard.linkgraph.open_graph import graph_of_path

SIZE = 64
RELOCATION_SIZE = 24  # bytes, RELA of 64-bit images


@st.composite
def claims(draw: st.DrawFn) -> Claims:
    place = st.integers(0, SIZE)
    rows = draw(
        st.lists(st.tuples(place, place, st.integers(0, 5), st.integers(0, 3)), max_size=12)
    )
    start = np.array([min(a, b) for a, b, _, _ in rows], np.int64)
    end = np.array([max(a, b) for a, b, _, _ in rows], np.int64)
    owner = np.array([owner for _, _, owner, _ in rows], np.int64)
    return Claims(start, end, owner, np.array([rank for _, _, _, rank in rows], np.int8))


@given(claims())
def test_every_byte_has_the_strongest_owner(c: Claims) -> None:
    expected = np.full(SIZE, UNATTRIBUTED)
    strength = np.full(SIZE, -1)
    for start, end, owner, rank in zip(c.start, c.end, c.owner, c.rank, strict=True):
        wins = np.arange(start, end)[strength[start:end] < rank]
        expected[wins], strength[wins] = owner, rank
    p = partition(c, SIZE)
    actual = np.repeat(p.owner, np.diff(p.start, append=SIZE))
    assert actual.tolist() == expected.tolist()


@given(claims())
def test_sums_equal_the_size(c: Claims) -> None:
    assert partition(c, SIZE).bytes_by_owner(owners=6).sum() == SIZE


def test_a_claim_outside_the_image_is_refused() -> None:
    outside = Claims(np.array([60]), np.array([70]), np.array([0]), np.array([1], np.int8))
    with pytest.raises(ValueError, match=r"claim 0 covers \[60, 70\) of an image of 64 bytes"):
        partition(outside, 64)


def test_an_entry_and_its_relocations_belong_to_the_operator(full_build: Build) -> None:
    rows = read_map(full_build.map)
    parts = entry_parts(reach(graph_of_path(full_build.image.parent)), rows)
    ledger = elf_ledger(read_elf(full_build.shipped), read_elf(full_build.image), rows, parts)
    # The operator has one entry of two pointers, and the loader fills in both.
    sizes: dict[str, int] = {}
    for row in np.flatnonzero(ledger.owners.part >= 0).tolist():
        if ledger.parts[int(ledger.owners.part[row])] == "aten::relu":
            kind = KINDS[ledger.owners.kind[row]]
            sizes[kind] = sizes.get(kind, 0) + int(ledger.file_bytes[row])
    assert sizes == {"rodata": ENTRY_SIZE, "relocation": 2 * RELOCATION_SIZE}
