"""Hold what grew as plain data: the part of a gate's result about sizes since the base."""

from __future__ import annotations

from sizeguard.base.dataclass import dataclass

MOVED = "moved"  # kind of causes: bytes that only moved to another operator


class _OldAndNew:
    """Bytes before and after."""

    __slots__ = ()
    old: int
    new: int

    @property
    def delta(self) -> int:
        """Bytes by which it grew."""
        return self.new - self.old


@dataclass(frozen=True, slots=True)
class Growth:
    """Loaded bytes of an operator, or of (core) and the like, that changed since the base."""

    operator: str
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class SizeGrowth:
    """Bytes that an app grew since the merge base, negative if it shrank."""

    load: int
    ram: int
    file: int


@dataclass(frozen=True, slots=True)
class Share:
    """Bytes that one commit added to a creeping metric.

    commit: short id, or "uncommitted"
    date:   YYYY-MM-DD
    """

    commit: str
    subject: str
    delta: int
    date: str = ""


@dataclass(frozen=True, slots=True)
class Cause(_OldAndNew):
    """Loaded bytes that changed since the base.

    All causes sum to the change of `load`.

    operator, dtype, symbol: empty if unknown. symbol is demangled; it is the library's path for
            kind "shared library", and empty for "unwind", "padding" and "other"
    kind:   symbol; shared library (what ships beside the image, as a whole); unwind (unwind tables
            of all symbols); padding; other (headers, tables, and causes too small to name); moved
            (bytes that only moved to another operator: old and new are equal)
    cause:  as in a diff: grew, shrank, added, removed, more_instances, fewer_instances, moved,
            padding
    place:  the symbol's source, with its line if debug information has it; empty if unknown
    edited: the first line of that function that the change edits; empty if it edits none
    origin: the operators that had moved bytes before
    """

    operator: str
    dtype: str
    symbol: str
    old: int
    new: int
    kind: str = "symbol"
    cause: str = ""
    place: str = ""
    origin: str = ""
    edited: str = ""


@dataclass(frozen=True, slots=True)
class FileGrowth(_OldAndNew):
    """Loaded bytes of functions and data of one source file that changed since the base.

    file:    empty for what has no known file: tables, padding, code without a place
    changed: the change edits, adds or removes the file
    """

    file: str
    changed: bool
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class DependencyGrowth(_OldAndNew):
    """Loaded bytes of a dependency whose version the change edits.

    file: that states its version, or the folder of a submodule
    old_version, new_version: empty if the dependency is new, or removed
    """

    name: str
    file: str
    old_version: str
    new_version: str
    old: int
    new: int
