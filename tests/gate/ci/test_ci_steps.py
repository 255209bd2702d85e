"""Steps of the GitHub action, its workflows and the GitLab template, run in bash.

Each test runs in a separate folder.

The gate only formats a made-up result, and a server on this machine replaces GitHub's API.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from sizeguard.report.gate.render import gate_text
from tests.support.parts import mostly_second
from tests.support.places import ROOT
from tests.support.results.consistent_results import consistent
from tests.support.results.gate_samples import SAMPLES, everything, failing
from tests.support.services.local_hub import HEAD, TOKEN, LocalHub, zipped
from tests.support.services.workflow_expressions import Context

pytestmark = pytest.mark.native


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

    It expands expressions only in `env`, `with` and `if`. Each step has its own bash; outputs and
    the summary are files.
    """

    folder: Path
    expressions: dict[str, str]
    log: list[str] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    failed: bool = False

    def value(self, text: object) -> str:
        def known(found: re.Match[str]) -> str:
            # An output that a step did not set is empty.
            return (
                self.expressions.get(found[1], "")
                if found[1].startswith("steps.")
                else self.expressions[found[1]]
            )

        return re.sub(r"\$\{\{ (.+?) \}\}", known, str(text))

    def run(self, steps: list[dict[str, Any]], env: Mapping[str, str]) -> int:
        code = 0
        for step in steps:
            if not Context(self.expressions, self.failed).holds(str(step.get("if", ""))):
                continue
            if "uses" in step and step["uses"] != "./":
                self.used.append(step["uses"].partition("@")[0])
                continue
            if step.get("uses") == "./":
                inputs = {name: str(entry["default"]) for name, entry in ACTION["inputs"].items()}
                inputs |= {name: self.value(text) for name, text in step["with"].items()}
                self.expressions |= {f"inputs.{name}": text for name, text in inputs.items()}
                step_code = self.run(ACTION["runs"]["steps"], env)
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
    """Make a checkout with the programs that the steps call.

    `sizeguard gate` prints the result in result.json and records its arguments.
    """
    work = tmp_path / "work"
    for name in ("action.yml", ".github", "ci", "sizeguard"):
        source = ROOT / name
        _ = (
            shutil.copytree(source, work / name)
            if source.is_dir()
            else (work.mkdir(exist_ok=True), shutil.copy(source, work / name))
        )
    (work / ".ci").mkdir()
    for folder in (
        ".venv",
        "../temp/sizeguard",
    ):  # the action installs into the runner's temporary folder
        (work / folder / "bin").mkdir(parents=True)
    (work / "bin").mkdir()
    gate = f"{sys.executable} -m sizeguard.cli.main gate --from-json result.json"
    # An earlier result takes only options of the output.
    shown = f"""shift
printf "%s\\n" "$@" >arguments.txt
for each; do
  shift
  case $each in --base=*|--app=*|--target=*) ;; *) set -- "$@" "$each" ;; esac
done
exec {gate} "$@\""""
    scripts = {
        ".ci/setup": 'echo "$*" >>setup.txt',
        ".venv/bin/sizeguard": shown,
        "bin/python3": f'exec {sys.executable} "$@"',
        "../temp/sizeguard/bin/sizeguard": shown,
        "../temp/sizeguard/bin/python": f'exec {sys.executable} "$@"',
    }
    for name, script in scripts.items():
        (work / name).write_text(f"#!/bin/sh\n{script}\n")
        (work / name).chmod(0o755)
    return work


def environment(work: Path, **more: str) -> dict[str, str]:
    plain = {
        "PATH": f"{work / 'bin'}:{sys.base_prefix}/bin:{os.environ['PATH']}",
        "HOME": str(work),
        "PYTHONPATH": str(ROOT),
        "LC_ALL": "C.UTF-8",
    }
    return {
        **plain,
        "GITHUB_ACTION_PATH": str(work),
        "GITHUB_WORKSPACE": str(work),
        "RUNNER_TEMP": str(work.parent / "temp"),
        "GITHUB_ACTIONS": "true",
        "CI": "true",
        **more,
    }


def measuring(work: Path, sample: str, **expressions: str) -> tuple[Runner, int]:
    (work / "result.json").write_text(gate_text(consistent(SAMPLES[sample]()), "json"))
    values = {
        "github.base_ref": "main", "github.event_name": "pull_request",
        "github.event.pull_request.number": "7", **expressions,
    }  # fmt: skip
    runner = Runner(work.parent, values)
    return runner, runner.run(steps_of("size.yml"), environment(work))


def uploaded(work: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (work / "sizeguard-results").iterdir()}


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


def test_the_gitlab_template(checkout: Path) -> None:
    job = yaml.safe_load((checkout / "ci/gitlab/sizeguard.gitlab-ci.yml").read_text())["size-gate"]
    (checkout / "result.json").write_text(gate_text(everything(), "json"))
    script = [line for line in job["before_script"] if "apt-get" not in line] + job["script"]
    own = {
        "SIZEGUARD_HOME": str(checkout.parent / "temp" / "sizeguard"),
        "SIZEGUARD_STORE": str(checkout.parent / "cache" / "store"),
    }
    env = environment(checkout, CI_PROJECT_DIR=str(checkout), **own)
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
    assert set(uploaded(checkout)) == {
        "gate.xml",
        "gate.json",
        "gate.md",
        "codequality.json",
        "metrics.txt",
        ".gitignore",
    }
    # The base of the growth comes from the variables.
    assert "--base" not in (checkout / "arguments.txt").read_text()
    # Changes only read the store; the default branch also writes it, even if the gate fails.
    rules = {rule["variables"]["SIZEGUARD_CACHE"]: rule["if"] for rule in job["rules"]}
    assert rules.keys() == {"pull", "pull-push"}
    assert "merge_request_event" in rules["pull"]
    assert (job["cache"]["policy"], job["cache"]["when"]) == ("$SIZEGUARD_CACHE", "always")


def test_the_pre_commit_hook(tmp_path: Path) -> None:
    """pre-commit runs the hook on selections that change.

    Only the installation is not tested: the hook uses the existing one.
    """
    manifest = ROOT / ".pre-commit-hooks.yaml"
    tool = [sys.executable, "-m", "pre_commit"]
    subprocess.run([*tool, "validate-manifest", str(manifest)], check=True, capture_output=True)
    hook, gate = yaml.safe_load(manifest.read_text())
    assert (gate["id"], gate["stages"]) == ("sizeguard-gate", ["pre-push"])
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
