"""Write the changes of an updated selection: added and removed operators, and new calls."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sizeguard.base.errors import listed
from sizeguard.base.files import path_below
from sizeguard.gate.review_result import SelectionUpdate
from sizeguard.report.writers.printable import plain_text

_SHOWN = 12  # names in a line


def update_text(root: Path, update: SelectionUpdate) -> str:
    """Write the changes in a few lines."""
    return plain_text(_lines(root, update))


def _lines(root: Path, update: SelectionUpdate) -> Iterable[str]:
    if not update.changed:
        yield f"{update.app}: nothing changed"
        return
    files = [path_below(path, root) or str(path) for path in update.changed]
    yield f"{update.app}: wrote {', '.join(files)}; review and commit the change"
    if update.is_translated:
        yield "  names of PyTorch or ExecuTorch were translated into this runtime's"
    for label, names in (
        ("added", update.added),
        ("dropped", update.dropped),
        ("new calls", update.calls),
    ):
        if names:
            yield f"  {label:<10} {listed(names, _SHOWN)}"
