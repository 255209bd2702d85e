"""The parts of names that are the same for all names of a family.

f.cold  f.part.0  f.isra.0  f.constprop.12  f.localalias  →  f
_ZN1aD0Ev  _ZN1aD1Ev  _ZN1aD2Ev  →  _ZN1aD      _ZTVN1aE  _ZTIN1aE  _ZTSN1aE  →  N1aE
"""

from __future__ import annotations

import numpy as np

from sizeguard.columns.compiled_code import compiled_beside
from sizeguard.columns.text_calls import call_for_texts
from sizeguard.columns.texts import Texts

_CODE = compiled_beside(__file__)


def family_parts(names: Texts) -> Texts:
    """Return the part of each name; only that of a class's tables starts behind the name's start.

    It lacks the suffixes that gcc gives to clones, the number of a destructor, and the kind of a
    class's table.
    """
    low, high = np.empty((2, len(names)), np.int64)
    call_for_texts(_CODE, "family_parts", names, low, high)
    return Texts(names.buffer, low, high)
