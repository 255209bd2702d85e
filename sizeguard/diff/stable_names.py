"""Find the part of symbols' names that stays the same between builds, without suffixes and hashes.

f.cold  f.part.0  f.isra.0  f.constprop.1  f.lto_priv.0  f.llvm.4711  →  f
_ZN4core3fmt17h0123456789abcdefE  →  _ZN4core3fmtE      _RNvCs1a2b_4core3fmt  →  _RNvC4core3fmt
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.compiled_code import compiled_beside
from sizeguard.columns.text_calls import call_for_texts
from sizeguard.columns.text_hash import Hash, hash_texts
from sizeguard.columns.texts import Texts

_CODE = compiled_beside(__file__)

_SUFFIX = rb"\.(?<!\A\.)(?:(?:cold|part|isra|constprop|lto_priv|llvm|clone)(?:\.\d+)*|localalias)"
# It begins with a dot, which is quick to find; a name cannot begin with a suffix.
_CLONE = re.compile(_SUFFIX + rb"(?:" + _SUFFIX + rb")*\Z")
_RUST_HASH = re.compile(rb"17h[0-9a-f]{16}E\Z")
_RUST_CRATE = re.compile(rb"(?<=C)s[0-9A-Za-z]*_(?=\d)")

# A function without a name is called by its address, which changes between builds.
_NAMELESS = b"(function at "
_ALL_NAMELESS = b"(functions without a name)"


def key_of(name: bytes) -> bytes:
    """Return the name without the additions that distinguish builds or clones."""
    if name.startswith(_NAMELESS):
        return _ALL_NAMELESS
    if name.startswith(b"_R"):
        name = _RUST_CRATE.sub(b"", name)
    name = _CLONE.sub(b"", name)
    return _RUST_HASH.sub(b"E", name)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of names.

    heads: the names without suffixes of clones; odd: the keys of names with other additions, by
    index of the name.
    """

    heads: Texts
    odd: dict[int, bytes]

    def __len__(self) -> int:
        """Return the number of names."""
        return len(self.heads)

    def raw(self, index: int) -> bytes:
        """Return one key's bytes."""
        return self.odd[index] if index in self.odd else self.heads.raw(index)

    def odd_texts(self) -> tuple[npt.NDArray[np.intp], Texts]:
        """Return the indices of the odd keys, and these keys as texts."""
        return np.fromiter(self.odd, np.intp, len(self.odd)), Texts.of(self.odd.values())


def keys(texts: Texts) -> Keys:
    """Return the keys of names."""
    ends, odd = np.empty((2, len(texts)), np.int64)
    count = call_for_texts(_CODE, "stable_ends", texts, ends, odd)
    heads = Texts(texts.buffer, texts.start, ends)
    return Keys(heads, {i: key_of(heads.raw(i)) for i in odd[:count].tolist()})


def hash_keys(texts: Texts, hashes: Hash | None = None) -> Hash:
    """Hash each name's key.

    hashes: of the names, if known, since most names are their own keys.
    """
    found, low = [np.zeros(0, np.uint64)], 0
    for table in texts.tables():
        high = low + len(table)
        known = None if hashes is None else hashes[low:high]
        found.append(hashes_of(keys(table), table, known))
        low = high
    return np.concatenate(found)


def hashes_of(found: Keys, texts: Texts, hashes: Hash | None = None) -> Hash:
    """Hash the keys of texts that keys() returned; hashes: of the texts, if known."""
    if hashes is None:
        result = hash_texts(found.heads)
    else:
        result = hashes.copy()
        shorter = np.flatnonzero(found.heads.end < texts.end)
        result[shorter] = hash_texts(found.heads.take(shorter))
    which, odd = found.odd_texts()
    result[which] = hash_texts(odd)
    return result
