"""Find named ranges of addresses from symbols, STABs, function starts and the map.

Mach-O symbols have no size. A STAB pair or the map states the size of the piece that the linker
placed, which is the function and the padding after it. Otherwise the piece ends at the next symbol,
the next function or the end of the section.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.distinct import distinct
from sizeguard.columns.sort import packed_order
from sizeguard.columns.texts import Int, Int8, Int32
from sizeguard.formats.linkmap.link_map import InputSection
from sizeguard.formats.macho import constants as c
from sizeguard.formats.macho.image import MachO, Section
from sizeguard.formats.macho.linkedit import function_starts
from sizeguard.ledger.ledger import NONE
from sizeguard.ledger.macho.name_refs import NameRefs
from sizeguard.ledger.macho.nops import MOST_PADDING, is_padding, paddings

STAB, MAP, NEXT, START = "stabs", "linker map", "label", "function starts"
SOURCES = (STAB, MAP, NEXT, START)

# Labels that assemblers make, and ld64.lld's names for things that are not symbols: "literal
# string: …", "CIE", "compact unwind info".
_TEMPORARY = re.compile(rb"ltmp\d+|[lL]\.?(str|tmp|constpool|_\.str).*")
_SLOTS = frozenset(
    {c.S_CSTRING_LITERALS, c.S_SYMBOL_STUBS, c.S_NON_LAZY_SYMBOL_POINTERS, c.S_LAZY_SYMBOL_POINTERS}
)
UNWIND_SECTIONS = frozenset({"__unwind_info", "__eh_frame", "__compact_unwind"})

Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class NamedRanges:
    """Ranges [address, address + size) of sections, as columns in order of address.

    padding: bytes after it that align the next range
    section: index into the image's sections
    source:  index into SOURCES
    first:   range i has the names member[first[i]:first[i + 1]], references, best first; none if
             only the start is known
    """

    address: Int
    size: Int
    padding: Int
    section: Int32
    source: Int8
    first: Int
    member: Int32

    def __len__(self) -> int:
        """Return the number of ranges."""
        return len(self.address)

    def at(self, address: Int) -> Int:
        """Return the range that contains each address; NONE if there is none."""
        if not len(self.address):
            return np.full(len(address), NONE, np.int64)
        row = np.searchsorted(self.address, address, side="right") - 1
        inside = (row >= 0) & (address - self.address[row] < self.size[row])
        return np.where(inside, row, NONE)

    def has_name(self, rows: Int) -> Bool:
        """Return which of some ranges have a name; NONE has no name."""
        found: Bool = (rows >= 0) & (self.first[rows + 1] > self.first[rows])
        return found

    def is_start(self, rows: Int) -> Bool:
        """Return which of some ranges have only a known start; NONE does not count."""
        if not len(self.source):
            return np.zeros(len(rows), np.bool_)
        found: Bool = (rows >= 0) & (self.source[rows] == SOURCES.index(START))
        return found


@dataclass(frozen=True, slots=True)
class Stabs:
    """Facts about functions in STABs, by address.

    sizes: in bytes; objects: path of the object, from N_OSO.
    """

    sizes: dict[int, int]
    objects: dict[int, str]


def stabs(names: MachO) -> Stabs:
    """Read the STABs of functions.

    A function is N_FUN with its name and address, later N_FUN without a name and with its size.
    N_OSO precedes the functions of its object.
    """
    sizes: dict[int, int] = {}
    objects: dict[int, str] = {}
    table = names.symbols
    rows = np.flatnonzero(np.isin(table.type, (c.N_FUN, c.N_OSO)))
    current, address = "", -1
    for i in rows.tolist():
        if table.type[i] == c.N_OSO:
            current = table.names[i]
        elif table.section[i]:
            address = int(table.value[i])
            if current:
                objects[address] = current
        elif address >= 0:
            sizes[address] = int(table.value[i])
            address = -1
    return Stabs(sizes, objects)


def named_ranges(
    image: MachO, names: MachO, inputs: Sequence[InputSection], refs: NameRefs, first: int
) -> NamedRanges:
    """Find the ranges of all sections except those cut into slots, strings and unwind entries.

    A dSYM has none, since its sections are empty.

    names:  the image itself or the same build with symbols; first: the reference to its first name
    inputs: rows of its linker map, whose names are symbols
    """
    known = _Facts.of(names, inputs, refs, first)
    if image.filetype == c.MH_DSYM:
        return _joined([], known)
    addresses = distinct(
        np.concatenate([known.addresses, known.pieces, known.stated, function_starts(image)])
    )
    parts = []
    for section in sorted(image.sections, key=lambda s: s.address):
        if (
            not section.size
            or section.type in _SLOTS
            or section.name in UNWIND_SECTIONS
            or section.segment_name == "__DWARF"
        ):
            continue
        low, high = np.searchsorted(addresses, [section.address, section.address + section.size])
        here = addresses[low:high]
        if not section.is_code:
            is_known = _places(known.addresses, here) >= 0
            here = here[is_known | (_places(known.pieces, here) >= 0)]
        parts.append(_ranges(image, section, here, known))
    return _joined(parts, known)


@dataclass(frozen=True, slots=True)
class _Facts:
    """Facts by address; addresses, stated and pieces ascend.

    addresses: of symbols, whose names are in `member`, as in NamedRanges
    stated:    addresses of functions with a size in STABs
    pieces:    addresses of the map's rows
    """

    addresses: Int
    first: Int
    member: Int32
    stated: Int
    stated_size: Int
    pieces: Int
    piece_size: Int
    piece_name: Int32

    @staticmethod
    def of(names: MachO, inputs: Sequence[InputSection], refs: NameRefs, first: int) -> _Facts:
        """Collect facts from symbols, STABs and the map."""
        sizes = sorted(stabs(names).sizes.items())
        rows = sorted({row.address: row for row in inputs if row.size > 0}.items())
        return _Facts(
            *_symbols(names, first),
            np.array([address for address, _ in sizes], np.int64),
            np.array([size for _, size in sizes], np.int64),
            np.array([address for address, _ in rows], np.int64),
            np.array([row.size for _, row in rows], np.int64),
            np.array([_symbol_of(row, refs) for _, row in rows], np.int32),
        )


@dataclass(frozen=True, slots=True)
class _Ranges:
    """Ranges of one section; symbol: place of each range's symbols, piece: of its map row."""

    address: Int
    size: Int
    padding: Int
    section: int
    source: Int8
    symbol: Int
    piece: Int


