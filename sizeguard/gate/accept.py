"""Write new baselines from builds of the apps."""

from __future__ import annotations

from pathlib import Path

from sizeguard.builds.build_record import Build
from sizeguard.gate.policy.baselines import (
    baseline_files,
    baseline_of,
    baseline_path,
    locked_baselines,
    read_baseline,
    write_baseline,
)
from sizeguard.gate.request import Request
from sizeguard.gate.review_result import Baseline, Update
from sizeguard.measurement.measured_builds import measure_build
from sizeguard.projects.pairs import build_app
from sizeguard.projects.project import App, Target
from sizeguard.toolchains.toolchain import Toolchain, find_toolchain


def update_baselines(request: Request) -> tuple[Update, ...]:
    """Build and measure the apps, and write their baselines.

    A second process that updates baselines waits until the first has written.

    Raises BuildError if an app does not build; then no baseline is written. Raises InputError for
    a limit of an unknown metric.
    """
    request.check_limits()
    updates = []
    with locked_baselines(request.root):
        for app, target in request.pairs():
            toolchain, built = build_of(request, app, target)
            limits = [limit for limit in request.limits if limit.applies_to(app.name, target.name)]
            measured = measure_build(
                request.history.place.store,
                built,
                [limit.metric for limit in limits],
            )
            path = baseline_path(request.root, built)
            old = read_baseline(path) if path.is_file() else None
            updates.append(Update(path, old, baseline_of(built, toolchain, measured)))
        for update in updates:
            write_baseline(update.path, update.new)
    return tuple(updates)


def build_of(request: Request, app: App, target: Target) -> tuple[Toolchain | None, Build]:
    """Build an app for a target; the toolchain is None for an app of another project."""
    if not app.is_selective:
        return None, request.heads.build(app, target.name).build
    toolchain = find_toolchain(target.compiler, target.linker, target.machine)
    return toolchain, build_app(request.tree, app, target, toolchain)


def all_baselines(root: Path) -> tuple[Baseline, ...]:
    """Read every baseline of the source tree."""
    return tuple(read_baseline(path) for path in baseline_files(root))
