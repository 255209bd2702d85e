"""Find constant tables that several objects define."""

from __future__ import annotations

from collections import defaultdict

from sizeguard.doctor.diagnosis import LOAD, SizeFinding, largest
from sizeguard.doctor.image_facts import ImageFacts
from sizeguard.formats.elf import SHT_PROGBITS, STB_LOCAL, STT_OBJECT
from sizeguard.names.demangle import without_clones

_SMALLEST = 16  # bytes of the smallest table to report
_PADDING = 31  # bytes of padding before a table, at most, for an alignment of 32


def repeated_tables(facts: ImageFacts) -> SizeFinding | None:
    """Find local constants with the same name and content at several addresses.

    Tables that contain addresses are left out, since their contents are not known before loading.
    """
    copies: dict[tuple[str, bytes], set[int]] = defaultdict(set)
    for symbol in facts.defined:
        section = facts.elf.sections[symbol.section]
        if (
            symbol.type == STT_OBJECT
            and symbol.binding == STB_LOCAL
            and symbol.size >= _SMALLEST
            and section.type == SHT_PROGBITS
            and section.is_allocated
            and not section.is_writable
        ):
            content = facts.content_at(section, symbol.address, symbol.size)
            copies[without_clones(symbol.name), content].add(symbol.address)
    parts: dict[str, int] = defaultdict(int)
    count = low = 0
    for (name, content), places in copies.items():
        if len(places) > 1:
            count += len(places) - 1
            won = len(content) * (len(places) - 1)
            parts[name] += won
            # A library exports an object that its parts share, unless it is hidden.
            low += won - (facts.export_size(name) + 32 if facts.is_library else 0)
    change = facts.change(lambda toolchain: toolchain.tables)
    if low <= 0 or not change:
        return None
    return SizeFinding(
        kind="repeated-tables",
        title=f"{count:,} copies of constant tables",
        low=low,
        high=sum(parts.values()) + _PADDING * count,
        metric=LOAD,
        evidence=largest(parts),
        parts=len(parts),
        change=change,
    )
