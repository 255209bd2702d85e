"""Find the names of functions by their entries: linkage names, else source names with scopes."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sizeguard.formats.dwarf.abbreviations import DwarfError, leb
from sizeguard.formats.dwarf.dwarf_constants import (
    DW_AT_ABSTRACT_ORIGIN,
    DW_AT_LINKAGE_NAME,
    DW_AT_MIPS_LINKAGE_NAME,
    DW_AT_NAME,
    DW_AT_SPECIFICATION,
    DW_TAG_NAMESPACE,
    DW_TAG_SUBPROGRAM,
    ELSEWHERE,
    FORM_GNU_STR_INDEX,
    FORM_GNU_STRP_ALT,
    FORM_LINE_STRP,
    FORM_STRING,
    FORM_STRP,
    FORM_STRP_SUP,
    NAMING,
    TYPE_TAGS,
)
from sizeguard.formats.dwarf.units import Info, Unit
from sizeguard.formats.dwarf.walk import DEEPEST, read_unit, sibling_of

_LINKAGE = (DW_AT_LINKAGE_NAME, DW_AT_MIPS_LINKAGE_NAME)
_ORIGINS = (DW_AT_ABSTRACT_ORIGIN, DW_AT_SPECIFICATION)

# A concrete function refers to its abstract one, which refers to its declaration in a class.
LONGEST = 16


class _OwnNames(NamedTuple):
    """The names that an entry has itself. origin: the entry that it refers to, if any."""

    linkage: bytes
    source: bytes
    origin: int | None


class FunctionNames:
    """Names of functions; each entry is read once.

    Names in a file that dwz shares between packages are empty.
    """

    def __init__(self, info: Info) -> None:
        """Start without known names."""
        self.info = info
        self.starts = [unit.start for unit in info.units]
        self._last: Unit | None = None  # the unit of the last entry, often that of the next, too
        self.known: dict[int, bytes] = {}
        # Strings may share suffixes, but not this often.
        self.budget = 16 * (len(info.data) + len(info.sections.get("str", b""))) + (1 << 20)

    def of(self, place: int) -> bytes:
        """Return the name of the function that the entry is or refers to."""
        passed: list[int] = []
        plain = name = b""
        here: int | None = place
        while here is not None and len(passed) < LONGEST:
            if here in self.known:
                name = self.known[here]
                break
            passed.append(here)
            linkage, source, here = self._read(here)
            plain = plain or source
            if linkage:
                name = linkage
                break
        name = name or plain
        for entry in passed:
            self.known[entry] = name
        return name

    def linkage(self, place: int) -> bytes:
        """Return an entry's own linkage name; empty if it has none."""
        return self._read(place).linkage

    def source(self, place: int) -> bytes:
        """Return the source name of an entry, or of one it refers to; empty if there is none."""
        return next((own.source for _, own in self._chain(place) if own.source), b"")

    def plain_entry(self, place: int) -> int | None:
        """Return the entry that gives a function's source name, None if its linkage name does."""
        named: int | None = None
        linkage = plain = b""
        for entry, own in self._chain(place):
            linkage = linkage or own.linkage
            if own.source and named is None:
                named, plain = entry, own.source
            if linkage and plain:
                break
        return None if linkage and spells(linkage, plain) else named

    def _chain(self, place: int) -> Iterator[tuple[int, _OwnNames]]:
        """Yield an entry and the entries that it refers to in turn, each with its own names."""
        here: int | None = place
        for _ in range(LONGEST):
            if here is None:
                return
            own = self._read(here)
            yield here, own
            here = own.origin

    def entries(self, place: int) -> list[int]:
        """Return the entry, and the entries that it refers to."""
        found: list[int] = []
        here = place
        while len(found) < LONGEST:
            found.append(here)
            origin = [
                value
                for attribute, form, value in self._attributes(here)
                if attribute in _ORIGINS and form not in ELSEWHERE
            ]
            if not origin:
                break
            here = origin[-1]
        return found

    def unit_of(self, place: int) -> Unit:
        """Return the unit that contains an entry. Raises DwarfError if there is none."""
        unit = self._last
        if unit is not None and unit.entries <= place < unit.end:
            return unit
        which = bisect_right(self.starts, place) - 1
        unit = self.info.units[which] if which >= 0 else None
        if unit is None or not unit.entries <= place < unit.end:
            raise DwarfError(f"a reference to {place}, where there is no entry")
        self._last = unit
        return unit

    def _read(self, place: int) -> _OwnNames:
        """Read an entry's own names."""
        linkage = source = b""
        origin: int | None = None
        for attribute, form, value in self._attributes(place):
            if attribute in _LINKAGE:
                linkage = self.text(self.unit_of(place), form, value)
            elif attribute == DW_AT_NAME:
                source = self.text(self.unit_of(place), form, value)
            elif attribute in _ORIGINS and form not in ELSEWHERE:
                origin = value
        return _OwnNames(linkage, source, origin)

    def _attributes(self, place: int) -> list[tuple[int, int, int]]:
        """Return attribute, form and value of the attributes that name an entry."""
        unit = self.unit_of(place)
        data = self.info.data
        try:
            code, position = data[place], place + 1
            if code >= 0x80:
                code, position = leb(data, place)
            shape = unit.abbreviations[code]
            if shape.naming is not None:
                return self.info.placed(unit, shape.naming, position)
            found = []
            for attribute, form, constant in shape.attributes:
                value, position = self.info.value(unit, form, constant, position)
                if attribute in NAMING:
                    found.append((attribute, form, value))
        except (IndexError, KeyError) as error:
            raise DwarfError(f"a reference to {place}, where there is no entry") from error
        return found

    def text(self, unit: Unit, form: int, value: int) -> bytes:
        """Return the string that an attribute refers to."""
        sections = self.info.sections
        if form in (FORM_GNU_STRP_ALT, FORM_STRP_SUP):
            return b""
        if form == FORM_STRING:
            data = self.info.data
        elif form == FORM_STRP:
            data = sections.get("str", b"")
        elif form == FORM_LINE_STRP:
            data = sections.get("line_str", b"")
        else:
            base = 0 if form == FORM_GNU_STR_INDEX else unit.str_offsets_base
            data = sections.get("str", b"")
            value = self.info.number(
                sections.get("str_offsets", b""), base + value * unit.offset_size, unit.offset_size
            )
        end = data.find(b"\0", value)
        if end < 0:
            raise DwarfError(f"a name outside its section: {value}")
        self.budget -= end - value
        if self.budget < 0:
            raise DwarfError("names that overlap")
        return data[value:end]


