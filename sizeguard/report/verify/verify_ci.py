"""Write a verification for CI: JUnit, SARIF and GitHub's annotations."""

from __future__ import annotations

from collections.abc import Iterator

from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, NOT_APPLICABLE, OK, PASS, Verification
from sizeguard.report.verify.verify_words import claim_message, headline
from sizeguard.report.writers import github, junit, sarif

_OUTCOMES = {
    PASS: junit.PASSED,
    FAIL: junit.FAILED,
    INCONCLUSIVE: junit.BROKEN,
    NOT_APPLICABLE: junit.SKIPPED,
}


def junit_text(result: Verification) -> str:
    """Write a test case for each claim.

    Undecided claims are errors, so that no CI treats them as passed.
    """
    cases = [
        junit.Case(
            f"{v.kind}.{v.expect}",
            v.name,
            _OUTCOMES[v.verdict],
            claim_message(v),
            "\n".join(v.evidence),
        )
        for v in result.verdicts
    ]
    broken = junit.PASSED if result.canary == OK else junit.BROKEN
    cases.append(
        junit.Case("canary", "a claim that must fail fails", broken, "; ".join(result.canary_notes))
    )
    name = f"sizeguard verify {result.subject}"
    return junit.junit_document(name, [junit.Suite(name, cases)])


def sarif_json(result: Verification) -> dict[str, object]:
    """Make the SARIF document of claims that do not pass."""
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
        if verdict.verdict in (FAIL, INCONCLUSIVE)
    ]
    alerts += [
        sarif.Alert("canary", sarif.ERROR, note, "canary", "canary", f"canary/{note}")
        for note in result.canary_notes
    ]
    return sarif.sarif_document(alerts, {})


def github_text(result: Verification) -> str:
    """Write the annotations of a workflow run."""
    return github.workflow_commands(list(_annotations(result)))


def _annotations(result: Verification) -> Iterator[github.Annotation]:
    level = github.NOTICE if result.verdict == PASS and result.canary == OK else github.ERROR
    yield github.Annotation(level, "sizeguard verify", headline(result))
    for note in result.canary_notes:
        yield github.Annotation(github.ERROR, "canary", note)
    for verdict in result.verdicts:
        if verdict.verdict in (FAIL, INCONCLUSIVE):
            level = github.ERROR if verdict.verdict == FAIL else github.WARNING
            yield github.Annotation(level, f"{verdict.kind} {verdict.name}", claim_message(verdict))
