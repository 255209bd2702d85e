"""Compare the terms of a change with those of the merge base.

The change's own terms decide; this module lists how they differ, so that a reviewer sees it.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, replace
from typing import Any

from sizeguard.claims.verdict import FAIL
from sizeguard.gate.policy.changes.limit_changes import limit_changes
from sizeguard.gate.policy.changes.names_changes import names_changes
from sizeguard.gate.policy.changes.reviewed_changes import (
    baseline_changes,
    record_changes,
    waiver_changes,
)
from sizeguard.gate.policy.changes.widened_selection import selection_changes
from sizeguard.gate.policy.terms import AppTerms, Terms
from sizeguard.gate.policy.terms_result import ACCEPTABLE, PolicyChange
from sizeguard.projects.project import CONFIG, App, Config, Target, with_twins
from sizeguard.projects.project import FAIL as FAIL_MODE

TRAILER = "Size-Accept"

_TARGET_FIELDS = ("machine", "compiler", "linker", "optimize", "link", "lto", "run")
_CLAIMS = ("absent", "present")
_SHOWN_ID = 7  # digits of a content id


def compare_terms(
    old: Terms, new: Terms, accepted: Sequence[tuple[str, str]] = ()
) -> tuple[PolicyChange, ...]:
    """List every difference; changes that loosen a term come first.

    The base's `policy_changes` decides whether a loosened term fails.

    accepted: commit and text of each trailer `Size-Accept: NAME`, which accepts the baselines,
              waivers, records and names files of that name; * and ? match any part
    """
    fails = old.config.policy_changes == FAIL_MODE
    changes = [_accepted(change, accepted) for change in _differences(old, new)]
    judged = [
        replace(change, verdict=FAIL)
        if fails and change.loosens and not change.accepted
        else change
        for change in changes
    ]
    return tuple(sorted(judged, key=lambda change: not change.loosens))


def _differences(old: Terms, new: Terms) -> Iterator[PolicyChange]:
    yield from _modes(old.config, new.config)
    yield from _targets(old.config, new.config)
    yield from _apps(*(with_twins(terms.config).apps for terms in (old, new)))
    if old.rules != new.rules:
        what = "added" if not old.rules else "removed" if not new.rules else "changed"
        was, now = (each.rules and _id(each.rules) for each in (old, new))
        place = new.config.rules_file or CONFIG
        yield PolicyChange(f"rules {what}", "rules", was, now, True, place=place)
    yield from limit_changes(old, new)
    yield from baseline_changes(old, new)
    yield from waiver_changes(old.waivers, new.waivers)
    for name in (name for name in old.apps if name in new.apps):
        yield from _selections(name, old.apps[name], new.apps[name])
        yield from _models(name, old.apps[name], new.apps[name])
    yield from record_changes(old.records, new.records)
    yield from names_changes(new.names_file, old.names, new.names)


def _accepted(change: PolicyChange, trailers: Iterable[tuple[str, str]]) -> PolicyChange:
    """Note the first trailer that accepts a change of a reviewed file."""
    if change.accepted or not change.what.startswith(ACCEPTABLE):
        return change
    for commit, text in trailers:
        if fnmatch.fnmatchcase(change.name, text.strip().replace("[", "[[]")):
            return replace(change, accepted=f"commit {commit[:10]}")
    return change


def _modes(old: Config, new: Config) -> Iterator[PolicyChange]:
    if old.base != new.base:
        usual = "the default branch"
        yield PolicyChange("base changed", "base", old.base or usual, new.base or usual, True)
    for name in ("policy_changes", "surplus"):
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            yield PolicyChange("policy changed", name, before, after, before == FAIL_MODE)


def _targets(old: Config, new: Config) -> Iterator[PolicyChange]:
    before = {target.name: target for target in old.targets}
    after = {target.name: target for target in new.targets}
    for name, target in before.items():
        if name not in after:
            yield PolicyChange("target removed", name, _target(target), "", True)
        else:
            yield from _target_fields(target, after[name])
    for name, target in after.items():
        if name not in before:
            yield PolicyChange("target added", name, "", _target(target), False, place=target.place)


def _target(target: Target) -> str:
    parts = [
        target.machine, target.compiler, target.linker, f"-O{target.optimize}", target.link,
        target.lto and f"lto {target.lto}", "" if target.run else "run: false",
    ]  # fmt: skip
    return ", ".join(part for part in parts if part)


def _target_fields(old: Target, new: Target) -> Iterator[PolicyChange]:
    for name in _TARGET_FIELDS:
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            loosens = not (name == "run" and after)
            label = f"{new.name} {name}"
            texts = (_value(before), _value(after))
            yield PolicyChange("target changed", label, *texts, loosens, place=new.place)


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value or "usual")


def _apps(old: Iterable[App], new: Iterable[App]) -> Iterator[PolicyChange]:
    before, after = ({app.name: app for app in apps} for apps in (old, new))
    for name, app in before.items():
        if name not in after:
            yield PolicyChange("app removed", name, _listed(app.targets), "", True)
            continue
        for target in app.targets:
            if target not in after[name].targets:
                label = f"{name} for {target}"
                place = after[name].place
                yield PolicyChange("app removed", label, target, "", True, place=place)
        for target in after[name].targets:
            if target not in app.targets:
                yield PolicyChange("app added", f"{name} for {target}", "", target, False)
        yield from _steps(app, after[name])
        yield from _left_out(app, after[name])
    for name, app in after.items():
        if name not in before:
            targets = _listed(app.targets)
            yield PolicyChange("app added", name, "", targets, False, place=app.place)


def _steps(old: App, new: App) -> Iterator[PolicyChange]:
    """Yield changes of build steps and claims.

    More claims, other time limits and another order of globs loosen nothing. A target that only one
    side has is an app that was added or removed.
    """
    shared = {*old.targets} & {*new.targets}
    before, after = (_told(app, shared) for app in (old, new))
    for key in dict.fromkeys([*before, *after]):
        then, now = before.get(key, ""), after.get(key, "")
        if then == now or not (before and after):
            continue
        field = key.rpartition(" ")[2]
        only_more = field in _CLAIMS and {*then} <= {*now}
        only_reordered = isinstance(now, tuple) and {*then} == {*now}
        loosens = field != "timeout" and not only_more and not only_reordered
        texts = (_text_of(then), _text_of(now))
        if texts[0] == texts[1]:  # such as one glob with a comma, and two globs
            texts = (repr(then), repr(now))
        yield PolicyChange("app changed", f"{new.name} {key}", *texts, loosens, place=new.place)
    if bool(old.steps) != bool(new.steps):
        was, now = ("commands or a file" if app.steps else "a selection" for app in (old, new))
        yield PolicyChange("app changed", f"{new.name} build", was, now, True, place=new.place)


def _left_out(old: App, new: App) -> Iterator[PolicyChange]:
    """Yield changes of the files that `also` matches but that are images of their own."""
    for target in (target for target in old.steps if target in new.steps):
        was, now = (app.left_out(target) for app in (old, new))
        if {*was} != {*now}:
            label = f"{new.name} for {target} also, without"
            loosens = not {*now} <= {*was}
            texts = (_text_of(was), _text_of(now))
            yield PolicyChange("app changed", label, *texts, loosens, place=new.place)


def _told(app: App, targets: AbstractSet[str]) -> Mapping[str, Any]:
    """Return the steps and files of an app for some targets, by target and name."""
    return {
        f"for {target} {name}": value
        for target, steps in app.steps.items()
        if target in targets
        for part in (steps, steps.images[app.image])
        for name, value in asdict(part).items()
        if name not in ("images", "rules")
    }


def _text_of(value: object) -> str:
    if isinstance(value, Mapping):
        # A variable without a value is the caller's
        pairs = value.items()
        return ", ".join(name if text is None else f"{name}={text}" for name, text in pairs)
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _selections(app: str, old: AppTerms, new: AppTerms) -> Iterator[PolicyChange]:
    """Yield the changes of an app's selections, by target unless all targets have the same ones.

    A selection that only one side has is a change of the app's steps.
    """
    pairs = {
        target: (selection, new.selections[target])
        for target, selection in old.selections.items()
        if target in new.selections
    }
    found = {tuple(selection_changes(app, *pair)) for pair in pairs.values()}
    if len(found) == 1:
        yield from found.pop()
        return
    for target, pair in pairs.items():
        yield from selection_changes(f"{app} for {target}", *pair)


def _listed(names: Iterable[str]) -> str:
    return f"for {', '.join(names)}"


def _models(app: str, old: AppTerms, new: AppTerms) -> Iterator[PolicyChange]:
    """Yield models and inputs that differ.

    A changed model or fewer inputs may run less code, so only additions loosen nothing.
    """
    both = [model for model in old.models if model in new.models]
    before = {model: old.models[model].identity for model in old.models}
    after = {model: new.models[model].identity for model in new.models}
    yield from _contents("model", app, before, after)
    for model in both:
        was, is_ = old.models[model], new.models[model]
        yield from _contents("input", app, was.inputs, is_.inputs)
        yield from _contents("expected output", app, was.expected, is_.expected)


def _contents(
    what: str, app: str, old: Mapping[str, str], new: Mapping[str, str]
) -> Iterator[PolicyChange]:
    for path in dict.fromkeys([*old, *new]):
        if path not in old:
            how, texts = "added", ("", _id(new[path]))
        elif path not in new:
            how, texts = "removed", (_id(old[path]), "")
        elif old[path] != new[path]:
            how, texts = "replaced", (_id(old[path]), _id(new[path]))
        else:
            continue
        place = path if path in new else ""
        yield PolicyChange(f"{what} {how}", f"{app} {path}", *texts, how != "added", place=place)


def _id(identity: str) -> str:
    return identity[:_SHOWN_ID] or "missing"
