"""The kinds of metrics.

This is a separate module because the module of values imports numpy, which takes 0.2 s, and
completion needs the kinds, too.
"""

from __future__ import annotations

TOTALS = ("load", "ram", "file", "page_slack")
# kind/NAME; names of OPEN kinds are unknown before a build.
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
# Places that an image may not tell, of metrics that are named by them.
SOURCES, OBJECTS, JOINED = "sources", "objects", "joined objects"
