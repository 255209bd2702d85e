"""List a gate's findings, one for each check.

Test reports and annotations show them one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sizeguard.base.dataclass import dataclass
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, MATCHES_NOTHING, PASS
from sizeguard.gate.causes.growth_result import Cause
from sizeguard.gate.gate_result import (
    ELIMINATION,
    GROWTH,
    MACHINE,
    NEEDED,
    NOT_RUN,
    RUN,
    SAME_KIND,
    AppResult,
    Check,
    GateResult,
    LibrarySize,
    ModelResult,
    Problem,
    SelectionFinding,
    ShippedSection,
)
from sizeguard.gate.policy.terms_result import ACCEPTABLE, PolicyChange, WaiverUse
from sizeguard.report.gate.findings.finding_texts import (
    growth_text,
    library_text,
    limit_message,
    policy_text,
    section_text,
    since_text,
    unmatched_patterns,
    waiver_text,
)
from sizeguard.report.gate.moved_code import changed
from sizeguard.report.verify.verify_words import claim_message

MARKS = {PASS: "✓", FAIL: "✗", INCONCLUSIVE: "?", NOT_RUN: "–"}

# The requirement behind each kind of finding.
RULES = {
    "policy/loosened": "A change does not loosen its own terms",
    "policy/changed": "A change of the terms does not loosen them",
    "limit/absolute": "A size is within the limit of sizeguard.yaml",
    "limit/growth": (
        "Growth since the merge base or the baseline is within the limit of sizeguard.yaml"
    ),
    "limit/creep": "Growth since a release is within the limit of sizeguard.yaml",
    "elimination": "Deselected code is absent from the app, and selected code is present",
    "needed": "An app needs only libraries that its base needs",
    "machine": "An image has the format, machine and kind of its base",
    "run": "The command after the build exits with 0",
    "unmatched": "A pattern of a limit or a claim matches a name",
    "library": "The sizes of an app include each library that ships with it",
    "model": "A model gives the same bits on the selective and on the full build",
    "selection/operator": "The selection has every operator that a model needs",
    "selection/dtype": "The selection has every dtype that a model needs",
    "selection/class": "The selection has every class that a model needs",
    "selection/feature": "The selection has every feature that a model needs",
    "selection/closure": "The selection has every operator that a kernel calls",
    "selection/trace": "A trace is not older than the code",
    "selection/export": "A trace is of the model's present content",
    "selection/lint": "A selection has no errors or surprising entries",
    "selection/stale": "A file that is generated from a build is up to date",
    "selection/surplus": "A selection keeps only what a model needs",
    "selection/covered": "A selection covers its models",
    "waiver": "A waiver is not spent, exceeded or expired",
    "problem": "Everything was built and measured",
    "section": "Each section of the shipped file is loaded or known",
    "growth": "Growth since the merge base or a given snapshot is known",
    "offer": "A limit is not much wider than the size",
}


# Rules about parts that models need but selections lack.
LACKING = frozenset(
    f"selection/{kind}" for kind in ("operator", "dtype", "class", "feature", "closure")
)
_NOTES = frozenset({"section", "unmatched", "library", "selection/surplus", "selection/lint"})


@dataclass(frozen=True, slots=True)
class GateFinding:
    """The finding of one check.

    rule:     a key of RULES
    app, target: empty if it concerns all
    name:     of the checked thing, in a few words
    identity: the same for the same finding in all runs
    message:  the error; empty if there is none
    related:  causes of growth
    check:    the numbers, if it is about a limit
    """

    rule: str
    app: str
    target: str
    name: str
    identity: str
    verdict: str
    message: str = ""
    advice: str = ""
    place: str = ""
    related: Sequence[Cause] = ()
    check: Check | None = None


def findings(result: GateResult) -> list[GateFinding]:
    """List every finding: changed terms, findings about all apps, then by app and target.

    Models that do not run, and selections that lack something, come before sizes.
    """
    found = [
        *(_policy(change) for change in result.policy_changes),
        *(_problem(problem) for problem in result.problems),
        *(finding for app in result.apps for finding in _of_app(app)),
        *(_selection(finding) for finding in result.selection),
        *(_waiver(use) for use in result.waivers),
    ]
    return sorted(found, key=urgency)


def urgency(finding: GateFinding) -> int:
    """Rank a finding by severity, the most severe first."""
    rule, verdict = finding.rule, finding.verdict
    if rule.startswith("policy/"):
        return 0
    if rule == "problem":
        return 1
    if verdict in (FAIL, INCONCLUSIVE) and (rule == "model" or rule in LACKING):
        return 2 if rule == "model" else 3
    return 4


def is_note(finding: GateFinding) -> bool:
    """Return whether a finding passes but has a note."""
    return finding.verdict == PASS and finding.rule in _NOTES and bool(finding.message)


def _policy(change: PolicyChange) -> GateFinding:
    return GateFinding(
        rule=f"policy/{'loosened' if change.loosens else 'changed'}",
        app="",
        target="",
        name=f"{change.what}: {change.name}",
        identity=f"policy/{change.what}/{change.name}",
        verdict=change.verdict,
        message=policy_text(change),
        advice=_policy_advice(change),
        place=change.place,
    )


def _policy_advice(change: PolicyChange) -> str:
    if change.verdict == INCONCLUSIVE:
        return "fix it on the base's branch first"
    if change.verdict != FAIL:
        return ""
    if not change.what.startswith(ACCEPTABLE):
        return "revert it, or change the base's terms first in a review of its own"
    return f"revert it, or accept it in a commit's trailer: Size-Accept: {change.name}"


def _growth(app: AppResult) -> GateFinding:
    base = since_text([app])
    name = f"growth since {base}"
    text = f"{growth_text(app)} bytes since the {base}"
    return GateFinding(
        "growth", app.app, app.target, name, f"{app.app}/{app.target}/growth", PASS, text
    )


def _section(app: AppResult, section: ShippedSection) -> GateFinding:
    identity = f"{app.app}/{app.target}/section/{section.name}"
    name = f"unknown section {section.name}"
    return GateFinding("section", app.app, app.target, name, identity, PASS, section_text(section))


def _unmatched(app: AppResult, pattern: str, place: str) -> GateFinding:
    identity = f"{app.app}/{app.target}/unmatched/{pattern}"
    text = f"{pattern} {MATCHES_NOTHING}"
    name = f"pattern {pattern}"
    return GateFinding("unmatched", app.app, app.target, name, identity, PASS, text, place=place)


def _library(app: AppResult, library: LibrarySize) -> GateFinding:
    identity = f"{app.app}/{app.target}/library/{library.name}"
    name = f"library {library.name}"
    return GateFinding("library", app.app, app.target, name, identity, PASS, library_text(library))


def _needed(app: AppResult, check: Check) -> GateFinding:
    what = check.metric.partition("/")[2]
    # The sizes have no base for the same reason, so it is reported once.
    is_said = any(each.kind == GROWTH and each.advice == check.advice for each in app.checks)
    why = "there is no base, as for the sizes" if is_said else check.advice
    message = (
        ""
        if check.verdict == PASS
        else f"{what} is needed, but the {check.since} does not need it"
        if what
        else f"needed libraries: {why}"
    )
    return GateFinding(
        "needed", app.app, app.target, check.metric, check.id, check.verdict, message,
        check.advice if what else "", check=check,
    )  # fmt: skip


def _machine(app: AppResult, check: Check) -> GateFinding:
    before, now = check.rule.rpartition(": ")[2], check.metric.partition("/")[2]
    since = check.since.partition(" (")[0]
    what = "the kind of file" if check.rule.startswith(SAME_KIND) else "this"
    message = "" if check.verdict == PASS else f"{what} is {now}, but the {since} is {before}"
    return GateFinding(
        "machine", app.app, app.target, check.metric, check.id, check.verdict, message,
        check.advice, check=check,
    )  # fmt: skip


def _run(app: AppResult, check: Check) -> GateFinding:
    message = "" if check.verdict == PASS else f"run failed: {check.advice}"
    return GateFinding(
        "run", app.app, app.target, check.metric, check.id, check.verdict, message, check=check
    )


def _of_app(app: AppResult) -> Iterator[GateFinding]:
    related = _Related(app)
    if app.growth_since_base is not None:
        yield _growth(app)
    for section in app.unknown_sections:
        yield _section(app, section)
    for pattern, place in unmatched_patterns(app).items():
        yield _unmatched(app, pattern, place)
    for library in app.libraries:
        yield _library(app, library)
    for check in app.checks:
        make = _OF_KIND.get(check.kind)
        yield make(app, check) if make else _limit(app, check, related)
    for model in app.models:
        yield _model(app, model)


def _limit(app: AppResult, check: Check, related: _Related) -> GateFinding:
    return GateFinding(
        rule=f"limit/{check.kind}",
        app=app.app,
        target=app.target,
        name=f"{check.metric} {check.kind}",
        identity=check.id,
        verdict=check.verdict,
        message="" if check.verdict == PASS else limit_message(check),
        advice=check.advice,
        place=check.place,
        related=related.of(check.metric) if check.verdict == FAIL else (),
        check=check,
    )


class _Related:
    """Causes by metric, sorted once for all checks of an app."""

    def __init__(self, app: AppResult) -> None:
        """Sort the causes by operator and dtype."""
        self.all = changed(app)
        self.named: dict[str, list[Cause]] = {}
        for cause in self.all:
            self.named.setdefault(f"operator/{cause.operator}", []).append(cause)
            self.named.setdefault(f"dtype/{cause.dtype}", []).append(cause)

    def of(self, metric: str) -> Sequence[Cause]:
        """Select the causes that can explain a metric: its operator's or dtype's, else all."""
        is_named = metric.startswith(("operator/", "dtype/"))
        return self.named.get(metric, ()) if is_named else self.all


def _elimination(app: AppResult, check: Check) -> GateFinding:
    claims = app.verification.verdicts if app.verification else ()
    broken = [claim for claim in claims if claim.verdict in (FAIL, INCONCLUSIVE)]
    shown = [claim_message(claim) for claim in broken[:5]] + (
        [f"{len(broken) - 5} more"] if len(broken) > 5 else []
    )
    # Without a broken claim, the advice says what the verification lacks.
    lack = "nothing could be verified" if app.verification is None else "not all is verified"
    message = "; ".join(shown) or lack
    return GateFinding(
        "elimination", app.app, app.target, "elimination", check.id, check.verdict,
        "" if check.verdict == PASS else message, check.advice, check.place, check=check,
    )  # fmt: skip


def _model(app: AppResult, model: ModelResult) -> GateFinding:
    missing = f"the selective build lacks {', '.join(model.missing)}" if model.missing else ""
    message = (
        f"model {model.model}: {'; '.join(text for text in (missing, model.message) if text)}"
        if model.verdict != PASS
        else ""
    )
    identity = f"{app.app}/{app.target}/model/{model.model}"
    return GateFinding(
        "model", app.app, app.target, f"model {model.model}", identity, model.verdict, message
    )


def _selection(found: SelectionFinding) -> GateFinding:
    identity = f"{found.app}/{found.target}/selection/{found.kind}/{found.name}"
    name = f"selection {found.kind} {found.name}".rstrip()
    return GateFinding(
        f"selection/{found.kind}",
        found.app,
        found.target,
        name,
        identity,
        found.verdict,
        found.message,
        found.advice,
        found.place,
    )


def _waiver(use: WaiverUse) -> GateFinding:
    waiver = use.waiver
    identity = f"waiver/{waiver.source}/{waiver.metric}/{waiver.app}/{waiver.target}"
    message = use.message or waiver_text(use)
    return GateFinding(
        "waiver",
        waiver.app,
        waiver.target,
        f"waiver {waiver.metric}",
        identity,
        use.verdict,
        message,
        use.advice,
        waiver.source,
    )


def _problem(problem: Problem) -> GateFinding:
    verdict = INCONCLUSIVE if problem.exit_code == 3 else FAIL
    identity = f"problem/{problem.app}/{problem.target}/{problem.message}"
    return GateFinding(
        "problem",
        problem.app,
        problem.target,
        "problem",
        identity,
        verdict,
        problem.message,
        problem.advice,
    )


_OF_KIND = {ELIMINATION: _elimination, NEEDED: _needed, RUN: _run, MACHINE: _machine}
