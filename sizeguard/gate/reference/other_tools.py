"""Judge absolute limits that were set for another toolchain."""

from __future__ import annotations

from dataclasses import replace

from sizeguard.base.errors import InputError
from sizeguard.claims.verdict import FAIL
from sizeguard.gate.gate_result import ABSOLUTE, MEASURED, NOT_RUN, PARENT, Base, Check
from sizeguard.gate.policy.baselines import (
    baseline_path,
    other_toolchains,
    read_baseline,
    toolchain_key,
    tools_text,
)
from sizeguard.gate.policy.checks import SizeReference
from sizeguard.gate.reference.reference import MeasuredApp
from sizeguard.gate.request import Request
from sizeguard.projects.project import CONFIG, Config
from sizeguard.projects.reader import parse_config


def tools_of_limits(request: Request, subject: MeasuredApp) -> str:
    """Name the toolchains that the app's limits were set for, if this is another one.

    Those are the toolchains of its reviewed baselines; empty if it has none.
    """
    path = baseline_path(request.root, subject.build)
    if not path.is_file():
        return ", ".join(other_toolchains(request.root, subject.build))
    then = read_baseline(path).tools
    return "" if then in ("", tools_text(subject.toolchain, subject.build)) else then


def limited_for(
    request: Request,
    base: Base | None,
    subject: MeasuredApp,
    checks: tuple[Check, ...],
    growth: tuple[SizeReference, str],
) -> tuple[Check, ...]:
    """Add to absolute limits the tools that they were set for, if those are other tools.

    If the base, built with the same tools, also exceeds such a limit, the check is not run: the
    change did not cause it. A limit of 0 applies to all tools.
    """
    set_for = tools_of_limits(request, subject)
    if not set_for or all(check.kind != ABSOLUTE for check in checks):
        return checks
    here = tools_text(subject.toolchain, subject.build) or toolchain_key(subject.build)
    reference, source = growth
    is_measured = source in (MEASURED, PARENT) and _asked_the_same(request, base, subject)
    return tuple(
        _limited(check, set_for, here, reference if is_measured else None) for check in checks
    )


def _limited(check: Check, set_for: str, here: str, base: SizeReference | None) -> Check:
    if check.kind != ABSOLUTE:
        return check
    told = replace(check, set_for=set_for)
    then = base.measured.value(check.metric) if base is not None and base.measured else None
    is_pin = check.limit is None or check.limit == check.waived
    if check.verdict != FAIL or is_pin or base is None or then is None or then < check.actual:
        return told
    advice = (
        f"it is set for {set_for}, but this is {here}, with which the {base.text} has {then:,} "
        f"bytes: run the gate with the tools of the limit, or set it for these at {check.place}"
    )
    return replace(told, verdict=NOT_RUN, advice=advice)


def _asked_the_same(request: Request, base: Base | None, subject: MeasuredApp) -> bool:
    """Return whether the base asks for the same tools; then only the machine's tools differ."""
    if base is None or not base.commit:
        return False
    text = request.history.text_at(base.commit, CONFIG)
    try:
        then = parse_config(request.root, text) if text is not None else None
    except InputError:
        return False
    now = request.config
    return then is not None and _asked(then, subject) == _asked(now, subject)


def _asked(config: Config, subject: MeasuredApp) -> list[object]:
    """List the settings that decide about tools.

    These are the target's fields, except its place, and the app's steps.
    """
    targets = [replace(each, place="") for each in config.targets if each.name == subject.target]
    apps = [each for each in config.apps if each.name == subject.app.name]
    return [*targets, *(each.steps.get(subject.target) for each in apps)]
