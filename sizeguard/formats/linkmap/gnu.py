"""Read maps of GNU ld."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.formats.linkmap.link_map import (
    NO_INPUT,
    Discarded,
    InputSection,
    LinkMap,
    MapSymbol,
    OutputSection,
    damaged,
    fills_of,
    is_mapping_symbol,
    object_name,
)
from sizeguard.formats.linkmap.memory_region import MemoryRegion

TITLE = "Linker script and memory map"
DISCARDED = "Discarded input sections"
_MEMORY = "Memory Configuration"

# A name does not end in a blank, so matching fails fast on a line with a megabyte of blanks.
NAME = r"(\S(?:.*?\S)?) ++"
NUMBERS = r"0x([0-9a-f]{1,16}) ++0x([0-9a-f]{1,16})"
_ROW = re.compile(" " + NAME + NUMBERS + r"(?: (.*))?")
REST = re.compile(" +" + NUMBERS + r"(?: (.*))?")
_OUTPUT = re.compile(r"(\S+) ++" + NUMBERS + r"(?: load address .*)?")
SYMBOL = re.compile(r" {16}0x([0-9a-f]{1,16}) {16}(.+)")
_RELAXED = re.compile(r" +0x[0-9a-f]+ \(size before relaxing\)")
_ASSIGNMENT = re.compile(r"PROVIDE|ASSERT|HIDDEN|\[|\S+ [-+*/&|<>]*= ")
_DATA = re.compile(r"(BYTE|SHORT|LONG|QUAD|SQUAD|FILL) 0x")
_REGION = re.compile(r"(\S+) ++0x([0-9a-f]{1,16}) ++0x([0-9a-f]{1,16})(?: .*)?")
_END = re.compile(r"OUTPUT\(.*\)")

# Sections that GNU ld makes itself and lists under the link's first object.
_OWN_PREFIXES = (
    ".dyn",
    ".gnu.hash",
    ".hash",
    ".gnu.version",
    ".rela.",
    ".rel.",
    ".relr.",
    ".plt",
    ".iplt",
    ".got",
    ".igot",
    ".eh_frame_hdr",
)
_OWN_NAMES = frozenset(
    {
        ".interp",
        ".note.gnu.build-id",
        ".note.gnu.property",
        ".sframe",
        ".rela",
        ".rel",
    }
)


@dataclass(slots=True)
class GnuMapRows:
    """The rows read so far.

    output: the current output section; last: the placed row that gets the next symbols.
    """

    path: Path
    outputs: list[OutputSection] = field(default_factory=list)
    placed: list[InputSection] = field(default_factory=list)
    symbols: list[MapSymbol] = field(default_factory=list)
    discarded: list[Discarded] = field(default_factory=list)
    output: str = ""
    last: int = NO_INPUT

    def begin(self, name: str, address: int, size: int) -> None:
        """Begin an output section."""
        self.output, self.last = name, NO_INPUT
        self.outputs.append(OutputSection(name, address, size))

    def place(self, name: str, file: str, address: int, size: int, is_merged: bool) -> None:
        """Add an input section, unless it is empty."""
        self.last = len(self.placed) if size else NO_INPUT
        if size:
            self.placed.append(
                InputSection(self.output, name, object_name(file), address, size, is_merged)
            )

    def end_last(self, address: int) -> None:
        """End the last row where GNU ld begins the next row or a fill.

        It lists constants with their size even if it merged them into an earlier section.
        """
        row = self.placed[-1] if self.placed else None
        if row is None or row.output != self.output:
            return
        if row.address == address:
            self.placed[-1] = row._replace(is_merged=True)
        elif row.address < address < row.address + row.size:
            self.placed[-1] = row._replace(size=address - row.address)

    def symbol(self, address: int, size: int, name: str) -> None:
        """Add a symbol of the last placed row."""
        if not is_mapping_symbol(name):
            self.symbols.append(MapSymbol(address, size, name, self.last))

    def number(self, text: str, line: int) -> int:
        """Convert hex digits. Raises InputError for a number above 63 bits."""
        value = int(text, 16)
        if value >> 63:
            raise damaged(self.path, line, f"0x{text} is too large for an address or size")
        return value

    def finish(self, linker: str) -> LinkMap:
        """Make the map."""
        placed = tuple(self.placed)
        return LinkMap(
            linker,
            tuple(self.outputs),
            placed,
            tuple(self.symbols),
            tuple(self.discarded),
            fills_of(self.outputs, placed),
        )


def parse_gnu(path: Path, lines: Sequence[str]) -> LinkMap:
    """Read a map."""
    rows = GnuMapRows(path)
    start = lines.index(TITLE)
    if DISCARDED in lines[:start]:
        read_discarded(rows, lines, lines.index(DISCARDED) + 1)
    is_complete = False
    # A name of 16 characters or more has its own line; its numbers are on the next line.
    pending = ""
    for number, line in enumerate(lines[start + 1 :], start + 2):
        if line[:2] == "  ":
            _indented(rows, pending, number, lines)
            pending = ""
            continue
        _expect_nothing(rows, pending, number)
        pending = ""
        if line[:1] == " ":
            # Patterns of the linker script, ` *(.text .text.*)`, also have their own line; all
            # contain a bracket.
            pending = "" if _row(rows, number, lines) or "(" in line else line
        elif line == "Cross Reference Table":
            break
        elif found := _OUTPUT.fullmatch(line):
            rows.begin(found[1], rows.number(found[2], number), rows.number(found[3], number))
        elif _END.fullmatch(line):
            is_complete = True
        elif " " not in line:
            pending = line
    if not is_complete:
        raise damaged(path, len(lines), "the file ends before the line OUTPUT(...)")
    return replace(rows.finish("bfd"), regions=_regions(rows, lines[:start]))


def _regions(rows: GnuMapRows, lines: Sequence[str]) -> tuple[MemoryRegion, ...]:
    """Read the memory regions; the region *default* is not from the script and is left out."""
    if _MEMORY not in lines:
        return ()
    found = []
    for number, line in enumerate(lines[lines.index(_MEMORY) + 3 :], lines.index(_MEMORY) + 4):
        row = _REGION.fullmatch(line)
        if row is None:
            if line:
                raise damaged(
                    rows.path, number, f"not a row of a memory region: {line.strip()[:60]}"
                )
            break
        if row[1] != "*default*":
            found.append(MemoryRegion(row[1], int(row[2], 16), int(row[3], 16)))
    return tuple(found)


def _indented(rows: GnuMapRows, pending: str, number: int, lines: Sequence[str]) -> None:
    """Read a line that begins with two blanks: the numbers of the previous name, or a detail."""
    line = lines[number - 1]
    found = REST.fullmatch(line) if pending else None
    if found and pending[0] != " ":
        rows.begin(pending, rows.number(found[1], number), rows.number(found[2], number))
    elif found:
        _place(rows, pending[1:], found[3] or "", (found[1], found[2]), number, lines)
    elif not _RELAXED.fullmatch(line):
        _expect_nothing(rows, pending, number)
        _detail(rows, line, number)


def read_discarded(rows: GnuMapRows, lines: Sequence[str], start: int) -> None:
    """Read the discarded sections, up to the next title.

    Rows are like those of placed sections, with the address 0. GNU ld and gold write them the same
    way.
    """
    pending = ""
    for number, line in enumerate(lines[start:], start + 1):
        if not line:
            continue
        if line[0] != " ":
            return
        found = REST.fullmatch(line) if pending else _ROW.fullmatch(line)
        if found:
            name, size, file = (
                (pending[1:], found[2], found[3]) if pending else (found[1], found[3], found[4])
            )
            rows.discarded.append(
                Discarded(name, object_name(file or ""), rows.number(size, number))
            )
            pending = ""
        elif pending or line[1:2] == " ":
            raise damaged(rows.path, number, "not a row of a discarded section")
        else:
            pending = line


def _expect_nothing(rows: GnuMapRows, pending: str, number: int) -> None:
    """Raise InputError if a section's name still lacks its numbers."""
    if pending.startswith(" ."):
        raise damaged(rows.path, number, f"no address and size after the section{pending}")


