"""Read Mach-O files: commands, segments, sections, symbols and the tables that dyld reads."""

from sizeguard.formats.macho.image import Extent, LoadCommand, MachO, MachoSymbols, Section, Segment
from sizeguard.formats.macho.reader import (
    FatFile,
    Slice,
    parse_macho_file,
    read_macho,
    read_macho_file,
)
from sizeguard.formats.magics import is_fat, is_macho

__all__ = [
    "Extent",
    "FatFile",
    "LoadCommand",
    "MachO",
    "MachoSymbols",
    "Section",
    "Segment",
    "Slice",
    "is_fat",
    "is_macho",
    "parse_macho_file",
    "read_macho",
    "read_macho_file",
]
