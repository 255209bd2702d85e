"""Keep the inputs of a gate run's builds in the store, so that a fresh checkout can compare them.

A record holds paths and no content that counts: the contents are those of the files as they are
when a run asks. Paths below the project's root are kept from there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

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
    """Find what the builds of a run read when they were last made; None if that is unknown.

    The contents are as recorded then.
    """
    facts = request.history.place.store.facts(_key(request, pairs))
    inputs = inputs_from_json(facts.get("inputs")) if facts is not None else None
    return placed(inputs, _ROOT, str(request.root)) if inputs is not None else None


def present_digest(request: Request, known: BuildInputs) -> str:
    """Hash all that builds read, as it is now: equal on every machine with equal files."""
    hashes = project_hashes(request.root)
    now = present_inputs(known, hashes, recorded_environment())
    hashes.save()
    return placed(now, str(request.root), _ROOT).digest()


def keep_record(request: Request, pairs: Pairs) -> bool:
    """Keep what the builds of this run read; False if one of them is out of date by now.

    Then a file changed after it was built, and what was measured is not what is here.
    """
    pairs = list(pairs)
    hashes = project_hashes(request.root)
    environment = recorded_environment()
    records = []
    for app, target, tools in pairs:
        for name in _builds(app, target):
            options = options_of(target, tools)
            built = request.tree.recorded(name, app.selection, options)
            inputs = built.inputs if built is not None else None
            if inputs is None or input_changes(inputs, hashes, environment):
                return False
            records.append(inputs)
    kept = placed(united_inputs(records), str(request.root), _ROOT)
    request.history.place.store.put(_key(request, pairs), {"inputs": kept.to_json()})
    hashes.save()
    return True


def _builds(app: App, target: Target) -> tuple[str, ...]:
    """Name the builds of a pair: the app's, and everything, which is the empty name."""
    return (app.name, "") if target.run else (app.name,)


def _key(request: Request, pairs: Pairs) -> str:
    """Return the store's key of the record: what is built, not what it is built from."""
    built = []
    for app, target, tools in pairs:
        told = {field: str(value) for field, value in asdict(target).items()}
        versions = [tools.name, tools.compiler_version, tools.linker_version]
        built += [[name, told, versions] for name in _builds(app, target)]
    return content_key({"kind": "reads", "builds": built})
