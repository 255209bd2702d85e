"""Claims on a Mach-O image's unwind entries and exception tables, each owned by its function."""

from __future__ import annotations

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int
from sizeguard.formats.macho.image import MachO, Section
from sizeguard.formats.macho.unwind import UnwindRows, compact_unwind, eh_frame, unwind_info
from sizeguard.ledger.ledger import NONE
from sizeguard.ledger.macho.claim_columns import PART, Claimed, ClaimTable
from sizeguard.ledger.macho.named_ranges import NamedRanges


@dataclass(frozen=True, slots=True)
class UnwindClaims:
    """Claims on a section's entries.

    tables: pairs of function and exception table, by address
    filled: where zeros fill the section up; NONE if nothing does
    """

    entries: Claimed
    tables: Int
    filled: int


def unwind_claims(
    image: MachO, section: Section, ranges: NamedRanges, table: ClaimTable, context: int
) -> UnwindClaims:
    """Read the unwind entries of one of the UNWIND_SECTIONS, each owned by its function."""
    tables = np.zeros((0, 2), np.int64)
    filled = NONE
    if section.name == "__unwind_info":
        info = unwind_info(image, section)
        rows, tables = info.rows, info.tables
        # Pages of 4,096 bytes are filled with zeros.
        used = np.flatnonzero(image.content(section))
        filled = (int(used[-1]) // 4 + 1) * 4 if len(used) else 0
    elif section.name == "__compact_unwind":
        rows = compact_unwind(image, section)
    else:
        rows = eh_frame(image, section)
    return UnwindClaims(_held(section, rows, ranges, table, context), tables, filled)


def _held(
    section: Section, rows: UnwindRows, ranges: NamedRanges, table: ClaimTable, context: int
) -> Claimed:
    """Make claims of entries that have a function."""
    holder = ranges.at(rows.function)
    end = rows.offset + rows.size
    held = (holder >= 0) & (end <= section.size)
    part = np.full(len(holder), NONE, np.int64)
    for i in np.flatnonzero(held & ranges.is_start(holder)).tolist():
        address = int(ranges.address[holder[i]])
        part[i] = table.parts.add(f"function at {address:#x}".encode())
    return Claimed(rows.offset, end, PART, context, NONE, holder, part).take(held)


def exception_claims(section: Section, ranges: NamedRanges, tables: Int, context: int) -> Claimed:
    """Make claims of exception tables; each extends to the next one.

    tables: pairs of function and table addresses.
    """
    end = section.address + section.size
    inside = (tables[:, 1] >= section.address) & (tables[:, 1] < end)
    function, start = tables[inside].T
    order = np.lexsort((function, start))
    function, start = function[order], start[order]
    after = np.append(start[1:], end)[: len(start)]
    holder = ranges.at(function)
    base = section.address
    claims = Claimed(start - base, after - base, PART, context, range=holder)
    return claims.take(ranges.has_name(holder))
