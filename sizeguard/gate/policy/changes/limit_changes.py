"""Differences between the limits of two policies, as they apply to apps and targets.

It compares, for each app, target and metric, the entries that decide. Comparing entries by name is
not enough: a new entry for an exact metric or for one app can widen a general limit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field

from sizeguard.base.dataclass import dataclass
from sizeguard.gate.gate_result import ABSOLUTE, CREEP, GROWTH
from sizeguard.gate.policy.checks import precedence
from sizeguard.gate.policy.file_growth import METRIC as FILE
from sizeguard.gate.policy.file_growth import RULE as DEFAULT_FILE
from sizeguard.gate.policy.limits import Limit
from sizeguard.gate.policy.terms import Terms
from sizeguard.gate.policy.terms_result import PolicyChange
from sizeguard.measurement.metric_names import is_family, matches, split_metric
from sizeguard.names.find_operators import find_operators
from sizeguard.names.globs import common_pattern

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Key:
    """A limit that changed. old, new: the deciding entries; None without a limit."""

    metric: str
    kind: str
    old: str
    new: str


@dataclass(slots=True)
class _Change:
    old: Limit | None
    new: Limit | None
    pairs: list[Pair] = field(default_factory=list)


def limit_changes(old: Terms, new: Terms) -> list[PolicyChange]:
    """List the limits that changed, for the apps and targets of both policies."""
    pairs = [pair for pair in old.pairs() if pair in new.pairs()]
    found: dict[_Key, _Change] = {}
    for pair in pairs:
        before, after = (_of_pair(terms.limits, pair) for terms in (old, new))
        for metric in _metrics(before, after, old):
            for one, other in _decisions(before, after, metric):
                decides = other or one
                if decides is None or _same(one, other):
                    continue
                key = _Key(metric, decides.kind, _text(one), _text(other))
                found.setdefault(key, _Change(one, other)).pairs.append(pair)
    listed = {key: change for key, change in found.items() if not _is_covered(key, found)}
    return [
        _policy_change(key, change, scope)
        for key, change in listed.items()
        for scope in _scopes(change.pairs, pairs)
    ]


def _of_pair(limits: Iterable[Limit], pair: Pair) -> list[Limit]:
    return [limit for limit in limits if limit.applies_to(*pair)]


def _metrics(before: Sequence[Limit], after: Sequence[Limit], old: Terms) -> list[str]:
    """List the metrics of limits, and the reviewed names of each level with a limit for a family.

    Two families can overlap in single names, also in names that no baseline has: `a*` and `*b` in
    `a*b`.
    """
    named = dict.fromkeys(_registered(limit.metric) for limit in (*before, *after))
    families = [metric for metric in named if is_family(metric)]
    levels = {split_metric(metric)[0] for metric in families}
    overlaps = itertools.starmap(common_pattern, itertools.combinations(families, 2))
    named |= dict.fromkeys(filter(None, overlaps))
    baselines = [baseline for baseline in old.baselines.values() if baseline is not None]
    tables = [{"operator": each.operators, **(each.tables or {})} for each in baselines]
    for table in tables:
        for level in sorted(levels & table.keys()):
            named |= dict.fromkeys(f"{level}/{name}" for name in sorted(table[level]))
    return list(named)


def _decisions(
    before: Sequence[Limit], after: Sequence[Limit], metric: str
) -> Iterable[tuple[Limit | None, Limit | None]]:
    """Pair the limits that decide for a metric before and after.

    An operator without an overload means all overloads, unless the image has one of its own name;
    so both are possible, and the looser change counts.
    """
    found: dict[tuple[Limit | None, Limit | None], None] = {}
    for covers in (_covers, matches):
        old, new = (_deciding(limits, metric, covers) for limits in (before, after))
        found |= dict.fromkeys(_matched(old, new))
    loosened = {new for old, new in found if _is_looser(old, new)}
    return [(old, new) for old, new in found if new not in loosened or _is_looser(old, new)]


def _deciding(
    limits: Iterable[Limit], metric: str, covers: Callable[[str, str], bool]
) -> Mapping[tuple[str, str], Limit]:
    """Find the deciding limits of a metric, by kind and reference."""
    chosen: dict[tuple[str, str], Limit] = {}
    for limit in limits:
        key = (limit.kind, limit.since)
        if covers(limit.metric, metric) and (
            key not in chosen or precedence(limit) > precedence(chosen[key])
        ):
            chosen[key] = limit
    return chosen


def _registered(metric: str) -> str:
    """Write an operator's name as images have it, without `::` before it."""
    level, name = split_metric(metric)
    is_name = level == "operator" and not is_family(metric)
    return f"{level}/{name.removeprefix('::')}" if is_name else metric


