"""Read the terms of the merge base and of the change, and compare them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from sizeguard.base.errors import InputError
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate.causes.growth_result import SizeGrowth
from sizeguard.gate.gate_result import REVIEWED, AppResult, Base, GateResult, overall
from sizeguard.gate.policy.baselines import FOLDER, WAIVERS
from sizeguard.gate.policy.changes.moved_project import folder_before
from sizeguard.gate.policy.terms import TermsReader
from sizeguard.gate.policy.terms_result import PolicyChange, Waiver
from sizeguard.gate.reference.history import History
from sizeguard.gate.request import Request
from sizeguard.gate.selection.review_record import FOLDER as RECORDS
from sizeguard.git.file_versions import CommitFiles, FileVersions, FolderFiles, WorktreeFiles
from sizeguard.git.git import top_folder
from sizeguard.projects.project import CONFIG, NOTE
from sizeguard.projects.reader import parse_config


def changed_terms(
    request: Request, base: Base | None, waivers: Sequence[Waiver]
) -> tuple[PolicyChange, ...]:
    """List how the terms differ from those of the merge base; empty without a merge base.

    waivers: in force for the change, from its file and its commits
    """
    compared = _compared(request, base)
    if compared is None:
        return ()
    root, commit, files = request.root, compared.commit, compared.then
    case_role = request.models.case_role if request.is_selective else _no_role
    apps = f"{_counted(request.config.apps, 'app')}, {_counted(request.limits, 'limit')}"
    if elsewhere := _elsewhere(request, compared):
        return elsewhere
    text = files.text(CONFIG)
    if text is None:
        return (PolicyChange("policy added", CONFIG, "", apps, False, place=CONFIG),)
    names = _names_file(request)
    before = TermsReader(files, root, case_role, names)
    after = TermsReader(compared.now, root, case_role, names)
    by_commits = any(waiver.is_trailer for waiver in waivers)
    # Most changes touch no terms: reading and comparing them takes 0.1 s, two hashes take 0.02 s.
    if not by_commits and before.identities(request.config) == after.identities(request.config):
        return ()
    try:
        old = before.read(parse_config(root, text))
    except InputError as error:
        why = f"cannot be read: {commit[:7]}: {error}"
        return (PolicyChange("policy replaced", CONFIG, why, apps, True, None, INCONCLUSIVE),)
    new = after.read(request.config)
    # The comparison takes 15 ms to import, and most changes touch no terms.
    from sizeguard.gate.policy.changes.policy_changes import TRAILER, compare_terms

    accepted = request.history.trailers(commit, TRAILER)
    return compare_terms(old, replace(new, waivers=tuple(waivers)), accepted)


class _Compared(NamedTuple):
    """Two states of a project's files: of a commit, and in the worktree."""

    commit: str
    then: FileVersions
    now: FileVersions


def _compared(request: Request, base: Base | None) -> _Compared | None:
    """Return the states whose terms are compared; None without a merge base.

    If the base is HEAD itself, its terms are those of a change that is merged, as its growth is. A
    project below the root of its repository counts growth from baselines, and has no base, but
    the repository has one.
    """
    root, history = request.root, request.history
    if base is not None:
        since = history.changes_since(base)
        return _states(request, root, since, "") if since else None
    if not history.may_have_commits:
        return None
    top = top_folder(root).resolve()
    folder = root.resolve().relative_to(top).as_posix()
    above = History(top, history.place.store, config=f"{folder}/{CONFIG}")
    found = above.base(request.base)
    since = above.changes_since(found) if found is not None else ""
    return _states(request, top, since, folder) if since else None


def _states(request: Request, top: Path, commit: str, folder: str) -> _Compared:
    """Return the states of a project in a folder of its repository, wherever the commit has it."""
    then = FolderFiles(CommitFiles(top, commit), folder)
    if then.text(CONFIG) is None and not then.leads_out(CONFIG):
        names = (app.name for app in request.config.apps)
        before = folder_before(top, commit, folder, names)
        then = then if before is None else FolderFiles(CommitFiles(top, commit), before)
    return _Compared(commit, then, FolderFiles(WorktreeFiles(top), folder))


