"""Group the builds of a gate by the failing findings that they share, for reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sizeguard.base.dataclass import dataclass
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, Verdict
from sizeguard.gate.gate_result import AppResult, Check
from sizeguard.report.gate.findings.gate_findings import GateFinding
from sizeguard.report.gate.shared.build_findings import BuildFindings, broken_claims
from sizeguard.report.gate.shared.shared_findings import SharedFinding, shared_findings


@dataclass(frozen=True, slots=True)
class SharedSizes:
    """Limits that the same builds exceed for the same reason."""

    limits: tuple[SharedFinding, ...]
    apps: tuple[AppResult, ...]

    @property
    def verdict(self) -> str:
        """The verdict of all of them."""
        return self.limits[0].first.verdict

    @property
    def summary(self) -> str:
        """The beginning of a line about the builds; the metric follows."""
        count = f"{len(self.apps):,} builds"
        return f"{count} exceed" if self.verdict == FAIL else f"undecided for {count}:"

    @property
    def lacks_base(self) -> bool:
        """Return whether the sizes have no base."""
        return self.limits[0].lacks_base

    def checks(self, limit: SharedFinding) -> list[Check]:
        """Return the checks of one limit, those with the least headroom first."""
        checks = [each.check for each in limit.found if each.check is not None]
        return sorted(checks, key=lambda check: check.headroom or 0)


@dataclass(frozen=True, slots=True)
class GroupedFindings:
    """A result's findings, separated into those of several builds and those of one.

    sizes:   shared findings about limits
    others:  other shared findings
    builds:  builds that pass, or that fail for reasons of their own
    outside: findings that are not shared, of builds without a result or of no build
    covered: failing builds without reasons of their own: `sizes` and `others` have all of them
    """

    sizes: tuple[SharedSizes, ...]
    others: tuple[SharedFinding, ...]
    builds: tuple[BuildFindings, ...]
    outside: tuple[GateFinding, ...]
    covered: tuple[BuildFindings, ...]

    def claims_of(self, shared: SharedFinding) -> list[Verdict]:
        """List the broken claims of the first build, if the failure is about claims."""
        if shared.first.rule != "elimination":
            return []
        apps = [build.app for build in (*self.covered, *self.builds)]
        first = next(app for app in apps if (app.app, app.target) == shared.builds[0])
        return broken_claims(first)


def grouped_findings(
    builds: Sequence[BuildFindings], outside: Sequence[GateFinding]
) -> GroupedFindings:
    """Separate the findings that several builds share."""
    every = [*outside, *(finding for build in builds for finding in build.found)]
    shared = shared_findings(every)
    taken = {id(finding) for each in shared for finding in each.found}
    own: list[BuildFindings] = []
    covered: list[BuildFindings] = []
    for build in builds:
        elsewhere = tuple(finding for finding in build.found if id(finding) in taken)
        rest = replace(build, elsewhere=elsewhere)
        is_bad = any(finding.verdict in (FAIL, INCONCLUSIVE) for finding in rest.own)
        (covered if elsewhere and not is_bad else own).append(rest)
    apps = {(build.app.app, build.app.target): build.app for build in builds}
    return GroupedFindings(
        _sizes([each for each in shared if each.is_size], apps),
        tuple(each for each in shared if not each.is_size),
        tuple(own),
        tuple(finding for finding in outside if id(finding) not in taken),
        tuple(covered),
    )


def _sizes(
    shared: Sequence[SharedFinding], apps: dict[tuple[str, str], AppResult]
) -> tuple[SharedSizes, ...]:
    """Join the limits that the same builds exceed."""
    groups: dict[tuple[object, ...], list[SharedFinding]] = {}
    for each in shared:
        groups.setdefault((each.lacks_base, each.first.verdict, each.builds), []).append(each)
    return tuple(
        SharedSizes(tuple(limits), tuple(apps[build] for build in limits[0].builds))
        for limits in groups.values()
    )
