"""Results of scanning names as columns: members of namespaces, and rules that match a name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sizeguard.columns.texts import Int
from sizeguard.names.rules import Path
from sizeguard.names.scan.identifiers import Chunk, Words, fingerprints
from sizeguard.names.scan.packed_names import PackedNames


@dataclass(frozen=True, slots=True)
class Members:
    """Identifiers that are members of a namespace that rules name, in order of name and place.

    name:          number of the name
    scope:         index into Scanned.scopes
    hash:          of the identifier
    start, length: its text among the packed names, in bytes
    """

    name: Int
    scope: Int
    hash: Words
    start: Int
    length: Int


@dataclass(frozen=True, slots=True)
class RuleHits:
    """Rules that match a name by themselves, in order of name and place.

    name, rule: numbers
    start:      place among the packed names
    is_mention: whether the namespace is inside the name, not in front
    """

    name: Int
    rule: Int
    start: Int
    is_mention: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Scanned:
    """Everything that a scan finds in names.

    names:       the names' texts
    scopes:      namespaces that rules name
    dtypes:      by name; bit c is set if the dtype with code c occurs in it
    first_dtype: by name, code of the first dtype; -1 for none

    dtypes and first_dtype are empty if the scan did not search for dtypes.
    """

    names: PackedNames
    scopes: tuple[Path, ...]
    members: Members
    rules: RuleHits
    dtypes: npt.NDArray[np.uint64]
    first_dtype: npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class ChunkHits:
    """Results of one chunk: pieces of the columns of Members and of RuleHits."""

    members: list[tuple[Int, Int, Words, Int, Int]]
    rules: list[tuple[Int, Int, Int, Int]]

    @staticmethod
    def nothing() -> ChunkHits:
        """Return empty columns."""
        none = np.zeros(0, np.int64)
        return ChunkHits(
            [(none, none, np.zeros(0, np.uint64), none, none)], [(none, none, none, none)]
        )

    def add_members(self, chunk: Chunk, name: Int, scope: Int, start: Int, length: Int) -> None:
        """Add identifiers at places of the chunk's text."""
        self.members.append(
            (name, scope, fingerprints(chunk, start, length), start + chunk.offset, length)
        )

    def add_rules(self, rule: int | Int, name: Int, start: Int, is_mention: bool = False) -> None:
        """Add names that match a rule; `rule` is one number or one for each name."""
        if len(name):
            rules = np.full(len(name), rule, np.int64) if isinstance(rule, int) else rule
            self.rules.append((name, rules, start, np.full(len(name), is_mention, np.int64)))
