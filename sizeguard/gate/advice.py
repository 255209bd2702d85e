"""Commands that help with an app that fails: reproduce, see why, accept it, make it normal.

They work in a fresh clone in this order: the first one makes the build that the others read.
"""

from __future__ import annotations

import datetime
import re
import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePosixPath

from sizeguard.claims.verdict import FAIL
from sizeguard.gate.gate_result import (
    ABSOLUTE,
    GROWTH,
    MEASURED,
    PARENT,
    REPRODUCE,
    SIZE_KINDS,
    AppResult,
    Base,
    Check,
    Command,
)

SEE, COMPARE = "see why", "compare"
ACCEPT, NORMAL = "accept it", "make it normal"
_REF = re.compile(r"(?!.*\.\.)[A-Za-z0-9_][\w.+/-]{0,199}", re.ASCII)
_DAYS = 90  # until a suggested waiver expires
_WAIVERS = 3  # at most in a suggestion; if more checks fail, look for the cause instead


def advised(
    result: AppResult, base: str, snapshot: str, image: str | None, today: datetime.date
) -> AppResult:
    """Add commands to the result, and advice to each failing check.

    base: branch or commit that growth is counted from; empty if there is none
    snapshot: snapshot of the base; empty if there is none
    image: name of the binary in the app's build folder; None if `why` cannot follow its link
    """
    failing = [
        check for check in result.checks if check.verdict == FAIL and check.kind in SIZE_KINDS
    ]
    if not failing:
        return result
    # A waiver counts for all limits of a metric, so one must cover the largest excess.
    worst = sorted(failing, key=lambda check: check.headroom or 0)
    worst_of = {check.metric: check for check in reversed(worst)}
    waivers = {check.id: _waive(worst_of[check.metric], today) for check in failing}
    commands = [_reproduce(result, base), *_see(result, image), *_compare(result, snapshot)]
    commands += [
        Command(ACCEPT, text)
        for text in dict.fromkeys(waivers[check.id] for check in worst[:_WAIVERS])
    ]
    commands += [
        Command(NORMAL, text)
        for text in dict.fromkeys(_normal(check) for check in worst[:_WAIVERS])
    ]
    checks = tuple(
        replace(c, advice=f"shrink it, or accept it: {waivers[c.id]}") if c.id in waivers else c
        for c in result.checks
    )
    return replace(result, checks=checks, commands=tuple(commands))


def base_name(base: Base | None, commit: str) -> str:
    """Return the base of growth in a form that works in a fresh clone: its branch."""
    if base is not None and base.commit == commit and _REF.fullmatch(base.ref):
        return base.ref
    return commit[:12] if _REF.fullmatch(commit) else ""


def _see(result: AppResult, image: str | None) -> Iterable[Command]:
    symbols = (cause for cause in result.causes if cause.kind == "symbol" and cause.symbol)
    grown = next((cause for cause in symbols if cause.delta > 0), None)
    if image is None:
        yield Command(SEE, f"sizeguard report {shlex.quote(result.folder)} --by section,symbol")
    elif grown is not None:
        yield Command(
            SEE,
            shlex.join(
                [
                    "sizeguard",
                    "why",
                    (PurePosixPath(result.folder) / image).as_posix(),
                    grown.symbol,
                ]
            ),
        )
    else:
        yield Command(SEE, f"sizeguard report {shlex.quote(result.folder)} --by operator,symbol")


def _reproduce(result: AppResult, base: str) -> Command:
    words = ["sizeguard", "gate", "--app", result.app]
    words += ["--target", result.target] if result.target else []
    return Command(REPRODUCE, shlex.join(words + (["--base", base] if base else [])))


def _compare(result: AppResult, snapshot: str) -> Iterable[Command]:
    if result.base in (MEASURED, PARENT) and snapshot:
        words = ["sizeguard", "diff", snapshot, result.folder]
        yield Command(COMPARE, shlex.join(words))


def _waive(check: Check, today: datetime.date) -> str:
    expires = today + datetime.timedelta(days=_DAYS)
    # The limit includes waivers in force; the new waiver covers only the rest.
    needed = -(check.headroom or 0)
    words = [
        "sizeguard",
        "waive",
        check.metric,
        "--app",
        check.app,
        "--target",
        check.target,
        "--bytes",
        str(needed),
    ]
    return f"{shlex.join([*words, '--owner'])} YOU --reason '…' --expires {expires.isoformat()}"


def _normal(check: Check) -> str:
    if check.kind == GROWTH:
        return f"sizeguard baseline update --app {check.app} --target {check.target}"
    what = "raise the maximum" if check.kind == ABSOLUTE else "count from a later release"
    return f"{what} at {check.place}"
