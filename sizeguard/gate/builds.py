"""Turns apps and targets into builds, and builds into measurements; what fails to build is a problem, and the others go on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sizeguard.attribution.sources import analysis_of
from sizeguard.attribution.store import Store, content_key
from sizeguard.build import RECORD
from sizeguard.build.driver import build
from sizeguard.build.record import Build
from sizeguard.build.toolchain import Toolchain, find_toolchain
from sizeguard.build.variants import Variant, default_folder, make_variant
from sizeguard.errors import BuildError
from sizeguard.gate.config import App, Target
from sizeguard.gate.keys import code_hash, files_key
from sizeguard.gate.measure import Measurement, measurement_of
from sizeguard.gate.request import Request
from sizeguard.gate.result import Problem


@dataclass(frozen=True, slots=True)
class Pair:
    """An app built for a target. full: None for a target that does not run, where nothing is compared with it."""

    app: App
    target: Target
    toolchain: Toolchain
    full: Build | None
    selective: Build


def build_pairs(request: Request) -> tuple[list[Pair], list[Problem]]:
    """All apps for all their targets, target by target."""
    pairs: list[Pair] = []
    problems: list[Problem] = []
    fulls: dict[str, Build] = {}
    broken: set[str] = set()
    for app, target in request.pairs():
        if target.name in broken:
            continue
        try:
            toolchain = find_toolchain(target.compiler, target.linker, target.machine)
            if target.run and target.name not in fulls:
                fulls[target.name] = build_full(request.root, target, toolchain)
        except BuildError as error:
            # Without its tools, or without full, no app of the target can be judged.
            broken.add(target.name)
            problems.append(Problem.of(error, "", target.name))
            continue
        try:
            pairs.append(Pair(app, target, toolchain, fulls.get(target.name), build_app(request.root, app, target, toolchain)))
        except BuildError as error:
            problems.append(Problem.of(error, app.name, target.name))
    return pairs, problems


def build_full(root: Path, target: Target, toolchain: Toolchain) -> Build:
    variant = Variant("full", optimize=target.optimize, link=target.link, lto=target.lto)
    return build(root, variant, toolchain, default_folder(root, variant, toolchain))


def build_app(root: Path, app: App, target: Target, toolchain: Toolchain) -> Build:
    variant = make_variant(
        root, "selective", app.name, app.selection, dtypes=True, optimize=target.optimize, sanitize="", link=target.link, lto=target.lto
    )
    return build(root, variant, toolchain, default_folder(root, variant, toolchain))


def measure_build(store: Store, built: Build, patterns: Iterable[str]) -> Measurement:
    """From the store if the same files were measured before by the same code: 0.1 s instead of 0.5."""
    files = [built.shipped, built.image, built.map, built.gc_log, *built.objects]
    key = content_key({"measured": files_key(files), "fingerprint": built.fingerprint, "code": code_hash()})
    stored = store.get(key)
    analysis = stored.analysis if stored else None
    if analysis is None:
        analysis = store.put(key, {"build": built.fingerprint}, analysis_of(built.image.parent / RECORD)).analysis
    return measurement_of(analysis or analysis_of(built.image.parent / RECORD), patterns, built.sizes)
