"""Post the result of the job size-gate as a note on its merge request.

It has a token, so it trusts no input and installs nothing: it only needs Python 3.11 and a checkout
of sizeguard. GitLab names the jobs of the pipeline and how they ended; their results are judged
again from their numbers, and those of a matrix are joined.

Variables: GitLab sets those that begin with CI_. SIZEGUARD_NOTE_TOKEN is a project access token
with the scope `api`. Optional variables:

    SIZEGUARD_COMMENT_POLICY  always, on change, on failure or never; always if empty
    SIZEGUARD_INFORMATIONAL   true: nothing blocks a merge
    SIZEGUARD_PROJECT         name, if a repository has several projects, each with a note
    SIZEGUARD_PARTS           of `parallel: matrix`, the values of each job, joined by -
    SIZEGUARD_JOB             size-gate if empty: the name of the measuring job
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from ci.github.hub_api import ApiError, Refused, WebApi, number_of, text_of
from ci.github.measured_run import Run
from ci.github.size_artifact import Missing
from ci.github.size_comment import Settings
from ci.github.size_words import Files, Known, Reader, Report, report_of_parts
from ci.github.written_comment import Thread, publish
from ci.results.judged_result import MOST_PARTS, RESULT
from sizeguard.report.gate.gate_json import LARGEST
from sizeguard.report.writers.printable import printable

_SETTINGS = ("COMMENT_POLICY", "INFORMATIONAL", "PROJECT", "PARTS")
_NUMBERS = ("CI_PROJECT_ID", "CI_MERGE_REQUEST_PROJECT_ID", "CI_MERGE_REQUEST_IID")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_ENDS = {"success": "success", "canceled": "cancelled", "skipped": "neutral"}
_SEVERITY = ("cancelled", "timed_out", "neutral", "failure", "success")  # worst first


def main(
    environment: Mapping[str, str] = os.environ, sleep: Callable[[float], None] = time.sleep
) -> int:
    """Publish the result of a pipeline.

    Returns 1 if GitLab refuses, or if the measuring job passed and its result does not; 2 for a
    wrong setting.
    """
    try:
        settings = Settings.of(
            {name: environment.get(f"SIZEGUARD_{name}", "") for name in _SETTINGS}
        )
        pipeline = _pipeline(environment)
        token = environment.get("SIZEGUARD_NOTE_TOKEN") or ""
        if not re.fullmatch(r"[\x21-\x7e]{1,400}", token):
            raise Refused("SIZEGUARD_NOTE_TOKEN is not a token: make one with the scope `api`")
        api = WebApi(environment.get("CI_API_V4_URL", ""), "", {"PRIVATE-TOKEN": token}, sleep)
    except Refused as error:
        return _say("error", f"SIZEGUARD_{error}" if str(error).startswith(_SETTINGS) else error, 2)
    try:
        return _publish(api, settings, pipeline, environment)
    except (ApiError, Refused) as error:
        return _say("error", error, 1)


def _say(level: str, text: object, code: int = 0) -> int:
    print(f"{level}: {printable(str(text))}", file=sys.stderr)
    return code


def _pipeline(environment: Mapping[str, str]) -> Run:
    """Describe this pipeline by GitLab's variables, its end left open."""
    for name in (*_NUMBERS, "CI_PIPELINE_ID"):
        if not re.fullmatch(r"[0-9]{1,18}", environment.get(name, ""), re.ASCII):
            raise Refused(f"{name} is missing: this is not a pipeline of a merge request")
    commit = environment.get("CI_COMMIT_SHA", "")
    head = environment.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") or commit
    if not _COMMIT.fullmatch(head) or not _COMMIT.fullmatch(commit):
        raise Refused("CI_COMMIT_SHA is not a commit")
    return Run(
        id=int(environment["CI_PIPELINE_ID"]),
        attempt=1,
        event="pull_request",
        head=head,
        branch="",
        repository=environment.get("CI_PROJECT_PATH", ""),
        conclusion="",
        server=environment.get("CI_SERVER_URL", ""),
        address=environment.get("CI_PIPELINE_URL", ""),
        is_of_gitlab=True,
    )


def _publish(api: WebApi, settings: Settings, pipeline: Run, environment: Mapping[str, str]) -> int:
    project, theirs, number = (int(environment[name]) for name in _NUMBERS)
    name = environment.get("SIZEGUARD_JOB") or "size-gate"
    jobs = _jobs(api, f"projects/{project}/pipelines/{pipeline.id}/jobs", name)
    ends = {_end(job) for job in jobs.values()} or {"neutral"}
    pipeline = pipeline.ended(next(end for end in _SEVERITY if end in ends))
    parts: dict[str, Reader] = {part: _gone(part) for part in settings.names.parts}
    parts |= {part: _reader(api, project, job) for part, job in jobs.items()}
    if len(parts) > MOST_PARTS:
        raise Refused(f"the pipeline has more than {MOST_PARTS} jobs {name}")
    measured = environment["CI_COMMIT_SHA"]
    known = Known(lambda commit, _: commit == measured, lambda _: False)
    report = report_of_parts(
        pipeline,
        [number],
        parts or {name: _gone(name)},
        known,
        is_informational=settings.is_informational,
    )
    for warning in report.warnings:
        _say("warning", warning)
    login = text_of(api.table("user").get("username"))
    notes = f"projects/{theirs}/merge_requests/{number}/notes"
    done = publish(
        api,
        Thread(
            f"{notes}?sort=asc&order_by=created_at", notes, notes, "PUT", ("author", "username")
        ),
        report.body(f"{settings.marker}run {pipeline.id}.1 -->"),
        (settings.marker, login, (pipeline.id, 1)),
        is_wanted=settings.wants_comment(report),
    )
    print(f"note {done} on merge request {number}: {report.title}")
    return _code(report, pipeline)


def _code(report: Report, pipeline: Run) -> int:
    """Fail where the measuring job passed, and its result does not."""
    is_hidden = pipeline.conclusion == "success" and report.state != "success"
    return _say("error", report.title, 1) if is_hidden else 0


def _jobs(api: WebApi, path: str, name: str) -> dict[str, dict[str, Any]]:
    """Find the measuring jobs by part: `size-gate: [vision, x86_64-linux]`, `size-gate 1/2`."""
    found = {}
    for job in sorted(api.rows(path), key=lambda each: number_of(each.get("id"))):
        given = text_of(job.get("name"))
        rest = given.removeprefix(name)
        if given.startswith(name) and (not rest or re.match(r": \[| [0-9]+/[0-9]+$", rest)):
            found["-".join(re.findall(r"[\w./+]+(?:-[\w./+]+)*", rest)) or name] = job
    return found


def _end(job: Mapping[str, Any]) -> str:
    if job.get("failure_reason") == "job_execution_timeout":
        return "timed_out"
    return _ENDS.get(text_of(job.get("status")), "failure")


def _reader(api: WebApi, project: int, job: Mapping[str, Any]) -> Reader:
    path = (
        f"projects/{project}/jobs/{number_of(job.get('id'))}/artifacts/sizeguard-results/{RESULT}"
    )

    def files() -> Files:
        try:
            return None, api.bytes("GET", path, LARGEST)
        except ApiError as error:
            if error.status != 404:
                raise
            raise Missing("the job ended before it measured") from error

    return files


def _gone(part: str) -> Reader:
    def files() -> Files:
        raise Missing(f"the pipeline has no job of {part}")

    return files


if __name__ == "__main__":
    sys.exit(main())
