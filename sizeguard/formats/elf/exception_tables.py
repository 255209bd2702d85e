"""Find the ends of exception tables in .gcc_except_table."""

from __future__ import annotations

import numpy as np

from sizeguard.columns.compiled_code import compiled_beside
from sizeguard.columns.texts import Bytes, Int

_CODE = compiled_beside(__file__)


def table_ends(content: Bytes, start: Int, limit: Int) -> Int:
    """Return the end of each table: after its types, or after its call sites if it has no types.

    content: of the section, not empty
    start: offset of each table in it
    limit: start of the next table; a table that cannot be read ends there

    A table begins with the form of its landing-pad base (always omitted) and the form of its types.
    With types, the distance to their end follows; else the form and the length of the call sites.
    """
    end = np.empty(len(start), np.int64)
    _CODE.call("table_ends", content, len(content), start, limit, len(start), end)
    return end
