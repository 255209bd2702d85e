"""Turns names into operator, kernel, dtype and component, by the rules of a preset."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.analysis import Label
from sizeguard.attribution.columns import Pool
from sizeguard.attribution.dtype_scan import dtype_texts
from sizeguard.attribution.name_scan import Scanned, scan_names
from sizeguard.attribution.preset import Path, Preset, Rule
from sizeguard.attribution.preset_names import ANONYMOUS
from sizeguard.attribution.scan import distinct
from sizeguard.formats.elf.symbols import packed_order
from sizeguard.formats.texts import Int, Texts

Int32 = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class NameLabels:
    """A label for each name and level; empty texts where nothing is known."""

    operator: Label
    kernel: Label
    dtype: Label
    component: Label


def label_names(names: Texts, preset: Preset) -> NameLabels:
    """The labels of all names; equal names have equal labels."""
    unique = distinct(names)
    scanned = scan_names(unique.names, preset)
    count = len(unique.names)
    pool = Pool()
    rules, members = _rules(scanned, preset, pool), _members(scanned, preset, pool)
    place = scanned.members.name, scanned.members.start
    own = ~scanned.rules.is_mention
    by_rule = scanned.rules.name[own], scanned.rules.start[own]

    # A rule for one identifier knows more than those for members: Dist<float>::run_parallel_pdist is not Dist's first operator.
    is_identifier = np.array([bool(rule.identifier and not rule.within) for rule in preset.rules], bool)[scanned.rules.rule[own]]
    operator = _First(count)
    operator.add(by_rule[0], by_rule[1] - np.where(is_identifier, scanned.places, 0), rules.operator[own])
    operator.add(*place, members.operator)
    # The kernel is the member that names the operator; of a name without one, its first member.
    kernel = _First(count)
    kernel.add(*by_rule, rules.kernel[own])
    kernel.add(*place, np.where(members.operator > 0, members.kernel, 0))
    loose = _First(count)
    loose.add(*place, members.kernel)
    # Components: the rule that stands first in the preset; what is only mentioned comes last.
    component = _First(count)
    is_weak = np.array([rule.weak for rule in preset.rules], bool)[scanned.rules.rule]
    sure, weak = own & ~is_weak, own & is_weak
    by_preset = len(preset.rules) + 1
    component.add(scanned.rules.name[sure], scanned.rules.name[sure] * by_preset + scanned.rules.rule[sure], rules.component[sure])
    component.add(place[0], place[0] * by_preset + members.rule, members.component)
    mentioned = _First(count)
    mentioned.add(scanned.rules.name[~own], scanned.rules.start[~own], rules.component[~own])
    general = _First(count)
    general.add(scanned.rules.name[weak], scanned.rules.name[weak] * by_preset + scanned.rules.rule[weak], rules.component[weak])
    dtype = _First(count)
    dtype.add(*by_rule, rules.dtype[own])
    dtype.add(*place, members.dtype)

    ids, texts = dtype_texts(scanned.dtypes, scanned.first_dtype)
    scanned_dtype = np.array([pool.number(text) for text in texts], np.int32)[ids]
    own_dtype = dtype.ids()
    table = Texts.of(pool.texts)
    columns = (
        operator.ids(),
        kernel.ids(loose.ids()),
        np.where(own_dtype > 0, own_dtype, scanned_dtype),
        component.ids(mentioned.ids(general.ids())),
    )
    return NameLabels(*(Label(column[unique.inverse].astype(np.int32), table) for column in columns))


class _First:
    """Keeps, for each name, the value that stands first. Places are of one scale for all names: one in the buffer, or made to be."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._columns: list[tuple[Int, Int, Int32]] = []

    def add(self, name: Int, place: Int, value: Int32) -> None:
        known = value > 0
        self._columns.append((name[known], place[known], value[known]))

    def ids(self, otherwise: Int32 | None = None) -> Int32:
        result = otherwise.copy() if otherwise is not None else np.zeros(self._count, np.int32)
        name, place, value = (np.concatenate(column) for column in zip(*self._columns, strict=True))
        # Written from the last to the first: the first one stays, of equals the one that was added first.
        order = packed_order(place)[::-1]
        result[name[order]] = value[order]
        return result


@dataclass(frozen=True, slots=True)
class _Outcomes:
    """What each row of a table says, as numbers of texts. rule: the first rule that fits it, by number."""

    operator: Int32
    kernel: Int32
    dtype: Int32
    component: Int32
    rule: Int


def _rules(scanned: Scanned, preset: Preset, pool: Pool) -> _Outcomes:
    table = np.array(
        [[pool.number(text) for text in (rule.operator, rule.kernel, rule.dtype, rule.component)] for rule in preset.rules], np.int32
    ).reshape(-1, 4)
    rows = table[scanned.rules.rule]
    return _Outcomes(rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3], scanned.rules.rule)


def _members(scanned: Scanned, preset: Preset, pool: Pool) -> _Outcomes:
    """Each different identifier is judged once: libtorch_cpu.so has 400,000 members of 20,000 names."""
    members = scanned.members
    key = members.hash ^ (members.scope.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    by_scope = [_ScopeRules(preset, path) for path in scanned.scopes]
    texts = scanned.texts(members.start[first], members.length[first])
    judged = zip(texts, members.scope[first].tolist(), strict=True)
    rows = np.array([_judge(text.decode("utf-8", "backslashreplace"), by_scope[scope], preset, pool) for text, scope in judged], np.int64)
    rows = rows.reshape(-1, 5)[inverse]
    operator, kernel, dtype, component = (rows[:, i].astype(np.int32) for i in range(4))
    return _Outcomes(operator, kernel, dtype, component, rows[:, 4])


class _ScopeRules:
    """The rules for members of one namespace; most name one identifier, and are found by it."""

    def __init__(self, preset: Preset, path: Path) -> None:
        self._exact: dict[str, list[tuple[int, Rule]]] = {}
        self._patterns: list[tuple[int, Rule]] = []
        for number, rule in enumerate(preset.rules):
            if rule.within == path:
                if rule.identifier.replace("_", "").isalnum():
                    self._exact.setdefault(rule.identifier, []).append((number, rule))
                else:
                    self._patterns.append((number, rule))

    def of(self, identifier: str) -> list[tuple[int, Rule]]:
        fits = [pair for pair in self._patterns if pair[1].fits(identifier)]
        return sorted([*self._exact[identifier], *fits], key=lambda pair: pair[0]) if identifier in self._exact else fits


def _judge(identifier: str, rules: _ScopeRules, preset: Preset, pool: Pool) -> tuple[int, int, int, int, int]:
    """What the rules say of a member: of each level, the first that says something."""
    said = ["", "", "", ""]
    if identifier == ANONYMOUS:
        return 0, 0, 0, 0, len(preset.rules)
    first = len(preset.rules)
    known = None
    for number, rule in rules.of(identifier):
        for level, pattern in enumerate((rule.operator, rule.kernel, rule.dtype, rule.component)):
            if not pattern or said[level]:
                continue
            if "{operator}" in pattern:
                if known is None:
                    known = "" if identifier in preset.shared else preset.names.find(identifier)
                if not known:
                    continue
            said[level] = pattern.replace("{operator}", known or "").replace("{name}", identifier)
            first = min(first, number)
    return (pool.number(said[0]), pool.number(said[1]), pool.number(said[2]), pool.number(said[3]), first)
