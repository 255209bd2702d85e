"""Find the owners of an image by its link's graph, its registrations and its debug information.

The modules that find them are imported where they are used, as in open_analysis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.base.errors import InconclusiveError
from sizeguard.base.input_files import readable
from sizeguard.builds.open_build import Files
from sizeguard.formats.sniff import MACHO, image_format
from sizeguard.runtimes.recognise import Choice

if TYPE_CHECKING:
    from sizeguard.attribution.owners.branches import Branched
    from sizeguard.attribution.owners.graph_owners import Reached
    from sizeguard.attribution.owners.placed_owners import PlacedOwners
    from sizeguard.attribution.owners.registered_owners import Served
    from sizeguard.formats.elf import Elf
    from sizeguard.formats.linkmap.link_map import InputSection, LinkMap
    from sizeguard.formats.macho.image import MachO
    from sizeguard.ledger.entry_bytes import Part
    from sizeguard.ledger.ledger import Ledger


def reach_of_link(files: Files, link_map: LinkMap | None) -> Reached | None:
    """Follow the section graph of the link if a map gives the places of its sections.

    Without a map, or with objects of another link or of 32 bits, operators come from names.
    """
    if link_map is None or not files.objects:
        for path in files.objects:
            readable(path)  # refuse an object that never ends, even if it is not used
        return None
    from sizeguard.attribution.owners.graph_owners import reach  # 60 ms
    from sizeguard.linkgraph.inputs.objects import UnsupportedObjectError
    from sizeguard.linkgraph.open_graph import graph_of_files

    if files.link_record is None and image_format(files.image) != MACHO:
        files = replace(files, build=None)  # the options of the link are inferred
    try:
        return reach(graph_of_files(files))
    except (InconclusiveError, UnsupportedObjectError):
        return None


def registration_parts(reached: Reached | None, rows: Sequence[InputSection]) -> Sequence[Part]:
    """Return the entries of registration tables, which only objects show."""
    if reached is None:
        return ()
    from sizeguard.attribution.owners.placed_owners import entry_parts  # see reach_of_link

    return entry_parts(reached, rows)


def place_owners(
    image: Elf | MachO, ledger: Ledger, reached: Reached | None
) -> PlacedOwners | None:
    """Give the sections of a link to the operators that reach them; None without its graph."""
    if reached is None:
        return None
    from sizeguard.attribution.owners.placed_owners import place  # see reach_of_link

    return place(image, ledger, reached)


def serve_owners(elf: Elf, ledger: Ledger) -> Served | None:
    """Give the kernels that the image registers to their operators; None if it registers none."""
    from sizeguard.names.registered import read_registrations  # 5 ms

    registrations = read_registrations(elf)
    if not registrations:
        return None
    from sizeguard.attribution.owners.registered_owners import serve  # 3 ms

    return serve(elf, ledger, registrations)


def branch_owners(
    image: Elf | MachO,
    ledger: Ledger,
    path: Path,
    debug: Path | None,
    choice: Choice,
    arch: str = "",
) -> Branched | None:
    """Read dtype branches from the debug information of `debug`, or of `path` itself."""
    from sizeguard.attribution.owners.branches import branch_out  # 47 ms
    from sizeguard.attribution.owners.inlined import inlined_branches

    try:
        branches = inlined_branches(path, debug, choice.preset, arch)
    except InconclusiveError:
        # The debug information is in .dwo files or describes another image. Names remain valid.
        return None
    return branch_out(image, ledger, branches)
