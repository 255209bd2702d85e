"""Turns builds of the apps into new baselines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sizeguard.attribution.image import report_of_build
from sizeguard.build.toolchain import Toolchain
from sizeguard.gate.baselines import FOLDER, baseline_of, baseline_path, read_baseline, write_baseline
from sizeguard.gate.config import Config, chosen_apps
from sizeguard.gate.gate import build_app
from sizeguard.gate.result import Baseline, Update
from sizeguard.gate.savings import loads


def update_baselines(root: Path, config: Config, toolchain: Toolchain, only: Sequence[str]) -> tuple[Update, ...]:
    updates = []
    for app in chosen_apps(config, only):
        built = build_app(root, app, toolchain)
        path = baseline_path(root, built)
        old = read_baseline(path) if path.is_file() else None
        new = baseline_of(built, loads(report_of_build(built, ("operator",))))
        write_baseline(path, new)
        updates.append(Update(path, old, new))
    return tuple(updates)


def all_baselines(root: Path) -> tuple[Baseline, ...]:
    return tuple(read_baseline(path) for path in sorted((root / FOLDER).glob("*.yaml")))
