"""Data of linker maps, common to all linkers: placed and discarded sections, symbols, padding."""

from __future__ import annotations

import functools
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.input_files import read_input
from sizeguard.formats.linkmap.memory_region import MemoryRegion

NO_INPUT = -1

# Sections that only debuggers, linkers and people read; maps give them the address 0.
_UNLOADED = (
    ".comment",
    ".debug",
    ".zdebug",
    ".symtab",
    ".strtab",
    ".shstrtab",
    ".stab",
    ".gdb_index",
    ".note.gnu.gold",
    ".gnu.lto",
    ".llvm",
)
_UNLOADED_ENDS = (".attributes", ".note.GNU-stack")

# $a, $d, $t, $x of the ARM ELF supplements mark where code and data begin; they are not names. On
# RISC-V the extensions may follow: $xrv64i2p1_m2p0.
_MAPPING = re.compile(r"\$(?:[adtx](?:\..*)?|xrv\w+)")

# ThinLTO: OUT.lto.libkernels.a(add.o at 684).o and OUT.lto.main.o; gcc:
# /tmp/ccXXXXXX.ltrans0.ltrans.o
_THIN_MEMBER = re.compile(r"([^()]+\([^()]+) at \d+\)\.o")
_PARTITION = re.compile(r"\d+\.o")
_LTRANS = re.compile(r"cc\w{6}\.(ltrans\d+\.ltrans\.o)")

# An archive's folder, its name, and its member.
MEMBER = re.compile(r"(.*?)([^/()]+)\((.*)\)")
_TEMPORARY = re.compile(r"(?:.*[./])?(ltrans\d+\.ltrans\.o)")

MAXIMUM_SIZE = 1 << 30  # bytes
# A row has the address of its section, so equal rows are discarded copies of one object. A report
# with 1.5 million equal rows of one address took a minute.
MAXIMUM_EQUAL = 1 << 16


class InputSection(NamedTuple):
    """A piece of an object in the image.

    output:    the output section; for Mach-O segment and section, such as __TEXT,__text
    name:      the input section; in a Mach-O map, which has none, the symbol
    file:      as the linker names it, such as libkernels.a(add.cpp.o); empty for a section that the
               linker made and lists without an object
    is_merged: strings or constants of several objects, or made by the linker; the file is at most
               the first of them
    """

    output: str
    name: str
    file: str
    address: int
    size: int
    is_merged: bool


@dataclass(frozen=True, slots=True)
class OutputSection:
    """A section of the image. Addresses of sections that are not loaded have no meaning."""

    name: str
    address: int
    size: int

    @property
    def is_loaded(self) -> bool:
        """Return whether it is loaded, by its address and name."""
        return self.address != 0 or not (
            self.name.startswith(_UNLOADED) or self.name.endswith(_UNLOADED_ENDS)
        )


class MapSymbol(NamedTuple):
    """A symbol as the map spells it; size 0 if the map does not state it.

    input: an index into LinkMap.placed, or NO_INPUT.
    """

    address: int
    size: int
    name: str
    input: int


class Discarded(NamedTuple):
    """A section that the linker discarded; for Mach-O, a symbol.

    size: its size before; 0 if the map does not state it.
    """

    name: str
    file: str
    size: int


@dataclass(frozen=True, slots=True)
class Fill:
    """Padding between input sections of one output section."""

    output: str
    address: int
    size: int


@dataclass(frozen=True, slots=True)
class LinkMap:
    """A map.

    linker: bfd, gold, lld, mold, ld64. placed: sections with a size, in the map's order.

    fills: the gaps between the placed rows of each output section that has rows. Rows and gaps sum
    to its size unless rows overlap. regions: memory regions; empty if the link has none or its map
    does not list them. In GNU ld's maps rows can overlap: it lists merged strings under their first
    object, with their size before merging.
    """

    linker: str
    outputs: tuple[OutputSection, ...]
    placed: tuple[InputSection, ...]
    symbols: tuple[MapSymbol, ...]
    discarded: tuple[Discarded, ...]
    fills: tuple[Fill, ...]
    regions: tuple[MemoryRegion, ...] = ()


