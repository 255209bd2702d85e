"""Check that a linker map belongs to the link that made an image."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.base.errors import InconclusiveError

if TYPE_CHECKING:
    from sizeguard.formats.linkmap.link_map import LinkMap, OutputSection

# Name, address and size of a section, and whether it contains code.
Placed = tuple[str, int, int, bool]


def check_fit(
    image: Path, sections: Iterable[Placed], link_map: LinkMap, path: Path | None
) -> None:
    """Compare the sections of an image with those of a map.

    sections: the loaded ones that have an address and a size.

    Raises InconclusiveError for a map of another build: a section has another place or size in it,
    or the map places no code.
    """
    stated: dict[str, list[OutputSection]] = {}  # --unique makes several of one name
    for output in link_map.outputs:
        if output.is_loaded and output.size:
            stated.setdefault(output.name, []).append(output)
    places_code = False
    for name, address, size, is_code in sections:
        named = stated.get(name)
        if named is None:
            continue
        places_code = places_code or is_code
        if all((output.address, output.size) != (address, size) for output in named):
            output = named[0]
            raise InconclusiveError(
                f"{path} is a map of another build: {name} is at {output.address:#x} with"
                f" {output.size} bytes there, at {address:#x} with {size} in {image}; pass the map"
                " made with this image"
            )
    if not places_code:
        raise InconclusiveError(
            f"{path} places no code of {image}: it is a map of another build; pass the map made"
            " with this image"
        )
