"""Judge one app for one target: measure, check, verify, run its models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InconclusiveError
from sizeguard.base.progress import Progress
from sizeguard.builds.measured_sizes import segment_pages
from sizeguard.builds.open_build import files_of
from sizeguard.builds.shipped_libraries import ShippedLibrary, shipped_libraries
from sizeguard.builds.unknown_sections import unknown_sections
from sizeguard.claims.verdict import FAIL, Verification
from sizeguard.gate.advice import advised, base_name
from sizeguard.gate.cache.kept_readings import check_once
from sizeguard.gate.causes.dependencies import changed_dependencies, changed_files
from sizeguard.gate.causes.edited_lines import with_edited_lines
from sizeguard.gate.causes.growth_causes import (
    causes_between,
    causes_by_operator,
    growth_by_operator,
)
from sizeguard.gate.causes.growth_parts import growth_by_dependency, growth_by_file
from sizeguard.gate.causes.growth_result import Cause, Growth
from sizeguard.gate.causes.savings import savings
from sizeguard.gate.causes.source_lines import SourceLines
from sizeguard.gate.elimination import check_elimination, check_named_claims, run_checks
from sizeguard.gate.gate_result import (
    CREEP,
    GROWTH,
    MEASURED,
    NOT_RUN,
    PARENT,
    SNAPSHOT,
    AppResult,
    Base,
    Check,
    LibrarySize,
    ModelResult,
    ShippedSection,
    overall,
)
from sizeguard.gate.model_runs import compare_model
from sizeguard.gate.policy.baselines import toolchain_key
from sizeguard.gate.policy.checks import CheckedApp, SizeReference, offers, size_checks
from sizeguard.gate.policy.file_growth import file_check
from sizeguard.gate.policy.limits import Limit
from sizeguard.gate.policy.needed import machine_checks, needed_checks
from sizeguard.gate.policy.terms_result import Waiver
from sizeguard.gate.policy.waiver_use import in_force, waived_bytes
from sizeguard.gate.reference.base_growth import growth_since_base
from sizeguard.gate.reference.creep import creep_shares
from sizeguard.gate.reference.given_snapshot import snapshot_reference
from sizeguard.gate.reference.moved_bytes import Moves
from sizeguard.gate.reference.other_tools import limited_for
from sizeguard.gate.reference.reference import (
    MeasuredApp,
    counted_from,
    creep_reference,
    growth_reference,
    keep_as_head,
    reviewed_reference,
)
from sizeguard.gate.reference.region_limits import region_limits
from sizeguard.gate.reference.used_waivers import used_before
from sizeguard.gate.request import Request
from sizeguard.measurement.measured_builds import measure_build
from sizeguard.measurement.measurement import Measurement
from sizeguard.projects.pairs import Pair, recipe_of_commits
from sizeguard.snapshots.snapshot import write_snapshot
from sizeguard.toolchains.recipe import Recipe
from sizeguard.toolchains.targets import run_prefix


# More than 40 lines: the steps of one judgement in order, each of them a function.
def judge_app(
    request: Request, base: Base | None, waivers: Sequence[Waiver], pair: Pair
) -> tuple[AppResult, tuple[Check, ...]]:
    """Judge one app for one target.

    The second value holds its growth since the reviewed baseline, unless the first value uses the
    baseline.
    """
    root, history = request.root, request.history
    limits = [
        limit for limit in request.limits if limit.applies_to(pair.app.name, pair.target.name)
    ]
    measured = _measured_app(request, pair, limits)
    keep_as_head(history, measured)
    growth, source = _growth(request, base, measured)
    since = sorted({limit.since for limit in limits if limit.kind == CREEP})
    creep = {name: creep_reference(root, history, name, measured) for name in since}
    commit = counted_from(history, base, measured)
    valid = in_force(waivers, request.today)
    reviewed_app = _checked_app(measured, valid)
    used = used_before(request, measured, commit, valid, limits, growth)
    subject = replace(reviewed_app, used=used)
    store = request.history.place.store
    full = measure_build(store, pair.full, measured.metrics) if pair.full else None
    libraries = shipped_libraries(pair.selective)
    files = [pair.selective.shipped, *(library.path for library in libraries)]
    check_once(store, files, pair.selective.sizes)
    pages = sum(map(segment_pages, files))
    sizes = size_checks(subject, limits, growth, creep, full)
    sizes += file_check(subject, limits, growth, pages)
    counts = any(limit.kind == GROWTH for limit in limits)
    sizes = tuple(_with_shares(request, measured, check) for check in sizes)
    sizes = limited_for(request, base, measured, sizes, (growth, source))
    sizes += tuple(needed_checks(subject, growth, counts=counts))
    sizes += machine_checks(subject, growth)
    claims, verification = _claims(request, pair)
    models = run_models(request, pair)
    found = _Findings((*sizes, *claims), verification, models, growth, source, full, commit)
    since_base = growth_since_base(history, base, measured, growth, source)
    shares = region_limits(history, base, measured, growth, sizes)
    result = _app_result(request, pair, measured, found)
    result = replace(
        result,
        growth_since_base=since_base,
        unknown_sections=tuple(
            ShippedSection(*s) for file in files for s in unknown_sections(file)
        ),
        libraries=tuple(map(_library, libraries)),
        region_limits=shares,
    )
    reviewed: tuple[Check, ...] = ()
    if source in (MEASURED, PARENT):
        baseline = reviewed_reference(root, measured)
        reviewed = size_checks(reviewed_app, limits, baseline, creep, full)
        reviewed += file_check(reviewed_app, limits, baseline, pages)
    snapshot = _base_snapshot(request, result, commit, growth)
    image = pair.selective.image.name if result.verdict == FAIL and _has_graph(pair) else None
    result = with_edited_lines(result, request.root, commit)
    result = _with_parts(result, request.root, commit, growth, measured.now)
    return advised(result, base_name(base, commit), snapshot, image, request.today), reviewed


def _growth(
    request: Request, base: Base | None, measured: MeasuredApp
) -> tuple[SizeReference, str]:
    """Find the sizes that growth is counted from; a given snapshot takes precedence."""
    given = request.snapshot_of(measured.app, measured.target)
    if given is None:
        return growth_reference(request.root, request.history, base, measured)
    return snapshot_reference(given, measured, request.history, base), SNAPSHOT


def _has_graph(pair: Pair) -> bool:
    # Takes 20 ms, and only advice on a failing app needs it.
    from sizeguard.linkgraph.open_graph import has_graph

    return has_graph(files_of(pair.selective))


def _library(library: ShippedLibrary) -> LibrarySize:
    sizes = library.sizes
    return LibrarySize(library.name, sizes.load, sizes.ram, sizes.file)


@dataclass(frozen=True, slots=True)
class _Findings:
    """The checks of one app for one target.

    growth, source: the sizes that growth is counted from, and their source
    full: the measurement of the full build, if any
    commit: that growth is counted from; empty without one
    """

    checks: tuple[Check, ...]
    verification: Verification | None
    models: tuple[ModelResult, ...]
    growth: SizeReference
    source: str
    full: Measurement | None
    commit: str


def _measured_app(request: Request, pair: Pair, limits: Iterable[Limit]) -> MeasuredApp:
    build = pair.selective
    metrics = tuple(limit.metric for limit in limits)
    recipe: Recipe | None = None
    if pair.head is not None:
        recipe = pair.head.recipe
    elif request.has_own_sources and pair.toolchain is not None:
        recipe = recipe_of_commits(request.runtime, pair.toolchain, pair.app, pair.target)
    return MeasuredApp(
        app=pair.app,
        target=pair.target.name,
        build=build,
        toolchain=pair.toolchain,
        now=measure_build(request.history.place.store, build, metrics),
        metrics=metrics,
        tree=request.tree if pair.head is None else None,
        recipe=recipe,
        head=pair.head.commit if pair.head is not None else "",
        in_place=pair.head is not None and pair.head.in_place,
    )


def _checked_app(measured: MeasuredApp, waivers: Sequence[Waiver]) -> CheckedApp:
    app, target = measured.app.name, measured.target
    return CheckedApp(
        app,
        target,
        measured.now,
        lambda metric: waived_bytes(waivers, app, target, metric),
        Moves(measured.now).of,
    )


def _claims(request: Request, pair: Pair) -> tuple[tuple[Check, ...], Verification | None]:
    """Judge the claims of the app's selection, or those that sizeguard.yaml names."""
    if pair.head is not None:
        claims, verification = check_named_claims(
            request.root, pair.app, pair.selective, request.history.place.store, request.source
        )
        return (*claims, *run_checks(pair.app, pair.target.name, pair.head)), verification
    store = request.history.place.store
    check, verification = check_elimination(
        request.root, pair.app, pair.selective, store, request.source, pair.full
    )
    id_ = f"{pair.app.name}/{pair.target.name}/elimination"
    return (replace(check, id=id_, target=pair.target.name),), verification