# Classes of std that mangled names abbreviate: Sa, Sb and Ss, Si, So, Sd
_ABBREVIATED = frozenset(
    (b"allocator", b"basic_string", b"basic_istream", b"basic_ostream", b"basic_iostream")
)
# Between the words of a symbol: f.cold, f@4 and f$variant are clones; Ada writes rows__f, Fortran
# __rows_MOD_f.
_WORDS = re.compile(rb"[.$@]|__+|_MOD_")
_LENGTH = re.compile(rb"[1-9]\d{0,3}")
# Their names have the length before each identifier: C++, Rust, D
_WITH_LENGTHS = re.compile(rb"__?(?:Z|R[BCIMNXY]|D\d)")
_SWIFT = (b"$s", b"_$s", b"$S", b"_$S", b"_T0")  # abbreviates words of identifiers
_NAMELESS = {DW_TAG_NAMESPACE: b"(anonymous namespace)"}


def scoped_names(info: Info, names: FunctionNames, places: Iterable[int]) -> dict[int, bytes]:
    """Map each place whose function has a source name alone to that name with its scopes.

    A linkage name that does not spell the source name is a label: void gather() asm("row8"). gcc
    gives no linkage name to a local function, so `item` could be any function of that name;
    with scopes it is `sg::kernels::(anonymous namespace)::item()`. The parentheses are empty, since
    its parameters are not read. A function outside of all scopes, as in C, keeps its name.

    Raises DwarfError if a unit is cut.
    """
    declared: dict[int, int] = {}
    for place in places:
        entry = names.plain_entry(place)
        if entry is not None:
            declared[place] = entry
    scopes: dict[int, tuple[bytes, ...]] = {}
    wanted = sorted(set(declared.values()))
    for unit in info.units:
        low, high = bisect_left(wanted, unit.start), bisect_left(wanted, unit.end)
        if low < high:
            try:
                scopes |= _around(info, unit, names, wanted[low:high])
            except (IndexError, KeyError) as error:
                raise DwarfError(f"the unit at {unit.start} is cut") from error
    return {
        place: b"::".join((*scopes[entry], names.source(entry))) + b"()"
        if scopes.get(entry)
        else names.source(entry)
        for place, entry in declared.items()
    }


