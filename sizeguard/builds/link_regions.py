"""Find the memory regions of a recorded link in its map, else in the scripts that it names."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from sizeguard.builds.link_record import LinkRecord, read_link_record
from sizeguard.builds.linker_options import DEFINES, read_options
from sizeguard.builds.open_build import Files, has_records
from sizeguard.builds.recorded_links import find_record
from sizeguard.formats.linkmap import read_link_map
from sizeguard.formats.linkmap.linker_script import script_number, script_regions
from sizeguard.formats.linkmap.memory_region import MemoryRegion


def recorded_regions(files: Files) -> tuple[MemoryRegion, ...]:
    """Return the regions in the record of an image's link; empty if there are none."""
    path = files.link_record
    if path is None and has_records(files.image):
        path = find_record(files.image).record
    if path is None:
        return ()
    record = read_link_record(path)
    options = list(read_options(record.arguments, record.folder, record.copies))
    folders = [
        record.folder,
        *(record.folder / value for option, value in options if option == "-L"),
    ]
    scripts = [_place(record, folders, value) for option, value in options if option == "-T"]
    changed = {os.path.normpath(each) for each in record.changed_inputs()}
    if not scripts or any(script is None or str(script) in changed for script in scripts):
        return ()
    if record.link_map is not None:
        regions = read_link_map(record.link_map).regions
        if regions:
            return regions
    symbols = dict(_symbol(value) for option, value in options if option in DEFINES)
    found = {name: value for name, value in symbols.items() if value is not None}
    return script_regions([script for script in scripts if script], folders, found)


def _place(record: LinkRecord, folders: Iterable[Path], name: str) -> Path | None:
    """Return the file that the linker read as a script."""
    for folder in folders:
        path = Path(os.path.normpath(folder / name))
        path = record.copies.get(path, path)
        if path.is_file():
            return path
    return None


def _symbol(text: str) -> tuple[str, int | None]:
    """Read name=value; None for a value that is not a number."""
    name, _, value = text.partition("=")
    return name.strip(), script_number(value.strip())
