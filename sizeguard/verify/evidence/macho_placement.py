"""Find the places of Mach-O objects' atoms in an image from the map of ld64.lld."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from sizeguard.base.errors import InconclusiveError
from sizeguard.formats.elf import SHT_INIT_ARRAY, Symbol
from sizeguard.formats.linkmap.link_map import NO_INPUT, LinkMap, file_key
from sizeguard.verify.evidence.code_search import ImageBytes
from sizeguard.verify.evidence.macho import MachoImage, plain
from sizeguard.verify.evidence.object_evidence import NamedPiece, Objects
from sizeguard.verify.evidence.placement import (
    Node,
    Placement,
    by_symbols,
    check_bytes,
    check_outputs,
)


def place_atoms(
    objects: Objects, image: MachoImage, link_map: LinkMap | None, map_path: Path | None
) -> Placement:
    """Find the objects' atoms in the image.

    Raises InconclusiveError if the map or the objects are of another build.
    """
    content = ImageBytes(image)
    if link_map is None:
        address = by_symbols(objects, image, content)
        return Placement(
            objects, content, {**address, **_initializers(objects, image, address)}, (), False
        )
    check_outputs(image, link_map, map_path)
    address, missing = _by_map(objects, link_map, image.path)
    check_bytes(Placement(objects, content, address, missing, True), len(objects.files))
    return Placement(
        objects, content, {**address, **_initializers(objects, image, address)}, missing, True
    )


# More than 40 lines: one pass over the map, whose rows name objects, libraries and LTO inputs.
def _by_map(
    objects: Objects, link_map: LinkMap, image: Path
) -> tuple[dict[Node, int], tuple[str, ...]]:
    """Place atoms by a map, which states file and address of each symbol."""
    candidates: dict[tuple[str, str], list[int]] = {}
    for number, file in enumerate(objects.files):
        candidates.setdefault(file_key(file.label), []).append(number)
    defined = {
        number: _definitions(objects, number)
        for numbers in candidates.values()
        for number in numbers
    }
    code = {
        output.name
        for output in link_map.outputs
        if output.name in ("__TEXT,__text", "__TEXT,__StaticInit")
    }
    address: dict[Node, int] = {}
    missing: dict[str, None] = {}
    for symbol in link_map.symbols:
        if symbol.input == NO_INPUT:
            continue
        row = link_map.placed[symbol.input]
        if not row.file or row.is_merged:
            continue
        numbers = candidates.get(file_key(row.file))
        if numbers is None and (made := _made_of(objects, row.file, plain(symbol.name))):
            node, inside = made
            address.setdefault(node, symbol.address - inside)
            continue
        if numbers is None:
            is_library = row.file.endswith((".tbd", ".dylib"))
            if not is_library and file_key(row.file) not in {
                file_key(label) for label in objects.lto
            }:
                missing[row.file] = None
            continue
        where = next(
            (defined[n][plain(symbol.name)] for n in numbers if plain(symbol.name) in defined[n]),
            None,
        )
        if where is not None:
            node, inside = where
            address.setdefault(node, symbol.address - inside)
        elif row.output in code and symbol.name == row.name:
            raise InconclusiveError(
                f"{row.file} is of another build: it has no {symbol.name}, which is at"
                f" {symbol.address:#x} in {image}; pass the objects of this image"
            )
    return address, tuple(missing)


def _made_of(objects: Objects, file: str, name: str) -> tuple[Node, int] | None:
    """Find a symbol of a bitcode file in the object that LTO generated from it.

    Maps assign symbols that outlive LTO, such as main, to the file that first defined them. A
    linker has one global definition of a name; its bytes are compared with the image.
    """
    if file.endswith((".tbd", ".dylib")):
        return None
    for number in objects.made_by_lto:
        for symbol in objects.files[number].symbols:
            if symbol.name == name and symbol.section and symbol.binding:
                return (number, symbol.section), symbol.address
    return None


def _definitions(objects: Objects, number: int) -> Mapping[str, tuple[Node, int]]:
    """Map symbols to their atom and their place in it."""
    return {
        symbol.name: ((number, symbol.section), symbol.address)
        for symbol in objects.files[number].symbols
        if symbol.section and symbol.name
    }


def _initializers(
    objects: Objects, image: MachoImage, address: Mapping[Node, int]
) -> dict[Node, int]:
    """Place pointers to functions that run at start-up, which have no symbol.

    They are placed if the image runs the functions.
    """
    found: dict[Node, int] = {}
    for number, file in enumerate(objects.files):
        for section in file.elf.sections:
            table = file.relocations.get(section.index)
            if section.type != SHT_INIT_ARRAY or table is None:
                continue
            for i in table.symbol.tolist():
                for start in _addresses_of(objects, number, file.symbols[i], address):
                    if start in image.initializers:
                        found.setdefault((number, section.index), image.initializers[start])
    return found


def _addresses_of(
    objects: Objects, number: int, symbol: Symbol, address: Mapping[Node, int]
) -> Iterator[int]:
    """Yield the addresses that an object's symbol may have; another object may define it."""
    pieces = [NamedPiece(number, symbol.section, symbol.address, symbol.size, symbol.name)]
    if symbol.binding:
        pieces += objects.index.get(symbol.name, ())
    for piece in pieces:
        start = address.get((piece.object, piece.section))
        if start is not None:
            yield start + piece.offset
