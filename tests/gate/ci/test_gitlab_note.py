"""Notes on merge requests of GitLab, written from the results of a pipeline's jobs."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml

from ci.gitlab.size_note import main
from sizeguard.gate.gate_result import GateResult
from sizeguard.report.gate.render import gate_text
from tests.support.places import ROOT
from tests.support.results.consistent_results import consistent
from tests.support.results.gate_events import on, same_sizes
from tests.support.results.gate_samples import failing, passing
from tests.support.results.hostile_artifacts import ARTIFACTS, REFUSED, all_pass, document
from tests.support.results.hostile_results import HOSTILE, LIVE, SHOWN, poisoned, rendered, small
from tests.support.services.local_lab import BOT, TOKEN, LocalLab, job, served

PASSED = "### ✅ Size gate: pass"
FAILED = "### ❌ Size gate: fail"
OPEN = "### ⚠️ Size gate: inconclusive"
NONE = "### ⚠️ Size gate: not measured at `77b01de`"
OLD, LATER = (f"<!-- sizeguard gate run {number}.1 -->" for number in (41, 43))
FAIL = (job(5, status="failed"),)
ON_ARM = on("aarch64-linux", passing)
MATRIX = (job(5, "size-gate: [vision, x86]"), job(6, "size-gate: [vision, arm]"))
Made = Callable[[], GateResult]


@dataclass(frozen=True)
class Pipeline:
    """A pipeline and its visible effects.

    results: by the job's id
    note:    parts of our note; None for none, empty for an unchanged one
    code:    exit code of the writer
    """

    results: Mapping[int, Made]
    note: tuple[str, ...] | None
    code: int = 0
    jobs: tuple[dict[str, Any], ...] = (job(5),)
    environment: Mapping[str, str] = field(default_factory=dict)
    before: str = ""  # our note before
    refusals: Mapping[str, list[tuple[int, dict[str, str]]]] = field(default_factory=dict)


def policy(name: str) -> dict[str, str]:
    return {"SIZEGUARD_COMMENT_POLICY": name}


PIPELINES = {
    "passes": Pipeline(
        {5: passing}, (PASSED, "merged with the base as `3f9a0c1`", "this pipeline")
    ),
    "fails": Pipeline({5: failing}, (FAILED, "/-/blob/3f9a0c1"), 0, FAIL),
    "changes the note": Pipeline({5: passing}, (PASSED,), before=f"{OLD}\n{FAILED}"),
    "an older pipeline ends last": Pipeline({5: passing}, (), before=f"{LATER}\n{FAILED}"),
    "passes, the job failed": Pipeline({5: passing}, (OPEN, "the result says pass"), 0, FAIL),
    "fails, the job passed": Pipeline({5: failing}, (FAILED, "ended with success"), 1),
    "no result, the job failed": Pipeline({}, (NONE, "ended before it measured"), 0, FAIL),
    "no result, the job passed": Pipeline({}, (NONE, "ended before it measured"), 1),
    "no job": Pipeline({}, (NONE,), 0, (job(5, "lint"), job(6, "size-gates"))),
    "cancelled": Pipeline({}, (NONE, "cancelled."), 0, (job(5, status="canceled"),)),
    "time-out": Pipeline(
        {}, (NONE, "took too long."), 0,
        ({**job(5, status="failed"), "failure_reason": "job_execution_timeout"},),
    ),
    "informational": Pipeline(
        {5: failing}, ("informational, fail",), 0, FAIL, {"SIZEGUARD_INFORMATIONAL": "true"}
    ),
    "only on failure, passes": Pipeline(
        {5: passing}, None, environment=policy("on failure")
    ),
    "only on failure, failed before": Pipeline(
        {5: passing}, (PASSED,), environment=policy("on failure"), before=f"{OLD}\n{FAILED}"
    ),
    "only on failure, fails": Pipeline(
        {5: failing}, (FAILED,), 0, FAIL, policy("on failure")
    ),
    "on change, nothing": Pipeline({5: same_sizes}, None, environment=policy("on change")),
    "on change, grew": Pipeline({5: passing}, (PASSED,), environment=policy("on change")),
    "never": Pipeline({5: failing}, None, 0, FAIL, policy("never")),
    "a project of several": Pipeline(
        {5: passing}, (PASSED, "<!-- sizeguard gate audio run 42.1 -->"),
        environment={"SIZEGUARD_PROJECT": "audio"},
    ),
    "matrix": Pipeline({5: passing, 6: ON_ARM}, (PASSED, "| `vision` | ✅ 40,120"), 0, MATRIX),
    "matrix, one fails": Pipeline(
        {5: passing, 6: on("aarch64-linux", failing)}, (FAILED, "❌ 41,204"), 0,
        (MATRIX[0], {**MATRIX[1], "status": "failed"}),
    ),
    "matrix, a job has no result": Pipeline(
        {5: passing}, (OPEN, "vision-arm: not measured: "), 0,
        (MATRIX[0], {**MATRIX[1], "status": "failed"}),
    ),
    "matrix, a job is gone": Pipeline(
        {5: passing}, (OPEN, "vision-arm: not measured: the pipeline has no job"), 1, MATRIX[:1],
        {"SIZEGUARD_PARTS": "vision-x86 vision-arm"},
    ),
    "another job": Pipeline(
        {5: passing}, (PASSED,), 0, (job(5, "sizes"),), {"SIZEGUARD_JOB": "sizes"}
    ),
    "without merged results": Pipeline(
        {5: lambda: passing()}, ("neither the run's nor a merge of it",), 1,
        environment={"CI_COMMIT_SHA": "a" * 40},
    ),
    "GitLab asks to wait": Pipeline(
        {5: passing}, (PASSED,),
        refusals={
            "GET projects": [(429, {"Retry-After": "7"}), (502, {})],
            "POST projects": [(429, {"RateLimit-Reset": "1", "Retry-After": "3"})],
            "GET user": [(503, {})],
        },
    ),
    "a note that GitLab did not confirm": Pipeline(
        {5: passing}, (PASSED,), refusals={"POST projects": [(502, {})]}
    ),
    "a person deletes the note meanwhile": Pipeline(
        {5: passing}, (PASSED,), before=f"{OLD}\n{FAILED}", refusals={"PUT projects": [(404, {})]}
    ),
}  # fmt: skip


@pytest.fixture
def lab() -> Iterator[LocalLab]:
    with served(LocalLab()) as found:
        yield found


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline(name: str, lab: LocalLab, capsys: pytest.CaptureFixture[str]) -> None:
    event = PIPELINES[name]
    lab.jobs = [*event.jobs]
    lab.results = {i: gate_text(consistent(r()), "json").encode() for i, r in event.results.items()}
    lab.refusals = {route: list(answers) for route, answers in event.refusals.items()}
    if event.before:
        lab.notes.append({"id": 1, "author": BOT, "body": event.before})
    waits: list[float] = []
    assert main(lab.environment(**event.environment), waits.append) == event.code
    printed = capsys.readouterr()
    assert TOKEN not in printed.out + printed.err and not lab.leaked
    assert all(re.match("(warning|error): ", line) for line in printed.err.splitlines())
    if event.note is None:
        assert not lab.written
    elif not event.note:
        assert not lab.written and lab.notes[0]["body"] == event.before
    else:
        (note,) = lab.notes
        assert re.match(r"<!-- sizeguard gate (audio )?run 42\.1 -->\n### ", note["body"])
        assert not [part for part in event.note if part not in note["body"]], note["body"][:900]
    assert all(not answers for answers in lab.refusals.values())


def test_notes_of_others_stay(lab: LocalLab) -> None:
    lab.results = {5: json.dumps(document()).encode()}
    theirs = [
        ({"username": "mallory"}, f"{OLD}\n{PASSED}"), (BOT, "hello"), (None, f"{OLD}\n"),
        (BOT, None), (BOT, "<!-- sizeguard gate audio run 1.1 -->\nx"), (BOT, f"> {OLD}"),
    ]  # fmt: skip
    lab.notes = [{"id": i, "author": who, "body": body} for i, (who, body) in enumerate(theirs, 1)]
    lab.notes += [{"id": 100 + i, "author": BOT, "body": f"{i}"} for i in range(150)]
    before = json.dumps(lab.notes)
    assert main(lab.environment()) == 0
    assert json.dumps(lab.notes[:-1]) == before
    assert lab.notes[-1]["body"].startswith("<!-- sizeguard gate run 42.1 -->")


def test_a_false_pass_fails_the_job(lab: LocalLab) -> None:
    with zipfile.ZipFile(io.BytesIO(all_pass())) as files:
        lab.results = {5: files.read("gate.json")}
    assert main(lab.environment()) == 1
    assert "✅" not in lab.notes[0]["body"]
    assert ARTIFACTS["pass everywhere"][0] != REFUSED


# References of GitLab, and quick actions, which a token with rights would do
LABS = ["/approve", "/merge\n/close", "!12", "%3", '%"x"', "~bug", "&4", "$5", "a!1", "[vuln:1]"]


@pytest.mark.parametrize("start", range(0, len(HOSTILE + LABS), 20))
def test_hostile_texts_do_nothing_in_the_note(start: int, lab: LocalLab) -> None:
    texts = (HOSTILE + LABS)[start : start + 20] * 3000
    pool = iter(texts)
    result = consistent(poisoned(consistent(small()), lambda: next(pool), SHOWN))
    lab.results, lab.jobs = {5: gate_text(result, "json").encode()}, [*FAIL]
    assert main(lab.environment()) == 0
    body = lab.notes[0]["body"]
    assert "contradicts itself" not in body
    inside = False
    for line in body.splitlines():
        inside ^= line.startswith("```")
        assert inside or not line.lstrip().startswith("/"), line
    live = re.compile(r"(?<!\d)[!%~&$][\w\"]|\[vuln")
    free = rendered(body).free
    assert not [part for part in free if LIVE.search(part) or live.search(part)]


@pytest.mark.parametrize(
    "more",
    [
        {"SIZEGUARD_COMMENT_POLICY": "sometimes"}, {"SIZEGUARD_INFORMATIONAL": "yes"},
        {"SIZEGUARD_PROJECT": "--> x"}, {"SIZEGUARD_PARTS": "a/b"}, {"SIZEGUARD_NOTE_TOKEN": ""},
        {"SIZEGUARD_NOTE_TOKEN": "a\nb"}, {"CI_MERGE_REQUEST_IID": ""}, {"CI_PROJECT_ID": "3/x"},
        {"CI_COMMIT_SHA": "HEAD"}, {"CI_API_V4_URL": "file:///etc/passwd"},
    ],
    ids=lambda more: str(next(iter(more))),
)  # fmt: skip
def test_a_wrong_setting_is_named(
    more: dict[str, str], lab: LocalLab, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(lab.environment(**more)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    if "CI_API" not in next(iter(more)):
        assert next(iter(more)) in line
    assert not lab.written


def test_the_job_with_the_token_runs_nothing_of_the_change() -> None:
    template = yaml.safe_load((ROOT / "ci/gitlab/sizeguard.gitlab-ci.yml").read_text())
    note, gate = template["size-note"], template["size-gate"]
    assert note["variables"]["GIT_STRATEGY"] == "none"
    assert note["needs"] == [{"job": "size-gate", "artifacts": False}]
    (rule,) = note["rules"]
    assert rule["when"] == "always" and "$SIZEGUARD_NOTE_TOKEN" in rule["if"]
    assert note["script"][-1] == 'python3 -I "$SIZEGUARD_WRITER/ci/gitlab/size_note.py"'
    assert "NOTE_TOKEN" not in json.dumps(gate)