def _row(rows: GnuMapRows, number: int, lines: Sequence[str]) -> bool:
    """Read a line with a name and its numbers; return False for other lines."""
    found = _ROW.fullmatch(lines[number - 1])
    if found is None:
        return False
    _place(rows, found[1], found[4] or "", (found[2], found[3]), number, lines)
    return True


def _place(
    rows: GnuMapRows,
    name: str,
    file: str,
    extent: tuple[str, str],
    number: int,
    lines: Sequence[str],
) -> None:
    """Add an input section; extent: address and size in hex; number: its line, from 1."""
    address, size = extent
    rows.end_last(rows.number(address, number))
    if name == "*fill*":
        return  # gaps show the same, more exactly for merged sections
    after = lines[number] if number < len(lines) else ""
    is_merged = (
        name.startswith(_OWN_PREFIXES)
        or name in _OWN_NAMES
        or ("relaxing" in after and _RELAXED.fullmatch(after) is not None)
    )
    rows.place(name, file, rows.number(address, number), rows.number(size, number), is_merged)


def _detail(rows: GnuMapRows, line: str, number: int) -> None:
    """Read a line below a row: a symbol, an assignment of the linker script, or script data."""
    symbol = SYMBOL.fullmatch(line)
    if symbol:
        if not _ASSIGNMENT.match(symbol[2]):
            rows.symbol(rows.number(symbol[1], number), 0, symbol[2])
        return
    data = REST.fullmatch(line)
    if data and _DATA.match(data[3] or ""):
        rows.place(
            data[3].split()[0], "", rows.number(data[1], number), rows.number(data[2], number), True
        )
    elif line.lstrip().startswith("0x"):
        raise damaged(rows.path, number, f"neither a section nor a symbol: {line.strip()[:60]}")
