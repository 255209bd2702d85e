"""Count the bytes of code that have no name, as in a stripped image.

A sum over symbols misses this code, which may include instances of a limited template.
"""

from __future__ import annotations

from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.group import group

_STARTS, _UNKNOWN = "function starts", "unattributed"  # analyzers of code without names


def nameless_code(analysis: Analysis) -> int:
    """Return the loaded bytes of code in functions without a name.

    Each image has a few hundred bytes of start-up code and stubs outside of functions. Code outside
    of functions counts only if it exceeds all named code: then no table says where functions begin.
    """
    rows = group(analysis, ("kind", "analyzer")).rows
    code = {row.keys[1]: row.load for row in rows if row.keys[0] == "code"}
    nameless, unknown = code.pop(_STARTS, 0), code.pop(_UNKNOWN, 0)
    return nameless + (unknown if unknown > sum(code.values()) else 0)
