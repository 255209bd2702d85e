"""Everything that a selection chooses from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sizeguard.operators.library import Operator
from sizeguard.selection.resolve import check_names, effective_selection
from sizeguard.selection.selection import Selection


@dataclass(frozen=True, slots=True)
class Universe:
    """The names that selections of a runtime can hold.

    operators: by name with overload
    dtypes:    of each kernel tag the dtypes that its switches have
    classes:   custom classes
    features:  build features
    """

    operators: Mapping[str, Operator]
    dtypes: Mapping[str, Sequence[str]]
    classes: tuple[str, ...]
    features: tuple[str, ...]

    @property
    def tags(self) -> tuple[str, ...]:
        """Kernel tags, sorted."""
        return tuple(sorted(self.dtypes))

    def resolve(self, selection: Selection, source: str, *, dtypes: bool = True) -> Selection:
        """Resolve a selection to what its build keeps.

        Raises InputError for names that do not exist.
        """
        check_names(selection, source, self.operators, self.tags)
        return effective_selection(selection, self.operators, self.tags, all_dtypes=not dtypes)
