"""Turns a gate's result into what CI systems read: JUnit, SARIF, GitHub's annotations; and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from sizeguard.gate.result import FAIL, INCONCLUSIVE, NOT_RUN, PASS, GateResult
from sizeguard.report import github, junit, sarif
from sizeguard.report.gate_findings import RULES, Finding, findings
from sizeguard.report.gate_texts import offer_text, verdict_line
from sizeguard.report.names import printable
from sizeguard.report.place import Place, place_of

_OUTCOMES = {PASS: junit.PASSED, FAIL: junit.FAILED, INCONCLUSIVE: junit.BROKEN, NOT_RUN: junit.SKIPPED}
_RELATED = 10  # causes at a finding


def junit_text(result: GateResult) -> str:
    """A suite for each app and target, and one for what concerns all."""
    suites: dict[str, list[junit.Case]] = {f"{app.app} {app.target}": [] for app in result.apps}
    for finding in findings(result):
        name = _subject(finding) or "all apps"
        outcome = _OUTCOMES[finding.verdict]
        case = junit.Case(name.replace(" ", "."), finding.name, outcome, finding.message, _body(finding))
        suites.setdefault(name, []).append(case)
    if not any(suites.values()) and result.verdict != PASS:  # a result that says nothing must not read as passed
        suites["gate"] = [junit.Case("gate", "verdict", _OUTCOMES[result.verdict], verdict_line(result))]
    return junit.junit_document("sizeguard gate", [junit.Suite(name, cases) for name, cases in suites.items()])


def _body(finding: Finding) -> str:
    return "\n".join([text for text in (finding.place, finding.advice) if text] + _causes(finding))


def _causes(finding: Finding) -> list[str]:
    return [f"{c.delta:+,}  {c.operator} {c.dtype} {c.symbol or c.kind}  {c.place}".rstrip() for c in finding.related[:_RELATED]]


def sarif_json(result: GateResult) -> dict[str, object]:
    return sarif.sarif_document([*_alerts(result)], RULES)


def _alerts(result: GateResult) -> Iterator[sarif.Alert]:
    for finding in findings(result):
        if finding.verdict not in (FAIL, INCONCLUSIVE):
            continue
        related = [(place_of(cause.place), f"{cause.delta:+,} bytes: {cause.symbol or cause.operator}") for cause in finding.related]
        yield sarif.Alert(
            rule=finding.rule,
            level=sarif.ERROR if finding.verdict == FAIL else sarif.WARNING,
            message=_message(finding),
            name=finding.name,
            kind=finding.rule.partition("/")[0],
            identity=finding.identity,
            place=place_of(finding.place),
            related=[(place, text) for place, text in related[:_RELATED] if place],
        )
    for app in result.apps:
        for offer in app.offers:
            message = f"{app.app} {app.target}: {offer_text(offer)}"
            identity = f"{app.app}/{app.target}/offer/{offer.metric}"
            yield sarif.Alert("offer", sarif.NOTE, message, offer.metric, "offer", identity, place_of(offer.place))


def _message(finding: Finding) -> str:
    subject = _subject(finding)
    return f"{subject}: {finding.message}" if subject else finding.message


def github_text(result: GateResult) -> str:
    return github.workflow_commands([*_annotations(result)])


def _annotations(result: GateResult) -> Iterator[github.Annotation]:
    """What fails at its own place, with the first causes; offers as notices; the verdict."""
    for finding in findings(result):
        if finding.verdict not in (FAIL, INCONCLUSIVE):
            continue
        lines = [_message(finding), *([finding.advice] if finding.advice else []), *_causes(finding)[:5]]
        level = github.ERROR if finding.verdict == FAIL else github.WARNING
        title = f"{_subject(finding)}: {finding.name}" if finding.app else finding.name
        yield github.Annotation(level, title, "\n".join(lines), place_of(finding.place) or _first_place(finding))
    yield github.Annotation(github.NOTICE, "sizeguard gate", verdict_line(result))
    for app in result.apps:
        for offer in app.offers:
            message = (
                f"{offer.metric} of {app.app} {app.target} is {offer.actual:,} bytes of {offer.limit:,} allowed; tighter: {offer.text}"
            )
            yield github.Annotation(github.NOTICE, "a limit could be tighter", message, place_of(offer.place))


def _subject(finding: Finding) -> str:
    return " ".join(part for part in (finding.app, finding.target) if part)


def _first_place(finding: Finding) -> Place | None:
    return next((place for place in (place_of(cause.place) for cause in finding.related) if place), None)


COLUMNS = ("app", "target", "check", "verdict", "actual", "limit", "headroom", "base", "waived", "rule", "place", "message", "advice")


def csv_text(result: GateResult) -> str:
    """A row for each finding. A text that a spreadsheet would take for a formula has an apostrophe before it."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for finding in findings(result):
        check = finding.check
        numbers = (check.actual, check.limit, check.headroom, check.base, check.waived) if check else (None,) * 5
        writer.writerow([
            *map(_cell, (finding.app, finding.target, finding.name, finding.verdict)),
            *("" if number is None else number for number in numbers),
            *map(_cell, (check.rule if check else "", finding.place, finding.message, finding.advice)),
        ])  # fmt: skip
    return text.getvalue().rstrip("\n")


def _cell(text: str) -> str:
    shown = printable(text)
    return f"'{shown}" if shown[:1] in ("=", "+", "-", "@") and shown else shown
