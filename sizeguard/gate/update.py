"""Turns builds of the apps into new baselines."""

from __future__ import annotations

from pathlib import Path

from sizeguard.gate.baselines import baseline_files, baseline_of, baseline_path, locked_baselines, read_baseline, write_baseline
from sizeguard.gate.builds import build_app, measure_build
from sizeguard.gate.reference import symbol_patterns
from sizeguard.gate.request import Request
from sizeguard.gate.result import Baseline, Update


def update_baselines(request: Request) -> tuple[Update, ...]:
    """Raises BuildError if one does not build: then none is written. Who comes second builds after the first has written."""
    from sizeguard.build.toolchain import find_toolchain

    updates = []
    with locked_baselines(request.root):
        for app, target in request.pairs():
            toolchain = find_toolchain(target.compiler, target.linker, target.machine)
            built = build_app(request.root, app, target, toolchain)
            limits = [limit for limit in request.config.limits if limit.app in ("", app.name) and limit.target in ("", target.name)]
            measured = measure_build(request.history.place.store, built, symbol_patterns(limit.metric for limit in limits))
            path = baseline_path(request.root, built)
            old = read_baseline(path) if path.is_file() else None
            updates.append(Update(path, old, baseline_of(built, toolchain, measured)))
        for update in updates:
            write_baseline(update.path, update.new)
    return tuple(updates)


def all_baselines(root: Path) -> tuple[Baseline, ...]:
    return tuple(read_baseline(path) for path in baseline_files(root))
