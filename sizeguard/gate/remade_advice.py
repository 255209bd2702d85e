"""Replace the advice in a stored result by advice made from its fields.

People copy commands, so a command from an untrusted result must never be shown.
"""

from __future__ import annotations

import datetime
import re
import shlex
from dataclasses import replace

from sizeguard.claims.verdict import PASS
from sizeguard.gate.advice import advised, base_name
from sizeguard.gate.gate_result import (
    ABSOLUTE,
    ELIMINATION,
    MACHINE,
    NEEDED,
    RUN,
    SAME_KIND,
    AppResult,
    Base,
    Check,
    GateResult,
    Offer,
    Problem,
    SelectionFinding,
)
from sizeguard.gate.policy.terms_result import EXCEEDED, EXPIRED, SPENT, WaiverUse

_NAME = re.compile(r"[A-Za-z0-9_][\w.+-]{0,99}", re.ASCII)
_PATH = re.compile(r"[A-Za-z0-9_][\w.+/-]{0,199}", re.ASCII)
_WAIVERS = {
    SPENT: "remove it",
    EXPIRED: "revert the growth, or grant a new waiver",
    EXCEEDED: "shrink the app, or ask the waiver's owner for more",
}


def with_remade_advice(result: GateResult, today: datetime.date) -> GateResult:
    """Keep the facts of a result, and make all advice and commands again."""
    apps = tuple(_app(app, result.base, today) for app in result.apps)
    return replace(
        result,
        apps=apps,
        selection=tuple(map(_selection, result.selection)),
        waivers=tuple(map(_waiver, result.waivers)),
        problems=tuple(map(_problem, result.problems)),
    )


def _app(app: AppResult, base: Base | None, today: datetime.date) -> AppResult:
    checks = tuple(_check(app, check) for check in app.checks)
    offers = tuple(_offer(app, offer) for offer in app.offers)
    plain = replace(app, checks=checks, commands=(), offers=offers)
    if not _named(app.app, app.target):
        return plain
    if not _is_path(app.folder):
        plain = replace(plain, folder=f"build/{app.app}")
    made = advised(plain, base_name(base, base.commit if base else ""), "", "", today)
    return replace(made, folder=app.folder)


def _named(app: str, target: str) -> bool:
    return bool(_NAME.fullmatch(app) and (not target or _NAME.fullmatch(target)))


def _is_path(text: str) -> bool:
    return bool(_PATH.fullmatch(text)) and ".." not in text.split("/")


def _only(app: str, target: str) -> str:
    words = ["--app", app] if app else []
    return shlex.join([*words, *(["--target", target] if target else [])])


def _check(app: AppResult, check: Check) -> Check:
    if check.verdict == PASS:
        return replace(check, advice="")
    named = _named(app.app, app.target)
    update = f": sizeguard baseline update {_only(app.app, app.target)}" if named else ""
    if check.kind == RUN:
        return replace(check, advice="the command did not exit with 0")
    if check.kind == NEEDED:
        if "/" not in check.metric:
            return replace(check, advice="there is no base to compare with")
        return replace(check, advice=f"remove the library, or review it{update}")
    if check.kind == MACHINE and check.rule.startswith(SAME_KIND):
        return replace(check, advice=f"build the base's kind of file, or review this one{update}")
    if check.kind == MACHINE:
        return replace(check, advice="build for the machine of the base")
    if check.kind == ELIMINATION:
        # Claims of sizeguard.yaml need options, which the result does not have.
        has_selection = app.full is not None and _is_path(app.folder)
        see = f": sizeguard verify {app.folder}" if has_selection else ""
        return replace(check, advice=f"see the claims and their evidence{see}")
    return replace(check, advice="")


def _offer(app: AppResult, offer: Offer) -> Offer:
    kinds = {check.kind for check in app.checks if check.metric == offer.metric}
    if ABSOLUTE in kinds:
        return replace(offer, text=f"{offer.metric}: {offer.offered:,} B")
    if not _named(app.app, app.target):
        return replace(offer, text="a new baseline")
    return replace(offer, text=f"sizeguard baseline update {_only(app.app, app.target)}")


def _selection(found: SelectionFinding) -> SelectionFinding:
    if found.verdict == PASS or not found.app or not _named(found.app, ""):
        return replace(found, advice="")
    update = f"sizeguard select update {_only(found.app, '')}"
    return replace(found, advice=f"remove it, or {update}" if found.kind == "surplus" else update)


def _waiver(use: WaiverUse) -> WaiverUse:
    return replace(use, advice="" if use.verdict == PASS else _WAIVERS.get(use.state, ""))


def _problem(problem: Problem) -> Problem:
    app, target = problem.app, problem.target
    is_named = all(not name or _NAME.fullmatch(name) for name in (app, target))
    only = _only(app, target) if is_named else ""
    return replace(problem, advice=f"fix it, then run sizeguard gate {only}".rstrip())
