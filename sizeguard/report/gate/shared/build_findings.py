"""Group a gate's findings by build."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sizeguard.base.dataclass import dataclass
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS, Verdict
from sizeguard.gate.gate_result import AppResult, GateResult, overall
from sizeguard.report.gate.findings.gate_findings import GateFinding, urgency


@dataclass(frozen=True, slots=True)
class BuildFindings:
    """A build with its findings.

    verdict: the worst of its findings
    elsewhere: the findings that the report shows together with those of other builds
    """

    app: AppResult
    found: Sequence[GateFinding]
    verdict: str
    elsewhere: tuple[GateFinding, ...] = ()

    @property
    def own(self) -> list[GateFinding]:
        """The findings that no other build has."""
        shown = {id(finding) for finding in self.elsewhere}
        return [finding for finding in self.found if id(finding) not in shown]


def findings_by_build(
    result: GateResult, found: Iterable[GateFinding]
) -> tuple[list[BuildFindings], list[GateFinding]]:
    """Group the findings by build; also return those without a build.

    A finding about all targets of an app is with its first target. Waivers are left out.
    """
    first: dict[str, AppResult] = {}
    for app in result.apps:
        first.setdefault(app.app, app)
    mine: dict[tuple[str, str], list[GateFinding]] = {
        (app.app, app.target): [] for app in result.apps
    }
    outside = []
    for finding in found:
        target = finding.target or (first[finding.app].target if finding.app in first else "")
        if finding.rule == "waiver" or finding.rule.startswith("policy/"):
            continue
        if (finding.app, target) in mine:
            mine[finding.app, target].append(finding)
        elif finding.verdict in (FAIL, INCONCLUSIVE):
            outside.append(finding)
    builds = [
        BuildFindings(app, mine[app.app, app.target], _worst(app, mine[app.app, app.target]))
        for app in result.apps
    ]
    return builds, outside


def _worst(app: AppResult, found: Iterable[GateFinding]) -> str:
    return overall({app.verdict, *(finding.verdict for finding in found)})


def is_urgent(build: BuildFindings) -> bool:
    """Return whether a build has findings that matter more than its size."""
    return any(urgency(finding) in (2, 3) for finding in build.own)


def has_own_growth(build: BuildFindings) -> bool:
    """Return whether the report explains the build's sizes here, and not with other builds'."""
    is_size = any(finding.rule.startswith("limit/") for finding in build.elsewhere)
    return not is_size or any(
        finding.rule.startswith("limit/") and finding.verdict != PASS for finding in build.own
    )


def own_claims(build: BuildFindings) -> list[Verdict]:
    """List the claims that do not pass, unless the report shows them elsewhere."""
    is_elsewhere = any(finding.rule == "elimination" for finding in build.elsewhere)
    return [] if is_elsewhere else broken_claims(build.app)


def broken_claims(app: AppResult) -> list[Verdict]:
    """List the claims that do not pass."""
    verdicts = app.verification.verdicts if app.verification else ()
    return [verdict for verdict in verdicts if verdict.verdict in (FAIL, INCONCLUSIVE)]