def spells(linkage: bytes, source: bytes) -> bool:
    """Return whether a symbol's name has a function's name in the source.

    True also if that cannot be told: of operators, closures, classes that have abbreviations, and
    in Swift.
    """
    name = re.split(rb"[<(!]", source, maxsplit=1)[0].removeprefix(b"~")
    if source == linkage or not name or name in _ABBREVIATED:
        return True
    if name.startswith((b"operator", b"{")) or linkage.startswith(_SWIFT):
        return True
    if _WITH_LENGTHS.match(linkage):
        name = name.rpartition(b".")[2]  # D: app.run
        return (
            name in _identifiers(linkage)
            or re.search(rb"(?<!\d)%d_?%s" % (len(name), re.escape(name)), linkage) is not None
        )
    wanted = name.strip(b"_")
    return any(word.strip(b"_") == wanted for word in _WORDS.split(linkage))


def _identifiers(mangled: bytes) -> Iterator[bytes]:
    """Yield the identifiers of a mangled name, as if each number was the length of one.

    4vec23add contains vec2 and add; 13add_to_others does not contain add.
    """
    at = 0
    while found := _LENGTH.search(mangled, at):
        at = found.end() + int(found[0])
        yield mangled[found.end() : at]


def _around(
    info: Info, unit: Unit, names: FunctionNames, wanted: list[int]
) -> dict[int, tuple[bytes, ...]]:
    """Map each wanted entry of a unit to the names of the scopes around it, outermost first."""
    found: dict[int, tuple[bytes, ...]] = {}
    outer: list[tuple[bytes, ...]] = []
    scope: tuple[bytes, ...] = ()
    position = read_unit(info, unit)
    while position < unit.end and len(found) < len(wanted):
        place = position
        code, position = leb(info.data, position)
        if not code:
            if not outer:
                break
            scope = outer.pop()
            continue
        shape = unit.abbreviations[code]
        following = bisect_left(wanted, place)
        if wanted[following : following + 1] == [place]:
            found[place] = scope
            following += 1
        if shape.has_children and shape.has_sibling:
            sibling = sibling_of(info, unit, shape, position)
            none_inside = following == len(wanted) or wanted[following] >= sibling
            if position < sibling < unit.end and none_inside:
                position = sibling
                continue
        if shape.has_children:
            outer.append(scope)
            if len(outer) > 16 * DEEPEST:
                raise DwarfError(f"entries are nested without end at {place}")
            if shape.tag in TYPE_TAGS or shape.tag in (DW_TAG_NAMESPACE, DW_TAG_SUBPROGRAM):
                name = names.source(place) or _NAMELESS.get(shape.tag, b"{unnamed}")
                scope = (*scope, name + b"()" if shape.tag == DW_TAG_SUBPROGRAM else name)
        position = (
            position + shape.size if shape.size >= 0 else info.skip(position, shape.steps, unit)
        )
    return found