def _ranges(image: MachO, section: Section, address: Int, known: _Facts) -> _Ranges:
    """Make the ranges of a section that begin at these addresses."""
    room = np.diff(address, append=section.address + section.size)
    symbol = _places(known.addresses, address)
    piece, stated = _places(known.pieces, address), _places(known.stated, address)
    has_piece = piece >= 0
    size = room
    if len(known.pieces):
        size = np.where(has_piece, known.piece_size[piece], room)
    is_stated = np.zeros(len(address), np.bool_)
    if section.is_code and len(known.stated):
        is_stated = (stated >= 0) & (known.stated_size[stated] > 0)
        size = np.where(is_stated, known.stated_size[stated], size)
    # STABs and the map state the size of the piece that the linker placed. In both, padding counts
    # for the function before it.
    size = np.minimum(size, room)
    padding = np.where(has_piece, room - size, 0)
    if section.is_code and section.file_size:
        size, padding = _unpadded(image, address - section.address + section.offset, size, room)
    has_name = (symbol >= 0) & (known.first[symbol + 1] > known.first[symbol])
    order = [SOURCES.index(source) for source in (STAB, MAP, NEXT, START)]
    source = np.select([is_stated, has_piece, has_name], order[:3], order[3]).astype(np.int8)
    return _Ranges(address, size, padding, section.index, source, symbol, piece)


def _unpadded(image: MachO, start: Int, size: Int, room: Int) -> tuple[Int, Int]:
    """Return the sizes of functions without padding, and the padding up to the next one.

    start: in the file.
    """
    found = paddings(image.data, start, size, image.cpu)
    is_plain = (size == room) & (found < size)
    size = size - np.minimum(found, size - 1)
    padding = np.where(is_plain & (found < MOST_PADDING), found, 0)
    # The bytes after a stated size may also be data without a name.
    for i in np.flatnonzero(~is_plain & (room - size < MOST_PADDING)).tolist():
        low, high = int(start[i] + size[i]), int(start[i] + room[i])
        if is_padding(image.data[low:high].tobytes(), image.cpu):
            padding[i] = room[i] - size[i]
    return size, padding