def _covers(pattern: str, metric: str) -> bool:
    """Return whether a metric is meant by a pattern, or is an overload of its operator."""
    (level, name), (other_level, other) = split_metric(pattern), split_metric(metric)
    is_name = level == other_level == "operator" and not is_family(pattern)
    return bool(find_operators(name, [other])) if is_name else matches(pattern, metric)


def _matched(
    old: Mapping[tuple[str, str], Limit], new: Mapping[tuple[str, str], Limit]
) -> Iterable[tuple[Limit | None, Limit | None]]:
    """Pair the limits of one kind; a creep limit with another release is one change."""
    for key in dict.fromkeys([*old, *new]):
        if key[0] != CREEP or (key in old and key in new):
            yield old.get(key), new.get(key)
    gone = [old[key] for key in old if key[0] == CREEP and key not in new]
    come = [new[key] for key in new if key[0] == CREEP and key not in old]
    for i in range(max(len(gone), len(come))):
        yield gone[i] if i < len(gone) else None, come[i] if i < len(come) else None


def _text(limit: Limit | None) -> str:
    if limit is None:
        return ""
    since = f" since {limit.since}" if limit.since else ""
    return f"{limit.allowance.text}{since}{', unknown: ok' if limit.unknown_ok else ''}"


def _same(old: Limit | None, new: Limit | None) -> bool:
    """Return whether two limits allow the same, however they are written."""
    if old is None or new is None:
        return False
    return (
        old.allowance.milli_percent == new.allowance.milli_percent
        and old.allowance.bytes == new.allowance.bytes
        and old.since == new.since
        and old.unknown_ok == new.unknown_ok
    )


def _is_covered(key: _Key, found: Mapping[_Key, _Change]) -> bool:
    """Return whether an equal change of a family already covers this name."""
    return any(
        other.metric != key.metric
        and _covers(other.metric, key.metric)
        and (other.kind, other.old, other.new) == (key.kind, key.old, key.new)
        and set(found[key].pairs) <= set(change.pairs)
        for other, change in found.items()
    )


def _scopes(changed: Sequence[Pair], pairs: Sequence[Pair]) -> list[str]:
    """Name the apps and targets as briefly as possible; an empty name means all."""
    if set(changed) == set(pairs):
        return [""]
    left, names = set(changed), []
    groups: tuple[tuple[Callable[[Pair], str], str], ...] = (
        (lambda pair: pair[0], " of {}"),
        (lambda pair: pair[1], " for {}"),
    )
    for part, form in groups:
        for name in dict.fromkeys(map(part, changed)):
            group = {pair for pair in pairs if part(pair) == name}
            if group <= set(changed) and group & left:
                names.append(form.format(name))
                left -= group
    return names + [f" of {app} for {target}" for app, target in changed if (app, target) in left]


def _policy_change(key: _Key, change: _Change, scope: str) -> PolicyChange:
    old, new = change.old, change.new
    looser = _is_looser(old, new)
    # Without its own limit, the file has the default one.
    none = DEFAULT_FILE if (key.metric, key.kind) == (FILE, GROWTH) else ""
    what = (
        "removed" if new is None
        else "loosened" if looser
        else "added" if old is None
        else "tightened"
    )  # fmt: skip
    number = None
    is_share = any(limit is not None and limit.allowance.milli_percent for limit in (old, new))
    if key.kind == ABSOLUTE and not is_share and old is not None and new is not None:
        number = new.allowance.bytes - old.allowance.bytes
    return PolicyChange(
        f"limit {what}",
        f"{key.metric} {'maximum' if key.kind == ABSOLUTE else key.kind}{scope}",
        key.old or none,
        key.new or none,
        looser,
        number,
        place=new.place if new is not None else "",
    )


def _is_looser(old: Limit | None, new: Limit | None) -> bool:
    """Return whether the new limit allows some size that the old one does not.

    A creep limit with another release may be looser, because that release's size is unknown.
    """
    if old is None:
        return new is not None and (new.metric, new.kind) == (FILE, GROWTH)
    if new is None:
        return True
    return (
        new.allowance.milli_percent > old.allowance.milli_percent
        or new.allowance.bytes > old.allowance.bytes
        or new.since != old.since
        or new.unknown_ok > old.unknown_ok
    )
