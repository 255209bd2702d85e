"""Rules that say what the names of an image mean: operator, kernel, dtype and component."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sizeguard.names.operator_words import OperatorNames

ANONYMOUS = "_GLOBAL__N_1"

# The words of a namespace, as they are mangled.
Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: a condition, and values of levels.

    The condition is one of these:

    within:     members of a namespace; with `identifier`, those that the pattern fits
    namespace:  names in it, and names that mention it unless `mentions` is false. A weak rule
                yields to what a name mentions: std::vector<dnnl::memory> is oneDNN's
    prefix:     names that begin with the text
    identifier: names that hold this identifier; its operator precedes those of members

    Values may hold {name}, the member's identifier, and {operator}, the known operator that it
    names. A rule with {operator} does not fit a member that names none.

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

    def fits(self, identifier: str) -> bool:
        """Return whether a member's identifier fits the rule's pattern, if it has one."""
        return not self.identifier or fnmatch.fnmatchcase(identifier, self.identifier)


@dataclass(frozen=True, slots=True)
class PlaceRule:
    """A component for all bytes of a place, whatever their names say.

    globs: level and pattern, such as (source, */zlib/*); all of them have to fit
    place: file and line, for messages
    """

    place: str
    globs: tuple[tuple[str, str], ...]
    component: str


@dataclass(frozen=True)
class Rules:
    """Rules in order, and lists of names that are read in another way.

    For operator, kernel, dtype and component apart, the first rule that fits decides.

    names:       known operators
    transparent: namespaces whose members count as members of the namespace around them
    drivers:     templates that run any operator's loop: they belong to no operator, and a lambda
                 that they call takes elements
    helpers:     more names that belong to no operator
    marks:       ends of members that follow a substitution (S3_), whose namespace is not there
    containers:  templates whose arguments are not dtype: ArrayRef<long>
    indexed:     namespaces of templates over elements and an index type, Int or Long: Eigen's
                 gemm_pack_rhs<float, long>
    cases:       functions that a dtype switch inlines, one for each branch, with the dtype among
                 their template arguments
    case_types:  templates that have the type of a switch's branch: a lambda that uses a local name
                 for it, CTYPE, belongs to the branch
    libraries:   components whose names without a meaning lie between others of theirs
    dtypes:      class → dtype
    absent:      dtypes that such images do not have: uint32_t stands for four bytes of any dtype
                 there
    places:      rules by source, section, object or symbol; they precede those by name, and the
                 first that fits decides
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
        """Return whether debug information may say which code belongs to a branch."""
        return bool(self.cases or self.case_types)

    def before(self, other: Rules) -> Rules:
        """Join two sets of rules; where both say something, this one counts."""
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
    """Return a word of a namespace as it is mangled."""
    return ANONYMOUS if word == "(anonymous namespace)" else word


def mangled(path: Sequence[str]) -> str:
    """Return a namespace as it is mangled: 2at6native. std is not: it has an abbreviation."""
    return "".join(f"{len(word)}{word}" for word in path)
