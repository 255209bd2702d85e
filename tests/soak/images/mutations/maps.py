"""Maps of every linker, and their logs."""

from __future__ import annotations

import shutil
from pathlib import Path

from sizeguard.formats.gc_log import parse_gc_log
from sizeguard.formats.icf_log import parse_icf_log
from sizeguard.formats.linkmap import read_link_map
from tests.support.places import DATA

DATA = DATA / "linkmaps"


def _copies(pattern: str, folder: Path) -> list[Path]:
    return [Path(shutil.copy(path, folder / path.name)) for path in sorted(DATA.glob(pattern))]


def _read_map(path: Path) -> None:
    read_link_map(path)


def _read_log(path: Path) -> None:
    text = path.read_text(encoding="utf-8", errors="backslashreplace")
    parse_gc_log(path, text)
    parse_icf_log(path, text)


TARGETS = {
    "maps": (lambda folder: _copies("*.map", folder), _read_map),
    "logs": (lambda folder: _copies("*.log", folder), _read_log),
}
