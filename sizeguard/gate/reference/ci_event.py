"""Read a CI run's event: the target branch of a change, or the pushed commits."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from sizeguard.base.dataclass import dataclass

# Variables in which CI services name the target branch of a pull or merge request; other runs do
# not set them.
_BRANCHES = (
    "GITHUB_BASE_REF",
    "CI_MERGE_REQUEST_TARGET_BRANCH_NAME",  # GitLab
    "SYSTEM_PULLREQUEST_TARGETBRANCH",  # Azure: refs/heads/main
    "BITBUCKET_PR_DESTINATION_BRANCH",
    "BUILDKITE_PULL_REQUEST_BASE_BRANCH",
    "BUILDKITE_MERGE_QUEUE_BASE_BRANCH",
    "CHANGE_TARGET",  # Jenkins
    "CIRRUS_BASE_BRANCH",
    "CI_COMMIT_TARGET_BRANCH",  # Woodpecker
    "CODEBUILD_WEBHOOK_BASE_REF",  # refs/heads/main
    "BITRISEIO_GIT_BRANCH_DEST",
    "CF_PULL_REQUEST_TARGET",  # Codefresh
)
# Those that other runs set, too, each with a variable that only runs for a change set.
_BRANCHES_IF = {
    "TRAVIS_BRANCH": "TRAVIS_PULL_REQUEST_BRANCH",
    "APPVEYOR_REPO_BRANCH": "APPVEYOR_PULL_REQUEST_NUMBER",
    "DRONE_TARGET_BRANCH": "DRONE_PULL_REQUEST",
    "SEMAPHORE_GIT_BRANCH": "SEMAPHORE_GIT_PR_NUMBER",
}
# GitLab: the target's commit of a merged result, and the diff's base. In a fork, the branch of that
# name is the fork's own and may be old. Buildkite: the commit on which the queue places the change.
_COMMITS = (
    *("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", "CI_MERGE_REQUEST_DIFF_BASE_SHA"),
    "BUILDKITE_MERGE_QUEUE_BASE_COMMIT",
)
_DEFAULT = "CI_DEFAULT_BRANCH"  # GitLab
_PUSHES = ("CI_COMMIT_BRANCH", "CI_COMMIT_BEFORE_SHA", "CI_COMMIT_REF_PROTECTED")  # GitLab
_GITHUB_EVENT = "GITHUB_EVENT_PATH"
_GITHUB = ("GITHUB_EVENT_NAME", _GITHUB_EVENT, "GITHUB_REF", "GITHUB_REF_PROTECTED")
_MERGED_BY_GITLAB = ("CI_MERGE_REQUEST_EVENT_TYPE", "CI_COMMIT_SHA")
_OF_BRANCHES = (*_BRANCHES, *_BRANCHES_IF, *_BRANCHES_IF.values())
_OF_GITLAB = (*_COMMITS, _DEFAULT, *_PUSHES, *_MERGED_BY_GITLAB)
VARIABLES = (*_OF_BRANCHES, *_OF_GITLAB, *_GITHUB, "GITHUB_SHA")

_HEADS = "refs/heads/"
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LARGEST = 32 << 20  # bytes of an event; GitHub's have at most 25 MB
_TESTED_MERGES = ("merged_result", "merge_train")  # GitLab: HEAD is a merge with the target


@dataclass(frozen=True, slots=True)
class Candidate:
    """A revision that growth may be counted from. name: the name to show."""

    revision: str
    name: str


@dataclass(frozen=True, slots=True)
class CiEvent:
    """The event that started a run.

    bases: the revisions to count growth from, the best first; empty if the event names none
    pushed: a change was merged or pushed to a target branch of changes
    merge: HEAD if CI made it by merging the change into its target branch, the first parent
    change: the last commit of the change that waits for its merge; empty if the event names none
    unknown: why the base of a change is unknown; then the default branch may be the change itself
    """

    bases: tuple[Candidate, ...] = ()
    pushed: bool = False
    merge: str = ""
    change: str = ""
    unknown: str = ""


def ci_event() -> CiEvent:
    """Return the event that started this run; an empty one outside CI."""
    variables = {name: os.environ.get(name, "") for name in VARIABLES}
    found = _github(variables) if variables["GITHUB_EVENT_NAME"] else _gitlab_push(variables)
    return found or CiEvent(tuple(_named(variables)), merge=_tested_merge(variables))


def default_branch() -> str:
    """Return the default branch that CI names; empty if it names none."""
    event = _event(os.environ.get(_GITHUB_EVENT, ""))
    name = os.environ.get(_DEFAULT, "") or _text(event, "repository", "default_branch")
    return f"origin/{name}" if name else ""


def _named(variables: Mapping[str, str]) -> Iterator[Candidate]:
    """List the revisions in the variables: commits, then a branch."""
    names = (*_BRANCHES, *(name for name, other in _BRANCHES_IF.items() if variables[other]))
    branch = next((variables[name] for name in names if variables[name]), "")
    shown = f"origin/{branch.removeprefix(_HEADS)}" if branch else ""
    for name in _COMMITS:
        if variables[name].strip("0"):
            yield Candidate(variables[name], shown or variables[name])
    if shown:
        yield Candidate(shown, shown)


def _tested_merge(variables: Mapping[str, str]) -> str:
    """Return the merge commit that CI made to test a change."""
    if variables["CI_MERGE_REQUEST_EVENT_TYPE"] in _TESTED_MERGES:
        return variables["CI_COMMIT_SHA"]
    is_merge = re.fullmatch(r"refs/pull/\d+/merge", variables["GITHUB_REF"], re.ASCII)
    return variables["GITHUB_SHA"] if is_merge else ""


def _gitlab_push(variables: Mapping[str, str]) -> CiEvent | None:
    branch, before, is_protected = (variables[name] for name in _PUSHES)
    if not branch:
        return None
    is_for_changes = is_protected == "true" or branch == variables[_DEFAULT]
    return _push(branch, before) if is_for_changes else None


def _push(branch: str, before: str) -> CiEvent:
    """Return the event of a push, with the commit before it; a new branch has none."""
    if not _COMMIT.fullmatch(before) or not before.strip("0"):
        return CiEvent(pushed=True)
    return CiEvent((Candidate(before, f"{branch} before the push"),), pushed=True)


def _github(variables: Mapping[str, str]) -> CiEvent | None:
    """Read GitHub's event; None if the variables are enough."""
    name = variables["GITHUB_EVENT_NAME"]
    event = _event(variables[_GITHUB_EVENT])
    if name == "push":
        return _github_push(variables, event)
    found = _github_change(name, variables, event)
    if found is None or found.bases:
        return found
    return replace(found, unknown=_why_unknown(variables, event))


