"""Steps of the GitHub action, its workflows and the GitLab template, run in bash.

Each runs in a folder of its own.

The gate itself is replaced by its last part, the formats of a made-up result; GitHub's API by a
server on this machine.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from sizeguard.report.gate.render import gate_text
from tests.support.gate_samples import SAMPLES, everything, failing
from tests.support.hostile_results import HOSTILE, check_markdown, poisoned, small

ROOT = Path(__file__).resolve().parents[1]
HEAD = "77b01de5577b01de5577b01de5577b01de5577b0"
FORK = "ana/runtime"
TOKEN = "not-for-the-storage"


def workflow(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text())
    return content


def steps_of(name: str) -> list[dict[str, Any]]:
    (job,) = workflow(name)["jobs"].values()
    steps: list[dict[str, Any]] = job["steps"]
    return steps


ACTION = yaml.safe_load((ROOT / "action.yml").read_text())


@dataclass
class Runner:
    """Run steps as the runner does.

    Expressions in `env`, `with` and `if` only, a bash for each step, files for outputs and summary.
    """

    folder: Path
    expressions: dict[str, str]
    log: list[str] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    failed: bool = False

    def value(self, text: object) -> str:
        def known(found: re.Match[str]) -> str:
            # What a step did not say is empty.
            return (
                self.expressions.get(found[1], "")
                if found[1].startswith("steps.")
                else self.expressions[found[1]]
            )

        return re.sub(r"\$\{\{ (.+?) \}\}", known, str(text))

    def run(self, steps: list[dict[str, Any]], env: Mapping[str, str]) -> int:
        code = 0
        for step in steps:
            condition = step.get("if", "")
            if (self.failed and "always()" not in condition) or (
                "pull_request'" in condition
                and self.expressions["github.event_name"] != "pull_request"
            ):
                continue
            if step.get("uses") == "./":
                inputs = {name: str(entry["default"]) for name, entry in ACTION["inputs"].items()}
                inputs |= {name: self.value(text) for name, text in step["with"].items()}
                self.expressions |= {f"inputs.{name}": text for name, text in inputs.items()}
                step_code = self.run(ACTION["runs"]["steps"], env)
            elif "uses" in step:
                self.used.append(step["uses"])
                step_code = 0
            else:
                step_code = self.bash(step, env)
            if step_code:
                self.failed, code = True, code or step_code
        return code

    def bash(self, step: dict[str, Any], env: Mapping[str, str]) -> int:
        assert "${{" not in step["run"]
        output = self.folder / "output.txt"
        output.write_text("")
        values = {name: self.value(text) for name, text in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder / "work",
            env={
                **env,
                **values,
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            },
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.log.append(done.stdout + done.stderr)
        for line in output.read_text().splitlines():
            name, _, value = line.partition("=")
            self.expressions[f"steps.{step.get('id')}.outputs.{name}"] = value
        return done.returncode


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A working copy with what the steps call.

    `sizeguard gate` shows the result in result.json and keeps its arguments.
    """
    work = tmp_path / "work"
    for name in ("action.yml", ".github", "ci"):
        source = ROOT / name
        _ = (
            shutil.copytree(source, work / name)
            if source.is_dir()
            else (work.mkdir(exist_ok=True), shutil.copy(source, work / name))
        )
    (work / ".ci").mkdir()
    (work / ".venv" / "bin").mkdir(parents=True)
    gate = f"{sys.executable} -m sizeguard.cli.main gate --from-json result.json"
    scripts = {
        ".ci/setup": 'echo "$*" >>setup.txt',
        ".venv/bin/sizeguard": f'shift\nprintf "%s\\n" "$@" >arguments.txt\nexec {gate} "$@"',
        ".venv/bin/python": f'exec {sys.executable} "$@"',
    }
    for name, script in scripts.items():
        (work / name).write_text(f"#!/bin/sh\n{script}\n")
        (work / name).chmod(0o755)
    return work


def environment(work: Path, **more: str) -> dict[str, str]:
    plain = {
        "PATH": os.environ["PATH"],
        "HOME": str(work),
        "PYTHONPATH": str(ROOT),
        "LC_ALL": "C.UTF-8",
    }
    return {
        **plain,
        "GITHUB_ACTION_PATH": str(work),
        "GITHUB_WORKSPACE": str(work),
        "GITHUB_ACTIONS": "true",
        "CI": "true",
        **more,
    }


def measuring(work: Path, sample: str, **expressions: str) -> tuple[Runner, int]:
    (work / "result.json").write_text(gate_text(SAMPLES[sample](), "json"))
    values = {
        "github.base_ref": "main", "github.event_name": "pull_request",
        "github.event.pull_request.number": "7", **expressions,
    }  # fmt: skip
    runner = Runner(work.parent, values)
    return runner, runner.run(steps_of("size.yml"), environment(work))


