"""Find operator, kernel, dtype and component of names, by rules."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.label import Label
from sizeguard.columns.pool import Pool
from sizeguard.columns.text_hash import Hash
from sizeguard.columns.texts import Int, Texts
from sizeguard.names.rules import MANGLED_ANONYMOUS, Path, Rule, Rules
from sizeguard.names.scan.dtype_words import dtype_texts
from sizeguard.names.scan.families import families
from sizeguard.names.scan.scan_names import CODE, Members, Scanned, scan_names

Int32 = npt.NDArray[np.int32]
Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class NameLabels:
    """Labels of names, one column for each level; empty texts if unknown.

    found_dtype: None if the names were not searched for dtypes
    """

    operator: Label
    kernel: Label
    found_dtype: Label | None
    component: Label

    def take(self, names: Int) -> NameLabels:
        """Return the labels of some names."""
        operator, kernel, component = (
            Label(label.ids[names], label.texts)
            for label in (self.operator, self.kernel, self.component)
        )
        dtype = self.found_dtype
        found = None if dtype is None else Label(dtype.ids[names], dtype.texts)
        return NameLabels(operator, kernel, found, component)

    @property
    def dtype(self) -> Label:
        """The dtypes. Raises LookupError if the names were not searched for them."""
        if self.found_dtype is None:
            raise LookupError("the names were not searched for dtypes")
        return self.found_dtype


def label_names(
    names: Texts, rules: Rules, *, dtypes: bool = True, hashes: Hash | None = None
) -> NameLabels:
    """Label names by rules. Equal names have equal labels.

    dtypes: whether to search for dtypes, too
    hashes: of the names, as for `families`; with them, one name is read for each family
    """
    if hashes is not None and not _reads_suffixes(rules):
        of_family = families(names, hashes)
        found = label_names(names.take(of_family.first), rules, dtypes=dtypes)
        return found.take(of_family.of)
    pool = Pool()
    scanned = scan_names(names, rules, dtypes=dtypes)
    levels = _Levels(scanned, len(names), rules, pool)
    columns = [levels.operator(), levels.kernel(), levels.component()]
    if dtypes:
        columns.append(levels.dtype())
    table = Texts.of(pool.texts)
    operator, kernel, component, *dtype = (Label(column, table) for column in columns)
    return NameLabels(operator, kernel, dtype[0] if dtype else None, component)


def _reads_suffixes(rules: Rules) -> bool:
    """Return whether a rule may distinguish a function from its clones: a prefix f.cold."""
    return any("." in rule.prefix for rule in rules.rules)


class _Levels:
    """Values of each level, by name, as numbers of texts; 0 if unknown.

    Values from rules and members of a name are sorted by place; usually the first one counts.
    """

    def __init__(self, scanned: Scanned, count: int, rules: Rules, pool: Pool) -> None:
        self.scanned = scanned
        self.count = count
        self.rules = rules
        self.pool = pool
        self.by_rule = _rules(scanned, rules, pool)
        self.by_member = _members(scanned, rules, pool)
        # Rules for a namespace that the name only mentions are weaker than the others.
        self.own = scanned.rules.is_mention == 0

    def operator(self) -> Int32:
        """Return the first operator; one from a rule for a single identifier precedes others.

        Such a rule is more precise than a rule for members: Dist<float>::run_parallel_pdist is not
        Dist's first operator.
        """
        is_word = [bool(rule.identifier and not rule.within) for rule in self.rules.rules]
        hits = self.scanned.rules
        # Places before the buffer, so that they come first.
        buffer = self.scanned.names.buffer
        earlier = np.where(np.array(is_word, bool)[hits.rule], len(buffer), 0)
        found = FirstValues(self.count)
        self._add_rules(found, self.by_rule.operator, self.own, hits.start - earlier)
        self._add_members(found, self.by_member.operator)
        return found.values()

    def kernel(self) -> Int32:
        """Return the member that names an operator; if there is none, the first member."""
        loose = FirstValues(self.count)
        self._add_members(loose, self.by_member.kernel)
        names_operator = self.by_member.operator > 0
        found = FirstValues(self.count)
        self._add_rules(found, self.by_rule.kernel, self.own)
        self._add_members(found, np.where(names_operator, self.by_member.kernel, 0))
        return found.values(loose.values())

    def component(self) -> Int32:
        """Return the component of the preset's first rule that matches the name or its members.

        Otherwise return the component of the first namespace that it mentions, otherwise of the
        first weak rule in the preset.
        """
        hits = self.scanned.rules
        is_weak = np.array([rule.weak for rule in self.rules.rules], bool)[hits.rule]
        # Sorted by name, then by rule, instead of by place.
        scale = len(self.rules.rules) + 1
        by_preset = hits.name.astype(np.int64) * scale + hits.rule
        weak = FirstValues(self.count)
        self._add_rules(weak, self.by_rule.component, self.own & is_weak, by_preset)
        mentioned = FirstValues(self.count)
        self._add_rules(mentioned, self.by_rule.component, ~self.own)
        sure = FirstValues(self.count)
        self._add_rules(sure, self.by_rule.component, self.own & ~is_weak, by_preset)
        members = self.scanned.members
        rank = members.name.astype(np.int64) * scale + self.by_member.rule
        sure.add(members.name, rank, self.by_member.component)
        return sure.values(mentioned.values(weak.values()))

    def dtype(self) -> Int32:
        """Return the first dtype from a rule or a member's rule, otherwise those in the name."""
        ids, texts = dtype_texts(self.scanned.dtypes, self.scanned.first_dtype)
        scanned = np.array([self.pool.number(text) for text in texts], np.int32)[ids]
        found = FirstValues(self.count)
        self._add_rules(found, self.by_rule.dtype, self.own)
        self._add_members(found, self.by_member.dtype)
        return found.values(scanned)

    def _add_rules(
        self, found: FirstValues, value: Int32, chosen: Bool, place: Int | None = None
    ) -> None:
        hits = self.scanned.rules
        place = hits.start if place is None else place
        # At most levels, few of the rules have a value.
        rows = np.flatnonzero(chosen & (value > 0))
        found.add(hits.name[rows], place[rows], value[rows])

    def _add_members(self, found: FirstValues, value: Int32) -> None:
        members = self.scanned.members
        found.add(members.name, members.start, value)


