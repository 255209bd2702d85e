"""Stable argsorts that store the index in the low bits of the sorted keys."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sizeguard.columns.compiled_code import compiled_beside
from sizeguard.columns.text_hash import Hash
from sizeguard.columns.texts import Int

_CODE = compiled_beside(__file__)

_FEW = 1000  # numbers that are nearly never sorted by chance


def packed_order(keys: Int) -> Int:
    """Return the stable argsort of integers, which are often sorted already."""
    if _is_sorted(keys[:_FEW]) and _is_sorted(keys):
        return np.arange(len(keys))
    low = int(keys.min())
    if not _is_room(int(keys.max()) - low, len(keys)):
        return np.argsort(keys, kind="stable")
    return _order(keys, low=low)


def lexical_order(keys: Sequence[Int]) -> Int:
    """Return what np.lexsort does, in half the time; the last key counts most."""
    order = packed_order(keys[0])
    for key in keys[1:]:
        order = order[packed_order(key[order])]
    return order


def _is_sorted(keys: Int) -> bool:
    return not bool((keys[1:] < keys[:-1]).any())


def descending(sizes: Int) -> Int:
    """Return the stable argsort of sizes, the largest first."""
    most = int(sizes.max(initial=0))
    if int(sizes.min(initial=0)) < 0 or not _is_room(most, len(sizes)):
        return np.argsort(-sizes, kind="stable")
    return _order(most - sizes)


def hash_order(hashes: Hash) -> Int:
    """Return the stable argsort of hashes."""
    return sorted_hashes(hashes)[0]


def sorted_hashes(hashes: Hash) -> tuple[Int, Hash]:
    """Return the stable argsort of hashes, and the hashes in that order.

    The index replaces the low bits of each hash. Among a million hashes, the chance that two differ
    only in their low bits is 3 %; such hashes are sorted again.
    """
    hashes = np.ascontiguousarray(hashes, np.uint64)
    order = _order(hashes, drop=len(hashes).bit_length())
    ordered = np.empty(len(hashes), np.uint64)
    if _CODE.call("take_hashes", hashes, order, len(hashes), ordered):
        order = np.argsort(hashes, kind="stable")
        ordered = hashes[order]
    return order, ordered


def _is_room(largest: int, count: int) -> bool:
    """Return whether a key and the index of any of `count` entries fit into 63 bits."""
    return largest.bit_length() + count.bit_length() <= 62


def _order(keys: Int | Hash, low: int = 0, drop: int = 0) -> Int:
    """Return the stable argsort of numbers, without `low` and without their `drop` lowest bits.

    Then their high bits must be zero. Key and index are packed into one number and sorted by value.
    That takes half the time of an argsort, a third for hashes.
    """
    dtype = np.uint64 if keys.dtype == np.uint64 else np.int64
    count, bits = len(keys), len(keys).bit_length()
    packed = np.empty(count, np.uint64)
    _CODE.call("pack_keys", np.ascontiguousarray(keys, dtype), count, low, drop, bits, packed)
    packed.sort()
    _CODE.call("unpack_order", packed, count, bits)
    return packed.view(np.int64)
