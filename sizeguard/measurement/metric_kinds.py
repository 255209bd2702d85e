"""The kinds of metrics.

Apart from the values, whose numpy takes 0.2 s to import: the completion of command lines names the
kinds, too.
"""

from __future__ import annotations

TOTALS = ("load", "ram", "file", "page_slack")
# kind/NAME; what OPEN kinds name is not known before a build.
NAMED = (
    "component",
    "operator",
    "kernel",
    "dtype",
    "section",
    "symbol",
    "image",
    "object",
    "archive",
    "region",
)
OPEN = frozenset({"section", "symbol", "image", "object", "archive", "region"})