class FirstValues:
    """The value with the lowest place for each name; among equal places, the first one added.

    Places share one scale for all names, like places in a buffer.
    """

    def __init__(self, count: int) -> None:
        """Prepare for `count` names."""
        self._lowest = np.full(count, np.iinfo(np.int64).max)
        self._result = np.zeros(count, np.int32)

    def add(self, name: Int32, place: Int, value: Int32) -> None:
        """Add values of names; 0 is not a value."""
        CODE.call("first_values", name, place, value, len(name), self._lowest, self._result)

    def values(self, otherwise: Int32 | None = None) -> Int32:
        """Return a value for each name; `otherwise`, or 0, for names without one."""
        if otherwise is None:
            return self._result
        return np.where(self._result > 0, self._result, otherwise)


@dataclass(frozen=True, slots=True)
class _Outcomes:
    """Values from rules, by row of hits or members, as numbers of texts; 0 for none.

    rule: number of the first rule with a value
    """

    operator: Int32
    kernel: Int32
    dtype: Int32
    component: Int32
    rule: Int32


def _rules(scanned: Scanned, rules: Rules, pool: Pool) -> _Outcomes:
    """Return the values of the rules that match names, by row of hits."""
    table = np.array(
        [
            [pool.number(text) for text in (rule.operator, rule.kernel, rule.dtype, rule.component)]
            for rule in rules.rules
        ],
        np.int32,
    ).reshape(-1, 4)
    rule = scanned.rules.rule
    operator, kernel, dtype, component = (table[:, level][rule] for level in range(4))
    return _Outcomes(operator, kernel, dtype, component, rule)


def _members(scanned: Scanned, rules: Rules, pool: Pool) -> _Outcomes:
    """Apply rules once to each distinct member.

    libtorch_cpu.so has 400,000 members with 20,000 names.
    """
    members = scanned.members
    number, first = _distinct(members)
    start = members.start[first]
    texts = Texts(scanned.names.buffer, start, start + members.length[first]).all_raw()
    judge = _Judge(scanned.scopes, rules, pool)
    rows = np.array(
        [
            judge.values(text.decode("utf-8", "backslashreplace"), scope)
            for text, scope in zip(texts, members.scope[first].tolist(), strict=True)
        ],
        np.int32,
    )
    columns = np.ascontiguousarray(rows.reshape(-1, 5).T)
    return _Outcomes(*(column[number] for column in columns))


