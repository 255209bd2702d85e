"""Match patterns of files also behind links to folders, where `**` of pathlib does not look."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

_ANY_FOLDERS = "**"


def files_matching(root: Path, pattern: str) -> list[Path]:
    """List the files below a folder that match a pattern, sorted; each path once.

    Links to folders are followed, as loaders do, unless they lead out of the folder.
    """
    places = [root]
    told = [part for part in pattern.split("/") if part not in ("", ".")]  # pathlib refuses these
    groups = itertools.groupby(told, key=lambda part: part == _ANY_FOLDERS)
    for is_any, parts in groups:
        names = "/".join(parts)
        found = (
            path
            for place in places
            for path in (_folders(place, root) if is_any else place.glob(names))
        )
        places = [*dict.fromkeys(found)]
    return sorted(path for path in places if path.is_file())


def _folders(start: Path, root: Path) -> Iterator[Path]:
    """Yield a folder and all folders below it, each once even if several links lead to it."""
    tops = (start.resolve(), root.resolve())
    seen = set[Path]()
    for place, folders, _ in os.walk(start, followlinks=True):
        real = Path(place).resolve()
        if real in seen or not any(map(real.is_relative_to, tops)):
            folders.clear()
            continue
        seen.add(real)
        folders.sort()
        yield Path(place)
