"""Claims on an image as values, before they are judged."""

from __future__ import annotations

from collections.abc import Mapping

from sizeguard.base.dataclass import dataclass
from sizeguard.claims.listed_names import FeatureMarks


@dataclass(frozen=True, slots=True)
class RegisteredName:
    """A name in a registration table. table: operator or class."""

    table: str
    name: str


@dataclass(frozen=True, slots=True)
class KernelCode:
    """The code of a kernel, found by its function's name."""

    function: str


@dataclass(frozen=True, slots=True)
class DtypeBranch:
    """The branch for a dtype in the switches of a tag."""

    tag: str
    dtype: str


@dataclass(frozen=True, slots=True)
class OtherBodies:
    """Instances of dtype bodies that do not belong to a selected branch."""


@dataclass(frozen=True, slots=True)
class SwitchHandler:
    """Calls of the shared handler, for dtypes left out, in the switches of a tag."""

    tag: str
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NeverReturns:
    """Callers that treat the shared handler as a function that never returns."""


@dataclass(frozen=True, slots=True)
class FeatureCode:
    """A build feature, found by code and texts that only this feature adds."""

    feature: str


@dataclass(frozen=True, slots=True)
class StartUp:
    """Code other than registrations that runs before main."""


@dataclass(frozen=True, slots=True)
class Exported:
    """Definitions of its objects that a program exports."""


@dataclass(frozen=True, slots=True)
class LostCode:
    """Code that nothing in the program references."""


@dataclass(frozen=True, slots=True)
class HiddenRemains:
    """Deselected code under another name or in another place."""


@dataclass(frozen=True, slots=True)
class SameSelection:
    """The built selection, which must be the requested one.

    differences: names that only one of the two keeps
    """

    differences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NamedByUser:
    """A symbol or operator that a user named."""

    text: str


Question = (
    RegisteredName
    | KernelCode
    | DtypeBranch
    | OtherBodies
    | SwitchHandler
    | NeverReturns
    | FeatureCode
    | StartUp
    | Exported
    | LostCode
    | HiddenRemains
    | SameSelection
    | NamedByUser
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim on an image; it gets exactly one verdict.

    kind, name: for display
    expect:     absent or present
    reason:     why the claim does not apply to this build; empty if it does
    """

    kind: str
    name: str
    expect: str
    question: Question
    reason: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Return a key that identifies the claim in a list."""
        return self.kind, self.name, self.expect


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Names of a runtime in its objects, needed to judge claims.

    hidden_prefixes: namespaces, with `::`, that short names leave out
    kernels:         the namespace of kernels, with `::`
    case, switch:    names of templates that mark a case and a switch in debug information
    handler:         the function that the cases of deselected dtypes call
    handler_symbol:  part of its mangled name that identifies it
    registering:     functions that register tables before main
    """

    hidden_prefixes: tuple[str, ...] = ()
    kernels: str = ""
    case: str = ""
    switch: str = ""
    handler: str = ""
    handler_symbol: str = ""
    registering: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimSet:
    """All claims on a build, with the facts about its runtime that judging needs.

    classes: known custom classes
    handled: classes that selected operators take or return
    helpers: functions that have the name of a kernel but are not kernels
    bodies:  patterns of the functions that serve the dtypes of each tag
    others:  instances of these templates that do not belong to a branch
    users:   instances that belong to a branch, with the kernels that call them without its switch
    marks:   evidence of each build feature
    """

    claims: tuple[Claim, ...]
    vocabulary: Vocabulary
    classes: tuple[str, ...]
    helpers: frozenset[str]
    bodies: Mapping[str, tuple[str, ...]]
    others: frozenset[str]
    users: Mapping[str, tuple[str, ...]]
    marks: Mapping[str, FeatureMarks]
    handled: frozenset[str] = frozenset()
