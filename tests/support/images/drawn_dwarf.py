"""Draw debug information: trees of entries, and the sections that they become."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from hypothesis import strategies as st

Order = Literal["little", "big"]
CODE = (0x1000, 0x9000)  # addresses of functions that the linker kept

UNIT, CLASS, NAMESPACE, BLOCK, TYPEDEF, POINTER = 0x11, 0x02, 0x39, 0x0B, 0x16, 0x0F
FUNCTION, INLINED, PARAMETER, MEMBER, VARIABLE = 0x2E, 0x1D, 0x05, 0x0D, 0x34
_TAGS = (CLASS, NAMESPACE, BLOCK, TYPEDEF, POINTER, FUNCTION, INLINED, PARAMETER, MEMBER, VARIABLE)
_TAGS += (FUNCTION, INLINED, FUNCTION, INLINED, INLINED, PARAMETER, POINTER)
NAME, LINKAGE, LOW, HIGH, RANGES, ORIGIN, TYPE, SIBLING, DECLARATION = (
    *(0x03, 0x6E, 0x11, 0x12, 0x55, 0x31, 0x49, 0x01, 0x3C),
)
_STR_OFFSETS_BASE, _ADDR_BASE, _RANGES_BASE = 0x72, 0x73, 0x74

# Attributes that nobody asks for, with their forms and contents
_OTHERS = (
    (0x02, 0x18, b"\x03abc"),  # location: exprloc
    (0x02, 0x0A, b"\x02ab"),  # block1
    (0x40, 0x09, b"\x81\x00x"),  # block, whose size has a needless byte
    (0x3B, 0x0F, b"\xac\x02"),  # line: udata
    (0x3B, 0x0D, b"\x7f"),  # sdata
    (0x3E, 0x1E, bytes(16)),  # data16
    (0x3F, 0x19, b""),  # external: flag_present
    (0x3F, 0x0C, b"\1"),  # flag
    (0x6E01, 0x20, bytes(8)),  # ref_sig8
    (0x3A, 0x16, b"\x0b\7"),  # indirect: data1
)
_TEXTS = (b"f", b"g", b"_Z1fv", b"_ZZ1fvENKUlvE_clEv", b"_Z1gi", b"Box", b"")
_TEXTS += (b"ScalarTypeToCppType<6>",)
_OF_NAMES = ("string", "strp", "line_strp", "strx", "strx1", "strx3")
_OF_LOW = ("addr", "addr", "addrx", "addrx2", "addrx3", "GNU_addr_index")
_OF_HIGH = ("data1", "data2", "data4", "data8", "udata", "addr", "implicit")
_OF_REFERENCES = ("ref4", "ref2", "ref8", "ref_udata", "ref_addr")
_FORM = {
    **{"string": 0x08, "strp": 0x0E, "line_strp": 0x1F, "strx": 0x1A, "strx1": 0x25},
    **{"strx3": 0x27, "addr": 0x01, "addrx": 0x1B, "addrx2": 0x2A, "addrx3": 0x2B},
    **{"GNU_addr_index": 0x1F01},
    **{"data1": 0x0B, "data2": 0x05, "data4": 0x06, "data8": 0x07, "udata": 0x0F},
    **{"implicit": 0x21, "ref4": 0x13, "ref2": 0x12, "ref8": 0x14, "ref_udata": 0x15},
    **{"ref_addr": 0x10, "sec_offset": 0x17, "rnglistx": 0x23},
}
_WIDTHS = {"strx1": 1, "strx3": 3, "addrx2": 2, "addrx3": 3, "data1": 1, "data2": 2, "data4": 4}
_WIDTHS |= {"data8": 8, "ref4": 4, "ref2": 2, "ref8": 8}
_STARTS = (0, 0x500, 0xFF0, 0x1000, 0x1010, 0x2000, 0x3000, 0x4000, 0x8FF0, 0x9000, 0xFFF0)
_SIZES = (0, 1, 0x20, 0x40)
_DEEPEST = 6  # nesting of entries


@dataclass(slots=True)
class Entry:
    """An entry, as drawn; once it is written, its offset and the entries that it refers to.

    spans:  addresses and sizes: one if `has_list` is false
    origin, type: numbers that select an entry of the file, None for no attribute
    """

    tag: int
    name: bytes | None
    linkage: bytes | None
    spans: list[tuple[int, int]]
    has_list: bool
    origin: int | None
    type: int | None
    is_declaration: bool
    has_sibling: bool
    others: list[tuple[int, int, bytes]]
    forms: tuple[str, str, str, str]
    children: list[Entry] | None
    place: int = 0
    origin_entry: Entry | None = None
    type_entry: Entry | None = None

    def walk(self) -> Iterator[Entry]:
        """Yield the entry and all in it, in order."""
        yield self
        for child in self.children or ():
            yield from child.walk()


def _entry(random: Random, depth: int) -> Entry:
    """Draw an entry, with entries in it down to some depth."""
    has_children = depth < _DEEPEST and random.random() < 0.6
    count = random.choice((0, 1, 1, 2, 3)) if has_children else 0
    return Entry(
        random.choice(_TAGS),
        random.choice((None, *_TEXTS)),
        random.choice((None, None, *_TEXTS)),
        [
            (random.choice(_STARTS), random.choice((0, 1, 0x20, 0x40)))
            for _ in range(_spans(random))
        ],
        random.random() < 0.3,
        random.choice((None, random.randrange(1000))),
        random.choice((None, random.randrange(1000))),
        random.random() < 0.2,
        random.random() < 0.5,
        random.sample(_OTHERS, random.choice((0, 0, 1, 2))),
        tuple(map(random.choice, (_OF_NAMES, _OF_LOW, _OF_HIGH, _OF_REFERENCES))),
        [_entry(random, depth + 1) for _ in range(count)] if has_children else None,
    )


def _spans(random: Random) -> int:
    return random.choice((0, 1, 1, 2, 3))


@dataclass(frozen=True, slots=True)
class DrawnUnit:
    """A unit, as drawn."""

    version: int
    address_size: int
    offset_size: int
    entries: list[Entry]


def _unit(random: Random) -> DrawnUnit:
    return DrawnUnit(
        random.choice((3, 4, 5, 5)),
        random.choice((4, 8)),
        random.choice((4, 4, 8)),
        [_entry(random, 0) for _ in range(random.randrange(4))],
    )


def drawn_file(seed: int) -> tuple[list[DrawnUnit], Order]:
    """Draw units and the order of bytes."""
    random = Random(seed)
    order: Order = random.choice(("little", "big"))
    return [_unit(random) for _ in range(random.choice((1, 1, 2, 3)))], order


# Trees that hypothesis builds by itself are seldom deep.
FILES = st.integers(0, 1 << 32).map(drawn_file)


def leb(value: int, width: int = 0) -> bytes:
    """Encode a number as LEB128, in at least `width` bytes."""
    digits = []
    while value or len(digits) < max(width, 1):
        digits.append(value & 0x7F)
        value >>= 7
    return bytes(digit | 0x80 for digit in digits[:-1]) + bytes(digits[-1:])


def written(units: list[DrawnUnit], order: Order) -> dict[str, bytes]:
    """Return the sections of units, by their names without `.debug_`."""
    to = Writer(order)
    everything = [entry for unit in units for top in unit.entries for entry in top.walk()]
    for unit in units:
        UnitWriter(to, unit, everything).write()
    to.refer()
    return to.sections()


@dataclass(slots=True)
class Writer:
    """Write units into sections."""

    order: Order
    info: bytearray = field(default_factory=bytearray)
    abbrev: bytearray = field(default_factory=bytearray)
    texts: dict[str, bytearray] = field(default_factory=dict)
    str_offsets: bytearray = field(default_factory=bytearray)
    addr: bytearray = field(default_factory=bytearray)
    ranges: bytearray = field(default_factory=bytearray)
    rnglists: bytearray = field(default_factory=bytearray)
    references: list[tuple[int, int, int, int, Entry]] = field(default_factory=list)

    def sections(self) -> dict[str, bytes]:
        """Return the sections by name."""
        named = {name: bytes(content) for name, content in self.texts.items()}
        for name in ("info", "abbrev", "str_offsets", "addr", "ranges", "rnglists"):
            named[name] = bytes(getattr(self, name))
        return named

    def refer(self) -> None:
        """Write the references, once all entries have a place."""
        for start, at, width, form, target in self.references:
            value = target.place - (0 if form == _FORM["ref_addr"] else start)
            is_leb = form == _FORM["ref_udata"]
            self.info[at : at + width] = leb(value, width) if is_leb else self.number(value, width)

    def number(self, value: int, size: int) -> bytes:
        return value.to_bytes(size, self.order)


class UnitWriter:
    """Write one unit; its tables of strings, addresses and ranges begin where others end."""

    def __init__(self, to: Writer, unit: DrawnUnit, everything: list[Entry]) -> None:
        self.to, self.unit, self.everything = to, unit, everything
        self.own = [entry for top in unit.entries for entry in top.walk()]
        self.start = len(to.info)
        self.codes: dict[tuple[object, ...], int] = {}
        self.bases = [len(to.str_offsets), len(to.addr), len(to.rnglists)]
        self.listed: list[list[tuple[int, int]]] = []
        self.strings: list[int] = []
        self.addresses: list[int] = []

    def write(self) -> None:
        """Append the unit to the sections."""
        unit, number = self.unit, self.to.number
        info = self.to.info
        info += b"\xff\xff\xff\xff" if unit.offset_size == 8 else b""
        length = len(info)
        info += bytes(unit.offset_size) + number(unit.version, 2)
        abbrev = number(len(self.to.abbrev), unit.offset_size)
        size = number(unit.address_size, 1)
        info += b"\1" + size + abbrev if unit.version == 5 else abbrev + size
        has = [
            (base, number(at, unit.offset_size))
            for base, at in zip(
                (_STR_OFFSETS_BASE, _ADDR_BASE, _RANGES_BASE), self.bases, strict=True
            )
        ]
        attributes = [(base, 0x17 if unit.version > 3 else 0x06, at) for base, at in has]
        if unit.version == 3 and unit.offset_size == 8:
            attributes = [(base, 0x07, at) for base, at in has]
        self._shape(UNIT, True, attributes)
        for entry in unit.entries:
            self._entry(entry)
        info += b"\0"
        size_of = len(info) - length - unit.offset_size
        info[length : length + unit.offset_size] = number(size_of, unit.offset_size)
        self.to.abbrev += b"\0"
        self._tables()

    def _tables(self) -> None:
        unit, number = self.unit, self.to.number
        for place in self.strings:
            self.to.str_offsets += number(place, unit.offset_size)
        for address in self.addresses:
            self.to.addr += number(address, unit.address_size)
        lists = [
            b"".join(
                b"\7" + number(low, unit.address_size) + leb(size, 1 + size % 2)
                for low, size in spans
            )
            + b"\0"
            for spans in self.listed
        ]
        at = unit.offset_size * len(lists)
        for each in lists:
            self.to.rnglists += number(at, unit.offset_size)
            at += len(each)
        self.to.rnglists += b"".join(lists)

    def _shape(
        self, tag: int, has_children: bool, attributes: list[tuple[int, int, bytes]]
    ) -> None:
        """Write the code and the attributes of an entry; constants are in its abbreviation."""
        key = (tag, has_children, *((a, f, c if f == 0x21 else b"") for a, f, c in attributes))
        if key not in self.codes:
            self.codes[key] = len(self.codes) + 1
            self.to.abbrev += leb(self.codes[key]) + leb(tag) + bytes([has_children])
            for attribute, form, content in attributes:
                self.to.abbrev += leb(attribute) + leb(form) + (content if form == 0x21 else b"")
            self.to.abbrev += b"\0\0"
        self.to.info += leb(self.codes[key])
        self.to.info += b"".join(content for _, form, content in attributes if form != 0x21)

    def _entry(self, entry: Entry) -> None:
        entry.place = len(self.to.info)
        children = entry.children
        attributes = [*entry.others, *self._placed(entry)]
        for key, text in ((NAME, entry.name), (LINKAGE, entry.linkage)):
            if text is not None:
                attributes.append((key, *self._text(text, entry.forms[0])))
        if entry.is_declaration:
            attributes.append((DECLARATION, 0x19, b""))
        size = sum(len(content) for _, form, content in attributes if form != 0x21)
        patches = []
        for key, selected in ((ORIGIN, entry.origin), (TYPE, entry.type)):
            if selected is not None:
                form, width = self._reference(entry.forms[3])
                among = self.everything if entry.forms[3] == "ref_addr" else self.own
                target = among[selected % len(among)]
                setattr(entry, "origin_entry" if key == ORIGIN else "type_entry", target)
                patches.append((size, width, form, target))
                attributes.append((key, form, b"\x80" * (width - 1) + b"\0"))
                size += width
        if entry.has_sibling and children is not None:
            attributes.append((SIBLING, 0x13, bytes(4)))
        self._shape(entry.tag, children is not None, attributes)
        start = len(self.to.info) - size - 4 * (entry.has_sibling and children is not None)
        for at, width, form, target in patches:
            self.to.references.append((self.start, start + at, width, form, target))
        if children is None:
            return
        sibling = len(self.to.info) - 4
        for child in children:
            self._entry(child)
        self.to.info += b"\0"
        if entry.has_sibling:
            self.to.info[sibling : sibling + 4] = self.to.number(len(self.to.info) - self.start, 4)

    def _placed(self, entry: Entry) -> list[tuple[int, int, bytes]]:
        """Return the attributes for an entry's addresses."""
        unit, number = self.unit, self.to.number
        if entry.has_list:
            self.listed.append(entry.spans)
            if unit.version == 5:
                return [(RANGES, _FORM["rnglistx"], leb(len(self.listed) - 1))]
            at = number(len(self.to.ranges), unit.offset_size)
            for low, size in entry.spans:
                self.to.ranges += number(low, unit.address_size)
                self.to.ranges += number(low + size, unit.address_size)
            self.to.ranges += bytes(2 * unit.address_size)
            form = 0x17 if unit.version == 4 else 0x06 if unit.offset_size == 4 else 0x07
            return [(RANGES, form, at)]
        if not entry.spans:
            return []
        low, size = entry.spans[0]
        form = entry.forms[1]
        first = number(low, unit.address_size)
        if form != "addr":
            self.addresses.append(low)
            first = self._indexed(form, len(self.addresses) - 1)
        high = entry.forms[2]
        content = leb(size) if high in ("udata", "implicit") else b""
        content = signed(size) if high == "implicit" else content
        content = number(low + size, unit.address_size) if high == "addr" else content
        content = number(size, _WIDTHS[high]) if high in _WIDTHS else content
        return [(LOW, _FORM[form], first), (HIGH, _FORM[high], content)]

    def _text(self, text: bytes, form: str) -> tuple[int, bytes]:
        if form == "string":
            return _FORM[form], text + b"\0"
        name = "line_str" if form == "line_strp" else "str"
        content = self.to.texts.setdefault(name, bytearray(b"\0"))
        place = len(content)
        content += text + b"\0"
        if form.endswith("strp"):
            return _FORM[form], self.to.number(place, self.unit.offset_size)
        self.strings.append(place)
        return _FORM[form], self._indexed(form, len(self.strings) - 1)

    def _indexed(self, form: str, index: int) -> bytes:
        return self.to.number(index, _WIDTHS[form]) if form in _WIDTHS else leb(index)

    def _reference(self, form: str) -> tuple[int, int]:
        if form == "ref_udata":
            return _FORM[form], 4
        return _FORM[form], _WIDTHS.get(form, self.unit.offset_size)


def signed(value: int) -> bytes:
    """Encode a number that is not negative as signed LEB128."""
    return leb(value, value.bit_length() // 7 + 1)
