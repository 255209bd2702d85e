"""Files of a link with what its record knows, if there is one that still fits."""

from __future__ import annotations

from sizeguard.base.errors import InconclusiveError
from sizeguard.builds.open_build import Files
from sizeguard.linkgraph.recorded_files import with_record


def with_known_record(files: Files) -> Files:
    """Add what the record of the link knows; the files as they are if it cannot be followed."""
    try:
        return with_record(files)
    except InconclusiveError:
        return files
