"""Find operator names in constant data that linkers do not merge.

Strings in mergeable sections are nodes of the graph. gcc -O0 puts strings into .rodata instead, and
all compilers put named arrays there. Then the reference's section and addend identify the text.
"""

from __future__ import annotations

import numpy as np

from sizeguard.columns.texts import Int
from sizeguard.formats.elf import R_X86_64_PC32, SHF_EXECINSTR, SHF_MERGE, SHF_WRITE
from sizeguard.linkgraph.elf.object_columns import RelocationColumns, Sections, SymbolColumns
from sizeguard.linkgraph.inputs.loaded import Loaded
from sizeguard.operators.name import OPERATOR_TEXT

_LONGEST = 1000  # bytes of an operator's name


def find_literals(
    loaded: Loaded,
    sections: Sections,
    relocations: RelocationColumns,
    symbols: SymbolColumns,
    target: Int,
) -> dict[int, str]:
    """Map relocations that refer to an operator name in unmerged constant data to the name.

    A name is a text such as aten::add.Tensor(tts)t.
    """
    flags = sections.flags
    wanted = sections.is_input & (flags & (SHF_EXECINSTR | SHF_WRITE | SHF_MERGE) == 0)
    chosen = np.flatnonzero((target >= 0) & wanted[np.maximum(target, 0)])
    # R_X86_64_PC32 is relative to the end of the operand, four bytes later.
    bias = 4 if loaded.machine == "x86_64" else 0
    places = symbols.value[relocations.symbol[chosen]] + relocations.addend[chosen]
    places += np.where(relocations.type[chosen] == R_X86_64_PC32, bias, 0)
    found: dict[int, str] = {}
    rows = target[chosen]
    order = np.argsort(rows, kind="stable")
    bounds = np.flatnonzero(np.diff(rows[order], prepend=-1))
    for part in np.split(order, bounds[1:]) if len(order) else []:
        row = int(rows[part[0]])
        owner = loaded.objects[int(sections.object[row])]
        section = owner.elf.sections[int(sections.index[row])]
        content = b"" if section.is_nobits else owner.elf.content(section)
        if b"::" not in content:
            continue  # most sections, and jump tables, which have most references
        for i in part.tolist():
            begin = int(places[i])
            end = content.find(b"\0", begin, begin + _LONGEST) if begin >= 0 else -1
            text = content[begin:end] if end >= 0 else b""
            if OPERATOR_TEXT.fullmatch(text):
                found[int(chosen[i])] = text.decode("ascii")
    return found
