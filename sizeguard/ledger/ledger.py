"""The ledger of an image: the owner of each byte of the file and of the loaded memory.

It consists of two exact partitions over one table of owners. Half a million symbols make two
million spans, so all data is in columns: entry i of each array of a table is row i.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.sums import Sums
from sizeguard.columns.texts import Int, Int8, Int32, Texts
from sizeguard.formats.link_kind import OBJECT
from sizeguard.formats.magics import ARCHIVE
from sizeguard.ledger.partition import Partition

if TYPE_CHECKING:
    from sizeguard.formats.linkmap.link_map import InputSection
    from sizeguard.ledger.region_use import RegionUse


NONE = -1


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """The image that was measured.

    file: bytes of the file; load: bytes of ALLOC sections except NOBITS; ram: bytes of writable
    ALLOC sections with NOBITS.

    format: elf or macho; id: build id or UUID in hex; empty if there is none.

    needed: libraries, search paths and interpreter that the loader also needs, sorted; None if not
    recorded

    regions: memory regions, and the image's use of them; None if not known

    kind: executable, shared library or another name of formats.link_kind; empty if not known
    """

    path: str
    title: str
    format: str
    arch: str
    id: str
    file: int
    load: int
    ram: int
    needed: tuple[str, ...] | None = None
    regions: tuple[RegionUse, ...] | None = None
    kind: str = ""

    @property
    def adds_underscore(self) -> bool:
        """Return whether the format puts an underscore before each name."""
        return self.format == "macho" or (self.format in ("pe", "coff") and self.arch == "i386")

    @property
    def is_of_objects(self) -> bool:
        """Return whether no linker made it: it is an object, or an archive, usually of objects."""
        return self.kind == OBJECT or self.format == ARCHIVE


class Owners:
    """Owners of spans, as columns; NONE if not known.

    section:  index into Ledger.sections, which contain the bytes
    segment:  index into Ledger.segments
    kind:     index into ledger.kinds.KINDS: code, rodata, unwind, padding …
    analyzer: index into ledger.kinds.ANALYZERS: the analyzer that found the owner
    symbol:   index into Ledger.symbols; for an alias group, its first name
    group:    index into Ledger.groups if several symbols share the bytes
    input:    index into Ledger.inputs: the row of the linker map
    part:     index into Ledger.parts: a name more precise than a symbol, such as a registration
              entry

    Slots and stubs of imports have the import as their symbol.

    A column is made on first use. For libtorch_cpu.so each takes 3 or 14 MB, and a report by symbol
    needs three.
    """

    COLUMNS = (
        "section",
        "segment",
        "kind",
        "analyzer",
        "symbol",
        "group",
        "input",
        "part",
    )

    def __init__(
        self,
        count: int,
        make: Callable[[str], npt.NDArray[Any]],
        make_some: Callable[[str, Int], npt.NDArray[Any]] | None = None,
    ) -> None:
        """Store the number of rows, and a function that makes a column by its name.

        make_some: makes a column's values for some rows, ascending
        """
        self._count = count
        self._make = make
        self._make_some = make_some

    @staticmethod
    def of(columns: Mapping[str, npt.NDArray[Any]]) -> Owners:
        """Make a table from columns in memory."""
        return Owners(len(columns["section"]), columns.__getitem__)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._count

    def some(self, name: str, rows: Int) -> npt.NDArray[Any]:
        """Return a column's values for some rows; if these ascend, the column is not made."""
        make = self._make_some
        if make is not None and name not in self.__dict__ and not (rows[1:] < rows[:-1]).any():
            return make(name, rows)
        found: npt.NDArray[Any] = getattr(self, name)[rows]
        return found

    @cached_property
    def section(self) -> Int32:
        """Index into Ledger.sections."""
        return self._make("section")

    @cached_property
    def segment(self) -> Int32:
        """Index into Ledger.segments."""
        return self._make("segment")

    @cached_property
    def kind(self) -> Int8:
        """Index into ledger.kinds.KINDS."""
        return self._make("kind")

    @cached_property
    def analyzer(self) -> Int8:
        """Index into ledger.kinds.ANALYZERS."""
        return self._make("analyzer")

    @cached_property
    def symbol(self) -> Int32:
        """Index into Ledger.symbols, or NONE."""
        return self._make("symbol")

    @cached_property
    def group(self) -> Int32:
        """Index into Ledger.groups, or NONE."""
        return self._make("group")

    @cached_property
    def input(self) -> Int32:
        """Index into Ledger.inputs, or NONE."""
        return self._make("input")

    @cached_property
    def part(self) -> Int32:
        """Index into Ledger.parts, or NONE."""
        return self._make("part")


@dataclass(frozen=True, slots=True)
class AliasGroups:
    """Names of the same bytes: aliases, and functions that the linker folded.

    Group g has the symbols member[first[g]:first[g + 1]]. Each member gets an equal share. The
    first members get the remainder, a byte each, so shares sum exactly.
    """

    first: Int32
    member: Int32


@dataclass(frozen=True, slots=True)
class MemoryPartition:
    """Spans that cover the memory of all loaded segments once, in order of address.

    Span i is [address[i], address[i] + size[i]).
    """

    address: Int
    size: Int
    owner: Int


@dataclass(frozen=True, eq=False)
class Ledger:
    """The two partitions of an image, and the tables that their owners refer to.

    file covers [0, image.file), memory the loaded segments. The owner of a span in either partition
    is a row of owners.

    symbols: distinct names; hashes: text_hash.hash_texts of them; make_hash_order: returns the
    indices in ascending order of the hashes.

    make_file, make_memory: make the partitions. For three million spans that takes as long as all
    sums, and reports do not need the partitions.
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

    # Computed on each access: stored, they would take 110 MB for libtorch_cpu.so, and touching
    # fresh memory takes 30 ms a column, more than computing them.

    @property
    def file_bytes(self) -> Int:
        """Bytes of the file of each owner, int64; they sum to image.file."""
        return self.sums.column("file")

    @property
    def load(self) -> Int:
        """Loaded bytes of each owner, int64; they sum to image.load."""
        return self.sums.column("load")

    @property
    def ram(self) -> Int:
        """Bytes of writable memory of each owner, int64; they sum to image.ram."""
        return self.sums.column("ram")

    @property
    def count(self) -> Int:
        """Spans of each owner: those in the file, and those in memory that are not in the file."""
        return self.sums.column("count")

    @cached_property
    def file(self) -> Partition:
        """The partition of the file."""
        return self.make_file()

    @cached_property
    def memory(self) -> MemoryPartition:
        """The partition of the loaded memory."""
        return self.make_memory()
