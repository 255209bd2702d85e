"""Post the result of a measuring run as a commit status and as a comment on its pull request.

It runs with write permissions, so it trusts no input and installs nothing: it only needs Python
3.11 and this checkout.

The pull request's own code wrote the artifact. This script reads the result in it strictly by its
types, judges it again from its numbers, and renders it. Commands and advice are made from its
fields. GitHub's API provides the pull requests at the run's commit and the run's conclusion.
Nothing in the artifact reaches a shell, a path or an address.

Variables: the runner sets GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_TOKEN and GITHUB_SERVER_URL.
RUN_ID is the id of the measuring run. Optional variables:

    COMMENT_POLICY   always, on change, on failure or never; always if empty
    INFORMATIONAL    true: no status blocks a merge
    PROJECT          name, if a repository has several projects, each with comment and status
    ARTIFACT         sizeguard-results if empty
    PARTS            of a matrix: its parts, separated by spaces; each leaves ARTIFACT-PART
    COMMENT_AUTHOR   github-actions[bot] if empty; the login of another app whose token is used
    DOCUMENTS        patterns of files that no build reads, as in the measuring workflow
    SARIF            true: upload findings to code scanning, too; needs `security-events: write`;
                     alone: do nothing else
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from ci.github.hub_api import Api, ApiError, Refused, text_of
from ci.github.measured_run import Run, read_run
from ci.github.size_artifact import PART, Names
from ci.github.size_words import Report, report_of
from ci.github.written_comment import on_github, publish
from ci.results.judged_result import MOST_PARTS

_REFUSED = (403, 404, 410, 422)  # statuses of calls that no retry helps
_ID = re.compile(r"[0-9]{1,18}", re.ASCII)
POLICIES = ("always", "on change", "on failure", "never")


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of the workflow, which comes from the default branch."""

    policy: str
    is_informational: bool
    project: str
    names: Names
    author: str
    scanned: str = "false"
    documents: tuple[str, ...] = ()

    @staticmethod
    def of(environment: Mapping[str, str]) -> Settings:
        """Read the options; raise Refused for an invalid value."""
        policy = environment.get("COMMENT_POLICY") or "always"
        project = environment.get("PROJECT") or ""
        artifact = environment.get("ARTIFACT") or "sizeguard-results"
        author = environment.get("COMMENT_AUTHOR") or "github-actions[bot]"
        informational = environment.get("INFORMATIONAL") or "false"
        if policy not in POLICIES:
            raise Refused(f"COMMENT_POLICY is '{policy}', not one of {', '.join(POLICIES)}")
        scanned = environment.get("SARIF") or "false"
        if informational not in ("true", "false"):
            raise Refused(f"INFORMATIONAL is '{informational}', not true or false")
        if scanned not in ("true", "false", "alone"):
            raise Refused(f"SARIF is '{scanned}', not true, false or alone")
        if not re.fullmatch(r"[\w ./-]{0,60}", project, re.ASCII) or "--" in project:
            raise Refused(f"PROJECT is '{project}': letters, digits, . / - and _ are allowed")
        if not re.fullmatch(r"[\w.-]{1,100}", artifact, re.ASCII):
            raise Refused(f"ARTIFACT is '{artifact}', which is not a name of an artifact")
        if not re.fullmatch(r"[\w.-]{1,60}(\[bot\])?", author, re.ASCII):
            raise Refused(f"COMMENT_AUTHOR is '{author}', which is not a login")
        return Settings(
            policy,
            informational == "true",
            project,
            Names(artifact, _parts(environment.get("PARTS") or "")),
            author,
            scanned,
            tuple((environment.get("DOCUMENTS") or "").split()),
        )

    @property
    def context(self) -> str:
        """Name of the commit status."""
        return f"sizeguard ({self.project})" if self.project else "sizeguard"

    @property
    def marker(self) -> str:
        """Beginning of the comment's first line."""
        return f"<!-- sizeguard gate{f' {self.project}' if self.project else ''} "

    def wants_comment(self, report: Report) -> bool:
        """Return whether the policy asks for a new comment."""
        return (
            self.policy == "always"
            or (self.policy == "on change" and (report.is_changed or not report.is_pass))
            or (self.policy == "on failure" and not report.is_pass)
        )


def _parts(text: str) -> tuple[str, ...]:
    parts = tuple(dict.fromkeys(text.split()))
    wrong = [part for part in parts if not PART.fullmatch(part)]
    if wrong or len(parts) > MOST_PARTS:
        what = f"'{wrong[0]}'" if wrong else f"{len(parts)} names"
        raise Refused(f"PARTS has {what}: at most {MOST_PARTS} names of letters, digits, . - and _")
    return parts


