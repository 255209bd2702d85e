"""Results of one or several measuring jobs: each judged again, then joined into one.

A matrix over apps and targets leaves a result of each job. The joined verdict is the worst of all
parts, recomputed from their checks. A job without a result leaves the joined one inconclusive.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate.contradictions import NOTHING, contradictions, recomputed
from sizeguard.gate.gate_result import AppResult, Base, GateResult, Problem
from sizeguard.gate.policy.terms_result import UNUSED, Waiver, WaiverUse
from sizeguard.gate.remade_advice import with_remade_advice
from sizeguard.report.gate.gate_json import result_of

RESULT = "gate.json"
MOST_PARTS = 50
_SEVERITY = (FAIL, INCONCLUSIVE)  # worst first, before all others
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Judged:
    """A result that was judged again from its numbers.

    result:  its advice and commands are made from its fields
    against: its contradictions
    """

    result: GateResult
    against: tuple[str, ...]

    @property
    def is_nothing(self) -> bool:
        """Return whether it passes because nothing was measured, and nothing else is wrong."""
        return self.against == (NOTHING,)


@dataclass(frozen=True, slots=True)
class Part:
    """The result of one job.

    judged: None if the job left no valid result
    reason: why there is none
    """

    name: str
    judged: Judged | None
    reason: str = ""


def judged_again(data: bytes, today: datetime.date) -> Judged:
    """Read a result strictly and judge it; raise InputError if it cannot be read."""
    result = with_remade_advice(result_of(data, RESULT), today)
    return Judged(result, (*contradictions(result, today), *_against_code(result, data)))


def _against_code(result: GateResult, data: bytes) -> Iterator[str]:
    stated = json.loads(data).get("exit_code")
    if type(stated) is not int or stated != result.exit_code:
        yield f"the exit code is {str(stated)[:20]}, but its parts give {result.exit_code}"


def joined(parts: Sequence[Part]) -> Judged:
    """Join the results of several jobs; at least one has a result."""
    found = [(part.name, part.judged) for part in parts if part.judged]
    if len(found) == len(parts) and all(each.is_nothing for _, each in found):
        return found[0][1]
    against = [f"{name}: {text}" for name, each in found for text in each.against]
    results = _distinct([(name, each.result) for name, each in found])
    bases = [result.base for result in results if result.base]
    against += _different("counted from", [base.commit for base in bases if base.commit])
    against += _different("measured at", [result.head for result in results])
    missing = [
        Problem("", "", f"{part.name}: not measured: {part.reason}", "", 3)
        for part in parts
        if part.judged is None
    ]
    result = GateResult(
        PASS,
        tuple(app for result in results for app in result.apps),
        _each_once(finding for result in results for finding in result.selection),
        _waivers(use for result in results for use in result.waivers),
        _each_once([*missing, *(each for result in results for each in result.problems)]),
        _base(bases),
        results[0].head,
        "; ".join(_each_once(result.skipped for result in results if result.skipped)),
        _each_once(change for result in results for change in result.policy_changes),
    )
    return Judged(replace(result, verdict=recomputed(result)), tuple(against))


def _base(bases: Sequence[Base]) -> Base | None:
    return next((base for base in bases if base.commit), bases[0] if bases else None)


def _different(what: str, commits: Iterable[str]) -> list[str]:
    known = _each_once(commits)
    if len(known) < 2:
        return []
    return [f"the jobs do not agree: {what} {' and '.join(each[:7] or '–' for each in known)}"]


def _each_once(found: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(found))


def _distinct(results: Sequence[tuple[str, GateResult]]) -> list[GateResult]:
    """Add the job's name to targets that several jobs measured, as of several runners."""
    counts = Counter((app.app, app.target) for _, result in results for app in result.apps)
    return [
        replace(result, apps=tuple(_named(app, name, counts) for app in result.apps))
        for name, result in results
    ]


def _named(app: AppResult, part: str, counts: Counter[tuple[str, str]]) -> AppResult:
    if counts[app.app, app.target] < 2:
        return app
    target = f"{app.target} ({part})".strip()
    return replace(
        app,
        target=target,
        checks=tuple(replace(check, target=target) for check in app.checks),
        models=tuple(replace(model, target=target) for model in app.models),
    )


def _waivers(uses: Iterable[WaiverUse]) -> tuple[WaiverUse, ...]:
    """Keep the worst state of each waiver; used by one job and unused by others is used."""
    kept: dict[Waiver, WaiverUse] = {}
    for use in uses:
        before = kept.get(use.waiver)
        if before is None or _rank(use) < _rank(before):
            kept[use.waiver] = use
    return tuple(kept.values())


def _rank(use: WaiverUse) -> tuple[int, bool, int]:
    verdict = use.verdict
    severity = _SEVERITY.index(verdict) if verdict in _SEVERITY else len(_SEVERITY)
    return severity, use.state == UNUSED, -use.used