def _names_file(request: Request) -> str:
    """Return the path of the full build's names, if the project has the runtime's sources."""
    if not request.is_selective or not request.has_own_sources:
        return ""
    return request.tree.names_file().relative_to(request.root).as_posix()


def _counted(things: Sized, what: str) -> str:
    return f"{len(things)} {what}{'s' if len(things) != 1 else ''}"


def with_accepted_growth(
    request: Request, base: Base | None, result: GateResult, changes: tuple[PolicyChange, ...]
) -> tuple[PolicyChange, ...]:
    """Count a baseline of the change as loosened if it accepts growth since the merge base.

    Its sizes may be smaller than before: the base's baseline may have been outdated.
    """
    grown = {
        f"{FOLDER}/{app.app}.{app.target}.{app.toolchain}.yaml"
        for app in result.apps
        if app.base == REVIEWED and app.growth_since_base and any(_more(app.growth_since_base))
    }
    found = [change for change in changes if not change.loosens and change.name in grown]
    if not found or base is None:
        return changes
    fails = _mode(request, base) != NOTE
    loosened = tuple(
        replace(each, loosens=True, verdict=FAIL if fails and not each.accepted else each.verdict)
        for each in found
    )
    return (*loosened, *(change for change in changes if change not in found))


def with_region_limits(
    request: Request, base: Base | None, result: GateResult, changes: tuple[PolicyChange, ...]
) -> tuple[PolicyChange, ...]:
    """Add the limits in shares of memory regions whose size the change edits."""
    if not any(app.region_limits for app in result.apps):
        return changes
    fails = _mode(request, base) != NOTE
    found = [each for app in result.apps for each in _region_changes(app, fails=fails)]
    return tuple(sorted([*found, *changes], key=lambda change: not change.loosens))


def _region_changes(app: AppResult, *, fails: bool) -> Iterator[PolicyChange]:
    """Yield the changed terms of an app. fails: a loosened term fails the gate."""
    for limit in app.region_limits:
        looser = limit.new > limit.old
        yield PolicyChange(
            f"limit {'loosened' if looser else 'tightened'}",
            f"{limit.metric} maximum of {app.app} for {app.target}",
            f"{limit.rule} = {limit.old:,} B",
            f"{limit.rule} = {limit.new:,} B",
            looser,
            limit.new - limit.old,
            FAIL if looser and fails else PASS,
            place=limit.place,
        )


def _mode(request: Request, base: Base | None) -> str:
    """Return what the base says of loosened terms."""
    compared = _compared(request, base)
    text = compared.then.text(CONFIG) if compared is not None else None
    return parse_config(request.root, text).policy_changes if text is not None else NOTE


def _more(growth: SizeGrowth) -> list[bool]:
    return [size > 0 for size in (growth.load, growth.ram, growth.file)]


def _elsewhere(request: Request, compared: _Compared) -> tuple[PolicyChange, ...]:
    """List terms behind links that lead out of the repository, which no commit contains."""
    apps = (app for app in request.config.apps if app.selection_file is not None)
    paths = [app.selection.relative_to(request.root).as_posix() for app in apps]
    paths += filter(None, (request.config.rules_file, _names_file(request)))
    commit, files, here = compared.commit[:7], compared.then, compared.now
    found = []
    for path in dict.fromkeys([CONFIG, FOLDER, f"{FOLDER}/{WAIVERS}", RECORDS.as_posix(), *paths]):
        then, now = files.leads_out(path), here.leads_out(path)
        if then or now:
            texts = (
                f"cannot be read: {commit}: a link leads out of the repository" if then else "",
                "a link leads out of the repository" if now else "is in the repository",
            )
            found.append(PolicyChange("policy replaced", path, *texts, True, None, INCONCLUSIVE))
    return tuple(found)


def _no_role(name: str) -> str:
    """Return no role: apps without models have no cases."""
    return ""


def with_changed_terms(result: GateResult, changes: tuple[PolicyChange, ...]) -> GateResult:
    """Add the changes of terms to a result; their verdicts count for it."""
    verdicts = {result.verdict} | {change.verdict for change in changes}
    return replace(result, verdict=overall(verdicts), policy_changes=changes)
