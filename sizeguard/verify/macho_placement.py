"""Turns Mach-O objects, an image and the map of ld64.lld into where each atom lies in the image."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sizeguard.errors import InconclusiveError
from sizeguard.formats.elf import SHT_INIT_ARRAY
from sizeguard.formats.linkmap.row import NO_INPUT, LinkMap
from sizeguard.verify.code_search import ImageBytes
from sizeguard.verify.macho import MachoImage, plain
from sizeguard.verify.objects import Objects
from sizeguard.verify.placement import Node, Placement, by_symbols, check_bytes, check_outputs, file_key


def place_atoms(objects: Objects, image: MachoImage, link_map: LinkMap | None, map_path: Path | None) -> Placement:
    """Find the objects' atoms in the image. Raises InconclusiveError if the map or the objects are another build's."""
    content = ImageBytes(image)
    if link_map is None:
        address = by_symbols(objects, image, content)
        return Placement(objects, content, {**address, **_initializers(objects, image, address)}, (), False)
    check_outputs(image, link_map, map_path)
    address, missing = _by_map(objects, link_map, image.path)
    check_bytes(Placement(objects, content, address, missing, True), len(objects.files))
    return Placement(objects, content, {**address, **_initializers(objects, image, address)}, missing, True)


def _by_map(objects: Objects, link_map: LinkMap, image: Path) -> tuple[dict[Node, int], tuple[str, ...]]:
    """A map says of each symbol where it is and of which file; a symbol is a place in an atom."""
    candidates: dict[tuple[str, str], list[int]] = {}
    for number, file in enumerate(objects.files):
        candidates.setdefault(file_key(file.label), []).append(number)
    defined = {number: _definitions(objects, number) for numbers in candidates.values() for number in numbers}
    code = {output.name for output in link_map.outputs if output.name in ("__TEXT,__text", "__TEXT,__StaticInit")}
    address: dict[Node, int] = {}
    missing: dict[str, None] = {}
    for symbol in link_map.symbols:
        if symbol.input == NO_INPUT:
            continue
        row = link_map.placed[symbol.input]
        if not row.file or row.is_merged:
            continue
        numbers = candidates.get(file_key(row.file))
        if numbers is None:
            is_library = row.file.endswith((".tbd", ".dylib"))
            if not is_library and file_key(row.file) not in {file_key(label) for label in objects.lto}:
                missing[row.file] = None
            continue
        where = next((defined[n][plain(symbol.name)] for n in numbers if plain(symbol.name) in defined[n]), None)
        if where is not None:
            node, inside = where
            address.setdefault(node, symbol.address - inside)
        elif row.output in code and symbol.name == row.name:
            raise InconclusiveError(
                f"{row.file} is of another build: it has no {symbol.name}, which is at {symbol.address:#x} in {image}; "
                "pass the objects of this image"
            )
    return address, tuple(missing)


def _definitions(objects: Objects, number: int) -> Mapping[str, tuple[Node, int]]:
    """Symbol → atom, and where in it."""
    return {
        symbol.name: ((number, symbol.section), symbol.address)
        for symbol in objects.files[number].symbols
        if symbol.section and symbol.name
    }


def _initializers(objects: Objects, image: MachoImage, address: Mapping[Node, int]) -> dict[Node, int]:
    """Pointers to functions that run at start-up have no symbol: they are there if the image runs what they point to."""
    found: dict[Node, int] = {}
    for number, file in enumerate(objects.files):
        for section in file.elf.sections:
            table = file.relocations.get(section.index)
            if section.type != SHT_INIT_ARRAY or table is None:
                continue
            for i in table.symbol.tolist():
                symbol = file.symbols[i]
                start = address.get((number, symbol.section))
                if start is not None and start + symbol.address in image.initializers:
                    found.setdefault((number, section.index), image.initializers[start + symbol.address])
    return found
