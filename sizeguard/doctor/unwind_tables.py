"""Find unwind and exception tables of the program's own functions."""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

from sizeguard.columns.texts import Int
from sizeguard.doctor.diagnosis import LOAD, SizeFinding, largest
from sizeguard.doctor.image_facts import ImageFacts
from sizeguard.formats.elf import ET_DYN
from sizeguard.formats.elf.unwind import FDE, NOWHERE, UnwindRecords

_TABLES = (".eh_frame", ".eh_frame_hdr", ".gcc_except_table")
_OF_LINKER = (".plt", ".iplt", ".init", ".fini")
# Functions of the start-up files; on x86 only _start has a record.
_START_UP = frozenset(
    {
        "_start",
        "call_weak_fn",
        "deregister_tm_clones",
        "register_tm_clones",
        "__do_global_dtors_aux",
        "frame_dummy",
        "_dl_relocate_static_pie",
    }
)
_START_UP_SIZE = 40 * len(_START_UP)
_ENTRY = 8  # bytes of a function in .eh_frame_hdr


def unwind_tables(facts: ImageFacts) -> SizeFinding | None:
    """Find the unwind records that the compiler would not write without exceptions.

    Records of the PLT and of the start-up code stay. If the image contains the compiler's
    libraries, a record may belong to them.
    """
    frames = facts.frames
    change = facts.change(lambda toolchain: toolchain.unwind)
    if frames is None or facts.elf.is_relocatable or not change:
        return None
    is_own = _own_records(facts, frames)
    count = int(is_own.sum())
    if not count:
        return None
    has_header = facts.elf.section(".eh_frame_hdr") is not None
    low = int(frames.size[is_own].sum()) + (_ENTRY * count if has_header else 0)
    if facts.elf.is_stripped and facts.elf.machine not in ("x86_64", "x32", "i386"):
        low = max(low - _START_UP_SIZE, 0)
    throws = bool((frames.lsda[is_own] != NOWHERE).any())
    sizes = {each.name: each.size for each in facts.elf.sections if each.name in _TABLES}
    if throws:
        low += sizes.get(_TABLES[2], 0)
    # Without records there are no headers either, and no records of the PLT.
    high = sum(sizes.values())
    use = facts.change(lambda toolchain: toolchain.exceptions)
    stays = facts.has_runtime_inside or any(each.keeps for each in facts.toolchains)
    return SizeFinding(
        kind="exceptions" if throws else "unwind-tables",
        title=f"{count:,} function{' has' if count == 1 else 's have'} unwind tables"
        + (f"; {use}" if throws else ""),
        low=0 if stays else min(low, high),
        high=high,
        metric=LOAD,
        evidence=largest(sizes),
        parts=count,
        change=change,
        sections=_TABLES,
    )


def _own_records(facts: ImageFacts, frames: UnwindRecords) -> npt.NDArray[np.bool_]:
    """Mark the records of functions that are not of the linker or of the start-up code."""
    is_own = frames.kind == FDE
    for section in facts.elf.sections:
        if section.name.startswith(_OF_LINKER):
            end = section.address + section.size
            is_own &= ~((frames.function >= section.address) & (frames.function < end))
    is_own &= frames.function != _start_of(facts)
    is_own &= ~np.isin(frames.function, _start_up(facts))
    return np.asarray(is_own, bool)


def _start_up(facts: ImageFacts) -> Int:
    """Return the addresses of the start-up files' functions."""
    found = [symbol.address for symbol in facts.defined if symbol.name in _START_UP]
    return np.array(found, np.uint64).view(np.int64)


def _start_of(facts: ImageFacts) -> int:
    """Return the address at which a program starts; NOWHERE for a library."""
    if facts.is_library and facts.elf.type == ET_DYN:
        return NOWHERE
    word = "Q" if facts.elf.layout.is_64 else "I"
    entry = struct.unpack_from(facts.elf.layout.order + word, facts.elf.data.data, 24)[0]
    return int(np.uint64(entry).view(np.int64)) if entry else NOWHERE
