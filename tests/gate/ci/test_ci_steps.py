"""Steps of the GitHub action and its workflows, run in bash.

Each test runs in a separate folder.

The gate only formats a made-up result, and a server on this machine replaces GitHub's API.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sizeguard.report.gate.render import gate_text
from tests.support.parts import mostly_second
from tests.support.places import ROOT
from tests.support.results.consistent_results import consistent
from tests.support.results.gate_samples import SAMPLES, failing
from tests.support.services.local_hub import HEAD, TOKEN, LocalHub, zipped
from tests.support.services.workflow_steps import (
    ACTION,
    Runner,
    environment,
    steps_of,
    uploaded,
    workflow,
)

pytestmark = pytest.mark.native


def measuring(work: Path, sample: str, **expressions: str) -> tuple[Runner, int]:
    (work / "result.json").write_text(gate_text(consistent(SAMPLES[sample]()), "json"))
    values = {
        "github.base_ref": "main", "github.event_name": "pull_request",
        "github.event.pull_request.number": "7", **expressions,
    }  # fmt: skip
    runner = Runner(work.parent, values)
    return runner, runner.run(steps_of("size.yml"), environment(work))


@pytest.mark.parametrize(
    ("sample", "code"),
    mostly_second(
        [("passing", 0), ("failing", 1), ("undecided", 3), ("everything", 4)], [("failing", 1)]
    ),
)
def test_the_measuring_workflow(checkout: Path, sample: str, code: int) -> None:
    runner, found = measuring(checkout, sample)
    assert found == code, runner.log
    assert runner.expressions["steps.gate.outputs.exit-code"] == str(code)
    files = {"gate.json", "gate.sarif", "gate.xml", "pull-request"}
    assert set(uploaded(checkout)) == {*files, ".gitignore"}  # .gitignore is not uploaded
    assert uploaded(checkout)["pull-request"] == b"7\n"
    assert gate_text(consistent(SAMPLES[sample]()), "github") in runner.log[3]
    assert (checkout.parent / "summary.md").read_text().startswith("<!-- sizeguard gate -->")
    # A pull request restores the store, but does not save it
    cache = "actions/cache/restore"
    assert runner.used == ["actions/checkout", cache, "actions/upload-artifact"]
    # The base of the growth comes from the event.
    assert "--base" not in (checkout / "arguments.txt").read_text()


def test_without_a_pull_request_there_is_no_number(checkout: Path) -> None:
    _, code = measuring(checkout, "passing", **{"github.event_name": "push", "github.base_ref": ""})
    assert code == 0
    assert "pull-request" not in uploaded(checkout)
    assert not [
        line
        for line in (checkout / "arguments.txt").read_text().splitlines()
        if line.startswith("--base")
    ]


@pytest.mark.parametrize(
    "text",
    mostly_second(
        [
            "$(touch owned)",
            "`touch owned`",
            "x; touch owned",
            "x && touch owned",
            "* owned",
            "--format=json",
            "'\"$IFS",
        ],
        ["$(touch owned)"],
    ),
)
def test_inputs_are_never_code(checkout: Path, text: str) -> None:
    given = dict.fromkeys(("base", "apps", "targets"), text)
    given |= {"images": "", "fail-if": "", "results": "out"}
    runner = Runner(checkout.parent, {f"inputs.{name}": value for name, value in given.items()})
    (checkout / "result.json").write_text(gate_text(failing(), "json"))
    assert runner.run(ACTION["runs"]["steps"], environment(checkout)) == 1
    assert not list(checkout.rglob("owned"))
    arguments = (checkout / "arguments.txt").read_text().splitlines()
    assert f"--base={text}" in arguments
    assert [a for a in arguments if a.startswith("--app=")] == [
        f"--app={word}" for word in text.split()
    ]


def test_workflows_have_no_more_rights_than_they_need() -> None:
    size, comment = workflow("size.yml"), workflow("size-comment.yml")
    assert (size["permissions"], comment["permissions"]) == ({}, {})
    assert size["jobs"]["gate"]["permissions"] == {"contents": "read"}
    assert comment["jobs"]["comment"]["permissions"] == {
        "actions": "read",
        "contents": "read",
        "pull-requests": "write",
        "statuses": "write",
    }
    assert "pull_request_target" not in (ROOT / ".github/workflows/size.yml").read_text()
    # YAML 1.1 reads `on` as true.
    assert size[True].keys() == {"pull_request", "merge_group", "push"}
    assert comment[True] == {"workflow_run": {"workflows": [size["name"]], "types": ["completed"]}}
    for steps in (steps_of("size.yml"), steps_of("size-comment.yml")):
        assert steps[0]["uses"].startswith("actions/checkout@")
        assert steps[0]["with"]["persist-credentials"] is False
    # The privileged workflow runs the default branch, and no code of the pull request.
    assert (
        steps_of("size-comment.yml")[0]["with"]["ref"]
        == "${{ github.event.repository.default_branch }}"
    )
    assert not any(
        "download-artifact" in step.get("uses", "") for step in steps_of("size-comment.yml")
    )
    for step in [*steps_of("size.yml"), *steps_of("size-comment.yml"), *ACTION["runs"]["steps"]]:
        assert "${{" not in step.get("run", "")


def commenting(work: Path, hub: LocalHub) -> tuple[str, int]:
    values = {"github.token": TOKEN, "github.event.workflow_run.id": "42"}
    runner = Runner(work.parent, values)
    before = files_of(work)
    api = {name: text for name, text in hub.environment().items() if name.startswith("GITHUB_")}
    code = runner.run(steps_of("size-comment.yml"), environment(work, **api))
    assert files_of(work) == before
    log = runner.log[-1]
    assert "Traceback" not in log
    assert TOKEN not in log
    assert not re.search(r"(?m)^\s*::(?!(warning|error) title=sizeguard::)|##\[", log)
    assert not hub.leaked
    return log, code


def files_of(work: Path) -> list[Path]:
    return sorted(path for path in work.rglob("*") if "__pycache__" not in path.parts)


def test_what_was_measured_becomes_a_comment_and_later_changes_it(
    checkout: Path, hub: LocalHub
) -> None:
    """The step needs only the system's Python and the checkout; it installs nothing."""
    measuring(checkout, "everything")
    hub.archive, hub.run = zipped(uploaded(checkout)), {"conclusion": "failure"}
    log, code = commenting(checkout, hub)
    assert code == 0, log
    assert log.splitlines()[-1] == "comment made on pull request 7"
    assert log.startswith("status failure: fail: vision x86_64-linux load +1,204 (+3.0%)")
    assert hub.written == [f"POST statuses/{HEAD}", "POST issues/7/comments"]
    body = hub.comments[0]["body"]
    assert body.startswith("<!-- sizeguard gate run 42.1 -->\n### ❌ Size gate: fail")
    assert f"Measured at `{HEAD[:7]}`, merged with the base as `3f9a0c1`." in body
    assert len(body.encode()) <= 65_536
    mallory = {"type": "User", "login": "mallory"}
    hub.comments.insert(0, {"id": 9, "issue": 7, "body": body, "user": mallory})
    (checkout / "result.json").unlink()
    hub.archive = zipped({"gate.json": "{", "pull-request": "7\n"})
    log, code = commenting(checkout, hub)
    assert code == 0, "a refused artifact is a warning"
    assert "\n::warning title=sizeguard::not measured at 77b01de: gate.json: not JSON" in log
    assert hub.written[3:] == ["PATCH issues/comments/1"]
    assert "### ⚠️ Size gate: not measured at `77b01de`" in hub.comments[1]["body"]
    assert hub.comments[0]["body"] == body


