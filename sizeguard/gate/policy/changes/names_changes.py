"""Compare the names that claims are checked with, as a file of the sources keeps them.

The full build proves operators, classes and features on its own. It does not prove the signs of a
feature, nor the functions that the file excuses from being kernels: a change could take away the
signs of code that it leaks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sizeguard.base.errors import listed
from sizeguard.claims.listed_names import BuildNames, FeatureMarks
from sizeguard.gate.policy.terms_result import NAMES, PolicyChange

_SHOWN = 2  # names in a text


def names_changes(path: str, old: BuildNames | None, new: BuildNames | None) -> list[PolicyChange]:
    """List the signs and excuses that differ. old, new: None if the file cannot be read.

    Fewer signs or more excuses loosen the claims.
    """
    if old is None or new is None:
        if old is new:
            return []
        was, now = ("can be read" if each else "cannot be read" for each in (old, new))
        return [PolicyChange(f"{NAMES} replaced", path, was, now, True, place=path)]
    return [*_all(path, old, new)]


def _all(path: str, old: BuildNames, new: BuildNames) -> Iterator[PolicyChange]:
    none = FeatureMarks()
    for feature in sorted({*old.features, *new.features}):
        before, after = old.features.get(feature, none), new.features.get(feature, none)
        subject = f"of feature {feature}"
        yield from _part(path, f"signs {subject}", _signs(before), _signs(after), excuses=False)
        yield from _part(path, f"excuses {subject}", _excuses(before), _excuses(after))
    parts = (
        ("branches of tags", _pairs(old.dtypes), _pairs(new.dtypes), False),
        ("functions of branches", _pairs(old.bodies), _pairs(new.bodies), False),
        ("functions that are not kernels", old.helpers, new.helpers, True),
        ("functions of no branch", old.others, new.others, True),
        ("callers of branches", _pairs(old.users), _pairs(new.users), True),
    )
    for what, then, now, excuses in parts:
        yield from _part(path, what, then, now, excuses=excuses)


def _signs(marks: FeatureMarks) -> Iterator[str]:
    yield from marks.texts
    yield from marks.functions
    yield from marks.hosts
    yield from _pairs(marks.calls)


def _excuses(marks: FeatureMarks) -> Iterator[str]:
    yield from marks.without
    yield from marks.options


def _pairs(names: Mapping[str, Iterable[str]]) -> Iterator[str]:
    yield from (f"{key}: {name}" for key, each in names.items() for name in each)


def _part(
    path: str, what: str, old: Iterable[str], new: Iterable[str], *, excuses: bool = True
) -> Iterator[PolicyChange]:
    """Yield the change of one list. excuses: its entries excuse code, so that more loosen."""
    before, after = {*old}, {*new}
    gone, added = sorted(before - after), sorted(after - before)
    if not gone and not added:
        return
    was, now = (
        f"{what}: {len(all_)}" + (f", with {listed(only, _SHOWN)}" if only else "")
        for all_, only in ((before, gone), (after, added))
    )
    loosens = bool(added if excuses else gone)
    yield PolicyChange(f"{NAMES} changed", path, was, now, loosens, place=path)
