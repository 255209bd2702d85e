"""The revisions and commits that variables and events of CI services name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sizeguard.gate.reference.ci_event import VARIABLES, Candidate, CiEvent, ci_event

OLD, NEW = "a" * 40, "b" * 40
NONE = "0" * 40
BRANCH = Candidate("origin/main", "origin/main")
PULL = {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_BASE_REF": "main", "GITHUB_SHA": NEW}
PUSH = {"GITHUB_EVENT_NAME": "push", "GITHUB_REF": "refs/heads/main"}
TAG = {**PUSH, "GITHUB_REF": "refs/tags/main"}
OF_MAIN = {"before": OLD, "repository": {"default_branch": "main"}}
GITLAB = {"CI_COMMIT_BRANCH": "main", "CI_COMMIT_BEFORE_SHA": OLD, "CI_DEFAULT_BRANCH": "main"}
REQUEST = {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "CI_COMMIT_SHA": NEW}
PUSHED = CiEvent((Candidate(OLD, "main before the push"),), pushed=True)
NEW_BRANCH = CiEvent(pushed=True)


def read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, variables: Mapping[str, str], event: object
) -> CiEvent:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    if event is not None:
        (folder / "event.json").write_text(event if isinstance(event, str) else json.dumps(event))
        monkeypatch.setenv("GITHUB_EVENT_PATH", str(folder / "event.json"))
    return ci_event()


def request(sha: object) -> dict[str, Any]:
    return {"pull_request": {"base": {"sha": sha}}}


@pytest.mark.parametrize(
    "variables, event, expected",
    [
        ({}, None, CiEvent()),
        (PULL, None, CiEvent((BRANCH,))),
        (PULL, request(OLD), CiEvent((BRANCH, Candidate(OLD, "origin/main")))),
        (PULL, request(3), CiEvent((BRANCH,))),
        (PULL, {"pull_request": {"head": {"sha": NEW}}}, CiEvent((BRANCH,), change=NEW)),
        (PULL, {"pull_request": {"head": {"sha": "main"}}}, CiEvent((BRANCH,))),
        (PULL, {"pull_request": {"head": {"sha": NEW}, "merged": True}}, CiEvent((BRANCH,))),
        (PULL, {"pull_request": [OLD]}, CiEvent((BRANCH,))),
        (PULL, "no JSON", CiEvent((BRANCH,))),
        # A checkout of a change has no branch but the change's own, which is no base.
        *(
            ({"GITHUB_EVENT_NAME": name}, event, CiEvent(unknown=why))
            for name in ("pull_request", "pull_request_target", "merge_group")
            for event, why in (
                (None, f"GITHUB_EVENT_NAME is {name}, but GITHUB_EVENT_PATH is not set"),
                ("no JSON", f"the {name} event in GITHUB_EVENT_PATH cannot be read: PATH"),
                ({}, f"the {name} event in GITHUB_EVENT_PATH has no base: PATH"),
            )
        ),
        (
            PUSH,
            "no JSON",
            CiEvent(unknown="the push event in GITHUB_EVENT_PATH cannot be read: PATH"),
        ),
        ({**PULL, "GITHUB_BASE_REF": ""}, request(OLD), CiEvent((Candidate(OLD, OLD),))),
        ({**PULL, "GITHUB_EVENT_NAME": "pull_request_target"}, None, CiEvent((BRANCH,))),
        ({**PULL, "GITHUB_REF": "refs/pull/7/merge"}, None, CiEvent((BRANCH,), merge=NEW)),
        ({**PULL, "GITHUB_REF": "refs/pull/7/head"}, None, CiEvent((BRANCH,))),
        ({**PULL, "GITHUB_REF": "x/refs/pull/7/merge"}, None, CiEvent((BRANCH,))),
        ({"GITHUB_EVENT_NAME": "schedule"}, None, CiEvent()),
        # A push to a target branch of changes; to any other one, nothing is counted from it.
        (PUSH, OF_MAIN, PUSHED),
        (PUSH, {**OF_MAIN, "before": NONE}, NEW_BRANCH),
        (PUSH, {**OF_MAIN, "before": OLD[:39]}, NEW_BRANCH),
        (PUSH, {**OF_MAIN, "before": "--all"}, NEW_BRANCH),
        (PUSH, {**OF_MAIN, "repository": {"default_branch": "dev"}}, CiEvent()),
        ({**PUSH, "GITHUB_REF_PROTECTED": "false"}, {"before": OLD}, CiEvent()),
        ({**PUSH, "GITHUB_REF_PROTECTED": "true"}, {"before": OLD}, PUSHED),
        (TAG, OF_MAIN, CiEvent()),
        (
            {**PUSH, "GITHUB_REF": "refs/tags/v1", "GITHUB_REF_PROTECTED": "true"},
            OF_MAIN,
            CiEvent(),
        ),
        (
            {"GITHUB_EVENT_NAME": "merge_group"},
            {"merge_group": {"base_sha": OLD, "base_ref": "refs/heads/main"}},
            CiEvent((Candidate(OLD, "origin/main"), BRANCH)),
        ),
        (
            {"GITHUB_EVENT_NAME": "merge_group"},
            {"merge_group": {"base_sha": OLD}},
            CiEvent((Candidate(OLD, OLD), Candidate(OLD, OLD))),
        ),
        (GITLAB, None, PUSHED),
        ({**GITLAB, "CI_COMMIT_BEFORE_SHA": NONE}, None, NEW_BRANCH),
        ({**GITLAB, "CI_DEFAULT_BRANCH": "dev"}, None, CiEvent()),
        ({**GITLAB, "CI_DEFAULT_BRANCH": "dev", "CI_COMMIT_REF_PROTECTED": "true"}, None, PUSHED),
        (REQUEST, None, CiEvent((BRANCH,))),
        (
            {**REQUEST, "CI_MERGE_REQUEST_EVENT_TYPE": "merged_result"},
            None,
            CiEvent((BRANCH,), merge=NEW),
        ),
        ({**REQUEST, "CI_MERGE_REQUEST_EVENT_TYPE": "detached"}, None, CiEvent((BRANCH,))),
        (
            {**REQUEST, "CI_MERGE_REQUEST_DIFF_BASE_SHA": OLD},
            None,
            CiEvent((Candidate(OLD, "origin/main"), BRANCH)),
        ),
        (
            {**REQUEST, "CI_MERGE_REQUEST_TARGET_BRANCH_SHA": NONE},
            None,
            CiEvent((BRANCH,)),
        ),
        ({"CI_MERGE_REQUEST_DIFF_BASE_SHA": OLD}, None, CiEvent((Candidate(OLD, OLD),))),
        ({"CHANGE_TARGET": "refs/heads/main"}, None, CiEvent((BRANCH,))),
        ({"BITRISEIO_GIT_BRANCH_DEST": "main"}, None, CiEvent((BRANCH,))),
        ({"CF_PULL_REQUEST_TARGET": "main"}, None, CiEvent((BRANCH,))),
        (
            {
                "BUILDKITE_MERGE_QUEUE_BASE_BRANCH": "refs/heads/main",
                "BUILDKITE_MERGE_QUEUE_BASE_COMMIT": OLD,
            },
            None,
            CiEvent((Candidate(OLD, "origin/main"), BRANCH)),
        ),
    ],
)
def test_the_event_names_the_base(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    event: object,
    expected: CiEvent,
) -> None:
    found = read(tmp_path, monkeypatch, variables, event)
    path = str(tmp_path / "event.json")
    assert replace(found, unknown=found.unknown.replace(path, "PATH")) == expected
