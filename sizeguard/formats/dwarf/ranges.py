"""Read the addresses that an entry covers."""

from __future__ import annotations

from sizeguard.formats.dwarf.abbreviations import DwarfError, leb
from sizeguard.formats.dwarf.dwarf_constants import (
    DW_AT_HIGH_PC,
    DW_AT_LOW_PC,
    DW_AT_RANGES,
    FORM_ADDR,
    FORM_ADDRX,
    FORM_ADDRX1,
    FORM_ADDRX4,
    FORM_GNU_ADDR_INDEX,
    FORM_RNGLISTX,
)
from sizeguard.formats.dwarf.units import Info, Unit

index_forms = frozenset({FORM_ADDRX, FORM_GNU_ADDR_INDEX, *range(FORM_ADDRX1, FORM_ADDRX4 + 1)})

(
    RLE_END,
    RLE_BASE_X,
    RLE_START_X_END_X,
    RLE_START_X_LENGTH,
    RLE_OFFSETS,
    RLE_BASE,
    RLE_START_END,
    RLE_START_LENGTH,
) = range(8)


class AddressRanges:
    """Low and high addresses, and range lists of DWARF 2 to 5."""

    def __init__(self, info: Info) -> None:
        """Store the sections with range lists and addresses."""
        self.info = info
        self.old = info.sections.get("ranges", b"")
        self.new = info.sections.get("rnglists", b"")
        self.addresses = info.sections.get("addr", b"")
        # Lists are seldom shared. A file whose entries all share a long list is designed to exhaust
        # memory.
        self.budget = 4 * (len(self.old) + len(self.new)) + 4096

    def of(self, unit: Unit, found: dict[int, tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the half-open, non-empty ranges of an entry; found: its attributes."""
        if DW_AT_RANGES in found:
            return self.listed(unit, *found[DW_AT_RANGES])
        if DW_AT_LOW_PC not in found or DW_AT_HIGH_PC not in found:
            return []
        low, form = found[DW_AT_LOW_PC]
        if form in index_forms:
            low = self.address(unit, low)
        high, form = found[DW_AT_HIGH_PC]
        if form in index_forms:
            high = self.address(unit, high)
        elif form != FORM_ADDR:
            high += low
        return [(low, high)] if low < high else []

    def listed(self, unit: Unit, value: int, form: int) -> list[tuple[int, int]]:
        """Return the half-open, non-empty ranges of the list that an attribute refers to."""
        pairs = self._list(unit, value, form)
        self.budget -= len(pairs)
        return [pair for pair in pairs if pair[0] < pair[1]]

    def address(self, unit: Unit, index: int) -> int:
        """Return an entry of .debug_addr."""
        return self.info.number(
            self.addresses, unit.addr_base + index * unit.address_size, unit.address_size
        )

    def _list(self, unit: Unit, value: int, form: int) -> list[tuple[int, int]]:
        """Read the range list that an attribute refers to."""
        if unit.version < 5:
            return self._old(unit, value)  # DW_AT_GNU_ranges_base is for .dwo files
        if form == FORM_RNGLISTX:
            value = unit.ranges_base + self.info.number(
                self.new, unit.ranges_base + value * unit.offset_size, unit.offset_size
            )
        try:
            return self._new(unit, value)
        except IndexError as error:
            raise DwarfError(f"the range list at {value} is cut") from error

    def _old(self, unit: Unit, position: int) -> list[tuple[int, int]]:
        """Read a list of DWARF 2 to 4."""
        size, base = unit.address_size, unit.low_pc
        last = (1 << 8 * size) - 1
        found: list[tuple[int, int]] = []
        number = self.info.number
        while len(found) < self.budget:
            low, high = number(self.old, position, size), number(self.old, position + size, size)
            position += 2 * size
            if low == high == 0:
                return found
            if low == last:
                base = high
            else:
                found.append((low + base, high + base))
        raise DwarfError(f"range lists without end at {position}")

    # More than 40 lines: one branch for each kind of entry.
    def _new(self, unit: Unit, position: int) -> list[tuple[int, int]]:
        """Read a list of DWARF 5."""
        data, size, base = self.new, unit.address_size, unit.low_pc
        found: list[tuple[int, int]] = []
        while len(found) < self.budget:
            kind = data[position]
            position += 1
            if kind == RLE_OFFSETS:
                first, position = data[position], position + 1
                if first >= 0x80:
                    first, position = leb(data, position - 1)
                second, position = data[position], position + 1
                if second >= 0x80:
                    second, position = leb(data, position - 1)
                found.append((base + first, base + second))
                continue
            if kind == RLE_END:
                return found
            if kind in (RLE_BASE, RLE_START_END, RLE_START_LENGTH):
                first = self.info.number(data, position, size)
                position += size
            else:
                first, position = leb(data, position)
                if kind in (RLE_BASE_X, RLE_START_X_END_X, RLE_START_X_LENGTH):
                    first = self.address(unit, first)
            if kind in (RLE_BASE_X, RLE_BASE):
                base = first
                continue
            if kind == RLE_START_END:
                second = self.info.number(data, position, size)
                position += size
            else:
                second, position = leb(data, position)
            if kind == RLE_START_X_END_X:
                found.append((first, self.address(unit, second)))
            elif kind == RLE_START_END:
                found.append((first, second))
            elif kind in (RLE_START_X_LENGTH, RLE_START_LENGTH):
                found.append((first, first + second))
            else:
                raise DwarfError(f"an unknown kind of range {kind} at {position}")
        raise DwarfError(f"range lists without end at {position}")
