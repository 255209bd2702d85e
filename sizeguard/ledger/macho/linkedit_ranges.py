"""Claims on bytes outside of a Mach-O image's sections.

They are load commands, symbol and string table, relocations, and dyld's tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sizeguard.formats.macho import constants as c
from sizeguard.formats.macho.image import MachO
from sizeguard.formats.macho.relocations import relocations
from sizeguard.ledger.macho.contents import PART, SECTION
from sizeguard.ledger.macho.named_ranges import NamedRanges

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
class LinkeditPiece:
    """A range [offset, offset + size) of the file and its owner: symbols, or the text in `part`.

    section: a name of our own, in parentheses.
    """

    offset: int
    size: int
    rank: int
    section: str
    kind: str
    analyzer: str
    names: tuple[bytes, ...] = ()
    part: bytes = b""


def pieces(image: MachO, ranges: NamedRanges) -> Iterator[LinkeditPiece]:
    """Yield all claims, weaker ones first."""
    yield LinkeditPiece(0, image.header_size, SECTION, "(header)", "header", "header")
    for command in image.commands:
        yield LinkeditPiece(
            command.offset,
            command.size,
            SECTION,
            "(load commands)",
            "load commands",
            "header",
            part=command.name.encode(),
        )
    for extent in image.linkedit:
        yield LinkeditPiece(
            extent.offset,
            extent.size,
            SECTION,
            f"({extent.name})",
            _KINDS.get(extent.name, "other"),
            "section",
        )
    if len(image.symbols):
        yield from _symbols(image, ranges)
    yield from _indirect(image)
    if image.is_object:
        yield from _relocations(image, ranges)


def _symbols(image: MachO, ranges: NamedRanges) -> Iterator[LinkeditPiece]:
    """Yield entries of the symbol table and their names.

    Both belong to the symbol; those of STABs to the function or variable that they describe, else
    to debug information.
    """
    table = image.symbols
    extent = image.extent("symbol table")
    strings = image.extent("string table")
    if extent is None or strings is None:
        return
    width = extent.size // len(table)
    kinds, names = table.type.tolist(), table.raw_names()
    starts = table.names.start.tolist()
    # With the zero behind a name; the last may lack it.
    ends = np.minimum(table.names.end + 1, strings.offset + strings.size).tolist()
    stab_names = []
    for i, owner in enumerate(_owners_of_entries(image, ranges, kinds, names)):
        owners = (owner,) if owner else ()
        is_stab = bool(kinds[i] & c.N_STAB)
        kind = "debug" if is_stab else "symbol table"
        offset = extent.offset + i * width
        yield LinkeditPiece(offset, width, PART, "(symbol table)", kind, "symbol table", owners)
        if not names[i]:
            continue
        kind = "debug" if is_stab else "string table"
        size = ends[i] - starts[i]
        name = LinkeditPiece(starts[i], size, PART, "(string table)", kind, "string table", owners)
        if is_stab:
            stab_names.append(name)
        else:
            yield name
    # Most STABs share their name with the symbol, which was there first.
    yield from stab_names


def _owners_of_entries(
    image: MachO, ranges: NamedRanges, kinds: Sequence[int], names: Sequence[bytes]
) -> Iterator[bytes]:
    """Yield for each entry of the symbol table the name of its owner, empty if it has none.

    A function's STABs are BNSYM with its address, FUN with its name, …, ENSYM.
    """
    function = b""
    for i, kind in enumerate(kinds):
        if not kind & c.N_STAB:
            yield names[i]
            continue
        if kind == c.N_BNSYM:
            holder = ranges.at(int(image.symbols.value[i]))
            function = holder.names[0] if holder is not None and holder.names else b""
        elif kind == c.N_FUN and names[i]:
            function = names[i]
        if kind in (c.N_GSYM, c.N_STSYM):
            yield names[i]
        elif kind in (c.N_BNSYM, c.N_FUN, c.N_ENSYM):
            yield function
        else:
            yield b""
        if kind == c.N_ENSYM:
            function = b""


def _indirect(image: MachO) -> Iterator[LinkeditPiece]:
    """Yield the entries of the indirect symbol table."""
    extent = image.extent("indirect symbols")
    if extent is None:
        return
    for i, symbol in enumerate(image.indirect.tolist()):
        if symbol < len(image.symbols):
            name = image.symbols.names.raw(symbol)
            yield LinkeditPiece(
                extent.offset + 4 * i,
                4,
                PART,
                "(indirect symbols)",
                "symbol table",
                "import",
                (name,) if name else (),
            )


def _relocations(image: MachO, ranges: NamedRanges) -> Iterator[LinkeditPiece]:
    """Yield the relocations of an object, each owned by the symbol that it relocates."""
    for section in image.sections:
        if not section.relocation_count:
            continue
        for i, offset in enumerate(relocations(image, section).address.tolist()):
            holder = ranges.at(section.address + offset)
            if holder is not None and holder.names:
                start = section.relocation_offset + 8 * i
                yield LinkeditPiece(
                    start, 8, PART, "(relocations)", "relocation", "relocation", names=holder.names
                )