def _app_result(request: Request, pair: Pair, measured: MeasuredApp, found: _Findings) -> AppResult:
    root, build, now = request.root, pair.selective, measured.now
    old = found.growth.measured
    full = found.full
    checks = found.checks
    verdicts = {check.verdict for check in checks} | {model.verdict for model in found.models}
    changed = growth_by_operator(old, now) if old else ()
    folder = build.image.parent
    return AppResult(
        app=pair.app.name,
        target=pair.target.name,
        toolchain=toolchain_key(build),
        verdict=overall(verdicts),
        sizes=build.sizes,
        full=pair.full.sizes if pair.full else None,
        checks=checks,
        models=found.models,
        savings=savings(full.tables["operator"], now.tables["operator"]) if full else (),
        growth=changed,
        verification=found.verification,
        old_sizes=old.sizes if old else None,
        base=found.source,
        causes=_causes(_source_lines(request, pair, found.commit), found.growth, now, changed),
        offers=offers(found.checks),
        folder=folder.relative_to(root).as_posix() if folder.is_relative_to(root) else str(folder),
        runs=pair.target.run,
    )


def _source_lines(request: Request, pair: Pair, since: str) -> SourceLines:
    """Choose the sources: the runtime's, or all files of the project that git lists."""
    if pair.head is None:
        return SourceLines(request.source or request.root)
    image = pair.selective.image
    return SourceLines(request.root, commit=pair.head.commit, since=since, image=image)


