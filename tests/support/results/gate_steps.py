"""Run the gate in a tree in steps, and print the time of each step and its limit."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.support.places import SIZEGUARD
from tests.support.script import Tally


@dataclass(frozen=True, slots=True)
class Run:
    """Exit code, wall and CPU seconds of a gate, including all its processes."""

    code: int
    wall: float
    processor: float


@dataclass(frozen=True, slots=True)
class Step:
    """A run of the gate. limit: CPU seconds that are allowed; None for any."""

    what: str
    limit: float | None
    took: Run


def run(tree: Path, *command: str | Path) -> None:
    """Run a command in the tree; it must not fail."""
    subprocess.run(command, cwd=tree, check=True, stdout=subprocess.DEVNULL)


def commit(tree: Path, subject: str) -> None:
    """Commit all files."""
    who = ("-c", "user.name=bench", "-c", "user.email=bench@example.invalid")
    run(tree, "git", "add", ".")
    run(tree, "git", *who, "commit", "-q", "--allow-empty", "-m", subject)


def gate(tree: Path, *options: str) -> Run:
    """Run the gate; print its output only if it does not pass."""
    started, before = time.perf_counter(), os.times()
    done = subprocess.run(
        [SIZEGUARD, "gate", *options], cwd=tree, check=False, capture_output=True, text=True
    )
    after, wall = os.times(), time.perf_counter() - started
    if done.returncode != 0:
        sys.stderr.write(done.stdout + done.stderr)
    used = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
    return Run(done.returncode, wall, used)


def print_steps(steps: list[Step], parts: int = 0) -> int:
    """Print a line for each step and return the exit code of the benchmark.

    parts: the apps and targets of each gate, for the time of one; 0 prints no such time
    """
    tally = Tally()
    print(f"{'':26} {'wall':>10} {'processor':>10}{'each' if parts else '':>13}".rstrip())
    for step in steps:
        code, wall, processor = step.took.code, step.took.wall, step.took.processor
        beyond = step.limit is not None and processor > step.limit
        bound = f"limit {step.limit:g} s" if step.limit is not None else "no limit"
        each = f" {1000 * processor / parts:9.1f} ms" if parts else ""
        more = "  BEYOND" if beyond else ""
        print(f"{step.what:26} {wall:8.2f} s {processor:8.2f} s{each}   {bound}{more}  exit {code}")
        tally.check(not beyond and code == 0, f"{step.what}: {bound}, exit {code}")
    return tally.close()
