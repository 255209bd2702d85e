"""Rules for the names of an image: operator, kernel, dtype and component."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from sizeguard.base.dataclass import dataclass
from sizeguard.names.demangle import ANONYMOUS
from sizeguard.names.operator_words import OperatorNames

MANGLED_ANONYMOUS = "_GLOBAL__N_1"

# The words of a namespace, as mangled.
Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: a condition, and values of levels.

    The condition is one of the following:

    within:     members of a namespace; with `identifier`, those that match the pattern
    namespace:  names in it, and names that mention it unless `mentions` is false. A weak rule gives
                way to mentioned namespaces: std::vector<dnnl::memory> is oneDNN's
    prefix:     names that begin with the text, without the underscore that a format adds
    identifier: names that contain this identifier; its operator precedes those of members

    Values may contain {name}, the member's identifier, and {operator}, the known operator that it
    names. A rule with {operator} does not match a member without an operator.

    place: file and line, for messages
    """

    place: str
    within: Path = ()
    identifier: str = ""
    namespace: Path = ()
    prefix: str = ""
    weak: bool = False
    mentions: bool = True
    operator: str = ""
    kernel: str = ""
    dtype: str = ""
    component: str = ""


@dataclass(frozen=True, slots=True)
class PlaceRule:
    """A component for all bytes of a place, regardless of their names.

    globs: level and pattern, such as (source, */zlib/*); all of them must match
    place: file and line, for messages
    """

    place: str
    globs: tuple[tuple[str, str], ...]
    component: str


@dataclass(frozen=True)
class Rules:
    """Rules in order, and lists of names with special meanings.

    For each of operator, kernel, dtype and component, the first matching rule wins.

    names:       known operators
    transparent: namespaces whose members count as members of the surrounding namespace
    drivers:     templates that run the loop of any operator: they belong to no operator, and
                 lambdas that they call take elements
    helpers:     more names that belong to no operator
    marks:       suffixes of members after a substitution (S3_), which hides their namespace
    containers:  templates with arguments that are not dtypes: ArrayRef<long>
    indexed:     namespaces of templates over elements and an index type, Int or Long: Eigen's
                 gemm_pack_rhs<float, long>
    cases:       functions that a dtype switch inlines, one for each branch, with the dtype among
                 their template arguments
    case_types:  templates that contain the type of a switch's branch: a lambda that uses a local
                 name for it, CTYPE, belongs to the branch
    libraries:   components that also get the meaningless names between their other names
    dtypes:      class → dtype
    absent:      dtypes that such images do not have: there, uint32_t means four bytes of any dtype
    places:      rules by source, section, object or symbol; they precede rules by name, and the
                 first match wins
    """

    names: OperatorNames
    transparent: tuple[str, ...]
    drivers: tuple[str, ...]
    helpers: tuple[str, ...]
    marks: tuple[str, ...]
    containers: tuple[str, ...]
    indexed: tuple[str, ...]
    cases: tuple[str, ...]
    case_types: tuple[str, ...]
    libraries: tuple[str, ...]
    dtypes: tuple[tuple[str, str], ...]
    absent: tuple[str, ...]
    rules: tuple[Rule, ...]
    places: tuple[PlaceRule, ...] = ()

    @functools.cached_property
    def shared(self) -> frozenset[str]:
        """Members that belong to no operator."""
        return frozenset((*self.drivers, *self.helpers))

    @property
    def has_cases(self) -> bool:
        """Return whether debug information can show which code belongs to a branch."""
        return bool(self.cases or self.case_types)

    def before(self, other: Rules) -> Rules:
        """Join two sets of rules; if both have a value, this one wins."""
        return Rules(
            names=self.names if len(self.names) else other.names,
            transparent=_joined(self.transparent, other.transparent),
            drivers=_joined(self.drivers, other.drivers),
            helpers=_joined(self.helpers, other.helpers),
            marks=_joined(self.marks, other.marks),
            containers=_joined(self.containers, other.containers),
            indexed=_joined(self.indexed, other.indexed),
            cases=_joined(self.cases, other.cases),
            case_types=_joined(self.case_types, other.case_types),
            libraries=_joined(self.libraries, other.libraries),
            dtypes=tuple({**dict(other.dtypes), **dict(self.dtypes)}.items()),
            absent=_joined(self.absent, other.absent),
            rules=(*self.rules, *other.rules),
            places=(*self.places, *other.places),
        )


def _joined(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*first, *second]))


def identifier_of(word: str) -> str:
    """Return a word of a namespace in its mangled form."""
    return MANGLED_ANONYMOUS if word == ANONYMOUS else word
