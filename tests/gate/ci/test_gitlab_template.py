"""The GitLab template, run in bash in a folder of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from sizeguard.report.gate.render import gate_text
from tests.support.results.gate_samples import everything
from tests.support.services.workflow_steps import environment, uploaded

pytestmark = pytest.mark.native


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
