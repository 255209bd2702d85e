"""The branch that a change is for, as CI names it."""

from __future__ import annotations

import os
from collections.abc import Iterator

# Variables in which CI services name the branch of a pull or merge request, and nothing else: on
# other runs they are not set.
_BRANCHES = (
    "GITHUB_BASE_REF",
    "CI_MERGE_REQUEST_TARGET_BRANCH_NAME",  # GitLab
    "SYSTEM_PULLREQUEST_TARGETBRANCH",  # Azure: refs/heads/main
    "BITBUCKET_PR_DESTINATION_BRANCH",
    "BUILDKITE_PULL_REQUEST_BASE_BRANCH",
    "CHANGE_TARGET",  # Jenkins
    "CIRRUS_BASE_BRANCH",
)
# Variables with a commit: a clone of a merge request alone lacks the branch.
_COMMITS = ("CI_MERGE_REQUEST_DIFF_BASE_SHA",)
_DEFAULT = "CI_DEFAULT_BRANCH"  # GitLab
VARIABLES = (*_BRANCHES, *_COMMITS, _DEFAULT)
_HEADS = "refs/heads/"

# Branches that changes are merged into, unless CI names another. A feature branch's own upstream
# would be the change itself.
_USUAL = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


def branches_of_ci() -> tuple[str, ...]:
    """List the revisions that CI says a change is for, the best first; empty outside of CI."""
    branches = [f"origin/{name.removeprefix(_HEADS)}" for name in _set(_BRANCHES)]
    return (*branches[:1], *_set(_COMMITS))


def default_branches() -> tuple[str, ...]:
    """List the revisions that may be the repository's default branch, the best first."""
    return (*(f"origin/{name}" for name in _set((_DEFAULT,))), *_USUAL)


def _set(names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        value = os.environ.get(name, "")
        if value:
            yield value