def zipped(files: Mapping[str, bytes | str]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return content.getvalue()


def uploaded(work: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (work / "sizeguard-results").iterdir()}


@pytest.mark.parametrize(
    ("sample", "code"), [("passing", 0), ("failing", 1), ("undecided", 3), ("everything", 4)]
)
def test_the_measuring_workflow(checkout: Path, sample: str, code: int) -> None:
    runner, found = measuring(checkout, sample)
    assert found == code
    assert runner.expressions["steps.gate.outputs.exit-code"] == str(code)
    assert runner.expressions["steps.base.outputs.ref"] == "origin/main"
    assert set(uploaded(checkout)) == {"gate.json", "gate.sarif", "gate.xml", "pull-request"}
    assert uploaded(checkout)["pull-request"] == b"7\n"
    assert gate_text(SAMPLES[sample](), "github") in runner.log[2]
    assert (checkout.parent / "summary.md").read_text().startswith("<!-- sizeguard gate -->")
    assert runner.used == ["actions/checkout@v4", "actions/cache@v4", "actions/upload-artifact@v4"]
    assert (checkout / "setup.txt").read_text() == "gate\n"
    assert "--base=origin/main" in (checkout / "arguments.txt").read_text().splitlines()


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
    [
        "$(touch owned)",
        "`touch owned`",
        "x; touch owned",
        "x && touch owned",
        "* owned",
        "--format=json",
        "'\"$IFS",
    ],
)
def test_inputs_are_never_code(checkout: Path, text: str) -> None:
    runner = Runner(
        checkout.parent,
        {"inputs.base": text, "inputs.apps": text, "inputs.targets": text, "inputs.results": "out"},
    )
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
    assert size["permissions"] == {"contents": "read"}
    assert comment["permissions"] == {
        "actions": "read",
        "contents": "read",
        "pull-requests": "write",
    }
    assert "pull_request_target" not in (ROOT / ".github/workflows/size.yml").read_text()
    # YAML 1.1 reads `on` as true.
    assert size[True].keys() == {"pull_request", "push"}
    assert comment[True] == {"workflow_run": {"workflows": [size["name"]], "types": ["completed"]}}
    for steps in (steps_of("size.yml"), steps_of("size-comment.yml")):
        assert steps[0]["uses"].startswith("actions/checkout@")
        assert steps[0]["with"]["persist-credentials"] is False
    # The one with rights runs the default branch and nothing of the pull request's.
    assert (
        steps_of("size-comment.yml")[0]["with"]["ref"]
        == "${{ github.event.repository.default_branch }}"
    )
    assert not any(
        "download-artifact" in step.get("uses", "") for step in steps_of("size-comment.yml")
    )
    for step in [*steps_of("size.yml"), *steps_of("size-comment.yml"), *ACTION["runs"]["steps"]]:
        assert "${{" not in step.get("run", "")


@dataclass
class Hub:
    """GitHub's answers, and the questions it was asked."""

    archive: bytes = b""
    size: int | None = None
    head: str = HEAD
    repository: str = FORK
    state: str = "open"
    comments: list[dict[str, Any]] = field(default_factory=list)
    written: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)
    broken: str = ""
    address: str = ""

    def answer(
        self, method: str, path: str, content: bytes, authorization: str | None
    ) -> tuple[int, bytes, dict[str, str]]:
        if path.startswith("/storage"):
            if authorization:
                self.leaked.append(authorization)
            return 200, self.archive, {}
        if authorization != f"Bearer {TOKEN}":
            return 401, b"{}", {}
        route = path.removeprefix("/repos/org/runtime/").partition("?")[0]
        if self.broken and route.startswith(self.broken):
            return 500, b"<html>", {}
        if method != "GET":
            self.written.append((method, route, json.loads(content)))
            return 201, b"{}", {}
        answers: dict[str, Any] = {
            "actions/runs/42/artifacts": {
                "artifacts": [
                    {
                        "id": 5,
                        "name": "sizeguard-results",
                        "size_in_bytes": self.size if self.size is not None else len(self.archive),
                    }
                ]
            },
            "pulls/7": {
                "head": {"sha": self.head, "repo": {"full_name": self.repository}},
                "state": self.state,
            },
            "issues/7/comments": self.comments,
        }
        if route == "actions/artifacts/5/zip":
            return 302, b"", {"Location": f"{self.address}/storage/5.zip"}
        return (
            (200, json.dumps(answers[route]).encode(), {}) if route in answers else (404, b"{}", {})
        )