def _with_shares(request: Request, measured: MeasuredApp, check: Check) -> Check:
    if (
        check.kind != CREEP
        or check.verdict != FAIL
        or check.base is None
        or measured.recipe is None
    ):
        return check
    since = check.id.rpartition(f"/{CREEP}-")[2]
    return replace(
        check,
        shares=creep_shares(
            request.history, measured.recipe, since, check.metric, check.base, check.actual
        ),
    )


def _causes(
    sources: SourceLines, growth: SizeReference, now: Measurement, changed: Sequence[Growth]
) -> tuple[Cause, ...]:
    if growth.measured is None or growth.measured is now:
        return ()
    if growth.measured.analysis is None or now.analysis is None:
        return causes_by_operator(changed)
    return causes_between(growth.measured.analysis, now.analysis, sources)


def _with_parts(
    result: AppResult, root: Path, commit: str, growth: SizeReference, now: Measurement
) -> AppResult:
    """Split the causes by the files that the change touches, and by changed dependencies."""
    if not result.causes or growth.measured is None or growth.measured.analysis is None:
        return result
    changed = changed_files(root, commit) if commit else frozenset[str]()
    edited = changed_dependencies(root, commit, changed) if changed else ()
    return replace(
        result,
        growth_by_file=growth_by_file(result.causes, changed),
        growth_by_dependency=growth_by_dependency(growth.measured.analysis, now.analysis, edited)
        if edited and now.analysis is not None
        else (),
    )


def _base_snapshot(request: Request, result: AppResult, commit: str, growth: SizeReference) -> str:
    """Copy the base's snapshot to a short path, so that people can compare with it.

    Empty unless something fails.
    """
    if (
        result.verdict != FAIL
        or result.base not in (MEASURED, PARENT)
        or growth.measured is None
        or growth.measured.analysis is None
    ):
        return ""
    path = request.root / ".sizeguard" / commit[:7] / f"{result.app}.{result.target}.snapshot"
    write_snapshot(path, growth.measured.analysis)
    return path.relative_to(request.root).as_posix()


def run_models(request: Request, pair: Pair) -> tuple[ModelResult, ...]:
    """Run every model of the app on the full and on its selective build.

    Raises InconclusiveError if the target should run here and cannot.
    """
    app, target = pair.app, pair.target
    if not target.run or pair.full is None:
        names = [model.stem if model.stem != "model" else model.parent.name for model in app.models]
        return tuple(
            ModelResult(
                name, app.name, NOT_RUN, 0, (), f"{target.name} has run: false", target.name
            )
            for name in names
        )
    if run_prefix(target.machine) is None:
        raise InconclusiveError(
            f"{target.name} does not run here, but {target.place} lacks run: false"
        )
    runner = request.models
    models = []
    with Progress(
        f"running {app.name}", f"full = selective, bit for bit  {target.name}"
    ) as progress:
        for i, model in enumerate(app.models):
            program = runner.prepare(model, request.root / "build" / "programs")
            found = compare_model(
                runner,
                program,
                app.name,
                pair.full,
                pair.selective,
                store=request.history.place.store,
                timeout=request.timeout,
                expected=runner.expected(model),
            )
            models.append(replace(found, target=target.name))
            progress.step(i + 1, len(app.models), found.model)
    return tuple(models)
