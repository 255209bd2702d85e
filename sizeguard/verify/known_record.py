"""Add the facts from a link's record to its files, if there is a valid record."""

from __future__ import annotations

from sizeguard.base.errors import InconclusiveError
from sizeguard.builds.open_build import Files
from sizeguard.linkgraph.recorded_files import with_record


def with_known_record(files: Files) -> Files:
    """Add the facts from the link's record; without a valid record, return the files unchanged."""
    try:
        return with_record(files)
    except InconclusiveError:
        return files
