"""Turns sizeguard.yaml and what is checked out into a verdict: built, run, measured, verified, compared with the base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sizeguard.attribution.snapshot import write_snapshot
from sizeguard.build.programs import program_of
from sizeguard.build.targets import run_prefix
from sizeguard.errors import InconclusiveError, SizeguardError
from sizeguard.gate.advice import advised
from sizeguard.gate.baselines import toolchain_key
from sizeguard.gate.builds import Pair, build_pairs, measure_build
from sizeguard.gate.causes import Sources, causes_between, causes_by_operator, growth_by_operator
from sizeguard.gate.checks import Reference, Subject, offers, size_checks
from sizeguard.gate.creep import creep_shares
from sizeguard.gate.elimination import check_elimination
from sizeguard.gate.measure import Measurement
from sizeguard.gate.models import compare_model
from sizeguard.gate.reference import Measured, creep_reference, growth_reference, keep_as_head, reviewed_reference, symbol_patterns
from sizeguard.gate.request import Request
from sizeguard.gate.result import (
    CREEP,
    FAIL,
    INCONCLUSIVE,
    MEASURED,
    NOT_RUN,
    AppResult,
    Base,
    Cause,
    Check,
    GateResult,
    Growth,
    ModelResult,
    Problem,
    SelectionFinding,
    Waiver,
    WaiverUse,
    overall,
)
from sizeguard.gate.savings import savings
from sizeguard.gate.selections import check_selections
from sizeguard.gate.skip import earlier_run, inputs_key, keep_result
from sizeguard.gate.waiver_use import in_force, waived_bytes, waiver_uses
from sizeguard.gate.waivers import parse_trailer, read_waivers
from sizeguard.progress import Progress


def run_gate(request: Request) -> GateResult:
    """Raises InputError for what is wrong in files that people write, InconclusiveError if growth cannot be counted from what was asked."""
    base = request.history.base(request.base, request.config.base)
    waivers = all_waivers(request, base)
    key, earlier = earlier_run(request, base, waivers)
    if earlier is not None:
        return earlier
    result = _gate(request, base, waivers)
    # Files may have changed while we worked: then nobody knows what was judged.
    if inputs_key(request, base, waivers) == key:
        keep_result(request, key, result)
    return result


def _gate(request: Request, base: Base | None, waivers: tuple[Waiver, ...]) -> GateResult:
    pairs, problems = build_pairs(request)
    results: list[AppResult] = []
    reviewed: list[Check] = []
    for pair in pairs:
        try:
            result, more_checks = _app_result(request, base, waivers, pair)
            results.append(result)
            reviewed += more_checks
        except SizeguardError as error:
            # A file that is malformed fails the app that it is for; the others go on.
            problems.append(Problem.of(error, pair.app.name, pair.target.name))
    apps = tuple(dict.fromkeys(app for app, _ in request.pairs()))
    fulls = [pair.full for pair in pairs if pair.full is not None]
    selection, more = check_selections(request.root, apps, fulls, request.history.place.store)
    checks = [check for result in results for check in result.checks]
    uses = waiver_uses(waivers, checks, reviewed, request.today, whole=request.is_whole and not problems)
    return _whole(request, base, uses, tuple(results), (*problems, *more), selection)


def all_waivers(request: Request, base: Base | None) -> tuple[Waiver, ...]:
    """Of baselines/waivers.yaml, and of the messages of commits since the merge base."""
    found = list(read_waivers(request.root, request.config, request.names))
    if base is not None and base.commit:
        for commit, text in request.history.trailers(base.commit):
            found.append(parse_trailer(text, commit, request.config, request.names))
    return tuple(found)


def _whole(
    request: Request,
    base: Base | None,
    uses: tuple[WaiverUse, ...],
    results: tuple[AppResult, ...],
    problems: tuple[Problem, ...],
    selection: tuple[SelectionFinding, ...],
) -> GateResult:
    verdicts = {result.verdict for result in results} | {use.verdict for use in uses} | {finding.verdict for finding in selection}
    verdicts |= {INCONCLUSIVE if problem.exit_code == 3 else FAIL for problem in problems}
    head = request.history.head
    return GateResult(overall(verdicts), results, selection, uses, problems, base, head.id if head else "")


def _app_result(request: Request, base: Base | None, waivers: Sequence[Waiver], pair: Pair) -> tuple[AppResult, tuple[Check, ...]]:
    """And how its growth compares with the reviewed baseline, if that is not what it is judged by."""
    root, app, target, build = request.root, pair.app, pair.target, pair.selective
    store = request.history.place.store
    mine = [limit for limit in request.config.limits if limit.app in ("", app.name) and limit.target in ("", target.name)]
    patterns = symbol_patterns(limit.metric for limit in mine)
    measured = Measured(app, target.name, build, pair.toolchain, measure_build(store, build, patterns), patterns)
    keep_as_head(request.history, measured)
    growth, source = growth_reference(root, request.history, base, measured)
    since = sorted({limit.since for limit in mine if limit.kind == CREEP})
    creep = {name: creep_reference(root, request.history, name, measured) for name in since}
    valid = in_force(waivers, request.today)
    subject = Subject(app.name, target.name, measured.now, lambda metric: waived_bytes(valid, app.name, target.name, metric))
    sizes = tuple(_with_shares(request, measured, check) for check in size_checks(subject, mine, growth, creep))
    elimination, verification = check_elimination(root, app, build, store)
    checks = (*sizes, replace(elimination, id=f"{app.name}/{target.name}/elimination", target=target.name))
    models = run_models(request, pair)
    changed = growth_by_operator(growth.measured, measured.now) if growth.measured else ()
    full = measure_build(store, pair.full, ()) if pair.full else None
    folder = build.image.parent
    result = AppResult(
        app=app.name,
        target=target.name,
        toolchain=toolchain_key(build),
        verdict=overall({check.verdict for check in checks} | {model.verdict for model in models}),
        sizes=build.sizes,
        full=pair.full.sizes if pair.full else None,
        checks=checks,
        models=models,
        savings=savings(full.tables["operator"], measured.now.tables["operator"]) if full else (),
        growth=changed,
        verification=verification,
        old_sizes=growth.measured.sizes if growth.measured else None,
        base=source,
        causes=_causes(Sources(root), growth, measured.now, changed),
        offers=offers(sizes),
        folder=folder.relative_to(root).as_posix() if folder.is_relative_to(root) else str(folder),
        runs=target.run,
    )
    commit = base.commit if base else ""
    reviewed = size_checks(subject, mine, reviewed_reference(root, measured), creep) if source == MEASURED else ()
    shown = advised(result, commit[:7], _base_snapshot(request, result, commit, growth), build.image.name, request.today)
    return shown, reviewed


def _with_shares(request: Request, measured: Measured, check: Check) -> Check:
    if check.kind != CREEP or check.verdict != FAIL or check.base is None or measured.recipe is None:
        return check
    since = check.id.rpartition(f"/{CREEP}-")[2]
    return replace(check, shares=creep_shares(request.history, measured.recipe, since, check.metric, check.base, check.actual))


def _causes(sources: Sources, growth: Reference, now: Measurement, changed: Sequence[Growth]) -> tuple[Cause, ...]:
    if growth.measured is None or growth.measured is now:
        return ()
    if growth.measured.analysis is None or now.analysis is None:
        return causes_by_operator(changed)
    return causes_between(growth.measured.analysis, now.analysis, sources)


def _base_snapshot(request: Request, result: AppResult, commit: str, growth: Reference) -> str:
    """A copy of the base's snapshot under a name that one can type, for who wants to compare; only if something fails."""
    if result.verdict != FAIL or result.base != MEASURED or growth.measured is None or growth.measured.analysis is None:
        return ""
    path = request.root / ".sizeguard" / commit[:7] / f"{result.app}.{result.target}.snapshot"
    write_snapshot(path, growth.measured.analysis)
    return path.relative_to(request.root).as_posix()


def run_models(request: Request, pair: Pair) -> tuple[ModelResult, ...]:
    """Every model of the app on full and on its selective build. Raises InconclusiveError if the target should run here and cannot."""
    app, target = pair.app, pair.target
    if not target.run or pair.full is None:
        names = [model.stem if model.stem != "model" else model.parent.name for model in app.models]
        return tuple(ModelResult(name, app.name, NOT_RUN, 0, (), f"{target.name} has run: false", target.name) for name in names)
    if run_prefix(target.machine) is None:
        raise InconclusiveError(f"{target.name} does not run here, and {target.place} does not say run: false")
    models = []
    with Progress(f"running {app.name}", f"full = selective, bit for bit  {target.name}") as progress:
        for i, model in enumerate(app.models):
            program = program_of(model, request.root / "build" / "programs")
            found = compare_model(program, app.name, pair.full, pair.selective, store=request.history.place.store, timeout=request.timeout)
            models.append(replace(found, target=target.name))
            progress.step(i + 1, len(app.models), found.model)
    return tuple(models)
