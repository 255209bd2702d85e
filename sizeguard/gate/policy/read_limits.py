"""Read the limits of sizeguard.yaml."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from sizeguard.base.errors import InputError
from sizeguard.base.yaml.nodes import Node, Scalar
from sizeguard.gate.gate_result import ABSOLUTE, CREEP, GROWTH
from sizeguard.gate.policy.limits import (
    CREEP_FORMS,
    GROWTH_FORMS,
    SIZE_FORMS,
    GrowthLimit,
    Limit,
    parse_creep,
    parse_limit,
    parse_most,
    parse_size,
)
from sizeguard.measurement.metric_names import MetricNames
from sizeguard.projects.config_nodes import one_of, place_of, table_of, text_of
from sizeguard.projects.project import Config, StoreEntry
from sizeguard.snapshots.cleaning import USUAL_AGE, USUAL_SIZE, StoreLimits

_FORMS = {"max": SIZE_FORMS, "growth": GROWTH_FORMS, "creep": CREEP_FORMS}
_LIMIT = ("max", "growth", "creep", "unknown")
_AGE = re.compile(r"(\d{1,6}) ?(d|days?|w|weeks?)", re.ASCII)
_DAYS = {"d": 1, "w": 7}


def read_limits(config: Config, names: MetricNames) -> tuple[Limit, ...]:
    """Read every limit.

    An unknown name makes its check inconclusive, unless the limit says `unknown: ok`.

    Raises InputError, with file, line and column. Unknown kinds of metrics, malformed limits and
    duplicate limits are errors.
    """
    limits: list[Limit] = []
    for entry in config.limits:
        nearest = names.nearest_of_unknown(entry.metric)
        problem = "" if nearest is not None else names.problem(entry.metric)
        if problem:
            raise InputError(f"{entry.place}: {problem}")
        if entry.growth_only:
            place = place_of(entry.node)
            limits.append(
                Limit(
                    entry.metric,
                    GROWTH,
                    parse_limit(text_of(entry.node), place),
                    place=place,
                    nearest=nearest,
                    only_images_know=names.only_images_know(entry.metric),
                )
            )
            continue
        unknown_ok = _unknown_ok(entry.node)
        for kind, amount, since, place in _limit(entry.metric, entry.node):
            limit = Limit(entry.metric, kind, amount, since, entry.app, entry.target, place)
            unlisted = names.only_images_know(entry.metric)
            limits.append(
                replace(limit, unknown_ok=unknown_ok, nearest=nearest, only_images_know=unlisted)
            )
    _refuse_twice(limits)
    return tuple(limits)


class _Written(NamedTuple):
    """A limit as written. since: the release that creep is counted from, or empty."""

    kind: str
    amount: GrowthLimit
    since: str
    place: str


def _limit(metric: str, node: Node) -> Iterable[_Written]:
    """Read the limits in a node.

    The node is `41,000 B`, an absolute limit, or a mapping with max, growth and creep.
    """
    if isinstance(node, Scalar):
        yield _absolute(metric, node)
        return
    fields = _fields(node)
    if not fields.keys() - {"unknown"}:
        raise InputError(f"{place_of(node)}: a limit has max, growth or creep")
    for key, value in fields.items():
        place = place_of(value)
        if key == "unknown":
            continue
        if not isinstance(value, Scalar):
            raise InputError(f"{place}: {key} is text, not a list or a table; write {_FORMS[key]}")
        if key == "max":
            yield _absolute(metric, value)
        elif key == "growth":
            yield _Written(GROWTH, parse_limit(text_of(value), place), "", place)
        else:
            amount, since = parse_creep(text_of(value), place)
            yield _Written(CREEP, amount, since, place)


def _fields(node: Node) -> Mapping[str, Node]:
    return table_of(
        node, _LIMIT, "a limit is a size, or a table with max, growth, creep and unknown"
    )


def _unknown_ok(node: Node) -> bool:
    """Read `unknown: ok`."""
    return not isinstance(node, Scalar) and one_of(_fields(node).get("unknown"), ("ok",)) == "ok"


def _absolute(metric: str, node: Node) -> _Written:
    text, place = text_of(node), place_of(node)
    return _Written(ABSOLUTE, parse_most(metric, text, place), "", place)


def _refuse_twice(limits: Iterable[Limit]) -> None:
    """Raise InputError for a metric that has two limits of one kind."""
    seen: dict[tuple[str, ...], str] = {}
    for limit in limits:
        key = (limit.metric, limit.kind, limit.app, limit.target, limit.since)
        if key in seen:
            raise InputError(
                f"{limit.place}: duplicate {limit.kind} limit of {limit.metric}, also at "
                f"{seen[key]}; keep one of them"
            )
        seen[key] = limit.place


def store_limits(entry: StoreEntry, max_size: str = "", max_age: str = "") -> StoreLimits:
    """Read the limits of the store.

    max_size, max_age: options of the command line, which win; empty if not given

    Raises InputError for what is not a size or an age.
    """
    size, age = max_size or entry.max_size, max_age or entry.max_age
    return StoreLimits(
        parse_size(size, "--max-size" if max_size else entry.place) if size else USUAL_SIZE,
        _seconds(age, "--max-age" if max_age else entry.place) if age else USUAL_AGE,
        "options" if max_size or max_age else entry.place,
    )


def _seconds(text: str, where: str) -> int:
    """Parse an age such as 90 days."""
    found = _AGE.fullmatch(text.strip())
    if found is None:
        raise InputError(f"{where}: '{text}' is not an age; write 90 days or 12 weeks")
    return int(found[1]) * _DAYS[found[2][0]] * 86400
