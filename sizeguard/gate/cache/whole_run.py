"""Reuse the result of an earlier gate run that passed with the same inputs.

Everything that a verdict depends on goes into a key. A run that passed once with an equal key
passes again; a run that did not pass is repeated. The key has contents, not times or places, so a
store can move to another machine with the same packages, and editing documentation changes nothing.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

from sizeguard.base.errors import BuildError, InputError
from sizeguard.base.fingerprint import code_hash, file_hash, files_key
from sizeguard.builds.build_inputs import BuildInputs
from sizeguard.gate.cache.any_run_key import any_references, any_terms
from sizeguard.gate.cache.build_records import keep_record, known_inputs, present_digest
from sizeguard.gate.cache.stored_result import facts_of, result_of
from sizeguard.gate.causes.growth_result import SizeGrowth
from sizeguard.gate.gate_result import CREEP, Base, GateResult
from sizeguard.gate.policy.baselines import FOLDER
from sizeguard.gate.policy.terms_result import Waiver
from sizeguard.gate.policy.waiver_use import in_force
from sizeguard.gate.reference.history import counts_from_parent
from sizeguard.gate.reference.tree_inputs import differing_inputs
from sizeguard.gate.request import Request
from sizeguard.git.tree_contents import commit_files, differing
from sizeguard.projects.pairs import recipe_of
from sizeguard.projects.project import CONFIG, App, Target
from sizeguard.snapshots.store import content_key
from sizeguard.toolchains.environment import recorded_environment
from sizeguard.toolchains.host import processor
from sizeguard.toolchains.installed import package_lists
from sizeguard.toolchains.targets import run_prefix
from sizeguard.toolchains.toolchain import Toolchain, find_toolchain

_LOADER = (Path("/etc/ld.so.cache"), Path("/etc/ld.so.preload"))


def earlier_run(
    request: Request, base: Base | None, waivers: Sequence[Waiver]
) -> tuple[str | None, GateResult | None]:
    """Return this run's key, and the result of an earlier run that passed with the same inputs.

    If nothing differs from the base, there is no growth. If the base itself passed, counted from
    its baseline, this run passes too.
    """
    if not request.is_repeatable:
        return None, None
    key = inputs_key(request, base, waivers)
    if key is None or request.again:
        return key, None
    found = earlier_result(request, key, base)
    if found is None:
        as_base = inputs_key(request, base, waivers, as_base=True)
        found = earlier_result(request, as_base, base) if as_base not in (None, key) else None
        found = _without_growth(found) if found is not None else None
    return key, found


def with_kept_builds(request: Request, result: GateResult) -> GateResult:
    """Name no folder for an app whose folder is missing, or has the build of another commit."""
    gone = {
        (app.name, target.name)
        for app, target in request.other_pairs()
        if not request.heads.is_kept(app, target.name)
    }
    apps = (
        replace(app, folder="") if (app.app, app.target) in gone else app for app in result.apps
    )
    return replace(result, apps=tuple(apps))


def _without_growth(result: GateResult) -> GateResult:
    """Change the base's own result to one without growth since the base."""
    apps = (
        replace(app, growth_since_base=app.growth_since_base and SizeGrowth(0, 0, 0))
        for app in result.apps
    )
    return replace(result, apps=tuple(apps))


def store_result(
    request: Request,
    base: Base | None,
    waivers: Sequence[Waiver],
    before: str | None,
    result: GateResult,
) -> None:
    """Store the result of a run, unless one of its inputs changed meanwhile.

    before: terms_key from before the run
    """
    if not request.is_repeatable:
        return
    if before is None or terms_key(request, waivers) != before:
        return
    pairs = _pairs_with_tools(request)
    if not pairs or keep_record(request, pairs):
        keep_result(request, inputs_key(request, base, waivers), result)


def terms_key(request: Request, waivers: Iterable[Waiver]) -> str | None:
    """Hash everything that the verdict depends on, except what builds of known runtimes read.

    The hash does not change when a run learns which files the commands read.
    """
    try:
        terms = _all_terms(request, _pairs_with_tools(request), waivers, by_all_files=True)
    except (BuildError, InputError):
        return None
    return content_key(terms) if terms is not None else None


