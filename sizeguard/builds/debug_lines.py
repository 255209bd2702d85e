"""Find the source lines where the functions of an image begin, from its debug information."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.formats.dwarf.lines import SECTION, CodeLine, lines_of
from sizeguard.formats.dwarf.sections import elf_sections
from sizeguard.formats.elf import STT_FUNC, read_elf


def lines_of_functions(image: Path, names: Iterable[str]) -> Mapping[str, CodeLine]:
    """Map symbol names to the lines where these functions begin.

    Leaves out names that the symbol table or the debug information lacks. Empty for anything
    except an ELF image with debug information.
    """
    wanted = set(names)
    try:
        elf = read_elf(image)
        addresses = {
            symbol.name: symbol.address
            for symbol in elf.symbols
            if symbol.type == STT_FUNC and symbol.section and symbol.name in wanted
        }
        sections = elf_sections(elf, SECTION) if addresses else {}
    except (InconclusiveError, InputError):
        return {}
    if not sections:
        return {}
    found = lines_of(sections, addresses.values(), is_big=elf.layout.order == ">")
    return {name: found[address] for name, address in addresses.items() if address in found}