@pytest.fixture
def hub() -> Iterator[Hub]:
    found = Hub()

    class Handler(BaseHTTPRequestHandler):
        def reply(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            code, data, headers = found.answer(
                self.command, self.path, content, self.headers.get("Authorization")
            )
            self.send_response(code)
            for name, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = reply

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield found
    server.shutdown()
    server.server_close()


def commenting(work: Path, hub: Hub) -> tuple[str, int]:
    values = {
        "github.token": TOKEN, "github.event.workflow_run.id": "42",
        "github.event.workflow_run.head_sha": HEAD,
        "github.event.workflow_run.head_repository.full_name": FORK,
    }  # fmt: skip
    runner = Runner(work.parent, values)
    before = sorted(
        path.relative_to(work) for path in work.rglob("*") if "__pycache__" not in path.parts
    )
    api = {
        "GITHUB_API_URL": hub.address,
        "GITHUB_REPOSITORY": "org/runtime",
        "GITHUB_SERVER_URL": "https://github.example",
    }
    code = runner.run(steps_of("size-comment.yml"), environment(work, **api))
    after = sorted(
        path.relative_to(work) for path in work.rglob("*") if "__pycache__" not in path.parts
    )
    assert [path for path in after if path not in before] == [Path("setup.txt")] or Path(
        "setup.txt"
    ) in before
    log = runner.log[-1]
    assert "Traceback" not in log
    assert TOKEN not in log
    assert not re.search(r"(?m)^\s*::|##\[", log)
    assert not hub.leaked
    return log, code


def test_what_was_measured_becomes_a_comment_and_later_changes_it(checkout: Path, hub: Hub) -> None:
    measuring(checkout, "everything")
    hub.archive = zipped(uploaded(checkout))
    log, code = commenting(checkout, hub)
    assert (code, log) == (0, "comment made on pull request 7\n")
    ((method, route, content),) = hub.written
    assert (method, route) == ("POST", "issues/7/comments")
    assert content["body"].startswith("<!-- sizeguard gate -->\n### ❌ Size gate: fail")
    assert f"Measured at `{HEAD[:7]}`" in content["body"]
    assert len(content["body"].encode()) <= 65_536
    bot = {"type": "Bot", "login": "github-actions[bot]"}
    hub.comments = [
        {"id": 1, "body": content["body"], "user": {"type": "User", "login": "mallory"}},
        {"id": 2, "body": "hello", "user": bot},
        {"id": 3, "body": content["body"], "user": bot},
    ]
    log, code = commenting(checkout, hub)
    assert (code, log) == (0, "comment changed on pull request 7\n")
    assert hub.written[1][:2] == ("PATCH", "issues/comments/3")


def good() -> dict[str, bytes | str]:
    return {"gate.json": gate_text(failing(), "json"), "pull-request": "7\n"}


def bomb() -> bytes:
    return zipped({"gate.json": b"[" + b" " * (64 << 20), "pull-request": "7\n"})


def doubled() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive, pytest.warns(UserWarning, match="Duplicate"):
        for number in ("7\n", "8\n"):
            archive.writestr("pull-request", number)
        archive.writestr("gate.json", good()["gate.json"])
    return content.getvalue()


BAD: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "no archive": lambda: b"#!/bin/sh\ntouch owned\n",
    "cut": lambda: zipped(good())[:-40],
    "flipped": lambda: zipped(good()).replace(b"PK\x01\x02", b"PK\x01\x03"),
    "bomb": bomb,
    "too large": lambda: os.urandom((8 << 20) + 1),
    "two numbers": doubled,
    "no number": lambda: zipped({"gate.json": good()["gate.json"]}),
    "no result": lambda: zipped({"pull-request": "7\n"}),
    "outside": lambda: zipped({"../gate.json": good()["gate.json"], "/pull-request": "7\n"}),
    "result is a script": lambda: zipped({**good(), "gate.json": "$(touch owned)"}),
    "result is a list": lambda: zipped({**good(), "gate.json": "[]"}),
    "result is deep": lambda: zipped({**good(), "gate.json": "[" * 200_000}),
    "result has other types": lambda: zipped(
        {**good(), "gate.json": gate_text(failing(), "json").replace("41204", '"<img>"', 1)}
    ),
    "unknown pull request": lambda: zipped({**good(), "pull-request": "8\n"}),
    **{
        f"number {text!r}": lambda text=text: zipped({**good(), "pull-request": text})
        for text in (
            "7; touch owned",
            "../7",
            "7/../../x",
            "0",
            "-7",
            "7\n8\n",
            "7" * 30,
            "",
            "٧",
            "7\r\n::set-output name=x::y",
            "7 ",
        )
    },
}


