"""Steps of the GitHub action and of workflows, run in bash."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.support.places import ROOT
from tests.support.services.workflow_expressions import Context


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


def uploaded(work: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (work / "sizeguard-results").iterdir()}
