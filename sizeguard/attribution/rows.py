"""Analysis of one image: its ledger's owners as rows, labelled from the files of its link."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sizeguard.attribution import level_labels
from sizeguard.attribution.analysis import Aliases
from sizeguard.attribution.levels import LEVELS, unknown_level
from sizeguard.attribution.operator_labels import (
    operators_by_name,
    operators_by_reach,
    operators_per_owner,
)
from sizeguard.attribution.owner_rows import OwnerRows
from sizeguard.attribution.owners.library_rows import LibraryRows
from sizeguard.attribution.teams.placed_components import placed_components
from sizeguard.attribution.teams.team_levels import derived_label, regions
from sizeguard.base.dataclass import dataclass
from sizeguard.columns.label import Label
from sizeguard.columns.sums import WHAT, Counts, SumsById
from sizeguard.columns.texts import Int, Int32, Texts, without_underscore
from sizeguard.ledger.ledger import Ledger

if TYPE_CHECKING:
    from sizeguard.attribution.known_labels import KnownLabels
    from sizeguard.attribution.owners.branches import Branched
    from sizeguard.attribution.owners.placed_owners import PlacedOwners
    from sizeguard.attribution.owners.registered_owners import Served
    from sizeguard.builds.shipped_libraries import ShippedLibrary
    from sizeguard.formats.dwarf.sources import UnitSources
    from sizeguard.linkgraph.retained import NodeUsers
    from sizeguard.names.labels import NameLabels
    from sizeguard.runtimes.recognise import Choice


@dataclass(frozen=True, slots=True)
class LabelSources:
    """Sources of the labels of one image.

    choice:   rules for names
    placed:   for a link with known objects: the operators that reach the bytes
    served:   the functions that registration tables name
    branched: the dtype branches inside functions
    libraries: the libraries that ship with the image
    code_sources: reads the source files of code; None without debug information
    is_named: whether the user named the preset
    reads_dtypes: whether the names will be asked for dtypes; if not, the first request takes longer
    """

    ledger: Ledger
    title: str
    choice: Choice
    placed: PlacedOwners | None = None
    served: Served | None = None
    branched: Branched | None = None
    libraries: Sequence[ShippedLibrary] = ()
    code_sources: Callable[[], UnitSources] | None = None
    is_named: bool = False
    reads_dtypes: bool = True

    @property
    def rules(self) -> str:
        """The rules that names are read with; empty if none fit."""
        own = "your own" if self.choice.rules is not None else ""
        preset = self.choice.name if self.choice.fits or self.is_named else ""
        return " and ".join(filter(None, (own, preset)))


class LedgerAnalysis:
    """Analysis of a ledger; see analysis.Analysis for its methods and OwnerRows for its rows.

    Labels are computed on first use.
    """

    def __init__(self, evidence: LabelSources, *, merge_names: bool = False) -> None:
        """Prepare the rows; merge_names: see `with_merged_names`."""
        self.names_are_merged = merge_names
        self._evidence = evidence
        self.image = replace(evidence.ledger.image, title=evidence.title)
        self._libraries = LibraryRows(evidence.libraries) if evidence.libraries else None
        if self._libraries is not None:
            self.image = self._libraries.image(self.image)
        self._known: KnownLabels | None = None
        self._named: NameLabels | None = None
        self._labels: dict[str, Label] = {}
        self._longer: dict[str, Label] = {}

    @cached_property
    def _rows(self) -> OwnerRows:
        ledger, placed = self._evidence.ledger, self._evidence.placed
        operators = operators_per_owner(ledger, placed) if placed is not None else None
        return OwnerRows(ledger, operators, merge_names=self.names_are_merged)

    def with_merged_names(self) -> LedgerAnalysis:
        """Return an analysis whose bytes with several names are one row, if that is possible.

        A report by symbol merges these rows anyway; making and merging them takes 0.04 s for
        libtorch_cpu.so.
        """
        if self._evidence.placed is not None or self._libraries is not None:
            return self
        merged = LedgerAnalysis(self._evidence, merge_names=True)
        merged.image = self.image
        return merged

    def look_up(self, known: KnownLabels) -> None:
        """Read the labels of names from `known`, which also stores the new ones."""
        self._known = known

    # Computed on each access, as in the ledger.

    @property
    def file(self) -> Int:
        """Bytes of the file, by row."""
        return self._sums("file")

    @property
    def load(self) -> Int:
        """Loaded bytes, by row."""
        return self._sums("load")

    @property
    def ram(self) -> Int:
        """Bytes of writable memory, by row."""
        return self._sums("ram")

    @property
    def count(self) -> Counts:
        """Number of spans, by row."""
        counts, more = self._rows.counts(), self._libraries
        return counts if more is None else np.concatenate([counts, more.sums("count")])

    def _sums(self, what: str) -> Int:
        sums = self._rows.sums(what)
        more = self._libraries
        return sums if more is None else np.concatenate([sums, more.sums(what)])

    def sums_by(self, ids: Int | Int32, count: int) -> SumsById:
        """Sum all rows with equal id; 0 <= ids < count."""
        more = self._libraries
        if more is None:
            return self._rows.sums_by(ids, count)
        found = self._rows.sums_by(ids[: -len(more)], count)
        for what, column in zip(WHAT, found, strict=True):
            np.add.at(column, ids[-len(more) :], more.sums(what))
        return found

    @property
    def users(self) -> NodeUsers | None:
        """Operators that reach each node of the section graph; None if taken from names."""
        placed = self._evidence.placed
        return None if placed is None else placed.reached.users

    @property
    def rules(self) -> str | None:
        """The rules that names were read with; empty if none fit."""
        return self._evidence.rules

    @property
    def has_pieces(self) -> bool:
        """Return whether some rows are pieces that debug information cuts out of functions."""
        return self._evidence.branched is not None

    def inlined(self) -> dict[tuple[str, str], int]:
        """Return the loaded bytes of inlined dtype branches, by (operator, dtype).

        The operator is the only one that reaches the function around a branch.
        """
        placed, branched = self._evidence.placed, self._evidence.branched
        found: dict[tuple[str, str], int] = {}
        if placed is None or branched is None:
            return found
        owners, load = self._rows.ledger.owners, self._rows.ledger.load
        for owner in np.flatnonzero(branched.dtype >= 0).tolist():
            if owners.input[owner] >= 0:
                operator = placed.of_input[owners.input[owner]]
                key = operator, branched.dtypes[branched.dtype[owner]]
                found[key] = found.get(key, 0) + int(load[owner])
        return found

    def label(self, level: str) -> Label:
        """Return the labels of a level. Raises InputError if it is not one of LEVELS."""
        if level not in LEVELS:
            raise unknown_level(level)
        more = self._libraries
        if more is None:
            return self._own(level)
        if level not in self._longer:
            self._longer[level] = more.label(level, self._own(level))
        return self._longer[level]

    def _own(self, level: str) -> Label:
        """Return the labels of the image's rows, without its libraries."""
        if level not in self._labels:
            self._labels[level] = self._make(level)
        return self._labels[level]

    def aliases(self) -> Aliases | None:
        """Return the groups of names that share bytes; None if no bytes have several names."""
        ledger = self._rows.ledger
        groups = ledger.groups
        if not len(groups.member):
            return None
        group = self._rows.of_owner(ledger.owners.group)
        if self._libraries is not None:
            group = np.append(group, np.full(len(self._libraries), -1, np.int32))
        return Aliases(
            group,
            groups.first.astype(np.int64),
            ledger.symbols.take(groups.member),
            ledger.hashes[groups.member],
        )

    def _make(self, level: str) -> Label:
        rows, sources = self._rows, self._evidence
        make: dict[str, Callable[[], Label]] = {
            "operator": self._operators,
            "kernel": lambda: level_labels.kernels(
                rows, self._names, self._own("operator"), sources.placed
            ),
            "dtype": lambda: level_labels.dtypes(
                rows, self._labelled(dtypes=True), self._own("operator"), sources.branched
            ),
            "component": self._components,
            "kind": lambda: level_labels.kinds(rows),
            "section": lambda: level_labels.sections(rows),
            "segment": lambda: level_labels.segments(rows),
            "object": lambda: level_labels.objects(rows),
            "symbol": lambda: level_labels.symbols(rows),
            "analyzer": lambda: level_labels.analyzers(rows),
            "image": lambda: level_labels.constant(rows, self.image.title),
            "isa": lambda: level_labels.constant(rows, self.image.arch),
            "source": self._sources,
            "region": lambda: regions(self._own("section"), self.image.regions),
        }
        if level not in make:
            return derived_label(level, self._own)
        return make[level]()

    def _sources(self) -> Label:
        read = self._evidence.code_sources
        if read is None:
            return derived_label("source", self._own)
        return level_labels.sources(self._rows, read(), self._own("object"))

    def _operators(self) -> Label:
        placed, choice = self._evidence.placed, self._evidence.choice
        if placed is not None:
            return operators_by_reach(self._rows, placed)
        return operators_by_name(
            self._rows,
            self._names,
            self._components_of_symbols,
            self._evidence.served,
            knows_operators=len(choice.preset.names) > 0,
        )

    def _components(self) -> Label:
        of_symbol = self._components_of_symbols
        by_name = Label(self._rows.of_symbol(of_symbol.ids), of_symbol.texts)
        return placed_components(by_name, self._evidence.choice.preset.places, self._own)

    @cached_property
    def _components_of_symbols(self) -> Label:
        libraries = self._evidence.choice.preset.libraries
        return level_labels.components_of_symbols(
            self._rows.ledger, self._spelled, self._names, libraries
        )

    @property
    def _names(self) -> NameLabels:
        return self._labelled(dtypes=False)

    def _labelled(self, *, dtypes: bool) -> NameLabels:
        """Return the labels of names.

        They include dtypes if the caller needs them, or if later requests will.
        """
        if self._named is None or (dtypes and self._named.found_dtype is None):
            self._named = self._label_names(dtypes=dtypes or self._evidence.reads_dtypes)
        return self._named

    def _label_names(self, *, dtypes: bool) -> NameLabels:
        ledger, choice = self._rows.ledger, self._evidence.choice
        # Mach-O's _f and ELF's _f are different names.
        hashes = ~ledger.hashes if self._rows.ledger.image.adds_underscore else ledger.hashes
        if self._known is not None:
            return self._known.labels(self._spelled, hashes, choice, dtypes=dtypes)
        from sizeguard.names.labels import label_names  # takes 20 ms; only levels of names need it

        return label_names(self._spelled, choice.preset, dtypes=dtypes, hashes=hashes)

    @cached_property
    def _spelled(self) -> Texts:
        """The names of symbols as the rules spell them: without an underscore of the format."""
        names = self._rows.ledger.symbols
        return without_underscore(names) if self._rows.ledger.image.adds_underscore else names
