"""What an image is, byte by byte: two exact partitions, of the file and of the memory it is loaded into, over one table of owners.

Half a million symbols make two million spans, so everything is a column: entry i of each array of a table is row i of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sizeguard.formats.texts import Int, Texts
from sizeguard.ledger.partition import Partition
from sizeguard.ledger.sums import Sums

if TYPE_CHECKING:
    from sizeguard.formats.linkmap.row import InputSection

Int32 = npt.NDArray[np.int32]
Int8 = npt.NDArray[np.int8]

NONE = -1


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """What was measured. Bytes: file all of it, load of ALLOC sections but NOBITS, ram of writable ALLOC sections with NOBITS.

    format: elf or macho; id: build id or UUID in hex, empty if there is none.
    """

    path: str
    title: str
    format: str
    arch: str
    id: str
    file: int
    load: int
    ram: int


class Owners:
    """Whom spans belong to. NONE where nothing is known.

    section:    of Ledger.sections, where the bytes lie
    segment:    of Ledger.segments
    kind:       of ledger.kinds.KINDS: code, rodata, unwind, padding …
    analyzer:   of ledger.kinds.ANALYZERS: who said so
    confidence: percent: 100 what the file itself states, less what was inferred
    symbol:     of Ledger.symbols; of an alias group its first name
    group:      of Ledger.groups if several symbols share the bytes
    input:      of Ledger.inputs: the row of the linker map
    part:       of Ledger.parts: what says more than a symbol can: a registration entry

    Slots and stubs of imports have the import as their symbol.

    A column is made when it is first asked for: of libtorch_cpu.so each takes 3 or 14 MB, and a report by symbol needs three.
    """

    COLUMNS = ("section", "segment", "kind", "analyzer", "confidence", "symbol", "group", "input", "part")

    def __init__(self, count: int, make: Callable[[str], npt.NDArray[Any]]) -> None:
        self._count = count
        self._make = make

    @staticmethod
    def of(columns: Mapping[str, npt.NDArray[Any]]) -> Owners:
        """Of columns that are there."""
        return Owners(len(columns["section"]), columns.__getitem__)

    def __len__(self) -> int:
        return self._count

    @cached_property
    def section(self) -> Int32:
        return self._make("section")

    @cached_property
    def segment(self) -> Int32:
        return self._make("segment")

    @cached_property
    def kind(self) -> Int8:
        return self._make("kind")

    @cached_property
    def analyzer(self) -> Int8:
        return self._make("analyzer")

    @cached_property
    def confidence(self) -> Int8:
        return self._make("confidence")

    @cached_property
    def symbol(self) -> Int32:
        return self._make("symbol")

    @cached_property
    def group(self) -> Int32:
        return self._make("group")

    @cached_property
    def input(self) -> Int32:
        return self._make("input")

    @cached_property
    def part(self) -> Int32:
        return self._make("part")


@dataclass(frozen=True, slots=True)
class AliasGroups:
    """Names of the same bytes: aliases, and functions that the linker folded. Group g has the symbols member[first[g]:first[g + 1]].

    Who is charged: each member an equal share, the remainder a byte each to the first ones, so that shares sum exactly.
    """

    first: Int32
    member: Int32


@dataclass(frozen=True, slots=True)
class MemoryPartition:
    """Spans that cover the memory of all loaded segments once, in order of address: [address[i], address[i] + size[i])."""

    address: Int
    size: Int
    owner: Int


@dataclass(frozen=True, eq=False)
class Ledger:
    """file covers [0, image.file); memory the loaded segments. owner in both: a row of owners.

    symbols are distinct, hashes are text_hash.hash_texts of them, make_hash_order says in which order those ascend.

    make_file, make_memory: the partitions of three million spans take as long as all sums; reports do not ask for them.
    """

    image: ImageInfo
    sections: tuple[str, ...]
    segments: tuple[str, ...]
    symbols: Texts
    inputs: tuple[InputSection, ...]
    parts: Texts
    owners: Owners
    groups: AliasGroups
    make_file: Callable[[], Partition]
    make_memory: Callable[[], MemoryPartition]
    sums: Sums
    hashes: npt.NDArray[np.uint64]
    make_hash_order: Callable[[], Int]

    # Made anew each time: together they take 110 MB of libtorch_cpu.so, and fresh memory costs more time (30 ms a column) than they do.

    @property
    def file_bytes(self) -> Int:
        """int64, of each owner; they sum to image.file."""
        return self.sums.column("file")

    @property
    def load(self) -> Int:
        """They sum to image.load."""
        return self.sums.column("load")

    @property
    def ram(self) -> Int:
        """They sum to image.ram."""
        return self.sums.column("ram")

    @property
    def count(self) -> Int:
        """Spans of the file, and of memory those that the file does not hold."""
        return self.sums.column("count")

    @cached_property
    def file(self) -> Partition:
        return self.make_file()

    @cached_property
    def memory(self) -> MemoryPartition:
        return self.make_memory()
