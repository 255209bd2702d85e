"""A measuring run and the pull requests at its commit, both according to GitHub."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from urllib.parse import quote

from ci.action.documents import are_documents
from ci.github.hub_api import Api, ApiError, Refused, number_of, text_of

_COMMIT = re.compile(r"[0-9a-f]{40}")
_MOST_FILES = 3000  # GitHub lists no more
ENDS = {
    "cancelled": "the run was cancelled",
    "timed_out": "the run took too long",
    "action_required": "the run waits for a maintainer's approval",
    "startup_failure": "the workflow could not be started",
    "stale": "the run was given up by GitHub",
    "neutral": "the run ended without a result",
}
_PULLS = 10  # maximum pull requests of one commit that get a comment


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the measuring workflow.

    head:       commit of the run; for a pull request, the commit that was pushed
    repository: repository of head: a fork, or this one
    conclusion: success, failure, cancelled, timed_out …; empty while it runs
    address:    URL of its page
    started:    time at which this attempt started, as GitHub writes it; empty if unknown
    is_of_gitlab: the run is a pipeline of GitLab
    """

    id: int
    attempt: int
    event: str
    head: str
    branch: str
    repository: str
    conclusion: str
    server: str
    address: str
    started: str = ""
    is_of_gitlab: bool = False

    @property
    def is_of_pull_request(self) -> bool:
        """Return whether the run belongs to a pull request."""
        return self.event in ("pull_request", "pull_request_target")

    def ended(self, conclusion: str) -> Run:
        """Return the run with its end."""
        return replace(self, conclusion=conclusion)


def read_run(api: Api, number: int, server: str) -> Run:
    """Get a run from GitHub; raise Refused if the answer has no commit."""
    found = api.table(f"actions/runs/{number}")
    head = text_of(found.get("head_sha"))
    if not _COMMIT.fullmatch(head):
        raise Refused(f"run {number} is of no commit")
    theirs = found.get("head_repository")
    name = api.repository.partition("/repos/")[2]
    return Run(
        number,
        number_of(found.get("run_attempt")) or 1,
        text_of(found.get("event")),
        head,
        text_of(found.get("head_branch")),
        text_of(theirs.get("full_name")) if isinstance(theirs, dict) else "",
        text_of(found.get("conclusion")),
        server,
        f"{server}/{name}/actions/runs/{number}",
        text_of(found.get("run_started_at")),
    )


def how_it_ended(run: Run) -> str:
    """Describe the conclusion of a run."""
    return ENDS.get(run.conclusion, f"it ended with {run.conclusion or 'nothing'}")


def open_pulls(api: Api, run: Run) -> list[int]:
    """List the open pull requests that are at the run's commit."""
    owner = run.repository.partition("/")[0]
    if not owner or not run.branch:
        return []
    head = quote(f"{owner}:{run.branch}", safe="")
    numbers = []
    for found in api.rows(f"pulls?state=open&head={head}"):
        theirs = found.get("head")
        if not isinstance(theirs, dict):
            continue
        repository = theirs.get("repo")
        name = text_of(repository.get("full_name")) if isinstance(repository, dict) else ""
        is_ours = text_of(theirs.get("sha")) == run.head and name == run.repository
        if is_ours and text_of(found.get("state")) == "open" and number_of(found.get("number")):
            numbers.append(number_of(found.get("number")))
    return numbers[:_PULLS]


def are_only(api: Api, pulls: list[int], patterns: tuple[str, ...]) -> bool:
    """Return whether the pull requests change only documents, according to GitHub."""
    for number in pulls:
        rows = list(api.rows(f"pulls/{number}/files"))
        names = [text_of(row.get("filename")) for row in rows]
        names += [
            text_of(each["previous_filename"]) for each in rows if "previous_filename" in each
        ]
        if len(rows) >= _MOST_FILES or not are_documents(names, patterns):
            return False
    return bool(pulls)


def is_merge_of(api: Api, commit: str, head: str) -> bool:
    """Return whether a commit of this repository merges `head`."""
    if not _COMMIT.fullmatch(commit):
        return False
    try:
        parents = api.table(f"git/commits/{commit}").get("parents")
    except ApiError as error:
        if error.status in (404, 409, 422):
            return False
        raise
    listed = parents if isinstance(parents, list) else []
    return any(isinstance(each, dict) and each.get("sha") == head for each in listed)
