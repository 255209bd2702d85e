"""Judge the checked-out files by sizeguard.yaml: apps for targets, selections and waivers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sizeguard.base.errors import GateError, InputError, SizeguardError
from sizeguard.base.kept.moment import one_moment
from sizeguard.base.kept.stored_facts import facts_stored_in
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE
from sizeguard.gate.cache.whole_run import (
    earlier_run,
    store_result,
    terms_key,
    with_kept_builds,
)
from sizeguard.gate.changed_terms import (
    changed_terms,
    with_accepted_growth,
    with_changed_terms,
    with_region_limits,
)
from sizeguard.gate.gate_result import (
    AppResult,
    Base,
    Check,
    GateResult,
    Problem,
    SelectionFinding,
    overall,
)
from sizeguard.gate.policy.terms_result import Waiver, WaiverUse
from sizeguard.gate.policy.waiver_use import waiver_uses
from sizeguard.gate.policy.waivers import TRAILER, parse_trailer, read_waivers
from sizeguard.gate.request import Request
from sizeguard.projects.pairs import Pair, build_pairs


def run_gate(request: Request) -> GateResult:
    """Judge the request's apps and targets.

    Raises InputError for errors in sizeguard.yaml and other user files, InconclusiveError if growth
    cannot be counted from the requested base.
    """
    with facts_stored_in(request.history.place.store.folder / "files"):
        return _run(request)


def _run(request: Request) -> GateResult:
    request.check_limits()
    request.check_snapshots()
    base = request.history.base(request.base)
    waivers, malformed = all_waivers(request, base)
    with one_moment():
        _, earlier = earlier_run(request, base, waivers)
    changes = changed_terms(request, base, waivers)
    if earlier is not None:
        changes = with_accepted_growth(request, base, earlier, changes)
        changes = with_region_limits(request, base, earlier, changes)
        earlier = with_kept_builds(request, earlier)
        return _with_problems(with_changed_terms(earlier, changes), malformed)
    before = terms_key(request, waivers) if request.is_repeatable else None
    result = _gate(request, base, waivers)
    # If files changed during the run, the result is not stored.
    store_result(request, base, waivers, before, result)
    changes = with_accepted_growth(request, base, result, changes)
    changes = with_region_limits(request, base, result, changes)
    # Terms are compared again in each run, because the stored result may be of another base
    return _with_problems(with_changed_terms(result, changes), malformed)


def _with_problems(result: GateResult, problems: tuple[Problem, ...]) -> GateResult:
    """Add problems that fail the gate to a result."""
    if not problems:
        return result
    return replace(result, verdict=FAIL, problems=(*result.problems, *problems))


def _gate(request: Request, base: Base | None, waivers: tuple[Waiver, ...]) -> GateResult:
    """Build and judge everything; an app that cannot be judged becomes a problem."""
    # Imported on need: takes 60 ms, and a run without changes takes 0.6 s in all.
    from sizeguard.gate.judged_app import judge_app

    tree = request.tree if request.is_selective else None
    if request.measurer is not None:
        from sizeguard.gate.cache.fan_out import build_at_once

        build_at_once(request, base)
    results: list[AppResult] = []
    reviewed: list[Check] = []
    with one_moment():
        pairs, failed = build_pairs(tree, request.pairs(), request.heads)
        problems = [Problem.of(each.error, each.app, each.target) for each in failed]
        for pair in pairs:
            try:
                result, more_checks = judge_app(request, base, waivers, pair)
                results.append(result)
                reviewed += more_checks
            except SizeguardError as error:
                # A malformed file fails its app only; the other apps go on.
                problems.append(Problem.of(error, pair.app.name, pair.target.name))
    with one_moment():
        selection, more = _check_selections(request, pairs)
    checks = [check for result in results for check in result.checks]
    uses = waiver_uses(
        waivers,
        checks,
        reviewed,
        request.today,
        whole=request.is_whole and not problems,
        merged=base is not None and base.merged,
    )
    found = tuple(each.below(request.root) for each in (*problems, *more))
    return _result(request, base, uses, tuple(results), found, selection)


def _check_selections(
    request: Request, pairs: Iterable[Pair]
) -> tuple[tuple[SelectionFinding, ...], tuple[Problem, ...]]:
    """Check the selections of all apps; the second value has those that cannot be checked."""
    apps = tuple({app.name: app for app, _ in request.pairs() if app.is_selective}.values())
    if not apps:
        return (), ()
    from sizeguard.gate.selection.all_apps import check_selections

    return check_selections(
        request.root,
        apps,
        [pair.full for pair in pairs if pair.full is not None],
        request.history.place.store,
        source=request.source,
        surplus=request.config.surplus,
    )


def all_waivers(
    request: Request, base: Base | None
) -> tuple[tuple[Waiver, ...], tuple[Problem, ...]]:
    """Read baselines/waivers.yaml and the commit messages since the merge base.

    The second value has the malformed trailers, which allow nothing and fail the gate.
    """
    found = list(read_waivers(request.root, request.config, request.names))
    malformed = []
    if base is not None and base.commit:
        since = request.history.changes_since(base)
        for commit, text in request.history.trailers(since, TRAILER):
            try:
                found.append(parse_trailer(text, commit, request.config, request.names))
            except InputError as error:
                advice = f"reword {commit[:10]}: git rebase -i {since[:10]}"
                malformed.append(Problem("", "", str(error), advice, GateError.exit_code))
    return tuple(found), tuple(malformed)


def _result(
    request: Request,
    base: Base | None,
    uses: tuple[WaiverUse, ...],
    results: tuple[AppResult, ...],
    problems: tuple[Problem, ...],
    selection: tuple[SelectionFinding, ...],
) -> GateResult:
    """Join all parts of the result, with the overall verdict."""
    verdicts = (
        {result.verdict for result in results}
        | {use.verdict for use in uses}
        | {finding.verdict for finding in selection}
    )
    verdicts |= {INCONCLUSIVE if problem.exit_code == 3 else FAIL for problem in problems}
    head = request.history.head
    return GateResult(
        overall(verdicts), results, selection, uses, problems, base, head.id if head else ""
    )