def _github_change(name: str, variables: Mapping[str, str], event: object) -> CiEvent | None:
    """Read the event of a change that waits for its merge; None for any other."""
    if name == "merge_group":
        commit = _text(event, "merge_group", "base_sha")
        branch = _text(event, "merge_group", "base_ref").removeprefix(_HEADS)
        shown = f"origin/{branch}" if branch else commit
        places = [Candidate(each, shown) for each in (commit, shown) if each]
        return CiEvent(tuple(places))
    if not name.startswith("pull_request"):
        return None
    found = list(_named(variables))
    commit = _text(event, "pull_request", "base", "sha")
    if commit:
        found.append(Candidate(commit, found[0].name if found else commit))
    request = event.get("pull_request") if isinstance(event, dict) else None
    is_merged = isinstance(request, dict) and request.get("merged") is True
    change = "" if is_merged else _text(request, "head", "sha")
    change = change if _COMMIT.fullmatch(change) else ""
    return CiEvent(tuple(found), merge=_tested_merge(variables), change=change)


def _github_push(variables: Mapping[str, str], event: object) -> CiEvent | None:
    if not variables["GITHUB_REF"].startswith(_HEADS):
        return None  # of a tag
    if event is None and variables[_GITHUB_EVENT]:
        return CiEvent(unknown=_why_unknown(variables, event))
    branch = variables["GITHUB_REF"].removeprefix(_HEADS)
    is_default = branch == _text(event, "repository", "default_branch")
    # On any other branch, each push could use the growth limit of a whole change.
    if not is_default and variables["GITHUB_REF_PROTECTED"] != "true":
        return None
    return _push(branch, _text(event, "before"))


def _why_unknown(variables: Mapping[str, str], event: object) -> str:
    """Say why an event does not tell the commit that growth is counted from."""
    name, path = variables["GITHUB_EVENT_NAME"], variables[_GITHUB_EVENT]
    if not path:
        return f"GITHUB_EVENT_NAME is {name}, but GITHUB_EVENT_PATH is not set"
    what = "has no base" if event is not None else "cannot be read"
    return f"the {name} event in GITHUB_EVENT_PATH {what}: {path}"


def _event(path: str) -> object:
    """Read the event's JSON; None if there is none."""
    try:
        with Path(path).open("rb") as file:
            return json.loads(file.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return None


def _text(event: object, *keys: str) -> str:
    """Return the string at these keys of the event; empty if it is missing."""
    at = event
    for key in keys:
        at = at.get(key) if isinstance(at, dict) else None
    return at if isinstance(at, str) else ""
