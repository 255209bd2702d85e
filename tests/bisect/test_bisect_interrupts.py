"""Bisects that are killed and resumed, or interrupted."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.histories.bisect_runs import check, run
from tests.support.histories.small_history import SmallRepository, state_of_checkout
from tests.support.places import SIZEGUARD


@pytest.mark.native
def test_a_new_run_goes_on_after_any_kill(tmp_path: Path) -> None:
    """A run is killed by SIGKILL 20 times, and resumed.

    It does not rebuild measured commits, and its result is that of an uninterrupted run.
    """
    repository = SmallRepository(tmp_path / "r")
    size = 64
    first = repository.sized(size)
    for step in (8, 0, 0, -16, 0, 800, 0, 0, -800, 0, 24, 0, 0, 8):
        size += step
        if step:
            repository.sized(size)
        else:
            repository.commit(
                "plateau", {"main.c": (repository.path / "main.c").read_text() + "/* . */\n"}
            )
    log = tmp_path / "log"
    # With faster builds, a fast machine would finish before the fifth kill.
    command = f"git rev-parse HEAD >> {log}; sleep 0.6; cc -Os main.c -o app && strip app"
    before = state_of_checkout(repository.path)
    arguments = [
        "bisect",
        first,
        "main",
        "--build-command",
        command,
        "--image",
        "app",
        "--format",
        "json",
    ]
    store = repository.path / ".git" / "sizeguard" / "store" / "facts"
    moments = random.Random(6)
    killed = 0
    for kill in range(20):
        known = stored_commits(store)
        begun = len(log.read_text().split()) if log.exists() else 0
        state = repository.path / ".git" / "sizeguard" / "bisect.json"
        resume = ["bisect", "--resume", "--format", "json"] if state.exists() else arguments
        process = subprocess.Popen(
            [str(SIZEGUARD), *resume],
            cwd=repository.path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # The start takes most of the first second; kill during it and during some builds.
        time.sleep(moments.uniform(0.2, 2.5))
        killed += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        built = log.read_text().split()[begun:] if log.exists() else []
        assert not set(built) & known, f"kill {kill}: built what was measured"
        assert state_of_checkout(repository.path) == before
    known = stored_commits(store)
    begun = len(log.read_text().split())
    last = json.loads(run(repository.path, "bisect", "--resume", "--format", "json").stdout)
    check(last)
    assert not set(log.read_text().split()[begun:]) & known
    assert state_of_checkout(repository.path) == before
    assert killed >= 5
    whole = json.loads(
        run(
            repository.path, *arguments, environment={"SIZEGUARD_STORE": str(tmp_path / "fresh")}
        ).stdout
    )
    assert whole["builds"] <= len(set(log.read_text().split()))
    for key in ("culprits", "delta", "series", "skipped_ranges", "neutral"):
        assert last[key] == whole[key], key
    assert not [
        path for path in (repository.path / ".git" / "sizeguard").rglob("tree-*") if path.is_dir()
    ]


def stored_commits(facts: Path) -> set[str]:
    return {json.loads(path.read_text())["facts"]["commit"] for path in facts.glob("*.json")}


# The signal comes while the main thread holds the lock of a job's future.
SIGNAL_WITHIN_A_LOCK = """
import os, pathlib, signal, sys, time
from concurrent.futures import _base
from sizeguard.cli.main import main

mark = pathlib.Path(sys.argv.pop(1))

def acquire_all(self):
    while not mark.exists():
        time.sleep(0.02)
    for at, future in enumerate(self.futures):
        future._condition.acquire()
        if at == 0:
            os.kill(os.getpid(), signal.SIGTERM)

_base._AcquireFutures.__enter__ = acquire_all
main()
"""


def interrupted_bisect(first: str, mark: Path, *program: str) -> list[str]:
    command = f"touch {mark}; sleep 1000"
    asked = ["bisect", first, "main", "--build-command", command, "--image", "app", "--jobs", "2"]
    return [*program, *asked]


@pytest.mark.parametrize("when", ["from outside", "within a lock"])
def test_an_interrupt_leaves_nothing_running(tmp_path: Path, when: str) -> None:
    repository = SmallRepository(tmp_path / "r")
    first = repository.sized(40)
    repository.sized(48)
    mark = tmp_path / "begun"
    program = [str(SIZEGUARD)]
    if when == "within a lock":
        program = [sys.executable, "-c", SIGNAL_WITHIN_A_LOCK, str(mark)]
    process = subprocess.Popen(
        interrupted_bisect(first, mark, *program),
        cwd=repository.path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    if when == "from outside":
        deadline = time.monotonic() + 60
        while not mark.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
    try:
        _, told = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "--resume" in told
    assert "Traceback" not in told
    trees = str(repository.path / ".git" / "sizeguard" / "worktrees")
    for each in Path("/proc").glob("[0-9]*/environ"):
        try:
            assert f"SIZEGUARD_WORKTREE={trees}".encode() not in each.read_bytes()
        except OSError:
            continue
