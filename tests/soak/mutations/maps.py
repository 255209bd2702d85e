"""Maps of every linker, and their logs."""

from __future__ import annotations

import shutil
from pathlib import Path

from sizeguard.formats.gc_log import read_gc_log
from sizeguard.formats.icf_log import read_icf_log
from sizeguard.formats.linkmap import read_link_map
from sizeguard.formats.linkmap.symbol_ranges import symbol_ranges
from tests.support.places import DATA

DATA = DATA / "linkmaps"


def _copies(pattern: str, folder: Path) -> list[Path]:
    return [Path(shutil.copy(path, folder / path.name)) for path in sorted(DATA.glob(pattern))]


def _read_map(path: Path) -> None:
    symbol_ranges(read_link_map(path))


def _read_log(path: Path) -> None:
    read_gc_log(path)
    read_icf_log(path)


TARGETS = {
    "maps": (lambda folder: _copies("*.map", folder), _read_map),
    "logs": (lambda folder: _copies("*.log", folder), _read_log),
}
