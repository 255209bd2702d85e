"""Write a gate's result for CI: JUnit, SARIF and GitHub's annotations; also CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from sizeguard.base.errors import listed
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate.gate_result import NOT_RUN, PARENT, GateResult
from sizeguard.report.gate.findings.finding_texts import growth_text, place_of_error, since_text
from sizeguard.report.gate.findings.gate_findings import RULES, GateFinding, findings, is_note
from sizeguard.report.gate.gate_words import cause_name, offer_text, operator_of, verdict_line
from sizeguard.report.gate.shared.shared_findings import with_builds
from sizeguard.report.writers import github, junit, sarif
from sizeguard.report.writers.code_quality import code_quality
from sizeguard.report.writers.printable import printable
from sizeguard.report.writers.source_place import SourcePlace, place_of
from sizeguard.report.writers.table import csv_cell

_OUTCOMES = {
    PASS: junit.PASSED,
    FAIL: junit.FAILED,
    INCONCLUSIVE: junit.BROKEN,
    NOT_RUN: junit.SKIPPED,
}
_COUNTS = {FAIL: "failed_checks", INCONCLUSIVE: "undecided_checks"}  # in GitLab's metrics
_LEVELS = {FAIL: sarif.ERROR, INCONCLUSIVE: sarif.WARNING}
_TERMS = "terms"  # the suite of changed terms
_POLICY = "sizeguard.yaml"  # the file for findings without a place
_RELATED = 10  # causes shown with a finding
_SIZES = ("load", "ram", "file")
_NAMED = 5  # builds with a failure to name
_PLACED = 50  # causes for which a place is looked up


def junit_text(result: GateResult) -> str:
    """Write a suite for changed terms, one for each app and target, and one for the rest."""
    suites: dict[str, list[junit.Case]] = {_TERMS: []} if result.policy_changes else {}
    suites |= {f"{app.app} {app.target}": [] for app in result.apps}
    for finding in findings(result):
        name = _suite(finding)
        outcome = _OUTCOMES[finding.verdict]
        case = junit.Case(
            name.replace(" ", "."),
            finding.name,
            outcome,
            finding.message,
            _body(finding) if finding.verdict != PASS else _noted(finding),
        )
        suites.setdefault(name, []).append(case)
    # A result without findings must not look like a pass
    if not any(suites.values()) and result.verdict != PASS:
        suites["gate"] = [
            junit.Case("gate", "verdict", _OUTCOMES[result.verdict], verdict_line(result))
        ]
    return junit.junit_document(
        "sizeguard gate", [junit.Suite(name, cases) for name, cases in suites.items()]
    )


def _suite(finding: GateFinding) -> str:
    return _TERMS if _is_policy(finding) else _subject(finding) or "all apps"


def _is_policy(finding: GateFinding) -> bool:
    return finding.rule.startswith("policy/")


def _noted(finding: GateFinding) -> str:
    """Return the text of a passing finding that has a note."""
    says = _is_policy(finding) or is_note(finding) or finding.rule == "growth"
    return finding.message if says else ""


def _body(finding: GateFinding) -> str:
    return "\n".join([text for text in (finding.place, finding.advice) if text] + _causes(finding))


def _causes(finding: GateFinding) -> list[str]:
    lines = []
    for cause in finding.related[:_RELATED]:
        words = (operator_of(cause), cause.dtype, cause_name(cause))
        named = " ".join(word for word in words if word)
        lines.append(f"{cause.delta:+,}  {named}  {cause.edited or cause.place}".rstrip())
    return lines


def sarif_json(result: GateResult) -> dict[str, object]:
    """Make the SARIF document."""
    return sarif.sarif_document([*_alerts(result)], RULES)


def quality_json(result: GateResult) -> list[dict[str, object]]:
    """Make GitLab's code quality report."""
    return code_quality(_alerts(result), _POLICY)


def metrics_text(result: GateResult) -> str:
    """Make GitLab's metrics report, OpenMetrics: sizes and failed checks of each build.

    A build that was not measured has a failed or undecided check, too. What is of no build has
    empty names.
    """
    values: dict[tuple[str, str], dict[str, int]] = {}
    for app in result.apps:
        shown = _SIZES if app.sizes else ()
        sizes = {f"{name}_bytes": getattr(app.sizes, name) for name in shown}
        values[app.app, app.target] = {**sizes, **dict.fromkeys(_COUNTS.values(), 0)}
    for finding in findings(result):
        if name := _COUNTS.get(finding.verdict):
            zeros = dict.fromkeys(_COUNTS.values(), 0)
            values.setdefault((finding.app, finding.target), zeros)[name] += 1
    rows: dict[str, list[str]] = {}
    for (app_name, target), numbers in values.items():
        build = f'{{app="{_label(app_name)}",target="{_label(target)}"}}'
        for name, value in numbers.items():
            rows.setdefault(f"sizeguard_{name}", []).append(f"{build} {value}")
    lines = []
    for name, found in rows.items():
        lines += [f"# TYPE {name} gauge", *(f"{name}{row}" for row in found)]
    return "\n".join([*lines, "# EOF"])


def _label(text: str) -> str:
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')


