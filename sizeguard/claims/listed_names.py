"""The names of a full build, and the evidence of its features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from sizeguard.base.dataclass import dataclass
from sizeguard.names.short import bare_name


@dataclass(frozen=True, slots=True)
class FeatureMarks:
    """Evidence of a build feature, from builds with it and without it.

    texts:     constants that only images with the feature have
    without:   constants that only images without it have
    functions: mangled names of functions that only images with it have
    hosts:     mangled names of functions that compile differently without it; empty if texts
               suffice
    calls:     external functions → the runtime's functions that refer to them only in images with
               the feature
    options:   those of the runtime's own program in all builds, if the feature is one of them
    load:      loaded bytes that it adds to the full build; 0 if not measured
    linked:    those of them that the linker would drop without the functions; 0 if unknown
    """

    texts: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    calls: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    load: int = 0
    linked: int = 0
    options: tuple[str, ...] = ()


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
