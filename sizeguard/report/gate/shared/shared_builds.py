"""Builds whose failing findings other builds have, too: a report shows them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sizeguard.claims.verdict import Verdict
from sizeguard.gate.gate_result import FAIL, INCONCLUSIVE, AppResult, Check
from sizeguard.report.gate.gate_findings import GateFinding
from sizeguard.report.gate.gate_words import Placed, broken_claims
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
    def lacks_base(self) -> bool:
        """Return whether the sizes have nothing to be compared with."""
        return self.limits[0].lacks_base

    @property
    def metrics(self) -> tuple[str, ...]:
        """The exceeded metrics, each once."""
        checks = [check for limit in self.limits for check in self.checks(limit)]
        return tuple(dict.fromkeys(check.metric for check in checks))

    def checks(self, limit: SharedFinding) -> list[Check]:
        """Return the checks of one limit, those with the least headroom first."""
        checks = [each.check for each in limit.found if each.check is not None]
        return sorted(checks, key=lambda check: check.headroom or 0)


@dataclass(frozen=True, slots=True)
class Together:
    """A result's findings, separated into those of several builds and those of one.

    sizes:   limits
    others:  failures that are not about sizes
    builds:  the builds with their own findings; a build without own ones passes or is in `covered`
    outside: own findings of builds without a result, or of no build
    covered: failing builds of which everything is in sizes and others
    """

    sizes: tuple[SharedSizes, ...]
    others: tuple[SharedFinding, ...]
    builds: tuple[Placed, ...]
    outside: tuple[GateFinding, ...]
    covered: tuple[Placed, ...]

    def claims_of(self, shared: SharedFinding) -> list[Verdict]:
        """List the broken claims of the first build, if the failure is about claims."""
        if shared.first.rule != "elimination":
            return []
        apps = [build.app for build in (*self.covered, *self.builds)]
        first = next(app for app in apps if (app.app, app.target) == shared.builds[0])
        return broken_claims(first)


def together(builds: Sequence[Placed], outside: Sequence[GateFinding]) -> Together:
    """Separate the findings that several builds share."""
    every = [*outside, *(finding for build in builds for finding in build.found)]
    shared = shared_findings(every)
    taken = {id(finding) for each in shared for finding in each.found}
    own: list[Placed] = []
    covered: list[Placed] = []
    for build in builds:
        elsewhere = tuple(finding for finding in build.found if id(finding) in taken)
        rest = replace(build, elsewhere=elsewhere)
        is_bad = any(finding.verdict in (FAIL, INCONCLUSIVE) for finding in rest.own)
        (covered if elsewhere and not is_bad else own).append(rest)
    apps = {(build.app.app, build.app.target): build.app for build in builds}
    return Together(
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
