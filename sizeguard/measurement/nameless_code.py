"""Count the bytes of code that have no name, as in a stripped image.

A sum of symbols lacks them: a function of the template that a limit names may be among them.
"""

from __future__ import annotations

from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.group import group

_STARTS, _UNKNOWN = "function starts", "unattributed"  # analyzers of code without names


def nameless_code(analysis: Analysis) -> int:
    """Return the loaded bytes of code in functions without a name.

    Start-up code and stubs lie in no function; they are a few hundred bytes of each image. Code
    outside of functions counts only if it is more than all named code: then nothing tells where
    functions begin.
    """
    rows = group(analysis, ("kind", "analyzer")).rows
    code = {row.keys[1]: row.load for row in rows if row.keys[0] == "code"}
    nameless, unknown = code.pop(_STARTS, 0), code.pop(_UNKNOWN, 0)
    return nameless + (unknown if unknown > sum(code.values()) else 0)
