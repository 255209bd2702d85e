"""Everything that a selection chooses from, and the names of a full build."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sizeguard.claims.claim import FeatureMarks
from sizeguard.names.short import bare_name
from sizeguard.operators.library import Operator
from sizeguard.selection.resolve import check_names, effective_selection
from sizeguard.selection.selectable import Selectable
from sizeguard.selection.selection import Selection


@dataclass(frozen=True, slots=True)
class BuildNames:
    """The names of a full build, from its registrations, its code and its debug information.

    operators: each with the function that it is registered with
    dtypes:    the dtypes in the switches of each kernel tag
    classes:   custom classes
    features:  build features, with their evidence
    helpers:   functions that have the name of a kernel but are not kernels
    bodies:    patterns of the functions that serve the dtypes of each tag (verify/branches/bodies)
    others:    instances of these templates that do not belong to a branch
    users:     instances that belong to a branch, with the kernels that call them without its switch
    """

    operators: Mapping[str, str]
    dtypes: Mapping[str, tuple[str, ...]]
    classes: tuple[str, ...]
    features: Mapping[str, FeatureMarks]
    helpers: frozenset[str] = frozenset()
    bodies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    others: frozenset[str] = frozenset()
    users: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def with_full(self, full: BuildNames) -> BuildNames:
        """Add the names of a full build to names that were written for an earlier one.

        Helpers, other instances and users count only next to names that the earlier build lacks.
        Otherwise a change could excuse a copy of a kernel.
        """
        heads = {text.partition("<")[0] for each in self.bodies.values() for text in each}
        kernels = set(self.operators.values())
        tags = dict.fromkeys((*self.dtypes, *full.dtypes))
        return BuildNames(
            operators={**self.operators, **full.operators},
            dtypes={tag: _united(self.dtypes.get(tag), full.dtypes.get(tag)) for tag in tags},
            classes=tuple(sorted({*self.classes, *full.classes})),
            features=self.features,
            helpers=self.helpers
            | {text for text in full.helpers if bare_name(text) not in kernels},
            bodies={tag: _united(self.bodies.get(tag), full.bodies.get(tag)) for tag in tags},
            others=self.others
            | {text for text in full.others if text.partition("<")[0] not in heads},
            users={
                **{t: names for t, names in full.users.items() if t.partition("<")[0] not in heads},
                **self.users,
            },
        )


def _united(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*(one or ()), *(other or ()))))


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
