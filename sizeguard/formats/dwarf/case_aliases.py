"""Find the functions inside one branch of a dtype switch by the branch's local type name.

A branch begins with `using CTYPE = ScalarTypeToCppType<…>::type`. Only the branch can see this
name. So a lambda that uses it, as the type of a variable, a parameter or a capture, is in that
branch. The same holds for each function around the lambda, up to the one that declares the name.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field

from sizeguard.formats.dwarf.abbreviations import Abbreviation, DwarfError, leb
from sizeguard.formats.dwarf.dwarf_constants import (
    DW_AT_DECLARATION,
    DW_AT_NAME,
    DW_AT_TYPE,
    DW_TAG_SUBPROGRAM,
    DW_TAG_TYPEDEF,
    ELSEWHERE,
    FORM_STRING,
    FORM_STRP,
    UT_SPLIT,
    UT_SPLIT_TYPE,
    UT_TYPE,
)
from sizeguard.formats.dwarf.function_names import FunctionNames
from sizeguard.formats.dwarf.units import Info, Unit
from sizeguard.formats.dwarf.walk import DEEPEST, read_unit, sibling_of

Key = int | bytes

# The branches that contain a function, the outermost first, such as
# ScalarTypeToCppType<(ScalarType)6>.
Branches = tuple[bytes, ...]

NONE = -1
_STRUCTURES = frozenset({0x02, 0x13, 0x17})  # class, structure, union
_TYPE = frozenset({DW_AT_TYPE})
_USERS = frozenset({0x05, 0x0D, 0x34})  # parameter, member, variable
LONGEST = 64  # nesting of types such as const CTYPE *const *
LONGEST_NAME = 1 << 13  # bytes of names that identify functions by their beginning
MOST = 16  # nesting of switches
_MOST_MENTIONS = 256

_OTHER, _FUNCTION, _DECLARED, _STRUCTURE, _TYPEDEF, _USER = range(6)


@dataclass(slots=True)
class _Scopes:
    """The relevant entries of a unit.

    parent:    function or class → the function around it
    holder:    typedef → the class around it
    local:     typedefs in functions
    uses:      (function, type)
    functions: defined functions, in order
    """

    parent: dict[int, int] = field(default_factory=dict)
    holder: dict[int, int] = field(default_factory=dict)
    local: list[int] = field(default_factory=list)
    uses: set[tuple[int, int]] = field(default_factory=set)
    functions: list[int] = field(default_factory=list)


def branch_aliases(
    info: Info, names: FunctionNames, templates: tuple[str, ...]
) -> dict[int, Branches]:
    """Return the branches of functions, by the functions' entries.

    templates: names of classes that contain a branch's type; a local name for one declares a
        branch.
    """
    words = tuple(f"{word}<".encode() for word in templates)
    found: dict[int, Branches] = {}
    if not any(word in info.data or word in info.sections.get("str", b"") for word in words):
        return found
    mentions = _Mentions(info, words)
    types: dict[int, bytes] = {}
    later: list[Unit] = []
    for unit in info.units:
        if unit.type in (UT_TYPE, UT_SPLIT_TYPE, UT_SPLIT):
            continue
        scopes = _scopes(info, unit, mentions)
        types.update(
            {
                place: name
                for place, holder in scopes.holder.items()
                if (name := names.of(holder)).startswith(words)
            }
        )
        if any(not unit.start <= _type_of(info, names, place) < unit.end for place in scopes.local):
            later.append(unit)  # with LTO, the class can be in another unit
        elif scopes.local:
            _Unit(info, unit, names, scopes, types).add_to(found)
    for unit in later:
        _Unit(info, unit, names, _scopes(info, unit, mentions), types).add_to(found)
    return found


def _kind(shape: Abbreviation) -> int:
    """Return the kind of an entry, from _OTHER to _USER."""
    if shape.tag == DW_TAG_SUBPROGRAM:
        return (
            _DECLARED
            if any(attribute == DW_AT_DECLARATION for attribute, _, _ in shape.attributes)
            else _FUNCTION
        )
    if shape.tag in _STRUCTURES:
        return _STRUCTURE
    if shape.tag == DW_TAG_TYPEDEF:
        return _TYPEDEF
    # For inlined parameters and variables, another entry gives the type.
    return _USER if shape.tag in _USERS and shape.has_any(_TYPE) else _OTHER


def _scopes(info: Info, unit: Unit, mentions: _Mentions) -> _Scopes:
    """Read the scopes of a unit. Raises DwarfError if it is cut."""
    try:
        return _read_scopes(info, unit, mentions.in_unit(info, unit))
    except (IndexError, KeyError) as error:
        raise DwarfError(f"the unit at {unit.start} is cut") from error


class _ScopeShapes:
    """The abbreviations of a unit, prepared for the walk: by code shape, kind, and type's place.

    leaves: by the first byte of an entry: its size if it can be skipped; 0 if it matters
    """

    def __init__(self, unit: Unit) -> None:
        self.of_code = {
            code: (shape, _kind(shape), shape.fixed.get(DW_AT_TYPE))
            for code, shape in unit.abbreviations.items()
        }
        self.leaves = [0] * 256
        for code, (shape, kind, _) in self.of_code.items():
            is_leaf = not shape.has_children and kind not in (_USER, _TYPEDEF, _FUNCTION)
            if code < 0x80 and is_leaf and shape.size >= 0:
                self.leaves[code] = 1 + shape.size


# More than 40 lines: a single loop over all entries, as in walk.
def _read_scopes(info: Info, unit: Unit, mentions: list[int] | None) -> _Scopes:
    """Read the scopes of a unit in one pass over its entries.

    mentions: places where the wanted names may be, ascending; None if they can be anywhere
    """
    shapes = _ScopeShapes(unit)
    data, end, order, of_code, leaves = (
        info.data,
        unit.end,
        info.order,
        shapes.of_code,
        shapes.leaves,
    )
    scopes = _Scopes()
    uses, start = scopes.uses, unit.start
    position = read_unit(info, unit)
    function, structure = NONE, NONE
    outer: list[tuple[int, int]] = []
    while position < end:
        place = position
        code = data[position]
        if size := leaves[code]:
            position += size
            continue
        position += 1
        if code >= 0x80:
            more = data[position]
            if more < 0x80:
                code, position = code & 0x7F | more << 7, position + 1
            else:
                code, position = leb(data, place)
        if not code:
            if not outer:
                return scopes
            function, structure = outer.pop()
            continue
        shape, kind, type_at = of_code[code]
        if kind == _USER and function != NONE:
            if type_at is not None:
                low = position + type_at.offset
                if type_at.form not in ELSEWHERE:
                    type_ = int.from_bytes(data[low : low + type_at.width], order)
                    uses.add((function, type_ + start if type_at.is_reference else type_))
                position = (
                    position + shape.size
                    if shape.size >= 0
                    else info.skip(position, shape.steps, unit)
                )
            else:
                type_, position = _reference(info, unit, shape, position)
                if type_ != NONE:
                    uses.add((function, type_))
        else:
            if kind == _STRUCTURE and function == NONE and mentions is not None:
                sibling = sibling_of(info, unit, shape, position) if shape.has_sibling else 0
                which = bisect_left(mentions, place)
                if position < sibling < end and (
                    which == len(mentions) or mentions[which] >= sibling
                ):
                    position = sibling
                    continue
            position = (
                position + shape.size if shape.size >= 0 else info.skip(position, shape.steps, unit)
            )
        if kind == _TYPEDEF:
            if structure != NONE:
                scopes.holder[place] = structure
            if function != NONE:
                scopes.local.append(place)
        elif kind == _FUNCTION:
            scopes.parent[place] = function
            scopes.functions.append(place)
        if shape.has_children:
            outer.append((function, structure))
            if len(outer) > 16 * DEEPEST:
                raise DwarfError(f"entries are nested without end at {place}")
            structure = place if kind == _STRUCTURE else NONE
            if kind == _FUNCTION:
                function = place
    if position > end:
        raise DwarfError(f"the unit at {unit.start} is cut")
    return scopes


class _Mentions:
    """Places in .debug_info that may contain names of the wanted classes.

    A class that contains none of these places has no entry that matters, and is skipped.
    """

    def __init__(self, info: Info, words: tuple[bytes, ...]) -> None:
        texts = info.sections.get("str", b"")
        self.patterns = list(words)
        for word in words:
            at = texts.find(word)
            while at >= 0 and len(self.patterns) <= _MOST_MENTIONS:
                self.patterns.append(at.to_bytes(4, info.order))
                at = texts.find(word, at + 1)

    def in_unit(self, info: Info, unit: Unit) -> list[int] | None:
        """Return the places, ascending; None if names can be anywhere."""
        forms = {
            form
            for shape in unit.abbreviations.values()
            if shape.tag in _STRUCTURES
            for attribute, form, _ in shape.attributes
            if attribute == DW_AT_NAME
        }
        too_many = len(self.patterns) > _MOST_MENTIONS
        if too_many or unit.offset_size != 4 or not forms <= {FORM_STRP, FORM_STRING}:
            return None
        found = []
        for pattern in self.patterns:
            at = info.data.find(pattern, unit.start, unit.end)
            while at >= 0:
                found.append(at)
                at = info.data.find(pattern, at + 1, unit.end)
        return sorted(found)


def _reference(info: Info, unit: Unit, shape: Abbreviation, position: int) -> tuple[int, int]:
    """Read an entry's attributes; return the entry of its type, or NONE, and the entry's end."""
    type_ = NONE
    for attribute, form, constant in shape.attributes:
        value, position = info.value(unit, form, constant, position)
        if attribute == DW_AT_TYPE and form not in ELSEWHERE:
            type_ = value
    return type_, position


def _type_of(info: Info, names: FunctionNames, place: int) -> int:
    """Return the entry that is the type of the entry at `place`."""
    unit = names.unit_of(place)
    try:
        code, position = leb(info.data, place)
        shape = unit.abbreviations[code]
        at = shape.fixed.get(DW_AT_TYPE)
        if at is not None:
            return NONE if at.form in ELSEWHERE else info.placed(unit, (at,), position)[0][2]
        return _reference(info, unit, shape, position)[0]
    except (IndexError, KeyError) as error:
        raise DwarfError(f"a reference to {place}, where there is no entry") from error


def _inner(name: bytes) -> bytes:
    """Return the part of a name that the names of its local functions contain.

    Each level of nesting adds a Z in front.
    """
    return name[1:].lstrip(b"Z")


class _Unit:
    """The branches of one unit.

    A function's key is its linkage name if it has one, else its entry.
    """

    def __init__(
        self, info: Info, unit: Unit, names: FunctionNames, scopes: _Scopes, types: dict[int, bytes]
    ) -> None:
        self.info, self.unit, self.names, self.scopes = info, unit, names, scopes
        self.aliases = {
            place: types[type_]
            for place in scopes.local
            if (type_ := _type_of(info, names, place)) in types
        }
        self.known: dict[int, int] = {}
        self.keys = {place: self._key(place) for place in scopes.functions} if self.aliases else {}
        self.local = {_inner(key): key for key in self.keys.values() if isinstance(key, bytes)}
        self.lengths = {len(inner) for inner in self.local}
        self.paths: dict[bytes, list[bytes]] = {}
        self.budget = 64 * (unit.end - unit.start) + (1 << 24)

    def add_to(self, found: dict[int, Branches]) -> None:
        """Add the branches of the unit's functions to `found`."""
        if not self.aliases:
            return
        of_key = self._inside()
        size = Counter(alias for aliases in of_key.values() for alias in aliases)
        # A function inside a function of a branch is in the branch, too. Functions follow those
        # that contain them.
        of_place: dict[int, frozenset[int]] = {NONE: frozenset()}
        listed: dict[frozenset[int], Branches] = {}
        for place, key in self.keys.items():
            more = {
                alias for other in (key, *self._around_name(key)) for alias in of_key.get(other, ())
            }
            outer = of_place[self.scopes.parent[place]]
            aliases = outer | more
            of_place[place] = aliases = (
                outer if len(aliases) == len(outer) or len(aliases) > MOST else aliases
            )
            if aliases:
                if aliases not in listed:
                    # Each branch of a nested switch has fewer functions than the branch that
                    # contains the switch.
                    ordered = sorted(aliases, key=lambda alias: (-size[alias], alias))
                    listed[aliases] = tuple(self.aliases[alias] for alias in ordered)
                found[place] = listed[aliases]

    def _inside(self) -> dict[Key, set[int]]:
        """Return the aliases whose branches contain functions, by uses in and inside them.

        The place where an alias is declared is unknown: gcc puts it into the class of the first
        lambda that captures one, clang often into an entry without a name. But the switch is around
        the lambdas of all branches, so it has several aliases with the same name. A function in
        which all aliases of a name are the same is in that alias's branch, if there is a switch
        around it.
        """
        users: set[tuple[Key, int]] = set()
        within: dict[tuple[Key, bytes], set[int]] = {}
        paths: dict[Key, list[Key]] = {}
        known = self.known
        for function, type_ in self.scopes.uses:
            alias = known[type_] if type_ in known else self._alias_of(type_)
            # Functions other than lambdas may get the type from an argument.
            if alias == NONE or not self._is_local(function):
                continue
            users.add((self.keys[function], alias))
            name = self.names.of(alias)
            path = self._around(function)
            self._spend(64 * len(path))
            for i, key in enumerate(path):
                within.setdefault((key, name), set()).add(alias)
                paths.setdefault(key, path[i:])
        found: dict[Key, set[int]] = {}
        for (key, name), aliases in within.items():
            if len(aliases) == 1 and (
                any(len(within.get((outer, name), ())) > 1 for outer in paths[key])
                or (key, min(aliases)) in users
            ):
                found.setdefault(key, set()).update(aliases)
        return found

    def _spend(self, count: int) -> None:
        """Limit the work; real files have few local functions, with little nesting.

        Raises DwarfError for a file designed to exhaust time and memory.
        """
        self.budget -= count
        if self.budget < 0:
            raise DwarfError(f"functions are nested without end in the unit at {self.unit.start}")

    def _key(self, place: int) -> Key:
        """Return the key of the function at `place`."""
        name = self.names.of(place)
        return name if name.startswith(b"_Z") and len(name) <= LONGEST_NAME else place

    def _is_local(self, place: int) -> bool:
        """Check that a function is local to another."""
        key = self.keys[place]
        return self.scopes.parent[place] != NONE or (
            isinstance(key, bytes) and key.startswith(b"_ZZ")
        )

    def _around(self, place: int) -> list[Key]:
        """Return a function and the functions around it, the innermost first.

        gcc nests their entries; for clang's functions, the names show the nesting.
        """
        found: list[Key] = []
        while place != NONE:
            found.append(self.keys[place])
            place = self.scopes.parent[place]
        return [*found, *reversed(self._around_name(found[0]))]

    def _around_name(self, key: Key) -> list[bytes]:
        """Return the functions around a function according to its name.

        _ZZ4kernvENKUlvE_clEv is local to _Z4kernv.
        """
        if not isinstance(key, bytes) or not key.startswith(b"_ZZ"):
            return []
        if key not in self.paths:
            inner = _inner(key)
            ends = [i for i, letter in enumerate(inner) if letter == ord("E") and i in self.lengths]
            self._spend(sum(ends))
            self.paths[key] = [self.local[inner[:end]] for end in ends if inner[:end] in self.local]
        return self.paths[key]

    def _alias_of(self, type_: int) -> int:
        """Return the alias that a type is built from, or NONE."""
        passed: list[int] = []
        alias = NONE
        while type_ != NONE and len(passed) < LONGEST:
            if type_ in self.known:
                alias = self.known[type_]
                break
            passed.append(type_)
            if type_ in self.aliases:
                alias = type_
                break
            type_ = _type_of(self.info, self.names, type_)
        for place in passed:
            self.known[place] = alias
        return alias
