"""Test that the gate fails closed.

Without disk space or permissions, or if it is killed, it never passes or leaves a partial file.
"""

from __future__ import annotations

import errno
import os
import random
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate.gate_result import GateResult, Problem, SelectionFinding
from sizeguard.gate.policy.baselines import baseline_files, read_baseline
from sizeguard.gate.policy.waivers import read_waivers
from sizeguard.measurement.metric_names import MetricNames
from sizeguard.projects.reader import read_config
from tests.support.histories.gate_history import ROOT, SIZEGUARD
from tests.support.tools import UNPRIVILEGED


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a source tree outside git that uses this project's native sources."""
    folder = tmp_path_factory.mktemp("tree")
    for name in ("sizeguard.yaml", "baselines"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    (folder / "native").symlink_to(ROOT / "native")
    return folder


def start(
    tree: Path, *arguments: str, limit: int | None = None, before: tuple[str, ...] = ()
) -> subprocess.Popen[bytes]:
    """Start a command. limit: maximum size of a file in bytes. before: words before the command."""

    def restrict() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.Popen(
        [*before, *SIZEGUARD, *arguments],
        cwd=tree,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=restrict,
        start_new_session=True,
    )


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    said = process.communicate()[1].decode()
    return process.returncode, said.strip().splitlines()[-1] if said.strip() else ""


def assert_all_files_are_whole(tree: Path) -> None:
    for path in baseline_files(tree):
        read_baseline(path)
    read_waivers(tree, read_config(tree), MetricNames(tree))


WAIVE = (
    "waive", "load", "--app", "vision", "--bytes", "3", "--owner", "ann", "--reason", "why",
    "--expires", "2999-01-31",
)  # fmt: skip


@pytest.mark.parametrize("limit", [0, 40])
def test_without_room_nothing_is_half_written(tree: Path, limit: int) -> None:
    code, said = ended(start(tree, *WAIVE, limit=limit))
    assert code == 4
    assert said.startswith("error: ")
    assert os.strerror(errno.EFBIG) in said
    assert_all_files_are_whole(tree)
    assert not list((tree / "baselines").glob("waivers.yaml"))
    assert not list((tree / "baselines").glob(".waivers*"))


def test_a_full_device_is_no_success(tree: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with Path("/dev/full").open("wb") as full:
        command = [*SIZEGUARD, "baseline", "show"]
        done = subprocess.run(
            command, cwd=tree, stdout=full, stderr=subprocess.PIPE, check=False, env=environment
        )
    assert done.returncode == 4
    (line,) = done.stderr.decode().strip().splitlines()
    assert os.strerror(errno.ENOSPC) in line


def test_baselines_that_cannot_be_written_are_said_so(tree: Path) -> None:
    (tree / "baselines").chmod(0o555)
    code, said = ended(start(tree, *WAIVE, before=UNPRIVILEGED if os.geteuid() == 0 else ()))
    (tree / "baselines").chmod(0o755)
    assert code == 2
    assert said.endswith("baselines/waivers.yaml: cannot write: Permission denied")
    assert_all_files_are_whole(tree)


def test_a_waiver_file_that_cannot_be_read_stops_the_gate(tree: Path) -> None:
    path = tree / "baselines" / "waivers.yaml"
    path.write_text("- load\n")
    code, said = ended(start(tree, "gate"))
    path.unlink()
    assert code == 2
    assert (
        said
        == "error: baselines/waivers.yaml:1:3: a waiver is a table with metric, app, target, bytes,"
        " reason, owner, expires"
    )


def waivers_in(tree: Path) -> int:
    return len(read_waivers(tree, read_config(tree), MetricNames(tree)))


@pytest.mark.native
def test_killed_at_any_time_it_leaves_whole_files(tree: Path) -> None:
    """Kill at times from the start to after the end; a process that ended has written all files."""
    dice = random.Random(5)
    start_time = time.monotonic()
    assert ended(start(tree, *WAIVE))[0] == 0
    whole = time.monotonic() - start_time
    codes = []
    for delay in (0, *(dice.uniform(0.3, 1.2) * whole for _ in range(6))):
        before = waivers_in(tree)
        process = start(tree, *WAIVE)
        time.sleep(delay)
        # It has not been waited for, so its id is not reused, even if it has ended.
        os.killpg(process.pid, signal.SIGKILL)
        codes.append(ended(process)[0])
        assert codes[-1] in (-signal.SIGKILL, 0)
        assert_all_files_are_whole(tree)
        assert waivers_in(tree) - before in ((1,) if codes[-1] == 0 else (0, 1))
    assert -signal.SIGKILL in codes
    # The next command does not wait for the killed processes.
    assert ended(start(tree, *WAIVE))[0] == 0
    (tree / "baselines" / "waivers.yaml").unlink()


@pytest.mark.parametrize(
    ("codes", "failing", "code"),
    [
        ((), False, 0),
        ((2,), False, 2),
        ((2,), True, 1),
        ((3,), False, 3),
        ((2, 3), False, 2),
        ((2, 3, 4), True, 4),
        ((1, 2), False, 1),
    ],
)
def test_a_failure_says_more_than_a_file_that_cannot_be_read(
    codes: tuple[int, ...], failing: bool, code: int
) -> None:
    problems = tuple(Problem("vision", "", "what", "do", number) for number in codes)
    finding = SelectionFinding(
        "vision", "lint", "x", FAIL if failing else PASS, "what", "do", "file"
    )
    verdict = FAIL if failing or set(codes) - {3} else INCONCLUSIVE if codes else PASS
    assert GateResult(verdict, (), (finding,), problems=problems).exit_code == code