def _alerts(result: GateResult) -> Iterator[sarif.Alert]:
    for finding in findings(result):
        is_said = _is_policy(finding) or is_note(finding)
        if finding.verdict not in (FAIL, INCONCLUSIVE) and not is_said:
            continue
        related = [
            (
                place_of(cause.edited or cause.place),
                f"{cause.delta:+,} bytes: {cause.symbol or cause.operator}",
            )
            for cause in finding.related[:_PLACED]
        ]
        place, policy = _place(finding), place_of(finding.place)
        if policy and place != policy:
            related.insert(0, (policy, "the limit"))
        yield sarif.Alert(
            rule=finding.rule,
            level=_LEVELS.get(finding.verdict, sarif.NOTE),
            message=_message(finding),
            name=finding.name,
            kind=finding.rule.partition("/")[0],
            identity=finding.identity,
            place=place,
            related=[(place, text) for place, text in related[:_RELATED] if place],
        )
    for app in result.apps:
        for offer in app.offers:
            message = f"{app.app} {app.target}: {offer_text(offer)}"
            identity = f"{app.app}/{app.target}/offer/{offer.metric}"
            yield sarif.Alert(
                "offer", sarif.NOTE, message, offer.metric, "offer", identity, place_of(offer.place)
            )


def _message(finding: GateFinding) -> str:
    subject = _subject(finding)
    return f"{subject}: {finding.message}" if subject else finding.message


def github_text(result: GateResult) -> str:
    """Write the annotations as GitHub's workflow commands."""
    return github.workflow_commands([*_annotations(result)])


def _annotations(result: GateResult) -> Iterator[github.Annotation]:
    """Annotate each failure at its place, with the first causes; add the verdict and suggestions.

    Changed terms come first; one annotation has all those that are only noted.
    """
    found = findings(result)
    yield from _changed_terms(found)
    yield from _failures(found)
    grown = [app for app in result.apps if app.growth_since_base is not None and app.base != PARENT]
    heads = [f"growth since the {since_text(grown)}, in bytes:"] if grown else []
    growth = [*heads, *(f"{app.app} {app.target}: {growth_text(app)}" for app in grown)]
    verdict = "\n".join([verdict_line(result), *growth])
    yield github.Annotation(github.NOTICE, "sizeguard gate", verdict)
    for finding in found:
        if is_note(finding):
            place = place_of(finding.place)
            yield github.Annotation(github.NOTICE, finding.name, _message(finding), place)
    for app in result.apps:
        for offer in app.offers:
            message = (
                f"{offer.metric} of {app.app} {app.target} is {offer.actual:,} bytes of"
                f" {offer.limit:,} allowed; tighter: {offer.text}"
            )
            yield github.Annotation(
                github.NOTICE, "a limit could be tighter", message, place_of(offer.place)
            )


def _failures(found: Sequence[GateFinding]) -> Iterator[github.Annotation]:
    """Annotate each limit that a build exceeds, and each other failure once for all its builds.

    GitHub shows ten errors of a step.
    """
    for finding, group in with_builds(found):
        if finding.verdict not in (FAIL, INCONCLUSIVE) or _is_policy(finding):
            continue
        advice = group.advice if group else filter(None, [finding.advice])
        builds = [" ".join(filter(None, build)) for build in group.builds] if group else []
        subject = listed(builds, _NAMED) if group else _subject(finding)
        message = group.message if group else finding.message
        lines = [f"{subject}: {message}" if subject else message, *advice, *_causes(finding)[:5]]
        level = github.ERROR if finding.verdict == FAIL else github.WARNING
        title = f"{subject}: {finding.name}" if finding.app else finding.name
        yield github.Annotation(level, title, "\n".join(lines), _place(finding))


def _changed_terms(found: Iterable[GateFinding]) -> Iterator[github.Annotation]:
    levels = {
        FAIL: github.ERROR,
        INCONCLUSIVE: github.WARNING,
        PASS: github.NOTICE,
    }
    terms = [finding for finding in found if _is_policy(finding)]
    for verdict, level in levels.items():
        texts = [finding.message for finding in terms if finding.verdict == verdict]
        if texts:
            title = f"this change has different terms from its base: {len(texts)}"
            yield github.Annotation(level, title, "\n".join(texts), first=True)


def _subject(finding: GateFinding) -> str:
    return " ".join(part for part in (finding.app, finding.target) if part)


def _place(finding: GateFinding) -> SourcePlace | None:
    """Choose the edited line that caused growth, else the policy, else a function that grew.

    A build that failed has the line of the compiler's error.

    GitHub shows an annotation beside the code only if its line is in the change.
    """
    causes = finding.related[:_PLACED]
    edited = (place_of(cause.edited) for cause in causes if cause.edited and cause.delta > 0)
    places = (place_of(cause.place) for cause in causes)
    return (
        next(filter(None, edited), None)
        or place_of(finding.place)
        or next(filter(None, places), None)
        or _place_of_error(finding)
    )


def _place_of_error(finding: GateFinding) -> SourcePlace | None:
    """Return the line of the first compiler's error that the message of a failed build has."""
    return place_of(place_of_error(finding.message)) if finding.rule == "problem" else None


COLUMNS = (
    "app",
    "target",
    "check",
    "verdict",
    "actual",
    "limit",
    "headroom",
    "base",
    "waived",
    "rule",
    "place",
    "message",
    "advice",
)


def csv_text(result: GateResult) -> str:
    """Write a row for each finding.

    Text that looks like a spreadsheet formula gets an apostrophe before it.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for finding in findings(result):
        check = finding.check
        numbers = (
            (check.actual, check.limit, check.headroom, check.base, check.waived)
            if check
            else (None,) * 5
        )
        rule = check.rule if check else ""
        subject = (finding.app, finding.target, finding.name, finding.verdict)
        texts = (rule, finding.place, finding.message, finding.advice)
        shown = ("" if number is None else number for number in numbers)
        writer.writerow([*map(csv_cell, subject), *shown, *map(csv_cell, texts)])
    return text.getvalue().rstrip("\n")
