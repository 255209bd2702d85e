"""Keep the result of the check that the files of a full build belong to one link.

Each prediction needs it, and it takes an eighth of its time.
"""

from __future__ import annotations

from pathlib import Path

from sizeguard.base.kept.beside import KeptInputs, kept_beside
from sizeguard.builds.build_record import Build
from sizeguard.builds.open_build import files_of
from sizeguard.formats.linkmap import read_link_map
from sizeguard.formats.linkmap.link_map import LinkMap

FILE = ".one_link.json"  # next to build.json
# Folders of this package whose code can change the result: those that image_presence.py imports.
ROOMS = ("base", "builds", "columns", "formats", "linkgraph", "names", "operators", "verify")


def checked_map(build: Build) -> LinkMap | None:
    """Read the map of a build after a check that all its files belong to one link.

    Raises the errors of check_one_link.
    """
    found: list[LinkMap | None] = []

    def check() -> tuple[str, list[Path] | None]:
        from sizeguard.verify.evidence.image_presence import check_one_link  # 10 ms

        evidence = check_one_link(files_of(build))
        found.append(evidence.link_map)
        return "", evidence.files_read()

    inputs = KeptInputs({"folder": str(build.image.parent)}, tuple(build.files()), ROOMS)
    kept_beside(build.image.parent / FILE, inputs, check)
    if found:
        return found[0]
    return read_link_map(build.map) if build.map is not None else None
