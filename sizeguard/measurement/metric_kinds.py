"""The kinds of metrics.

Apart from the values, whose numpy takes 0.2 s to import: the completion of command lines names the
kinds, too.
"""

from __future__ import annotations

TOTALS = ("load", "ram", "file", "page_slack")
NAMED = ("component", "operator", "kernel", "dtype", "section", "symbol")  # kind/NAME
