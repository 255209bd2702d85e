"""Scan mangled names for the namespaces, words and dtypes that rules name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.compiled_code import addresses, compiled_beside
from sizeguard.columns.text_hash import Hash
from sizeguard.columns.texts import Int, Int32, Texts
from sizeguard.names.rules import Path, Rules
from sizeguard.names.scan.scan_tables import NONE, ScanTables

Columns = tuple[npt.NDArray[Any], ...]

CODE = compiled_beside(__file__)

_FRONT, _PAD = 16, 80  # zeros around a name, as in compiled/names.h
_LONGEST = 1 << 30  # bytes of a name that are read
_ROWS = 2  # rows for each name at first; libtorch_cpu.so has 1.3 members for each
_FEWEST_ROWS = 1000


@dataclass(frozen=True, slots=True)
class Members:
    """Identifiers that are members of a namespace that rules name, in order of name.

    name:          number of the name
    scope:         index into Scanned.scopes
    hash:          of the identifier
    start, length: its text in the buffer of the names, in bytes
    """

    name: Int32
    scope: Int32
    length: Int32
    start: Int
    hash: Hash

    @staticmethod
    def room(rows: int) -> Members:
        """Return columns to write to."""
        name, scope, length = (np.empty(rows, np.int32) for _ in range(3))
        return Members(name, scope, length, np.empty(rows, np.int64), np.empty(rows, np.uint64))

    def columns(self) -> Columns:
        """Return the columns in the order of compiled/names.h."""
        return self.name, self.scope, self.length, self.start, self.hash


@dataclass(frozen=True, slots=True)
class RuleHits:
    """Rules that match a name by themselves, in order of name.

    name, rule: numbers
    start:      place in the buffer of the names
    is_mention: 1 if the namespace is inside the name, not in front
    """

    name: Int32
    rule: Int32
    start: Int
    is_mention: npt.NDArray[np.uint8]

    @staticmethod
    def room(rows: int) -> RuleHits:
        """Return columns to write to."""
        name, rule = np.empty(rows, np.int32), np.empty(rows, np.int32)
        return RuleHits(name, rule, np.empty(rows, np.int64), np.empty(rows, np.uint8))

    def columns(self) -> Columns:
        """Return the columns in the order of compiled/names.h."""
        return self.name, self.rule, self.start, self.is_mention


@dataclass(frozen=True, slots=True)
class Scanned:
    """Everything that a scan finds in names.

    names:       the names
    scopes:      namespaces that rules name
    dtypes:      by name; bit c is set if the dtype with code c occurs in it
    first_dtype: by name, code of the first dtype; -1 for none

    dtypes and first_dtype are empty if the scan did not search for dtypes.
    """

    names: Texts
    scopes: tuple[Path, ...]
    members: Members
    rules: RuleHits
    dtypes: npt.NDArray[np.uint64]
    first_dtype: npt.NDArray[np.int8]


def scan_names(names: Texts, rules: Rules, *, dtypes: bool = True) -> Scanned:
    """Scan names. Of each, at most 1 GiB is read.

    dtypes: whether to search for dtypes
    """
    tables = ScanTables(rules, dtypes=dtypes)
    count = len(names) if dtypes else 0
    mask, first = np.zeros(count, np.uint64), np.full(count, NONE, np.int8)
    of_members = [Members.room(0).columns()]
    of_hits = [RuleHits.room(0).columns()]
    for members, hits in _rounds(names, tables, mask, first):
        of_members.append(members)
        of_hits.append(hits)
    return Scanned(
        names,
        tables.scopes,
        Members(*map(np.concatenate, zip(*of_members, strict=True))),
        RuleHits(*map(np.concatenate, zip(*of_hits, strict=True))),
        mask,
        first,
    )


def _rounds(
    names: Texts, tables: ScanTables, mask: npt.NDArray[np.uint64], first: npt.NDArray[np.int8]
) -> Iterator[tuple[Columns, Columns]]:
    """Yield the columns of members and of rule hits, more if they have no room in one round."""
    buffer, start = np.ascontiguousarray(names.buffer), np.ascontiguousarray(names.start)
    end = np.minimum(names.end, start + _LONGEST)
    room = _room(int((end - start).max(initial=0)), tables.uses)
    columns = np.append(addresses(buffer, start, end, mask, first), np.uintp(len(mask) > 0))
    rows, done = _ROWS * len(names) + _FEWEST_ROWS, 0
    while done < len(names):
        members, hits = Members.room(rows).columns(), RuleHits.room(rows).columns()
        found = np.zeros(2, np.int64)
        done = CODE.call(
            "scan_names",
            columns,
            done,
            len(names),
            tables.pointers,
            addresses(*room),
            addresses(*members),
            rows,
            addresses(*hits),
            rows,
            found,
        )
        member_count, hit_count = found.tolist()
        yield _cut(members, member_count), _cut(hits, hit_count)
        rows *= 2  # if one name has more rows, it is tried again


def _cut(columns: Columns, rows: int) -> Columns:
    return tuple(column[:rows] for column in columns)


def _room(longest: int, uses: int) -> list[npt.NDArray[np.generic]]:
    """Return room for what is found in one name, in the order of compiled/names.h."""
    words = longest + 8
    return [
        np.zeros(_FRONT + longest + _PAD, np.uint8),
        np.empty(words, np.uint8),
        np.zeros(words, np.uint8),
        *(np.empty(words, np.int32) for _ in range(7)),
        np.full(uses, NONE, np.int32),
        np.empty(uses, np.int32),
    ]
