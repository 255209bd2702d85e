"""Find the functions inside one branch of a dtype switch by the branch's local type name.

A branch begins with `using CTYPE = ScalarTypeToCppType<…>::type`. Only the branch can see this
name. So a lambda that uses it, as the type of a variable, a parameter or a capture, is in that
branch. The same holds for each function around the lambda, up to the one that declares the name.
"""

from __future__ import annotations

from collections import Counter

from sizeguard.formats.dwarf.abbreviations import DwarfError, leb
from sizeguard.formats.dwarf.dwarf_constants import (
    DW_AT_TYPE,
    ELSEWHERE,
    UT_SPLIT,
    UT_SPLIT_TYPE,
    UT_TYPE,
)
from sizeguard.formats.dwarf.function_names import FunctionNames
from sizeguard.formats.dwarf.unit_scopes import (
    NONE,
    Mentions,
    UnitScopes,
    scopes_of,
    type_reference,
)
from sizeguard.formats.dwarf.units import Info, Unit

Key = int | bytes

# The branches that contain a function, the outermost first, such as
# ScalarTypeToCppType<(ScalarType)6>.
Branches = tuple[bytes, ...]

LONGEST = 64  # nesting of types such as const CTYPE *const *
LONGEST_NAME = 1 << 13  # bytes of names that identify functions by their beginning
MOST = 16  # nesting of switches


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
    mentions = Mentions(info, words)
    types: dict[int, bytes] = {}
    later: list[Unit] = []
    for unit in info.units:
        if unit.type in (UT_TYPE, UT_SPLIT_TYPE, UT_SPLIT):
            continue
        scopes = scopes_of(info, unit, mentions)
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
        _Unit(info, unit, names, scopes_of(info, unit, mentions), types).add_to(found)
    return found


def _type_of(info: Info, names: FunctionNames, place: int) -> int:
    """Return the entry that is the type of the entry at `place`."""
    unit = names.unit_of(place)
    try:
        code, position = leb(info.data, place)
        shape = unit.abbreviations[code]
        at = shape.fixed.get(DW_AT_TYPE)
        if at is not None:
            return NONE if at.form in ELSEWHERE else info.placed(unit, (at,), position)[0][2]
        return type_reference(info, unit, shape, position)[0]
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
        self,
        info: Info,
        unit: Unit,
        names: FunctionNames,
        scopes: UnitScopes,
        types: dict[int, bytes],
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

        The place where an alias is declared is unknown. gcc puts it into the class of the first
        lambda that captures one, and clang often into an entry without a name. But the switch is
        around the lambdas of all branches, so it has several aliases with the same name. If a
        function has only one of them, and a switch is around it, it is in that alias's branch.
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
