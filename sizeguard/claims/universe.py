"""Everything that a selection chooses from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sizeguard.base.dataclass import dataclass
from sizeguard.claims.listed_names import BuildNames
from sizeguard.operators.library import Operator
from sizeguard.selection.resolve import check_names, effective_selection
from sizeguard.selection.selectable import Selectable
from sizeguard.selection.selection import Selection


@dataclass(frozen=True, slots=True)
class Universe:
    """The names that selections of a runtime can contain.

    operators: by name with overload
    names:     of the full build, measured now or written earlier
    """

    operators: Mapping[str, Operator]
    names: BuildNames

    @property
    def dtypes(self) -> Mapping[str, Sequence[str]]:
        """Return the dtypes of each kernel tag's switches."""
        return self.names.dtypes

    @property
    def tags(self) -> tuple[str, ...]:
        """Kernel tags, sorted."""
        return tuple(sorted(self.names.dtypes))

    @property
    def classes(self) -> tuple[str, ...]:
        """Custom classes."""
        return self.names.classes

    @property
    def features(self) -> tuple[str, ...]:
        """Build features, sorted."""
        return tuple(sorted(self.names.features))

    def kernel(self, name: str) -> str:
        """Return the function of an operator: the registered one, else the one in its library."""
        return self.names.operators.get(name) or self.operators[name].kernel

    def resolve(self, selection: Selection, source: str, *, dtypes: bool = True) -> Selection:
        """Resolve a selection to the names that its build keeps.

        Raises InputError for names that do not exist.
        """
        known = Selectable(self.operators, self.dtypes, self.classes, self.features)
        check_names(selection, source, known)
        return effective_selection(selection, self.operators, self.tags, all_dtypes=not dtypes)
