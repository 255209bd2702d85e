"""The key of a run on apps that commands build: everything that its verdict depends on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from sizeguard.base.fingerprint import code_hash, files_key, fingerprint
from sizeguard.gate.gate_result import CREEP, Base
from sizeguard.gate.policy.baselines import FOLDER
from sizeguard.gate.reference.history import counts_from_parent
from sizeguard.gate.request import Request
from sizeguard.git.checked_out import checked_out_commit
from sizeguard.git.tree_contents import commit_files
from sizeguard.projects.any_build import AnyBuildRecipe
from sizeguard.projects.project import CONFIG


def any_terms(
    request: Request, packages: Iterable[Path], *, by_all_files: bool
) -> Mapping[str, object]:
    """Collect what the verdict depends on, except waivers and the inputs of other commits' builds.

    packages: lists of the packages installed on this machine
    by_all_files: count all files as inputs of builds, not those that builds are known to read
    """
    commit = checked_out_commit(request.root)
    reviewed = sorted((request.root / FOLDER).rglob("*.yaml"))
    return {
        "code": code_hash(),
        "machine": files_key(packages),
        "files": [
            [path.relative_to(request.root).as_posix() for path in reviewed],
            files_key([request.root / CONFIG, *reviewed]),
            request.config.rules,
        ],
        "builds": _keys(request, commit, by_all_files=by_all_files),
        "selections": _selections(request),
    }


def any_references(request: Request, base: Base | None, as_base: bool) -> Mapping[str, object]:
    """Collect the references of growth and creep.

    as_base: as in a run on the base itself, if nothing differs from it
    """
    history = request.history
    since = {limit.since for limit in request.limits if limit.kind == CREEP}
    creep = {name: _keys(request, history.commit(name).id) for name in sorted(since)}
    if base is None or not base.commit or history.head is None:
        return {"base": [], "creep": creep}
    keys = _keys(request, base.commit)
    is_equal = keys == _keys(request, request.heads.commit)
    is_same = is_equal and (as_base or history.head.id == base.commit)
    # The base itself, or a commit with equal inputs, is compared with its first parent.
    is_parent = is_same or counts_from_parent(history, base, is_equal=is_equal)
    parent = history.first_parent(base.commit) if is_parent else ""
    before = [base.commit, parent] if parent else [base.commit]
    reviewed = [_reviewed(request, commit) for commit in before]
    return {
        "base": [str(is_same), keys, _keys(request, parent) if parent else [], reviewed],
        "creep": creep,
    }


def _keys(request: Request, commit: str, *, by_all_files: bool = False) -> list[str]:
    """Return the key of each image's measurement at a commit.

    For an image measured as found, the key is its content.
    """
    found = []
    for app, target in request.other_pairs():
        recipe = request.heads.recipe(app, target.name)
        recipe = recipe.without_store if recipe is not None and by_all_files else recipe
        key = (
            request.heads.content(app, target.name)
            if recipe is None
            else fingerprint(
                {"measured": request.history.key(commit, recipe), **_run_and_claims(recipe)}
            )
        )
        found.append(f"{app.name}/{target.name} {key}")
    return found


def _selections(request: Request) -> Mapping[str, object]:
    """Collect the selections that images are verified against, and their selectable names."""
    files = {
        files.selection
        for app, target in request.other_pairs()
        for files in app.steps[target.name].images.values()
        if files.selection
    }
    if not files:
        return {}
    paths = [request.root / file for file in sorted(files)]
    sources = [request.tree.key(), files_key([request.tree.names_file()])]
    return {"files": [*sorted(files), files_key(paths)], "sources": sources}


def _run_and_claims(recipe: AnyBuildRecipe) -> Mapping[str, object]:
    """Collect the inputs of the verdict that are not measured: the run command and the claims."""
    steps = recipe.steps
    selection = [recipe.files.selection, *steps.shared_with(recipe.image)]
    return {"run": steps.run, "claims": [*steps.absent, "", *steps.present, "", *selection]}


def _reviewed(request: Request, commit: str) -> Mapping[str, str]:
    """Return git's ids of the reviewed files of a commit, by path."""
    entries = commit_files(request.root, commit).entries
    return {path: entry[1] for path, entry in entries.items() if path.startswith(f"{FOLDER}/")}
