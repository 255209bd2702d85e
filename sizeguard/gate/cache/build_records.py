"""What the builds of a gate run read, kept in the store, so that a fresh checkout can compare it.

A record holds paths and no content that counts: the contents are those of the files as they are
when a run asks. Paths below the project's root are kept from there.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict

from sizeguard.builds.build_inputs import (
    BuildInputs,
    glob_hash,
    input_changes,
    inputs_from_json,
    placed,
    present_inputs,
    project_hashes,
)
from sizeguard.gate.request import Request
from sizeguard.projects.pairs import options_of
from sizeguard.projects.project import App, Target
from sizeguard.snapshots.store import content_key
from sizeguard.toolchains.environment import recorded_environment
from sizeguard.toolchains.toolchain import Toolchain

Pairs = Iterable[tuple[App, Target, Toolchain]]
_ROOT = "$ROOT"


def known_inputs(request: Request, pairs: Pairs) -> Mapping[str, BuildInputs] | None:
    """Find what each build read when it was last made, by app and target; None if one is unknown.

    The contents are as recorded then.
    """
    found: dict[str, BuildInputs] = {}
    for name, key in _keys(request, pairs).items():
        facts = request.history.place.store.facts(key)
        inputs = inputs_from_json(facts.get("inputs")) if facts is not None else None
        if inputs is None:
            return None
        found[name] = placed(inputs, _ROOT, str(request.root))
    return found


def present_digests(request: Request, known: Mapping[str, BuildInputs]) -> Mapping[str, str]:
    """Hash all that builds read, as it is now: equal on every machine with equal files."""
    hashes = project_hashes(request.root)
    environment = recorded_environment()
    # Builds of one project read mostly the same files: each is asked for once, 4 ms a build.
    ask = functools.cache(hashes), environment, functools.cache(os.path.lexists)
    find = functools.cache(glob_hash)
    now = {name: present_inputs(each, *ask, find) for name, each in known.items()}
    hashes.save()
    return {name: placed(each, str(request.root), _ROOT).digest() for name, each in now.items()}


def keep_records(request: Request, pairs: Pairs) -> bool:
    """Keep what the builds of this run read; False if one of them is out of date by now.

    Then a file changed after it was built, and what was measured is not what is here.
    """
    pairs = list(pairs)
    hashes = project_hashes(request.root)
    environment = recorded_environment()
    records: dict[str, BuildInputs] = {}
    for app, target, tools in pairs:
        for name in _builds(app, target):
            options = options_of(target, tools)
            built = request.tree.recorded(app.name if name else "", app.selection, options)
            inputs = built.inputs if built is not None else None
            if inputs is None or input_changes(inputs, hashes, environment):
                return False
            records[_name(app.name if name else "", target)] = inputs
    for name, key in _keys(request, pairs).items():
        kept = placed(records[name], str(request.root), _ROOT)
        request.history.place.store.put(key, {"inputs": kept.to_json()})
    hashes.save()
    return True


def _builds(app: App, target: Target) -> tuple[str, ...]:
    """Name the builds of a pair: the app's, and everything, which is the empty name."""
    return (app.name, "") if target.run else (app.name,)


def _name(app: str, target: Target) -> str:
    return f"{app}/{target.name}"


def _keys(request: Request, pairs: Pairs) -> Mapping[str, str]:
    """Return the store's key of each record: what is built, not what it is built from."""
    found = {}
    for app, target, tools in pairs:
        for name in _builds(app, target):
            told = {field: str(value) for field, value in asdict(target).items()}
            versions = [tools.name, tools.compiler_version, tools.linker_version]
            found[_name(name, target)] = content_key(
                {"kind": "reads", "app": name, "target": told, "tools": versions}
            )
    return found