def _all_terms(
    request: Request,
    pairs: Sequence[_PairTools],
    waivers: Iterable[Waiver],
    *,
    by_all_files: bool = False,
) -> Mapping[str, object] | None:
    """Collect the terms of apps of a known runtime, and of those that commands build.

    Without a list of packages nothing is skipped. by_all_files: as in any_terms
    """
    packages = package_lists()
    if not packages:
        return None
    own = _terms(request, pairs, packages) if pairs else {}
    other = any_terms(request, packages, by_all_files=by_all_files) if request.other_pairs() else {}
    return {"own": own, "other": other, "waivers": _waivers(request, waivers)}


def _waivers(request: Request, waivers: Iterable[Waiver]) -> list[object]:
    """Collect the waivers, which may fail as spent or expired.

    A run for all apps and targets fails for a waiver that nothing needs.
    """
    known = list(waivers)
    if not known:
        return []
    valid = in_force(known, request.today)
    return [request.is_whole, *([_plain(waiver), waiver in valid] for waiver in known)]


def inputs_key(
    request: Request, base: Base | None, waivers: Sequence[Waiver], *, as_base: bool = False
) -> str | None:
    """Hash all that the verdict depends on.

    None if something is unknown until the work is done.

    as_base: the key of a run on the base itself, if nothing differs from it.
    """
    try:
        pairs = _pairs_with_tools(request)
        terms = _all_terms(request, pairs, waivers)
        if terms is None:
            return None
        told: dict[str, object] = {**terms}
        if any(waiver.is_trailer for waiver in waivers):
            told["merged"] = base is not None and base.merged  # trailers are spent before a merge
        if request.other_pairs():
            told["references"] = any_references(request, base, as_base)
        if pairs:
            known = known_inputs(request, pairs)
            if known is None:
                return None
            told["builds"] = present_digest(request, known)
            told["base"] = _bases(request, base, pairs, known, as_base)
            told["creep"] = [_creep(request, *pair) for pair in pairs]
        return content_key(told)
    except (BuildError, InputError):
        return None  # the run reports the error


def _terms(
    request: Request, pairs: Sequence[_PairTools], packages: Iterable[Path]
) -> Mapping[str, object]:
    """Collect all but waivers and files that builds read. packages: lists of installed packages."""
    tools = [Path(tool) for _, _, each in pairs for tool in (each.cc, each.cxx)]
    return {
        "gate": 3,
        "code": code_hash(),
        "machine": _hashes(None, [*packages, *_LOADER, *tools]),
        "processor": processor(),
        "variables": recorded_environment(),
        "sources": request.tree.key(),
        "names": files_key([request.tree.names_file()]),
        "files": _hashes(request.root, _files(request)),
        "pairs": [
            [app.name, _plain(target), _plain(tools), _emulator(target)]
            for app, target, tools in pairs
        ],
    }


class _PairTools(NamedTuple):
    """An app, a target that it is for, and the tools for the target."""

    app: App
    target: Target
    tools: Toolchain


def _pairs_with_tools(request: Request) -> list[_PairTools]:
    """Pair the apps of a known runtime with targets, and find each target's toolchain once."""
    pairs = request.selective_pairs()
    targets = {target.name: target for _, target in pairs}
    tools = {
        name: find_toolchain(target.compiler, target.linker, target.machine)
        for name, target in targets.items()
    }
    return [_PairTools(app, target, tools[target.name]) for app, target in pairs]


def _plain(value: Target | Toolchain | Waiver) -> Mapping[str, str]:
    return {name: str(each) for name, each in asdict(value).items()}


def _hashes(root: Path | None, paths: Iterable[Path]) -> Mapping[str, str]:
    """Hash files, by path; paths below the root are relative to it."""
    shown = {
        path: path.relative_to(root).as_posix() if root and path.is_relative_to(root) else str(path)
        for path in paths
    }
    return {shown[path]: file_hash(path) for path in sorted(shown) if path.is_file()}


