"""Rank hashes, or find them among known hashes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.columns.compiled_code import compiled_beside
from sizeguard.columns.sort import sorted_hashes
from sizeguard.columns.text_hash import Hash

_CODE = compiled_beside(__file__)


def rank_hashes(hashes: Hash) -> tuple[npt.NDArray[np.int32], Hash]:
    """Return each hash's rank among the distinct hashes, and the distinct hashes, ascending.

    It takes a third of np.unique's time.
    """
    order, ordered = sorted_hashes(hashes)
    rank = np.empty(len(hashes), np.int32)
    count = _CODE.call("rank_hashes", order, ordered, len(hashes), rank)
    return rank, ordered[:count]


def find_hashes(known: Hash, wanted: Hash) -> npt.NDArray[np.int32]:
    """Return the index of each wanted hash in `known`, -1 if it is absent.

    known: distinct hashes. The low bits of a hash select its slot in a table with four times as
    many slots. Hashes whose slot another hash has taken are found by binary search.
    """
    known, wanted = (np.ascontiguousarray(each, np.uint64) for each in (known, wanted))
    slots = np.full(1 << (4 * len(known)).bit_length(), -1, np.int32)
    lost = np.empty(len(known), np.int32)
    count = _CODE.call("fill_slots", known, len(known), slots, len(slots) - 1, lost)
    lost = lost[:count]
    lost = lost[np.argsort(known[lost])]
    found = np.empty(len(wanted), np.int32)
    _CODE.call("find_hashes", known, slots, len(slots) - 1, lost, count, wanted, len(wanted), found)
    return found
