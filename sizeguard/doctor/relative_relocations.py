"""Find relative relocations that the packed form (RELR) would store in fewer bytes."""

from __future__ import annotations

import numpy as np

from sizeguard.columns.texts import Int
from sizeguard.doctor.diagnosis import LOAD, SizeFinding, largest
from sizeguard.doctor.image_facts import RELATIVE, ImageFacts

_ENTRIES = 3  # of .dynamic for RELR
# Bytes of the version that glibc requires, with its name.
_VERSION = 16 + len("GLIBC_ABI_DT_RELR") + 1


def relative_relocations(facts: ImageFacts) -> SizeFinding | None:
    """Find relative relocations outside RELR, and encode them as a linker would."""
    elf = facts.elf
    wanted = RELATIVE.get(elf.machine)
    if wanted is None or not facts.fixups:
        return None
    # RELR can only store even addresses.
    chosen = [
        fixups.offset[(fixups.type == wanted) & (fixups.offset % 2 == 0)] for fixups in facts.fixups
    ]
    places = np.unique(np.concatenate(chosen))
    others = sum(len(fixups.offset) for fixups in facts.fixups) - len(places)
    entry = 2 * elf.layout.word_size  # of .dynamic
    packed = relr_size(places, elf.layout.word_size)
    won = len(places) * facts.fixup_size - packed - _ENTRIES * entry
    version = _VERSION if facts.is_dynamic else 0
    # The entry with the number of relative relocations is dropped; if no others remain, so are the
    # table's three entries.
    high = won + entry * (1 if others else 4) - (version if facts.needs_glibc else 0)
    high += elf.layout.word_size  # alignment of the next section
    low = won - version - elf.layout.word_size
    change = facts.linker_change("-z,pack-relative-relocs")
    if low <= 0 or not change:
        return None
    # GNU ld for other machines ignores the option, or got it later.
    linkers = "GNU ld 2.38, " if elf.machine in ("x86_64", "x32", "i386") else ""
    by_section = _by_section(facts, places)
    return SizeFinding(
        kind="relocations",
        title=f"{len(places):,} relative relocations are not packed",
        low=low,
        high=high,
        metric=LOAD,
        evidence=largest(by_section),
        parts=len(by_section),
        change=f"{change} ({linkers}lld 15 or mold; glibc 2.36)"
        if facts.needs_glibc
        else f"{change} ({linkers}lld 15 or mold), or"
        f" {facts.linker_change('--pack-dyn-relocs=relr')} of lld (Android 9, musl 1.2.4)",
    )


def relr_size(places: Int, word: int) -> int:
    """Compute the bytes of sorted addresses in RELR: an address, then bitmaps of the next words."""
    bits = 8 * word - 1
    addresses = places.tolist()
    words = at = 0
    while at < len(addresses):
        words += 1
        base = addresses[at] + word
        at += 1
        while at < len(addresses):
            start = at
            while (
                at < len(addresses)
                and addresses[at] - base < bits * word
                and (addresses[at] - base) % word == 0
            ):
                at += 1
            if at == start:
                break
            words += 1
            base += bits * word
    return words * word


def _by_section(facts: ImageFacts, places: Int) -> dict[str, int]:
    """Sum the relocations' bytes by the section that they change."""
    sums = {}
    for section in facts.elf.sections:
        # Addresses of .tbss are those of the sections behind it.
        if section.is_allocated and section.file_size:
            low, high = np.searchsorted(places, [section.address, section.address + section.size])
            if high > low:
                sums[section.name] = int(high - low) * facts.fixup_size
    return sums