def _files(request: Request) -> Iterable[Path]:
    """List the files that people write, except sources.

    These are the policy, baselines, waivers, selections with the files beside them, and models with
    their inputs.
    """
    yield request.root / CONFIG
    # baselines, waivers, trace records
    yield from (request.root / FOLDER).rglob("*.yaml")
    for app in {app.name: app for app, _ in request.selective_pairs()}.values():
        yield from (path for path in app.selection.parent.rglob("*") if path.is_file())
        for model in app.models:
            yield model
            yield from (path for case in request.models.inputs(model) for path in case)
            yield from (path for case in request.models.expected(model) for path in case.values())


def _emulator(target: Target) -> str:
    prefix = run_prefix(target.machine) if target.run else None
    found = shutil.which(prefix[0]) if prefix else None
    return file_hash(Path(found)) if found else ""


def _bases(
    request: Request,
    base: Base | None,
    pairs: Iterable[tuple[App, Target, Toolchain]],
    known: BuildInputs,
    as_base: bool,
) -> list[list[str]]:
    """Describe the base of each pair's growth; empty lists without a base."""
    if base is None or not base.commit or request.history.head is None:
        return [[] for _ in pairs]
    history, commit = request.history, base.commit
    differs = _read_of(request, commit, known)
    is_same = not differs and (as_base or request.history.head.id == commit)
    head = [str(is_same), *differs, *_texts(request, commit, differs)]
    # The base itself, or a commit with equal inputs, is compared with its first parent.
    is_parent = is_same or counts_from_parent(history, base, is_equal=not differs)
    parent = history.first_parent(commit) if is_parent else ""
    tail: list[str] = []
    if parent:
        changed = _read_of(request, parent, known)
        tail = [*changed, *_texts(request, parent, changed)]
    recipes = [recipe_of(request.runtime, tools, app.name, target) for app, target, tools in pairs]
    return [
        [
            history.key(commit, recipe),
            *head,
            *([history.key(parent, recipe), *tail] if parent else []),
        ]
        for recipe in recipes
    ]


def _read_of(request: Request, commit: str, read: BuildInputs) -> list[str]:
    """List inputs and reviewed files that differ between a commit and the worktree."""
    root = request.root
    files = commit_files(root, commit)
    then = [path for path in files.entries if path.startswith(f"{FOLDER}/")]
    here = (root / FOLDER).rglob("*.yaml")
    reviewed = {*(str(root / path) for path in then), *(str(path) for path in here)}
    found = {*differing_inputs(root, commit, [read]), *differing(root, files, reviewed)}
    return sorted(found)


def _texts(request: Request, commit: str, paths: Iterable[str]) -> list[str]:
    """Return git's ids of files in a commit; empty for files that it does not have."""
    entries = commit_files(request.root, commit).entries
    return [entries.get(path, ("", ""))[1] for path in paths]


def _creep(request: Request, app: App, target: Target, toolchain: Toolchain) -> Mapping[str, str]:
    since = {limit.since for limit in request.limits if limit.kind == CREEP}
    if request.history.head is None:
        return dict.fromkeys(since, "")
    return {
        name: request.history.key(
            request.history.commit(name).id, recipe_of(request.runtime, toolchain, app.name, target)
        )
        for name in since
    }


def earlier_result(request: Request, key: str | None, base: Base | None) -> GateResult | None:
    """Read the result of a run that passed with the same inputs; None if there is none.

    The result must cover exactly the requested builds: a store may come from elsewhere, and a
    result without builds would pass.
    """
    store = request.history.place.store
    facts = store.facts(key) if key is not None else None
    found = result_of(facts, store) if facts is not None else None
    if found is None:
        return None  # not stored, of another version, or damaged: run again
    wanted = sorted((app.name, target.name) for app, target in request.pairs())
    if found.exit_code != 0 or sorted((each.app, each.target) for each in found.apps) != wanted:
        return None
    head = request.history.head
    apps = tuple(replace(app, unchanged=True) for app in found.apps)
    why = "nothing that the verdict depends on has changed since it passed"
    return replace(found, apps=apps, base=base, head=head.id if head else "", skipped=why)


def keep_result(request: Request, key: str | None, result: GateResult) -> None:
    """Store the result under the key if it passed."""
    if key is not None and result.exit_code == 0 and not result.skipped:
        request.history.place.store.put(key, facts_of(result))
