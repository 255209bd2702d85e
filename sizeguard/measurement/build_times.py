"""Durations of builds, to estimate the next one."""

from __future__ import annotations

import json
import math
from pathlib import Path

from sizeguard.base.errors import SizeguardError
from sizeguard.base.files import write_atomic
from sizeguard.base.progress import clock

FILE = "build_times.json"  # beside the folder of worktrees: seconds by the text of a recipe
_MOST = 500  # recipes to keep: those that were built last


def announcement(folder: Path, commit: str, what: str) -> str:
    """Return the message that a commit is built, with an estimate of the time if known.

    what: the text of the recipe
    """
    seconds = _read(folder).get(what)
    estimate = f", about {clock(seconds)}" if seconds is not None and seconds >= 1 else ""
    return f"building {commit[:7]}: {what}{estimate}"


def remember(folder: Path, what: str, seconds: float) -> None:
    """Store the duration of a build; errors of writing are ignored."""
    times = _read(folder)
    times.pop(what, None)  # a new entry is the last one
    times[what] = round(seconds, 1)
    try:
        write_atomic(folder / FILE, json.dumps(dict(list(times.items())[-_MOST:])))
    except SizeguardError:
        return


def _read(folder: Path) -> dict[str, float]:
    try:
        found = json.loads((folder / FILE).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        str(what): value
        for what, value in found.items()
        if isinstance(value, int | float) and value < math.inf
    }