def main(
    environment: Mapping[str, str] = os.environ, sleep: Callable[[float], None] = time.sleep
) -> int:
    """Publish the result of a run; return 1 if GitHub refuses, 2 for a wrong setting."""
    try:
        settings = Settings.of(environment)
        if not _ID.fullmatch(environment.get("RUN_ID", "")):
            raise Refused("RUN_ID is missing")
        names = ("GITHUB_API_URL", "GITHUB_REPOSITORY", "GITHUB_TOKEN")
        address, repository, token = (environment.get(name, "") for name in names)
        api = Api(address, repository, token, sleep)
    except Refused as error:
        _say("error", str(error))
        return 2
    try:
        server = environment.get("GITHUB_SERVER_URL") or "https://github.com"
        run = read_run(api, int(environment["RUN_ID"]), server)
        if run.conclusion == "skipped":
            print("no comment: the run was skipped")
            return 0
        if not run.conclusion:
            print("no comment: the run was started again")
            return 0
        return _publish(api, settings, run)
    except (ApiError, Refused) as error:
        _say("error", str(error))
        return 1


def _publish(api: Api, settings: Settings, run: Run) -> int:
    report = report_of(
        api,
        run,
        settings.names,
        is_informational=settings.is_informational,
        documents=settings.documents,
    )
    for warning in report.warnings:
        _say("warning", warning)
    if settings.scanned != "alone":
        _status(api, settings, run, report)
    if settings.scanned != "false":
        _scanned(api, run, report)
    if settings.scanned != "alone":
        _commented(api, settings, run, report)
    return 0


def _commented(api: Api, settings: Settings, run: Run, report: Report) -> None:
    """Make or change the comments on the run's pull requests."""
    if not run.is_of_pull_request:
        print(f"no comment: the run is of {run.event or 'no event'}")
    elif not report.pulls:
        print("no comment: no open pull request is at the run's commit")
    for number in report.pulls:
        try:
            done = publish(
                api,
                on_github(number),
                report.body(f"{settings.marker}run {run.id}.{run.attempt} -->"),
                (settings.marker, settings.author, (run.id, run.attempt)),
                is_wanted=settings.wants_comment(report),
            )
        except ApiError as error:
            if error.status not in _REFUSED:
                raise
            why = "the conversation is locked, or the job lacks `pull-requests: write`"
            _say("warning", f"no comment: {error}; {why}")
            continue
        print(f"comment {done} on pull request {number}")


def _status(api: Api, settings: Settings, run: Run, report: Report) -> None:
    """Set the commit's status; only warn if the permission is missing."""
    content = {
        "state": report.state,
        "context": settings.context,
        "description": report.title,
        "target_url": run.address,
    }
    try:
        if _has_later_status(api, settings, run):
            print("status kept: a later run set it")
            return
        api.call("POST", f"statuses/{run.head}", content, is_repeatable=True)
        print(f"status {report.state}: {report.title}")
    except ApiError as error:
        if error.status not in _REFUSED:
            raise
        _say("warning", f"no status: {error}; the job needs `statuses: write`")


def _has_later_status(api: Api, settings: Settings, run: Run) -> bool:
    """Return whether a later run has set the status, such as one for another target branch."""
    begin = run.address.removesuffix(str(run.id))
    try:
        for each in api.rows(f"commits/{run.head}/statuses"):
            if text_of(each.get("context")) == settings.context:
                number = text_of(each.get("target_url")).removeprefix(begin)
                return bool(_ID.fullmatch(number)) and int(number) > run.id
    except ApiError as error:
        if error.status not in _REFUSED:
            raise
    return False


def _scanned(api: Api, run: Run, report: Report) -> None:
    """Upload the findings to code scanning, rendered from the judged result."""
    from sizeguard.report.gate.gate_ci import sarif_json

    ref = f"refs/pull/{report.pulls[0]}/head" if report.pulls else f"refs/heads/{run.branch}"
    is_known = bool(report.pulls) if run.is_of_pull_request else bool(run.branch)
    if report.result is None or not report.is_shown or not is_known:
        print("no findings for code scanning")
        return
    packed = gzip.compress(json.dumps(sarif_json(report.result)).encode("utf-8", "replace"))
    sarif = base64.b64encode(packed).decode()
    try:
        content = {"commit_sha": run.head, "ref": ref, "sarif": sarif, "tool_name": "sizeguard"}
        api.call("POST", "code-scanning/sarifs", content)
        print(f"findings uploaded for {ref}")
    except ApiError as error:
        if error.status not in _REFUSED:  # 422: a tag is not a branch
            raise
        _say("warning", f"no findings: {error}; the job needs `security-events: write`")


def _say(level: str, text: str) -> None:
    """Write an annotation in one line, without other workflow commands."""
    from sizeguard.report.writers.github import Annotation, workflow_commands

    print(workflow_commands([Annotation(level, "sizeguard", text)]), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