def test_the_writer_needs_pythons_own_library_alone() -> None:
    """-I and -S hide the environment and all installed packages."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "import ci.github.size_comment\n"
        "names = {name.partition('.')[0] for name in sys.modules}\n"
        "own = {*sys.stdlib_module_names, *sys.builtin_module_names}\n"
        "print(sorted(names - own))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "['__main__', 'ci', 'sizeguard']\n"


# variables of the writer, by workflow
SETTINGS = {
    "size-comment.yml": {"DOCUMENTS"},
    "size-findings.yml": {"SARIF"},
    "comment.yml": {
        "DOCUMENTS", "PARTS", "COMMENT_POLICY", "INFORMATIONAL", "PROJECT", "ARTIFACT",
    },
    "findings.yml": {"SARIF", "PARTS", "ARTIFACT"},
}  # fmt: skip


def test_settings_reach_it_from_the_workflow_alone(checkout: Path) -> None:
    for name, more in SETTINGS.items():
        (step,) = [step for step in steps_of(name) if "run" in step]
        assert step["run"] == "python3 -I ci/github/size_comment.py"
        assert set(step["env"]) == {"GITHUB_TOKEN", "RUN_ID", *more}
    assert steps_of("size-findings.yml")[1]["env"]["SARIF"] == "alone"


def test_each_job_has_the_rights_that_it_needs_alone() -> None:
    reading = {"actions": "read", "contents": "read"}
    comments = {**reading, "pull-requests": "write", "statuses": "write"}
    findings = {**reading, "pull-requests": "read", "security-events": "write"}
    for name in SETTINGS:
        content = workflow(name)
        (job,) = content["jobs"].values()
        assert content["permissions"] == {}
        assert job["permissions"] == (findings if "findings" in name else comments), name
