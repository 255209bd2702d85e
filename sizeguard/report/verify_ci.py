"""Turns a verification into what CI systems read: JUnit, SARIF, GitHub's annotations."""

from __future__ import annotations

from collections.abc import Iterator

from sizeguard.report import github, junit, sarif
from sizeguard.report.verify_terminal import headline
from sizeguard.verify.result import ABSENT, FAIL, INCONCLUSIVE, OK, PASS, Verdict, Verification

_OUTCOMES = {PASS: junit.PASSED, FAIL: junit.FAILED, INCONCLUSIVE: junit.BROKEN}


def junit_text(result: Verification) -> str:
    """A test case for each claim; undecided ones are errors, so that no CI takes them for passed."""
    cases = [
        junit.Case(f"{v.kind}.{v.expect}", v.name, _OUTCOMES[v.verdict], claim_message(v), "\n".join(v.evidence)) for v in result.verdicts
    ]
    broken = junit.PASSED if result.canary == OK else junit.BROKEN
    cases.append(junit.Case("canary", "a claim that must fail fails", broken, "; ".join(result.canary_notes)))
    name = f"sizeguard verify {result.subject}"
    return junit.junit_document(name, [junit.Suite(name, cases)])


def claim_message(verdict: Verdict) -> str:
    if verdict.verdict == INCONCLUSIVE:
        return f"{verdict.kind} {verdict.name} ({verdict.expect}) cannot be decided: {'; '.join(verdict.evidence[:2])}"
    what = "is still there" if verdict.expect == ABSENT else "is not there"
    size = f" ({verdict.bytes} bytes)" if verdict.bytes else ""
    return f"{verdict.kind} {verdict.name} {what}{size}" + (f": {verdict.cause}" if verdict.cause else "")


def sarif_json(result: Verification) -> dict[str, object]:
    alerts = [
        sarif.Alert(
            rule=f"{verdict.kind}/{verdict.expect}",
            level=sarif.ERROR if verdict.verdict == FAIL else sarif.WARNING,
            message=claim_message(verdict),
            name=verdict.name,
            kind=verdict.kind,
            identity=f"{verdict.kind}/{verdict.expect}/{verdict.name}",
        )
        for verdict in result.verdicts
        if verdict.verdict != PASS
    ]
    alerts += [sarif.Alert("canary", sarif.ERROR, note, "canary", "canary", f"canary/{note}") for note in result.canary_notes]
    return sarif.sarif_document(alerts, {})


def github_text(result: Verification) -> str:
    """Annotations of a workflow run."""
    return github.workflow_commands(list(_annotations(result)))


def _annotations(result: Verification) -> Iterator[github.Annotation]:
    level = github.NOTICE if result.verdict == PASS and result.canary == OK else github.ERROR
    yield github.Annotation(level, "sizeguard verify", headline(result))
    for note in result.canary_notes:
        yield github.Annotation(github.ERROR, "canary", note)
    for verdict in result.verdicts:
        if verdict.verdict != PASS:
            level = github.ERROR if verdict.verdict == FAIL else github.WARNING
            yield github.Annotation(level, f"{verdict.kind} {verdict.name}", claim_message(verdict))
