"""Turns what lies outside of the sections of a Mach-O image into claims: commands, symbol and string table, relocations, dyld's tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sizeguard.formats.macho import constants as c
from sizeguard.formats.macho.image import MachO
from sizeguard.formats.macho.relocations import relocations
from sizeguard.ledger.macho_contents import PART, SECTION
from sizeguard.ledger.macho_ranges import Ranges

_KINDS = {
    "symbol table": "symbol table",
    "string table": "string table",
    "indirect symbols": "symbol table",
    "external references": "symbol table",
    "exports trie": "exports",
    "function starts": "function starts",
    "code signature": "code signature",
    "code signing requirements": "code signature",
    "chained fixups": "relocation",
    "rebase opcodes": "relocation",
    "bind opcodes": "relocation",
    "weak bind opcodes": "relocation",
    "lazy bind opcodes": "relocation",
    "external relocations": "relocation",
    "local relocations": "relocation",
    "relocations": "relocation",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """[offset, offset + size) of the file, in a section of our own naming, and whose it is: a symbol's, or of what `part` says."""

    offset: int
    size: int
    rank: int
    section: str
    kind: str
    analyzer: str
    names: tuple[bytes, ...] = ()
    part: bytes = b""


def pieces(image: MachO, ranges: Ranges) -> Iterator[Piece]:
    yield Piece(0, image.header_size, SECTION, "(header)", "header", "header")
    for command in image.commands:
        yield Piece(command.offset, command.size, SECTION, "(load commands)", "load commands", "header", part=command.name.encode())
    for extent in image.linkedit:
        yield Piece(extent.offset, extent.size, SECTION, f"({extent.name})", _KINDS.get(extent.name, "other"), "section")
    if len(image.symbols):
        yield from _symbols(image, ranges)
    yield from _indirect(image)
    if image.is_object:
        yield from _relocations(image, ranges)


def _symbols(image: MachO, ranges: Ranges) -> Iterator[Piece]:
    """An entry and its name belong to the symbol; of STABs to the function that they are about, else to debug information."""
    table = image.symbols
    extent = image.extent("symbol table")
    strings = image.extent("string table")
    if extent is None or strings is None:
        return
    width = extent.size // len(table)
    kinds = table.type.tolist()
    # With the zero behind a name; the last may lack it.
    lengths = (np.minimum(table.names.end + 1, strings.offset + strings.size) - table.names.start).tolist()
    starts = table.names.start.tolist()
    all_names = table.raw_names()
    function = b""
    stab_names = []
    for i, kind in enumerate(kinds):
        name = all_names[i]
        offset = extent.offset + i * width
        if not kind & c.N_STAB:
            names = (name,) if name else ()
            yield Piece(offset, width, PART, "(symbol table)", "symbol table", "symbol table", names)
            if name:
                yield Piece(starts[i], lengths[i], PART, "(string table)", "string table", "string table", names)
            continue
        if kind == c.N_BNSYM:
            holder = ranges.at(int(table.value[i]))
            function = holder.names[0] if holder is not None and holder.names else b""
        elif kind == c.N_FUN and name:
            function = name
        about = name if kind in (c.N_GSYM, c.N_STSYM) else function if kind in (c.N_BNSYM, c.N_FUN, c.N_ENSYM) else b""
        yield Piece(offset, width, PART, "(symbol table)", "debug", "symbol table", names=(about,) if about else ())
        if name:
            stab_names.append(
                Piece(starts[i], lengths[i], PART, "(string table)", "debug", "string table", names=(about,) if about else ())
            )
        if kind == c.N_ENSYM:
            function = b""
    # Most STABs share their name with the symbol, which was there first.
    yield from stab_names


def _indirect(image: MachO) -> Iterator[Piece]:
    extent = image.extent("indirect symbols")
    if extent is None:
        return
    for i, symbol in enumerate(image.indirect.tolist()):
        if symbol < len(image.symbols):
            name = image.symbols.names.raw(symbol)
            yield Piece(extent.offset + 4 * i, 4, PART, "(indirect symbols)", "symbol table", "import", (name,) if name else ())


def _relocations(image: MachO, ranges: Ranges) -> Iterator[Piece]:
    """To what they relocate."""
    for section in image.sections:
        if not section.relocation_count:
            continue
        for i, offset in enumerate(relocations(image, section).address.tolist()):
            holder = ranges.at(section.address + offset)
            if holder is not None and holder.names:
                start = section.relocation_offset + 8 * i
                yield Piece(start, 8, PART, "(relocations)", "relocation", "relocation", names=holder.names)