@pytest.mark.parametrize("case", BAD)
def test_a_hostile_artifact_is_refused(checkout: Path, hub: Hub, case: str) -> None:
    hub.archive = BAD[case]()
    hub.size = 100
    log, code = commenting(checkout, hub)
    assert code == 1
    assert log.startswith("error: ")
    assert log.count("\n") == 1
    assert hub.written == []
    assert not list(checkout.rglob("owned"))


@pytest.mark.parametrize(
    ("name", "value"), [("head", "0" * 40), ("repository", "mallory/runtime"), ("state", "closed")]
)
def test_a_pull_request_that_the_run_is_not_of_gets_no_comment(
    checkout: Path, hub: Hub, name: str, value: str
) -> None:
    """The artifact names a pull request; GitHub says at which commit of which repository it is."""
    hub.archive = zipped(good())
    setattr(hub, name, value)
    log, code = commenting(checkout, hub)
    assert (code, hub.written) == (0, [])
    assert log.startswith("no comment: ")


def test_an_artifact_that_says_it_is_large_is_not_fetched(checkout: Path, hub: Hub) -> None:
    hub.archive, hub.size = zipped(good()), 1 << 40
    assert commenting(checkout, hub)[1] == 1


@pytest.mark.parametrize("route", ["actions/runs", "actions/artifacts", "pulls", "issues"])
def test_an_api_that_fails_fails_the_step(checkout: Path, hub: Hub, route: str) -> None:
    hub.archive, hub.broken = zipped(good()), route
    log, code = commenting(checkout, hub)
    assert (code, hub.written) == (1, [])
    assert log.startswith("error: ")


@pytest.mark.parametrize("start", range(0, len(HOSTILE), 12))
def test_hostile_texts_in_a_result_do_nothing_in_the_comment(
    checkout: Path, hub: Hub, start: int
) -> None:
    pool = iter(HOSTILE[start : start + 12] * 1000)
    hub.archive = zipped(
        {**good(), "gate.json": gate_text(poisoned(small(), lambda: next(pool)), "json")}
    )
    _, code = commenting(checkout, hub)
    assert code == 0
    body, _, foot = hub.written[0][2]["body"].rpartition("\n\n")
    check_markdown(body)
    assert re.fullmatch(
        r"<sub>.*\[this run\]\(https://github\.example/org/runtime/actions/runs/42\).*</sub>", foot
    )


def test_the_gitlab_template(checkout: Path) -> None:
    job = yaml.safe_load((checkout / "ci/gitlab/sizeguard.gitlab-ci.yml").read_text())["size-gate"]
    (checkout / "result.json").write_text(gate_text(everything(), "json"))
    script = [line for line in job["before_script"] if "apt-get" not in line] + job["script"]
    env = environment(
        checkout, CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main", CI_PROJECT_DIR=str(checkout)
    )
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", "\n".join(script)],
        cwd=checkout,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 4
    assert done.stdout.startswith("FAIL  4 of 6 builds")
    assert (checkout / job["artifacts"]["reports"]["junit"]).read_text().startswith("<?xml")
    assert set(uploaded(checkout)) == {"gate.xml", "gate.json", "gate.md"}
    assert "--base=origin/main" in (checkout / "arguments.txt").read_text()


@pytest.mark.native
def test_the_pre_commit_hook(tmp_path: Path) -> None:
    """Run by pre-commit itself, on selections that change.

    Only the installation is the one that is there already.
    """
    manifest = ROOT / ".pre-commit-hooks.yaml"
    tool = [sys.executable, "-m", "pre_commit"]
    subprocess.run([*tool, "validate-manifest", str(manifest)], check=True, capture_output=True)
    (hook,) = yaml.safe_load(manifest.read_text())
    config = {"repos": [{"repo": "local", "hooks": [{**hook, "language": "system"}]}]}
    (tmp_path / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    env = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PRE_COMMIT_HOME": str(tmp_path / "cache"),
        "HOME": str(tmp_path),
    }

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(arguments, cwd=tmp_path, env=env, capture_output=True, text=True)

    selection = tmp_path / "apps" / "vision" / "selected_operators.yaml"
    selection.parent.mkdir(parents=True)
    shutil.copy(ROOT / "native/apps/vision/selected_operators.yaml", selection)
    (tmp_path / "other.yaml").write_text("operators: [broken]\n")
    assert run("git", "init", "-q").returncode == 0
    run("git", "add", ".")
    done = run(*tool, "run")
    assert (done.returncode, "Passed" in done.stdout) == (0, True), done.stdout
    selection.write_text(selection.read_text().replace("aten::", "aten::misspelled_", 1))
    run("git", "add", ".")
    done = run(*tool, "run")
    assert done.returncode == 1
    assert "apps/vision/selected_operators.yaml" in done.stdout
    assert "misspelled_" in done.stdout
    assert "other.yaml" not in done.stdout
