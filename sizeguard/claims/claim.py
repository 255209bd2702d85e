"""Claims on an image as values: what is to be judged, before anything is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RegisteredName:
    """Whether a table registers a name. table: operator or class."""

    table: str
    name: str


@dataclass(frozen=True, slots=True)
class KernelCode:
    """Whether the code of a kernel is there, by its function's name."""

    function: str


@dataclass(frozen=True, slots=True)
class DtypeBranch:
    """Whether the branch of a tag's switches for a dtype is there."""

    tag: str
    dtype: str


@dataclass(frozen=True, slots=True)
class OtherBodies:
    """Whether instances of dtype bodies are there that belong to no selected branch."""


@dataclass(frozen=True, slots=True)
class SwitchHandler:
    """Whether the switches of a tag call the shared handler for the dtypes that are left out."""

    tag: str
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NeverReturns:
    """Whether callers of the shared handler know that it never returns."""


@dataclass(frozen=True, slots=True)
class FeatureCode:
    """Whether a build feature is there, by what it alone adds."""

    feature: str


@dataclass(frozen=True, slots=True)
class StartUp:
    """Whether anything but registrations runs before main."""


@dataclass(frozen=True, slots=True)
class Exported:
    """Whether a program exports definitions of its objects."""


@dataclass(frozen=True, slots=True)
class LostCode:
    """Whether there is code that nothing of the program leads to."""


@dataclass(frozen=True, slots=True)
class HiddenRemains:
    """Whether anything that is left out is in the image under another name or elsewhere."""


@dataclass(frozen=True, slots=True)
class SameSelection:
    """Whether the selection that was built is the one that was requested.

    differences: what only one of them keeps
    """

    differences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NamedByUser:
    """Whether a symbol or operator that a person named is there."""

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

    kind, name: as people read it
    expect:     absent or present
    reason:     why it does not apply to this build; empty if it does
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
class FeatureMarks:
    """Evidence of a build feature, from builds with it and without it.

    texts:     constants that stand only in images with the feature
    without:   constants that stand only in images without it
    functions: mangled names of functions that only images with it have
    hosts:     mangled names of functions that are compiled otherwise without it; empty if texts
               tell enough
    load:      loaded bytes that the full build has more with it; 0 if that was not measured
    """

    texts: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    load: int = 0


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A runtime's words in objects, as far as judging claims needs them.

    hidden_prefixes: namespaces with their `::` that short names leave out
    kernels:         the namespace of kernels with its `::`
    case, switch:    templates that name a case and a switch in debug information
    handler:         the function that the cases of deselected dtypes call
    handler_symbol:  how its mangled names contain it
    registering:     functions that hand tables over before main
    class_registrar: the one of them that takes a custom class
    """

    hidden_prefixes: tuple[str, ...] = ()
    kernels: str = ""
    case: str = ""
    switch: str = ""
    handler: str = ""
    handler_symbol: str = ""
    registering: tuple[str, ...] = ()
    class_registrar: str = ""


@dataclass(frozen=True, slots=True)
class ClaimSet:
    """All claims on a build, with what judging them needs to know of its runtime.

    classes: custom classes that are known
    helpers: functions that have the name of a kernel and are none
    bodies:  patterns of the functions that serve the dtypes of each tag
    others:  instances of such templates that serve no branch
    marks:   signs of each build feature
    """

    claims: tuple[Claim, ...]
    vocabulary: Vocabulary
    classes: tuple[str, ...]
    helpers: frozenset[str]
    bodies: Mapping[str, tuple[str, ...]]
    others: frozenset[str]
    marks: Mapping[str, FeatureMarks]
