"""Turns hashes into numbers: ranks, equal ones having one, or places among others."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.formats.text_hash import Hash


def rank_hashes(hashes: Hash) -> tuple[npt.NDArray[np.int32], Hash]:
    """The rank of each hash among the distinct ones, and those, ascending: np.unique in a third of the time.

    Numbers of which the last bits are the index are sorted by themselves; first bits that two hashes share are rare, and seen.
    """
    count = len(hashes)
    bits = np.uint64(count.bit_length())
    low = (np.uint64(1) << bits) - np.uint64(1)
    packed = hashes & ~low
    packed |= np.arange(count, dtype=np.uint64)
    packed.sort()
    packed &= low
    order = packed.view(np.int64)
    ordered = hashes[order]
    if bool((ordered[1:] < ordered[:-1]).any()):
        order = np.argsort(hashes, kind="stable")
        ordered = hashes[order]
    is_new = np.ones(count, np.bool_)
    is_new[1:] = ordered[1:] != ordered[:-1]
    rank = np.empty(count, np.int32)
    rank[order] = np.cumsum(is_new, dtype=np.int32) - np.int32(1)
    return rank, ordered[is_new]


def find_hashes(known: Hash, wanted: Hash) -> npt.NDArray[np.int32]:
    """Where each wanted hash stands among the known ones, which are distinct; -1 if it does not."""
    slots = 1 << max(4, (2 * len(known)).bit_length())
    last = np.uint64(slots - 1)
    slot = (known & last).view(np.int64)
    table = np.full(slots, -1, np.int32)
    table[slot] = np.arange(len(known), dtype=np.int32)
    found = table[(wanted & last).view(np.int64)]
    if not len(known):
        return found
    found[known[found] != wanted] = -1
    # Those that another one has pushed out of their slot, one in six.
    lost = np.flatnonzero(table[slot] != np.arange(len(known)))
    if len(lost):
        lost = lost[np.argsort(known[lost])]
        rest = np.flatnonzero(found < 0)
        at = lost[np.minimum(np.searchsorted(known[lost], wanted[rest]), len(lost) - 1)]
        found[rest] = np.where(known[at] == wanted[rest], at, -1)
    return found
