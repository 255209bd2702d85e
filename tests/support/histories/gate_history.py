"""A repository of the runtime with commits to build and gate for real."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sizeguard.gate.contradictions import contradictions
from sizeguard.report.gate.gate_json import result_of
from tests.support.histories.git_runs import git
from tests.support.places import ROOT

# The package beside the tests, even if another one is installed.
SIZEGUARD = [sys.executable, "-P", "-m", "sizeguard.cli.main"]

# Sizes only: other tests run and trace models. No test here needs to run the full build.
POLICY = """
targets:
  x86_64-linux: {run: false}
limits:
  load:
    growth: max(1%, 512B)
  ram:
    growth: max(1%, 512B)
  operator/*:
    growth: max(10%, 512B)
apps:
  vision:
    selection: native/apps/vision/selected_operators.yaml
    models: []
    limits:
      load:
        creep: max(2%, 1,700 B) since v1.0
  language:
    selection: native/apps/language/selected_operators.yaml
    models: []
"""

CONVOLUTION = "native/operators/kernels/convolution.cpp"
# Functions of operators in vision, as places for instructions without effect.
GATHER_RUN = (
    CONVOLUTION,
    "void gather_run(int64_t n, char* image, int64_t stride, char* points,\n"
    "                              const void* weight) {",
)
FOR_EACH_RUN = (
    CONVOLUTION,
    "RunBody body, char* image, char* points,\n"
    "                                    const void* weight) {",
)


@dataclass(frozen=True)
class Gated:
    """The output of `sizeguard gate --format json`.

    seconds: CPU time of the gate and its compilers.
    """

    code: int
    result: dict[str, Any]
    errors: str
    seconds: float

    def checks(self, app: str) -> dict[str, dict[str, Any]]:
        return {
            check["id"].removeprefix(f"{app}/x86_64-linux/"): check
            for check in self.result["checks"]
            if check["app"] == app
        }

    def failing(self) -> set[tuple[str, str]]:
        return {
            (check["app"], check["metric"])
            for check in self.result["checks"]
            if check["verdict"] == "fail"
        }

    def app(self, name: str) -> dict[str, Any]:
        return next(app for app in self.result["apps"] if app["app"] == name)


class Repository:
    """main has changes that passed; a change is made on a branch, gated, and merged or left."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        shutil.copytree(
            ROOT / "native",
            root / "native",
            ignore=shutil.ignore_patterns("models", "examples", "fuzzing"),
        )
        (root / "sizeguard.yaml").write_text(POLICY)
        (root / ".gitignore").write_text("/build/\n.sizeguard/\n")
        (root / "README.md").write_text("A runtime.\n")
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        return git(self.root, *arguments)

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*SIZEGUARD, *arguments],
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        )

    def gate(self, *arguments: str, **environment: str) -> Gated:
        before = os.times()
        done = self.run("gate", "--format", "json", *arguments, **environment)
        after = os.times()
        seconds = (
            after.children_user
            + after.children_system
            - before.children_user
            - before.children_system
        )
        if done.stdout:
            # The contradictions check must accept every result of a real gate
            assert not [*contradictions(result_of(done.stdout.encode(), "stdout"))]
        return Gated(
            done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr, seconds
        )

    def commit(self, message: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")

    def branch(self, name: str) -> None:
        """Begin a change."""
        self.git("checkout", "-q", "-b", name, "main")

    def merge(self) -> None:
        """Merge the change into main."""
        self.git("branch", "-f", "main", "HEAD")
        self.git("checkout", "-q", "main")

    def leave(self) -> None:
        self.git("checkout", "-q", "-f", "main")
        self.git("clean", "-fdq")
        # ninja compares modification times, so restored files need newer ones.
        time.sleep(0.01)

    def replace(self, path: str, old: str, new: str) -> None:
        file = self.root / path
        text = file.read_text()
        assert text.count(old) == 1, f"{old} is in {path} {text.count(old)} times"
        file.write_text(text.replace(old, new))

    def grow(self, where: tuple[str, str], size: int) -> None:
        """Add instructions without effect at the beginning of a function."""
        path, head = where
        self.replace(path, head, f'{head}\n  asm volatile(".fill {size}, 1, 0x90");')

    def shrink(self, where: tuple[str, str]) -> None:
        """Remove them."""
        path, head = where
        file = self.root / path
        text, count = re.subn(
            rf'({re.escape(head)})\n  asm volatile\("\.fill \d+, 1, 0x90"\);',
            r"\1",
            file.read_text(),
        )
        assert count == 1
        file.write_text(text)
