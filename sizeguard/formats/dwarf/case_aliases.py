"""Find the functions inside one branch of a dtype switch by the branch's local type name.

A branch begins with `using CTYPE = ScalarTypeToCppType<…>::type`. Only the branch can see this
name. So a lambda that uses it, as the type of a variable, a parameter or a capture, is in that
branch. The same holds for each function around the lambda, up to the one that declares the name.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np

from sizeguard.columns.distinct import distinct
from sizeguard.columns.texts import Int
from sizeguard.formats.dwarf.debug_info import DwarfError, Info
from sizeguard.formats.dwarf.entry_names import NONE, EntryNames
from sizeguard.formats.dwarf.unit_scopes import UnitScopes, scopes_of, types_of, uses_of_aliases

Key = int | bytes

# The branches that contain a function, the outermost first, such as
# ScalarTypeToCppType<(ScalarType)6>.
Branches = tuple[bytes, ...]

LONGEST_NAME = 1 << 13  # bytes of names that identify functions by their beginning
MOST = 16  # nesting of switches
_END = ord("E")  # ends the part of a local name that names the function around it


def branch_aliases(info: Info, templates: tuple[str, ...]) -> dict[int, Branches]:
    """Return the branches of functions, by the functions' entries.

    templates: names of classes that contain a branch's type; a local name for one declares a
        branch.
    """
    words = tuple(f"{word}<".encode() for word in templates)
    found: dict[int, Branches] = {}
    if not any(word in info.data or word in info.sections.get("str", b"") for word in words):
        return found
    later: list[tuple[int, UnitScopes, Int, Int]] = []
    held: list[Int] = []  # typedefs in classes, of all units
    for unit in info.code_units().tolist():
        scopes = scopes_of(info, unit)
        in_class = scopes.holder != NONE
        holders = np.stack([scopes.typedef[in_class], scopes.holder[in_class]])
        held.append(holders)
        local = scopes.typedef[scopes.around != NONE]
        types = types_of(info, local)
        start, end = info.extent(unit)
        if not np.all((start <= types) & (types < end)):
            later.append((unit, scopes, local, types))  # with LTO, the class can be in another unit
        elif len(local):
            aliases = _aliases(info, local, types, holders, words)
            _Unit(info, unit, scopes, aliases).add_to(found)
    for unit, scopes, local, types in later:
        aliases = _aliases(info, local, types, np.concatenate(held, axis=1), words)
        _Unit(info, unit, scopes, aliases).add_to(found)
    return found


def _aliases(
    info: Info, local: Int, types: Int, held: Int, words: tuple[bytes, ...]
) -> dict[int, bytes]:
    """Return the local typedefs that name the type of a branch, with its class.

    types: of the local typedefs; held: typedefs, ascending, and the class around each
    """
    at = np.searchsorted(held[0], types)
    is_held = at < held.shape[1]
    is_held[is_held] = held[0][at[is_held]] == types[is_held]
    classes = held[1][at[is_held]]
    names = EntryNames(info, classes).of(classes)
    pairs = zip(local[is_held].tolist(), names, strict=True)
    return {place: name for place, name in pairs if name.startswith(words)}


def _inner(name: bytes) -> bytes:
    """Return the part of a name that the names of its local functions contain.

    Each level of nesting adds a Z in front.
    """
    return name[1:].lstrip(b"Z")


class _Around:
    """Some functions, by the names of the functions that are local to them."""

    def __init__(self, keys: Iterable[Key], spend: Callable[[int], None]) -> None:
        """Store the functions; spend: called with the bytes that are compared."""
        self._names = {_inner(key): key for key in keys if isinstance(key, bytes)}
        self._lengths = sorted({len(inner) for inner in self._names})
        self._spend = spend
        self._found: dict[bytes, list[bytes]] = {}

    def of(self, key: Key) -> list[bytes]:
        """Return those that are around a function according to its name, the outermost first.

        _ZZ4kernvENKUlvE_clEv is local to _Z4kernv.
        """
        if not isinstance(key, bytes) or not key.startswith(b"_ZZ"):
            return []
        if key not in self._found:
            inner = _inner(key)
            lengths = self._lengths[: bisect_left(self._lengths, len(inner))]
            ends = [end for end in lengths if inner[end] == _END]
            self._spend(sum(ends))
            starts = (inner[:end] for end in ends)
            self._found[key] = [self._names[start] for start in starts if start in self._names]
        return self._found[key]


class _Unit:
    """The branches of one unit.

    A function's key is its linkage name if it has one, else its entry.
    """

    def __init__(
        self, info: Info, unit: int, scopes: UnitScopes, aliases: dict[int, bytes]
    ) -> None:
        self.aliases = aliases
        self.uses = uses_of_aliases(info, unit, np.array([*aliases], np.int64), scopes.uses)
        places = scopes.function if len(self.uses) else scopes.function[:0]
        functions = places.tolist()
        self.parent = dict(zip(functions, scopes.parent.tolist(), strict=False))
        names = EntryNames(info, places).of(places)
        self.keys = dict(zip(functions, map(_key, functions, names), strict=True))
        used = distinct(self.uses[:, 1])
        self.names = dict(zip(used.tolist(), EntryNames(info, used).of(used), strict=True))
        self.start, end = info.extent(unit)
        self.budget = 64 * (end - self.start) + (1 << 24)

    def add_to(self, found: dict[int, Branches]) -> None:
        """Add the branches of the unit's functions to `found`."""
        of_key = self._inside()
        if not of_key:
            return
        around = _Around(of_key, self._spend)
        size = Counter(alias for aliases in of_key.values() for alias in aliases)
        # A function inside a function of a branch is in the branch, too. Functions follow those
        # that contain them.
        of_place: dict[int, frozenset[int]] = {NONE: frozenset()}
        listed: dict[frozenset[int], Branches] = {}
        for place, key in self.keys.items():
            more = {alias for other in (key, *around.of(key)) for alias in of_key.get(other, ())}
            outer = of_place[self.parent[place]]
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
        named = _Around(self.keys.values(), self._spend)
        for function, alias in self.uses.tolist():
            # Functions other than lambdas may get the type from an argument.
            if not self._is_local(function):
                continue
            users.add((self.keys[function], alias))
            name = self.names[alias]
            path = self._around(function, named)
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
            raise DwarfError(f"functions are nested without end in the unit at {self.start}")

    def _is_local(self, place: int) -> bool:
        """Check that a function is local to another."""
        key = self.keys[place]
        return self.parent[place] != NONE or (isinstance(key, bytes) and key.startswith(b"_ZZ"))

    def _around(self, place: int, named: _Around) -> list[Key]:
        """Return a function and the functions around it, the innermost first.

        gcc nests their entries; for clang's functions, the names show the nesting.
        """
        found: list[Key] = []
        while place != NONE:
            found.append(self.keys[place])
            place = self.parent[place]
        return [*found, *reversed(named.of(found[0]))]


def _key(place: int, name: bytes) -> Key:
    """Return the key of the function at `place`."""
    return name if name.startswith(b"_Z") and len(name) <= LONGEST_NAME else place
