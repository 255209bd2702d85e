"""Turns Mach-O files into images: commands, segments, sections, symbols and what dyld reads."""

from sizeguard.formats.macho.image import Extent, LoadCommand, MachO, Section, Segment, Symbols
from sizeguard.formats.macho.reader import FatFile, Slice, parse_macho_file, read_macho, read_macho_file
from sizeguard.formats.sniff import is_fat, is_macho

__all__ = [
    "Extent",
    "FatFile",
    "LoadCommand",
    "MachO",
    "Section",
    "Segment",
    "Slice",
    "Symbols",
    "is_fat",
    "is_macho",
    "parse_macho_file",
    "read_macho",
    "read_macho_file",
]
