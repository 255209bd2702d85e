"""pre-commit runs the hook on selections that change."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.places import ROOT

pytestmark = pytest.mark.native


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
