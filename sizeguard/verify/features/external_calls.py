"""Find the external functions that the objects' code in an image refers to, and its functions.

A build feature can leave no text of its own and no function that is not inlined: `profiling` reads
a clock in `Program::run`. In builds without the feature nothing there refers to `clock_gettime`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from sizeguard.formats.elf import Relocations
from sizeguard.verify.branches.references import References
from sizeguard.verify.evidence.evidence import Evidence, functions_at
from sizeguard.verify.evidence.object_evidence import ObjectFile
from sizeguard.verify.evidence.placement import Node
from sizeguard.verify.registrations import function_text

# Compilers call these without a call in the source, and replace calls of others by them:
# `-ffreestanding` in gcc's manual, and SimplifyLibCalls of LLVM.
_MADE_BY_COMPILERS = (
    " abort bcmp bzero fputc fputs fwrite memchr memcmp memcpy memmove mempcpy memset"
    " memset_pattern16 putchar puts stpcpy strchr strcmp strcpy strlen strncmp "
)


def external_calls(evidence: Evidence) -> Mapping[str, frozenset[str]]:
    """Return external function → texts of the runtime's functions that refer to it in the image.

    The runtime's functions are those in its namespaces; an app may call what it likes. Names that
    compilers and C libraries reserve (`__errno_location`) or choose are left out.
    """
    own = tuple(evidence.hidden_prefixes)
    defined = {row.symbol for file in evidence.own_files() for row in file.definitions}
    references = References(evidence)
    found: dict[str, set[str]] = {}
    for node, start in sorted(evidence.placement.address.items()):
        number, section = node
        if number >= evidence.own:
            continue
        file = evidence.objects.files[number]
        table = file.relocations.get(section)
        if table is None or not file.elf.sections[section].is_executable:
            continue
        for name, offset in _undefined(file, table):
            if name.startswith("_") or name in defined or f" {name} " in _MADE_BY_COMPILERS:
                continue
            for caller in _functions_at(evidence, references, node, start, offset):
                if caller.startswith(own):
                    found.setdefault(name, set()).add(caller)
    return {name: frozenset(callers) for name, callers in found.items()}


def _undefined(file: ObjectFile, table: Relocations) -> Iterator[tuple[str, int]]:
    """Yield the undefined symbols that relocations name, and the relocations' offsets."""
    undefined = np.array([not symbol.section for symbol in file.symbols], dtype=bool)
    known = table.symbol < len(undefined)
    symbols, offsets = table.symbol[known], table.offset[known]
    chosen = undefined[symbols]
    for index, offset in zip(symbols[chosen].tolist(), offsets[chosen].tolist(), strict=True):
        yield file.symbols[index].name, offset


def _functions_at(
    evidence: Evidence, references: References, node: Node, start: int, offset: int
) -> set[str]:
    """Return the functions over a place: those inlined there, and the one that has a symbol."""
    names = functions_at(evidence.frames, start + offset) if evidence.frames is not None else []
    definition = references.at(node, offset)
    return {
        function_text(name)
        for name in (*names, definition.symbol if definition is not None else "")
        if name
    }