def _distinct(members: Members) -> tuple[Int32, Int]:
    """Return the number of each member among the distinct ones, and the first row of these."""
    count = len(members.name)
    number, first = np.empty(count, np.int32), np.empty(count, np.int64)
    table = np.full(1 << (2 * count).bit_length(), -1, np.int32)
    found = CODE.call(
        "number_members", members.hash, members.scope, count, table, len(table), number, first
    )
    return number, first[:found]


class _RuleValues(NamedTuple):
    """The values of a rule for members, at the levels where it has one.

    constants: level and number of the text; patterns: level and text with {operator} or {name}
    """

    number: int
    constants: tuple[tuple[int, int], ...]
    patterns: tuple[tuple[int, str], ...]

    @staticmethod
    def of(number: int, rule: Rule, pool: Pool) -> _RuleValues:
        """Prepare the values of a rule; number: of the rule."""
        texts = enumerate((rule.operator, rule.kernel, rule.dtype, rule.component))
        values = [(level, text) for level, text in texts if text]
        return _RuleValues(
            number,
            tuple((level, pool.number(text)) for level, text in values if "{" not in text),
            tuple((level, text) for level, text in values if "{" in text),
        )


class _ScopeRules:
    """Rules for members of one namespace.

    Most rules name one identifier, by which they are found, or match all identifiers.
    """

    def __init__(self, rules: Rules, path: Path, pool: Pool) -> None:
        self._exact: dict[str, list[_RuleValues]] = {}
        self._patterns: list[tuple[re.Pattern[str], _RuleValues]] = []
        self._of_all: list[_RuleValues] = []
        for number, rule in enumerate(rules.rules):
            if rule.within == path:
                values = _RuleValues.of(number, rule, pool)
                if rule.identifier in ("", "*"):
                    self._of_all.append(values)
                elif rule.identifier.replace("_", "").isalnum():
                    self._exact.setdefault(rule.identifier, []).append(values)
                else:
                    pattern = fnmatch.translate(rule.identifier)
                    self._patterns.append((re.compile(pattern), values))

    def of(self, identifier: str) -> list[_RuleValues]:
        """Return the values of the rules that match a member, in their order."""
        exact = self._exact.get(identifier, [])
        fits = [values for pattern, values in self._patterns if pattern.match(identifier)]
        return sorted([*exact, *fits, *self._of_all]) if exact or fits else self._of_all


class _Judge:
    """Values from rules for members. libtorch_cpu.so has 24,000 different ones."""

    def __init__(self, scopes: Iterable[Path], rules: Rules, pool: Pool) -> None:
        self._by_scope = [_ScopeRules(rules, path, pool) for path in scopes]
        self._rules = rules
        self._pool = pool

    def values(self, identifier: str, scope: int) -> tuple[int, int, int, int, int]:
        """Return the values for a member: for each level, the first one.

        The last number is that of the first rule with any value.
        """
        values = [0, 0, 0, 0]
        first = len(self._rules.rules)
        if identifier == MANGLED_ANONYMOUS:
            return 0, 0, 0, 0, first
        known = None
        for number, constants, patterns in self._by_scope[scope].of(identifier):
            for level, value in constants:
                if not values[level]:
                    values[level] = value
                    first = number if number < first else first
            for level, pattern in patterns:
                if values[level]:
                    continue
                if "{operator}" in pattern:
                    if known is None:
                        known = self._operator(identifier)
                    if not known:
                        continue
                    pattern = pattern.replace("{operator}", known)
                values[level] = self._pool.number(pattern.replace("{name}", identifier))
                first = number if number < first else first
        operator, kernel, dtype, component = values
        return operator, kernel, dtype, component, first

    def _operator(self, identifier: str) -> str:
        return "" if identifier in self._rules.shared else self._rules.names.find(identifier)
