"""Libraries that are preloaded into builds."""

from __future__ import annotations

import sys
from pathlib import Path

from sizeguard.base.kept.compiled_library import compiled_library

RECORD_LINKS = Path(__file__).with_name("record_links.c")
_UNLOADABLE = " :\n\t"  # ld.so splits LD_PRELOAD at these characters and supports no quoting


def preload_library(cache: Path | None = None, source: Path = RECORD_LINKS) -> Path | None:
    """Return the compiled library of a source.

    cache: folder of compiled libraries that is tried before the user's

    Returns None where preloading is impossible: on systems other than Linux, or without a compiler.
    """
    if sys.platform != "linux":
        return None
    folders = () if cache is None else (cache,)
    return compiled_library([source], folders=folders, unusable=_UNLOADABLE)
