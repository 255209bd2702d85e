"""Read ELF files: sections, segments, symbols and relocations, as columns where there are many."""

from sizeguard.formats.elf.image import RELOCATION_TYPES as RELOCATION_TYPES
from sizeguard.formats.elf.image import Elf as Elf
from sizeguard.formats.elf.image import Section as Section
from sizeguard.formats.elf.image import Segment as Segment
from sizeguard.formats.elf.image import debug_name as debug_name
from sizeguard.formats.elf.image import has_debug_information as has_debug_information
from sizeguard.formats.elf.layout import *  # noqa: F403  (the numbers of the format)
from sizeguard.formats.elf.reader import parse_elf as parse_elf
from sizeguard.formats.elf.reader import read_bytes as read_bytes
from sizeguard.formats.elf.reader import read_elf as read_elf
from sizeguard.formats.elf.relocations import Relocations as Relocations
from sizeguard.formats.elf.symbols import Symbol as Symbol
from sizeguard.formats.elf.symbols import SymbolTable as SymbolTable