def _places(known: Int, wanted: Int) -> Int:
    """Return the index of each address among the known ones, which ascend; NONE if absent."""
    if not len(known):
        return np.full(len(wanted), NONE, np.int64)
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[at] == wanted, at, NONE)


def _joined(parts: Sequence[_Ranges], known: _Facts) -> NamedRanges:
    """Join the ranges of all sections, with the names of symbols, else of the map's rows."""
    none = np.zeros(0, np.int64)
    address, size, padding, symbol, piece = (
        np.concatenate([none, *(getattr(part, name) for part in parts)])
        for name in ("address", "size", "padding", "symbol", "piece")
    )
    lengths = [len(part.address) for part in parts]
    section = np.repeat(np.array([part.section for part in parts], np.int32), lengths)
    source = np.concatenate([none.astype(np.int8), *(part.source for part in parts)])
    count = np.where(symbol >= 0, known.first[symbol + 1] - known.first[symbol], 0)
    begin = known.first[symbol]
    member = known.member
    if len(known.pieces):
        # The names of the map's rows follow those of symbols.
        by_map = (count == 0) & (piece >= 0) & (known.piece_name[piece] >= 0)
        begin = np.where(by_map, len(member) + piece, begin)
        count = np.where(by_map, 1, count)
        member = np.concatenate([member, known.piece_name])
    first = np.append(np.int64(0), np.cumsum(count))
    place = np.repeat(begin - first[:-1], count) + np.arange(int(first[-1]))
    return NamedRanges(address, size, padding, section, source, first, member[place])


def _symbols(names: MachO, base: int) -> tuple[Int, Int, Int32]:
    """Return the addresses of symbols defined in sections, and the names of each.

    Exported names come first. Names that assemblers made are used only if there are no others.

    base: the reference to the first symbol's name
    """
    table = names.symbols
    kinds = table.type
    defined = np.flatnonzero(((kinds & c.N_STAB) == 0) & ((kinds & c.N_TYPE) == c.N_SECT))
    local = (kinds[defined] & c.N_EXT) == 0
    defined = np.concatenate([defined[~local], defined[local]])
    defined = defined[packed_order(table.value[defined])]
    value = table.value[defined]
    is_new = np.ones(len(value), np.bool_)
    is_new[1:] = value[1:] != value[:-1]
    # References to equal names in a run count once.
    wanted = table.names.end[defined] > table.names.start[defined]
    run = np.cumsum(is_new) - 1
    _drop(table.names.raw, defined, run, wanted)
    count = np.bincount(run[wanted], minlength=int(is_new.sum())).astype(np.int64)
    first = np.append(np.int64(0), np.cumsum(count))
    return value[is_new], first, (defined[wanted] + base).astype(np.int32)


def _drop(raw: Callable[[int], bytes], symbol: Int, run: Int, wanted: Bool) -> None:
    """Drop repeated names from runs of several, and temporary names if there are others."""
    count = np.bincount(run[wanted], minlength=int(run.max(initial=-1)) + 1)
    several = np.flatnonzero(wanted)[count[run[wanted]] > 1]
    names: dict[bytes, int] = {}
    current = NONE
    for i in several.tolist():
        if run[i] != current:
            _drop_temporary(names, wanted)
            names, current = {}, int(run[i])
        name = raw(int(symbol[i]))
        if name in names:
            wanted[i] = False
        else:
            names[name] = i
    _drop_temporary(names, wanted)


def _drop_temporary(names: Mapping[bytes, int], wanted: Bool) -> None:
    """Drop names that assemblers made; if there are no others, the first one stays."""
    made = [i for name, i in names.items() if name[:1] in b"lL" and _TEMPORARY.fullmatch(name)]
    for i in made[1:] if len(made) == len(names) else made:
        wanted[i] = False


def _symbol_of(piece: InputSection, refs: NameRefs) -> int:
    """Return the reference to the symbol in a row of the map; NONE if it names none."""
    if not piece.name or " " in piece.name:
        return NONE
    return refs.add(piece.name.encode("utf-8", "backslashreplace"))
