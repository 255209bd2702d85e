"""Find the causes of a change in load: operator, dtype, symbol and source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.owners.library_rows import KIND as OF_LIBRARY
from sizeguard.attribution.owners.object_names import known_object
from sizeguard.base.dataclass import dataclass
from sizeguard.columns.label import rows_with
from sizeguard.diff.compare import diff
from sizeguard.diff.diff_result import CAUSES, Diff
from sizeguard.gate.causes.growth_result import MOVED, Cause, Growth
from sizeguard.gate.causes.source_lines import ObjectSymbol, SourceLines
from sizeguard.gate.reference.moved_bytes import holders_of, may_move
from sizeguard.measurement.measurement import Measurement
from sizeguard.runtimes.known import short_name
from sizeguard.snapshots.snapshot import Snapshot

SHOWN = 200  # causes to name; the rest is one row
_UNWIND = frozenset({"unwind", "unwind index", "exception table"})
_PADDING = frozenset({"padding", "page slack", "section gap"})
_LEVELS = ("operator", "dtype", "symbol", "object", "kind")
_Key: TypeAlias = tuple[str, str, str, str, str]  # a name for each of _LEVELS


def growth_by_operator(old: Measurement, new: Measurement) -> tuple[Growth, ...]:
    """List the operators whose loaded bytes changed; the rows sum to the change of the load."""
    before, now = old.tables["operator"], new.tables["operator"]
    rows = [Growth(name, before.get(name, 0), now.get(name, 0)) for name in {*before, *now}]
    return tuple(
        sorted(
            (row for row in rows if row.old != row.new),
            key=lambda row: (row.old - row.new, row.operator),
        )
    )


def causes_by_operator(growth: Iterable[Growth]) -> tuple[Cause, ...]:
    """Make one cause for each operator; used with baselines, which have no symbols."""
    rows = [
        Cause(
            row.operator,
            "",
            "",
            row.old,
            row.new,
            kind="other",
            cause="grew" if row.new > row.old else "shrank",
        )
        for row in growth
    ]
    return tuple(sorted(rows, key=lambda cause: (-abs(cause.delta), cause.operator)))


class _Row(NamedTuple):
    """The labels of a row of a diff by _LEVELS."""

    operator: str
    dtype: str
    symbol: str
    object: str
    kind: str

    @property
    def piece(self) -> tuple[str, ...]:
        """All labels except the operator."""
        return self[1:]

    @staticmethod
    def of(operator: str, piece: tuple[str, ...]) -> _Row:
        """Make a row from an operator and a piece."""
        return _Row(operator, *piece)


@dataclass(slots=True)
class _Sum:
    """The running sum of a cause.

    largest: bytes of the part that gives the row its cause
    """

    old: int = 0
    new: int = 0
    largest: int = 0
    cause: str = ""


def causes_between(old: Analysis, new: Analysis, sources: SourceLines) -> tuple[Cause, ...]:
    """List the causes between two analyses, the largest change first.

    They sum to the change of the load. Causes beyond the first SHOWN are summed in one row. Bytes
    that only moved to another operator come last.
    """
    if isinstance(old, Snapshot) and old.has_rows_of(new):
        return ()
    # An image in place has no map: objects that only the base names would be removed code.
    has_objects = _names_objects(old) and _names_objects(new)
    levels = [level for level in _LEVELS if has_objects or level != "object"]
    sums, moved = _summed(diff(old, new, levels), has_objects)
    changed = [item for item in sums.items() if item[1].old != item[1].new]
    changed.sort(key=lambda item: (-abs(item[1].new - item[1].old), item[0]))
    shown = changed[:SHOWN]
    places = sources.places(ObjectSymbol(key[3], key[2]) for key, _ in shown if key[4] == "symbol")
    causes = [_cause(key, row, places) for key, row in shown]
    rest = [row for _, row in changed[SHOWN:]]
    if rest:
        before, now = sum(row.old for row in rest), sum(row.new for row in rest)
        causes.append(Cause("", "", "", before, now, kind="other"))
    return (*causes, *moved)


def _names_objects(analysis: Analysis) -> bool:
    """Return whether a map or the link names objects; libraries beside the image have a name."""
    label = analysis.label("object")
    libraries = {*label.ids[rows_with(analysis.label("kind"), OF_LIBRARY.__eq__)].tolist()}
    return any(label.texts.raw(i) for i in range(len(label.texts)) if i not in libraries)


def _summed(found: Diff, has_objects: bool) -> tuple[dict[_Key, _Sum], tuple[Cause, ...]]:
    """Sum the rows of a diff by cause, and list the pieces that only moved to another operator."""
    labels = [found.keys(i) for i in range(len(found))]
    named = [_Row(*(each if has_objects else (*each[:3], "", *each[3:]))) for each in labels]
    rows = list(zip(named, map(int, found.old), map(int, found.new), strict=True))
    left: dict[_Row, int] = {}
    came: dict[_Row, int] = {}
    origins: dict[_Row, set[str]] = {}
    by_piece = holders_of((row.operator, row.piece, old, new) for row, old, new in rows)
    for piece, holders in by_piece:
        if may_move(piece[1], holders):
            left |= {_Row.of(name, piece): size for name, size in holders.left().items()}
            for name, size in holders.moved().items():
                came[_Row.of(name, piece)] = size
                origins[_Row.of(name, piece)] = {*holders.left()}
    sums: dict[_Key, _Sum] = {}
    for i, (keys, old, new) in enumerate(rows):
        row = sums.setdefault(_key(*keys), _Sum())
        old, new = old - left.get(keys, 0), new - came.get(keys, 0)
        row.old += old
        row.new += new
        if abs(new - old) >= row.largest:
            row.largest, row.cause = abs(new - old), CAUSES[int(found.cause[i])]
    return sums, _moved(came, origins)


def _moved(came: Mapping[_Row, int], origins: Mapping[_Row, set[str]]) -> tuple[Cause, ...]:
    """Make a cause for each symbol that moved to an operator, the largest first."""
    sums: dict[tuple[str, str, str], int] = {}
    named: dict[tuple[str, str, str], set[str]] = {}
    for row, size in came.items():
        symbol = row.symbol if row.kind not in _UNWIND and not row.symbol.startswith("(") else ""
        key = row.operator, row.dtype if symbol else "", symbol
        sums[key] = sums.get(key, 0) + size
        named.setdefault(key, set()).update(origins[row])
    found = [
        Cause(
            operator,
            dtype,
            short_name(symbol) if symbol else "",
            size,
            size,
            MOVED,
            MOVED,
            origin=", ".join(sorted(named[operator, dtype, symbol])),
        )
        for (operator, dtype, symbol), size in sums.items()
        if size
    ]
    found.sort(key=lambda cause: (-cause.new, cause.operator, cause.symbol))
    rest = sum(cause.new for cause in found[SHOWN:])
    more = (Cause("", "", "", rest, rest, MOVED, MOVED),) if rest else ()
    return (*found[:SHOWN], *more)


def _key(operator: str, dtype: str, symbol: str, object_: str, kind: str) -> _Key:
    """Return the operator, dtype, symbol, object and kind of the cause that includes a row."""
    if kind in _UNWIND:
        return "", "", "", "", "unwind"
    if kind in _PADDING:
        return "", "", "", "", "padding"
    if kind == OF_LIBRARY:
        return operator, "", object_, "", kind
    if symbol and not symbol.startswith("("):
        return operator, dtype, symbol, known_object(object_), "symbol"
    return operator, "", "", "", "other"


def _cause(key: _Key, row: _Sum, places: Mapping[ObjectSymbol, str]) -> Cause:
    operator, dtype, symbol, object_, kind = key
    grew = row.new > row.old
    # The largest part gives the cause, unless the whole row changed in the other direction.
    fits = row.cause in ("moved", "padding") or grew == (
        row.cause in ("grew", "added", "more_instances")
    )
    cause = row.cause if fits else "grew" if grew else "shrank"
    is_symbol = kind == "symbol"
    return Cause(
        operator,
        dtype,
        short_name(symbol) if is_symbol else symbol,
        row.old,
        row.new,
        kind,
        cause,
        places[ObjectSymbol(object_, symbol)] if is_symbol else "",
    )
