"""Find padding in the file that puts code and constants on separate pages."""

from __future__ import annotations

from sizeguard.doctor.diagnosis import FILE, SizeFinding, largest
from sizeguard.doctor.image_facts import ImageFacts
from sizeguard.formats.elf import PF_W, PF_X, PT_LOAD, Segment

_PAGE = 4 << 10  # page size on x86-64, the only machine that is supported here
_PT_GNU_RELRO = 0x6474E552
_HEADERS = 112  # bytes of the two program headers that would be removed
_ALIGNMENT = 64  # bytes that section alignment may add again, at most


def page_padding(facts: ImageFacts) -> SizeFinding | None:
    """Find the padding around GNU ld's code segment, and compute the layout without it.

    Writable data keeps its place in a page, since its read-only part ends at a page boundary.
    """
    loads = sorted((s for s in facts.elf.segments if s.type == PT_LOAD), key=lambda s: s.offset)
    if facts.elf.machine != "x86_64" or not _is_separate(facts, loads) or facts.names_other_linker:
        return None
    head, code, constants, data = loads
    gaps = {
        "before the code": code.offset - head.offset - head.file_size,
        "after the code": constants.offset - code.offset - code.file_size,
    }
    end = constants.offset + constants.file_size
    if min(gaps.values()) < 0:
        return None
    shortest = end - sum(gaps.values()) - _HEADERS
    low = data.offset - _following(shortest + _HEADERS + _ALIGNMENT, data.offset)
    high = data.offset - _following(shortest, data.offset)
    change = facts.linker_change("-z,noseparate-code")
    if low <= 0 or not change:
        return None
    return SizeFinding(
        kind="page-padding",
        title="code and constants are on separate pages",
        low=low - _ALIGNMENT,
        high=high + _ALIGNMENT,
        metric=FILE,
        evidence=largest(gaps),
        parts=len(gaps),
        change=f"{change}; constants are then on executable pages",
    )


def _is_separate(facts: ImageFacts, loads: list[Segment]) -> bool:
    """Return whether the file has headers, code on separate pages, constants, and RELRO data."""
    has_relro = any(segment.type == _PT_GNU_RELRO for segment in facts.elf.segments)
    flags = [load.flags & (PF_X | PF_W) for load in loads]
    return (
        has_relro
        and flags == [0, PF_X, 0, PF_W]
        and all(load.offset % _PAGE == 0 for load in loads[:3])
    )


def _following(start: int, place: int) -> int:
    """Return the first offset from `start` with the same position in its page as `place`."""
    return start + (place - start) % _PAGE
