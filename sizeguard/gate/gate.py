"""Turns the apps of sizeguard.yaml into a verdict: built, run, measured, verified, compared with the baselines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sizeguard.attribution.image import report_of_build
from sizeguard.build.driver import build
from sizeguard.build.programs import program_of
from sizeguard.build.record import Build
from sizeguard.build.toolchain import Toolchain
from sizeguard.build.variants import Variant, default_folder, make_variant
from sizeguard.gate.baselines import baseline_path, other_toolchains, read_baseline, toolchain_key
from sizeguard.gate.config import App, Config, chosen_apps
from sizeguard.gate.elimination import check_elimination
from sizeguard.gate.limits import GrowthLimit
from sizeguard.gate.models import compare_model
from sizeguard.gate.result import FAIL, GROWTH, INCONCLUSIVE, PASS, AppResult, Baseline, Check, GateResult, Growth, overall
from sizeguard.gate.savings import loads, savings
from sizeguard.progress import Progress


def run_gate(root: Path, config: Config, toolchain: Toolchain, only: Sequence[str]) -> GateResult:
    """Build full and each app, run the models on both, compare sizes, verify what each selection leaves out."""
    apps = chosen_apps(config, only)
    full_variant = Variant("full")
    full = build(root, full_variant, toolchain, default_folder(root, full_variant, toolchain))
    built = [(app, build_app(root, app, toolchain)) for app in apps]
    results = tuple(_app_result(root, app, config, full, selective) for app, selective in built)
    return GateResult(overall({result.verdict for result in results}), results)


def build_app(root: Path, app: App, toolchain: Toolchain) -> Build:
    variant = make_variant(root, "selective", app.name, app.selection, dtypes=True, optimize="s", sanitize="")
    return build(root, variant, toolchain, default_folder(root, variant, toolchain))


def _app_result(root: Path, app: App, config: Config, full: Build, selective: Build) -> AppResult:
    models = []
    with Progress(f"running {app.name}", "full = selective, bit for bit") as progress:
        for i, model in enumerate(app.models):
            models.append(compare_model(program_of(model, root / "build" / "programs"), app.name, full, selective))
            progress.step(i + 1, len(app.models), models[-1].model)
    full_report, report = report_of_build(full, ("operator",)), report_of_build(selective, ("operator",))
    path = baseline_path(root, selective)
    baseline = read_baseline(path) if path.is_file() else None
    others = other_toolchains(root, selective)
    elimination, verification = check_elimination(root, app, selective)
    limits = {limit.metric: limit.allowance for limit in config.limits if limit.kind == GROWTH and limit.metric in ("load", "ram", "file")}
    checks = (*size_checks(app.name, limits, selective, baseline, others), elimination)
    growth = _growth(baseline, loads(report)) if baseline else ()
    return AppResult(
        app=app.name,
        target=selective.target,
        toolchain=toolchain_key(selective),
        verdict=overall({check.verdict for check in checks} | {model.verdict for model in models}),
        sizes=selective.sizes,
        full=full.sizes,
        checks=checks,
        models=tuple(models),
        savings=savings(full_report, report),
        growth=growth,
        verification=verification,
        folder=selective.image.parent.relative_to(root).as_posix(),
    )


def size_checks(
    app: str, limits: Mapping[str, GrowthLimit], selective: Build, baseline: Baseline | None, others: Sequence[str]
) -> Iterable[Check]:
    """Each limited size against the baseline; inconclusive without one. others: toolchains that there are baselines of."""
    for metric, limit in limits.items():
        actual = {"load": selective.sizes.load, "ram": selective.sizes.ram, "file": selective.sizes.file}[metric]
        if baseline is None:
            reason = f"the baselines are of {', '.join(others)}, this is {toolchain_key(selective)}" if others else "there is no baseline"
            advice = f"{reason}; review and keep this build's sizes: sizeguard baseline update --app {app}"
            yield Check(f"{app}/{metric}", app, selective.target, metric, None, actual, None, INCONCLUSIVE, limit.text, advice)
        else:
            yield _check(app, selective, metric, actual, baseline.size(metric), limit)


def _check(app: str, selective: Build, metric: str, actual: int, base: int, limit: GrowthLimit) -> Check:
    bound = base + limit.allowed(base)
    ok = actual <= bound
    advice = (
        f"see what it is: sizeguard report build/{app} --by operator,symbol; make it normal: sizeguard baseline update --app {app}"
        if not ok
        else ""
    )
    verdict = PASS if ok else FAIL
    return Check(f"{app}/{metric}", app, selective.target, metric, bound, actual, bound - actual, verdict, limit.text, advice)


def _growth(baseline: Baseline, now: dict[str, int]) -> tuple[Growth, ...]:
    names = {*baseline.operators, *now}
    rows = [Growth(name, baseline.operators.get(name, 0), now.get(name, 0)) for name in names]
    return tuple(sorted((row for row in rows if row.old != row.new), key=lambda row: (row.old - row.new, row.operator)))
