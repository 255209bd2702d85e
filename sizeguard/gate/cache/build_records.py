"""Keep the inputs of a gate run's builds in the store, so that a fresh checkout can compare them.

Only the paths in a record count; file contents are read again in each run. Paths below the
project's root are stored relative to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from sizeguard.base.kept.moment import one_moment
from sizeguard.builds.build_inputs import (
    BuildInputs,
    input_changes,
    inputs_from_json,
    placed,
    present_inputs,
    project_hashes,
    united_inputs,
)
from sizeguard.gate.request import Request
from sizeguard.projects.pairs import options_of
from sizeguard.projects.project import App, Target
from sizeguard.snapshots.store import content_key
from sizeguard.toolchains.environment import recorded_environment
from sizeguard.toolchains.toolchain import Toolchain

Pairs = Iterable[tuple[App, Target, Toolchain]]
_ROOT = "$ROOT"


def known_inputs(request: Request, pairs: Pairs) -> BuildInputs | None:
    """Return the files that a run's builds read when they were last made; None if unknown.

    Their contents are those recorded then.
    """
    facts = request.history.place.store.facts(_key(request, pairs))
    inputs = inputs_from_json(facts.get("inputs")) if facts is not None else None
    return placed(inputs, _ROOT, str(request.root)) if inputs is not None else None


def present_digest(request: Request, known: BuildInputs) -> str:
    """Hash the present content of all files that builds read; equal on every machine."""
    hashes = project_hashes(request.root)
    now = present_inputs(known, hashes, recorded_environment())
    hashes.save()
    return placed(now, str(request.root), _ROOT).digest()


def keep_record(request: Request, pairs: Pairs) -> bool:
    """Store the files that this run's builds read; False if one build is out of date by now.

    Out of date means that a file changed after the build, so the measurement is of other files.
    """
    pairs = list(pairs)
    hashes = project_hashes(request.root)
    environment = recorded_environment()
    records = []
    builds = {
        (target.name, name): (app, target, tools)
        for app, target, tools in pairs
        for name in _builds(app, target)
    }
    with one_moment():
        for (_, name), (app, target, tools) in builds.items():
            built = request.tree.recorded(name, app.selection, options_of(target, tools))
            inputs = built.inputs if built is not None else None
            if inputs is None or input_changes(inputs, hashes, environment):
                return False
            records.append(inputs)
    kept = placed(united_inputs(records), str(request.root), _ROOT)
    request.history.place.store.put(_key(request, pairs), {"inputs": kept.to_json()})
    hashes.save()
    return True


def _builds(app: App, target: Target) -> tuple[str, ...]:
    """Name the builds of a pair: the app, and "" for the full build."""
    return (app.name, "") if target.run else (app.name,)


def _key(request: Request, pairs: Pairs) -> str:
    """Return the store's key of the record; inputs are not part of it."""
    built = []
    for app, target, tools in pairs:
        told = {field: str(value) for field, value in asdict(target).items()}
        versions = [tools.name, tools.compiler_version, tools.linker_version]
        built += [[name, told, versions] for name in _builds(app, target)]
    # A build looks for its tools along PATH: with another one it reads, and misses, other files.
    # Two shells that take turns would replace each other's record.
    return content_key({"kind": "reads", "builds": built, "variables": recorded_environment()})
