"""Find bytes that only moved to another operator since a reference.

An example is shared code that became exclusive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sizeguard.attribution.analysis import Analysis
from sizeguard.base.dataclass import dataclass
from sizeguard.diff.compare import diff
from sizeguard.measurement.measurement import Measurement

_LEVELS = ("operator", "symbol", "object", "kind")


@dataclass(slots=True)
class BytesHolders:
    """The bytes of one piece of code or data by operator, before and after."""

    old: dict[str, int]
    new: dict[str, int]

    @property
    def is_unchanged(self) -> bool:
        """True if the whole piece has as many bytes as before."""
        return sum(self.old.values()) == sum(self.new.values())

    def moved(self) -> dict[str, int]:
        """Return the bytes that each operator got from others.

        The growth of the whole piece is subtracted from each.
        """
        delta = {
            name: self.new.get(name, 0) - self.old.get(name, 0) for name in {*self.old, *self.new}
        }
        gained = {name: more for name, more in delta.items() if more > 0}
        lost = -sum(less for less in delta.values() if less < 0)
        total = sum(gained.values())
        return {name: more * min(lost, total) // total for name, more in gained.items()}

    def left(self) -> dict[str, int]:
        """Return the bytes that each operator lost to others; they sum to the sum of moved()."""
        rest = sum(self.moved().values())
        found = {}
        for name in sorted(self.old):
            less = min(rest, max(0, self.old[name] - self.new.get(name, 0)))
            rest -= less
            if less:
                found[name] = less
        return found


def may_move(symbol: str, holders: BytesHolders) -> bool:
    """Return whether a piece is the same before and after.

    The rest of a section, such as (.rodata), is the same only if its size did not change.
    """
    return bool(symbol) and (not symbol.startswith("(") or holders.is_unchanged)


def moved_bytes(old: Analysis, new: Analysis) -> Mapping[str, int]:
    """Sum, for each operator, the bytes that belonged to another before and are its own now."""
    found = diff(old, new, _LEVELS)
    rows = ((found.keys(i), int(found.old[i]), int(found.new[i])) for i in range(len(found)))
    sums: dict[str, int] = {}
    for (symbol, *_), holders in holders_of((keys[0], keys[1:], a, b) for keys, a, b in rows):
        if may_move(symbol, holders):
            for name, size in holders.moved().items():
                if size:
                    sums[name] = sums.get(name, 0) + size
    return sums


class Moves:
    """Bytes that the operators of one measurement got from others, by reference."""

    def __init__(self, now: Measurement) -> None:
        """Store the measurement; comparing waits, because most checks pass without it."""
        self._now = now
        self._found: list[tuple[Measurement, Mapping[str, int]]] = []

    def of(self, reference: Measurement, operator: str) -> int:
        """Return the bytes of an operator that belonged to another in a reference.

        A baseline has no symbols, so the result is 0 for it.
        """
        if reference.analysis is None or self._now.analysis is None:
            return 0
        for known, moved in self._found:
            if known is reference:
                return moved.get(operator, 0)
        moved = moved_bytes(reference.analysis, self._now.analysis)
        self._found.append((reference, moved))
        return moved.get(operator, 0)


def holders_of(
    rows: Iterable[tuple[str, tuple[str, ...], int, int]],
) -> Iterable[tuple[tuple[str, ...], BytesHolders]]:
    """Group rows of operator, piece, old and new bytes by piece."""
    found: dict[tuple[str, ...], BytesHolders] = {}
    for operator, piece, old, new in rows:
        holders = found.setdefault(piece, BytesHolders({}, {}))
        holders.old[operator] = holders.old.get(operator, 0) + old
        holders.new[operator] = holders.new.get(operator, 0) + new
    return found.items()