def lines_of(path: Path) -> list[str]:
    """Read the lines of a map.

    Raises InputError if it cannot be read, if its last line is truncated, or if it is too large.
    """
    data = read_input(path, MAXIMUM_SIZE + 1)
    if len(data) > MAXIMUM_SIZE:
        raise InputError(f"{path}: larger than {MAXIMUM_SIZE:,} bytes, too large for a linker map")
    lines = data.decode("utf-8", "backslashreplace").replace("\r\n", "\n").split("\n")
    if lines.pop():
        raise damaged(path, len(lines) + 1, "the file is truncated here")
    if len(lines) > MAXIMUM_EQUAL:
        line, count = Counter(filter(str.strip, lines)).most_common(1)[0]
        if count > MAXIMUM_EQUAL:
            raise InputError(
                f"{path}: more than {MAXIMUM_EQUAL:,} equal lines of {len(line):,} bytes, too many"
                " for a linker map"
            )
    return lines


def damaged(path: Path, line: int, what: str) -> InputError:
    """Make the error for a damaged map."""
    return InputError(f"{path}:{line}: a damaged linker map: {what}")


def is_mapping_symbol(name: str) -> bool:
    """Check for a symbol that marks where code or data begins."""
    return name[:1] == "$" and _MAPPING.fullmatch(name) is not None


def object_name(file: str) -> str:
    """Return the original object of an LTO temporary file, if its name shows it."""
    if not file.endswith(".o"):
        return file
    temporary = _LTRANS.fullmatch(file.rpartition("/")[2]) if file.endswith(".ltrans.o") else None
    if temporary:
        return temporary[1]
    _, separator, thin = file.rpartition(".lto.")
    if not separator or not thin.endswith(".o") or _PARTITION.fullmatch(thin):
        return file
    member = _THIN_MEMBER.fullmatch(thin)
    return member[1] + ")" if member else thin


# Each row of a map and each object names its file: 2,300 names of 30 files.
@functools.lru_cache(1 << 12)
def file_key(file: str) -> tuple[str, str]:
    """Return archive and member, or only the object, without folders.

    Linkers spell paths in several ways.
    """
    file = object_name(file)
    temporary = _TEMPORARY.fullmatch(file)
    if temporary:
        return temporary[1], ""
    member = MEMBER.fullmatch(file)
    return (member[2], member[3].rpartition("/")[2]) if member else (file.rpartition("/")[2], "")


def nearest_first(
    numbers: Sequence[int], name_of: Callable[[int], str], name: str
) -> Sequence[int]:
    """Sort files with one key by the common end of their names and `name`, the longest first."""
    if len(numbers) < 2:
        return numbers  # most rows of a map; counting characters took 2 % of a diff
    return sorted(numbers, key=lambda number: -_common_end(name_of(number), name))


def _common_end(a: str, b: str) -> int:
    """Count the characters of the common suffix of two names."""
    return next(
        (i for i, (x, y) in enumerate(zip(reversed(a), reversed(b), strict=False)) if x != y),
        min(len(a), len(b)),
    )


def fills_of(outputs: Sequence[OutputSection], placed: Iterable[InputSection]) -> tuple[Fill, ...]:
    """Return the gaps between the rows of their output sections.

    A section that the map lists without rows has no gaps.
    """
    rows: dict[str, list[tuple[int, ...]]] = {}
    for row in placed:
        rows.setdefault(row.output, []).append((row.address, row.address + row.size))
    for ranges in rows.values():
        ranges.sort()
    fills = []
    for output in outputs:
        end = output.address + output.size
        named = rows.get(output.name, [])
        # A damaged map may have as many sections of one name as rows.
        ranges = named[bisect_left(named, (output.address,)) : bisect_left(named, (end,))]
        if not ranges:
            continue
        covered = output.address
        for start, stop in [*ranges, (end, end)]:
            if start > covered:
                fills.append(Fill(output.name, covered, start - covered))
            covered = max(covered, stop)
    return tuple(fills)
