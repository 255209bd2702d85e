"""Turns a gate's result into text: verdict, numbers, cause, what to do."""

from __future__ import annotations

import json
from collections.abc import Iterable

from sizeguard.gate.result import FAIL, INCONCLUSIVE, PASS, AppResult, Check, GateResult, Saving
from sizeguard.verify.result import ABSENT, PRESENT

SCHEMA_VERSION = 1
ELIMINATION = "elimination"
MARKS = {"pass": "✓", "fail": "✗", "inconclusive": "?", "not_run": "–"}
SHOWN = 16  # operators in the table of what was saved


def gate_text(result: GateResult, format_: str) -> str:
    if format_ == "json":
        return json.dumps(gate_json(result), indent=1)
    parts = ["\n".join(_app(app)) for app in result.apps]
    parts += [f"NOT DONE  {each.app or 'all apps'} for {each.target}: {each.message}\n  {each.advice}" for each in result.problems]
    parts += [f"FAIL  {use.message}\n  {use.advice}" for use in result.waivers if use.message]
    return "\n\n".join(parts)


def gate_json(result: GateResult) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "verdict": result.verdict,
        "checks": [_check_json(check) for app in result.apps for check in app.checks],
        "models": [
            {
                "model": model.model,
                "app": model.app,
                "verdict": model.verdict,
                "cases": model.cases,
                "missing": list(model.missing),
                "message": model.message,
            }
            for app in result.apps
            for model in app.models
        ],
        "saved": [
            {"app": app.app, "operator": row.operator, "full": row.full, "selective": row.selective, "saved": row.saved}
            for app in result.apps
            for row in app.savings
        ],
    }


def _check_json(check: Check) -> dict[str, object]:
    return {
        "id": check.id,
        "app": check.app,
        "target": check.target,
        "metric": check.metric,
        "limit": check.limit,
        "actual": check.actual,
        "headroom": check.headroom,
        "verdict": check.verdict,
        "rule": check.rule,
        "advice": check.advice,
    }


def _app(app: AppResult) -> Iterable[str]:
    yield _headline(app)
    yield f"{'':<26}{'actual':>10} {'limit':>10} {'headroom':>10}"
    for check in sizes_of(app):
        limit = "–" if check.limit is None else f"{check.limit:,}"
        headroom = "–" if check.headroom is None else f"{check.headroom:+,}"
        mark = MARKS[check.verdict]
        since = f"since {check.since}" if check.since else ""
        yield f"  {check.metric:<24}{check.actual:>10,} {limit:>10} {headroom:>10}  {mark}  {check.kind} {check.rule} {since}"
    for model in app.models:
        what = f"{model.cases} cases, full = selective bit for bit" if model.verdict == PASS else model.message
        yield f"  model {model.model:<18} {what}  {MARKS[model.verdict]}"
    yield from _elimination(app)
    if app.sizes:
        yield f"  {'page slack':<24}{app.sizes.page_slack:>10,}  bytes until the file on disk grows"
    if app.sizes and app.full:
        yield ""
        yield from _saved(app, app.full.load, app.sizes.load)
    if app.growth:
        yield ""
        yield "what changed since the baseline"
        for row in app.growth:
            yield f"  {row.new - row.old:>+8,}  {row.operator}  {row.old:,} → {row.new:,}"
        yield f"  {sum(row.new - row.old for row in app.growth):>+8,}  = the change of `load`"
    advice = list(dict.fromkeys(check.advice for check in app.checks if check.advice))
    if advice:
        yield ""
        yield "what to do"
        yield from (f"  {line}" for line in advice)


def sizes_of(app: AppResult) -> list[Check]:
    return [check for check in app.checks if check.metric != ELIMINATION]


def _elimination(app: AppResult) -> Iterable[str]:
    """212 claims gone, 0 left, and what does not hold."""
    for check in app.checks:
        if check.metric != ELIMINATION:
            continue
        found = app.verification
        gone = sum(v.verdict == PASS and v.expect == ABSENT for v in found.verdicts) if found else 0
        there = sum(v.verdict == PASS and v.expect == PRESENT for v in found.verdicts) if found else 0
        text = f"{gone} claims gone, {there} there, {check.actual} left" if found else "nothing could be verified"
        yield f"  {ELIMINATION:<24} {text}  {MARKS[check.verdict]}"
        for verdict in found.verdicts if found else ():
            if verdict.verdict != PASS:
                size = f", {verdict.bytes:,} bytes" if verdict.bytes else ""
                why = verdict.cause or "; ".join(verdict.evidence[:1])
                yield f"    {MARKS[verdict.verdict]} {verdict.kind} {verdict.name}{size}: {why}"


def _headline(app: AppResult) -> str:
    verdicts = {check.verdict for check in app.checks} | {model.verdict for model in app.models}
    load = f"loads {app.sizes.load:,} bytes, full {app.full.load:,}" if app.sizes and app.full else "was not measured"
    if FAIL in verdicts:
        broken = [model.model for model in app.models if model.verdict == FAIL]
        over = [check for check in app.checks if check.verdict == FAIL]
        causes = [
            f"{check.actual} claims of its selection do not hold"
            if check.metric == ELIMINATION
            else f"{-(check.headroom or 0):,} bytes over the limit of `{check.metric}`"
            for check in over
        ]
        causes += [f"{', '.join(broken)} does not run as on full"] if broken else []
        return f"FAIL  {app.app}: {'; '.join(causes)} ({load})"
    if verdicts == {PASS}:
        return f"PASS  {app.app} {load}"
    undecided = [check.metric for check in app.checks if check.verdict == INCONCLUSIVE]
    return f"INCONCLUSIVE  {app.app} {load}, and {', '.join(undecided)} cannot be decided"


def _saved(app: AppResult, full: int, selective: int) -> Iterable[str]:
    operators = [row for row in app.savings if row.is_operator]
    others = [row for row in app.savings if not row.is_operator]
    yield f"what the selection saved, by operator{'full':>21} {app.app:>10} {'saved':>10}"
    for row in operators[:SHOWN]:
        yield _line(row.operator, row)
    rest = operators[SHOWN:]
    if rest:
        yield _line(f"{len(rest)} more operators", _sum(rest))
    for row in others:
        yield _line(f"not an operator: {row.operator.strip('()')}", row)
    yield _line("all", Saving("", full, selective))
    # Aliases share a row.
    count = sum(len(row.operator.split(", ")) for row in operators)
    kept = sum(len(row.operator.split(", ")) for row in operators if row.selective)
    yield f"  {count} operators in full, {kept} of them in {app.app}"


def _line(name: str, row: Saving) -> str:
    shown = name if len(name) <= 46 else f"{name[:45]}…"
    return f"  {shown:<46} {row.full:>9,} {row.selective:>10,} {row.saved:>10,}"


def _sum(rows: Iterable[Saving]) -> Saving:
    listed = list(rows)
    return Saving("", sum(row.full for row in listed), sum(row.selective for row in listed))
