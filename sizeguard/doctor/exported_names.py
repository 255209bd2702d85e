"""Find exported inline functions and template instances, which other images seldom need."""

from __future__ import annotations

import itertools

from sizeguard.doctor.diagnosis import LOAD, SizeFinding, largest
from sizeguard.doctor.image_facts import ImageFacts
from sizeguard.formats.elf import STB_WEAK, STT_FUNC

_TABLES = (".dynsym", ".dynstr", ".gnu.hash", ".gnu.version", ".hash")


def exported_names(facts: ImageFacts) -> SizeFinding | None:
    """Find weak C++ functions that a library exports; each user of a header has its own copy."""
    parts = {
        symbol.name: facts.export_size(symbol.name)
        for symbol in facts.exported
        if symbol.type == STT_FUNC and symbol.binding == STB_WEAK and symbol.name.startswith("_Z")
    }
    if not parts or not facts.is_library:
        return None
    names = sorted(name[::-1] for name in {symbol.name for symbol in facts.exported})
    shared = {a[::-1] for a, b in itertools.pairwise(names) if b.startswith(a)}
    low = sum(parts.values()) - sum(len(name) + 1 for name in parts if name in shared)
    return SizeFinding(
        kind="exports",
        title=f"{len(parts):,} inline functions and template instances are exported"
        if len(parts) > 1
        else "1 inline function or template instance is exported",
        low=low,
        high=sum(parts.values()) + facts.hash_heads_won(len(parts)) + 8,
        metric=LOAD,
        evidence=largest(parts),
        parts=len(parts),
        change="a version script that hides them; -fvisibility-inlines-hidden hides those that"
        " no header declares visible, as the standard library does; calls inside then need no PLT",
        sections=_TABLES,
    )
