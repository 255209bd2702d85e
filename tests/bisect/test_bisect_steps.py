"""sizeguard bisect-step: exit codes of a step, also if `git bisect run` calls it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.histories.bisect_runs import BUILD, bisected, run
from tests.support.histories.small_history import SmallRepository
from tests.support.places import SIZEGUARD


def test_git_bisect_run_finds_the_same_first_culprit(
    spike: tuple[SmallRepository, dict[str, str]], tmp_path: Path
) -> None:
    repository, names = spike
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(repository.path), str(clone)], check=True)
    git = ["git", "-C", str(clone)]
    subprocess.run(
        [*git, "bisect", "start", names["plateau 5"], names["good"]],
        check=True,
        capture_output=True,
    )
    step = [
        str(SIZEGUARD),
        "bisect-step",
        "--metric",
        "symbol/table",
        "--than",
        names["good"],
        "--threshold",
        "30",
        *BUILD,
    ]
    done = subprocess.run(
        [*git, "bisect", "run", *step], capture_output=True, text=True, check=False
    )
    assert f"{names['grow']} is the first bad commit" in done.stdout, done.stdout + done.stderr
    whole = bisected(clone, names["good"], names["plateau 5"], "--metric", "symbol/table")
    assert whole["culprits"][0]["commit"] == names["grow"]


@pytest.fixture(scope="module")
def steps(
    spike: tuple[SmallRepository, dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    clone = tmp_path_factory.mktemp("steps") / "clone"
    subprocess.run(["git", "clone", "-q", str(spike[0].path), str(clone)], check=True)
    return clone


def test_exit_codes_of_a_step(steps: Path, spike: tuple[SmallRepository, dict[str, str]]) -> None:
    names = spike[1]
    table = ("--metric", "symbol/table")
    done = run(steps, "bisect-step", "--limit", "48", *table, *BUILD, "--ascii", expect=0)
    assert done.stdout == "good  symbol/table 48 <= 48\n"
    run(steps, "bisect-step", "--limit", "47", *table, *BUILD, expect=1)
    skip = run(
        steps,
        "bisect-step",
        "--limit",
        "47",
        *table,
        *BUILD,
        "--commit",
        names["broken 1"],
        expect=125,
    )
    assert "does not build" in skip.stdout
    run(steps, "bisect-step", "--than", names["good"], *table, *BUILD, expect=1)
    run(steps, "bisect-step", "--than", names["good"], "--threshold", "8", *table, *BUILD, expect=0)


@pytest.mark.native
@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--limit", "x"),
        ("--no-such-option",),
        ("--limit", "1", "--limit", "2", *BUILD),
        ("--limit", "1", "--than", "HEAD"),
        ("--limit", "1"),  # it has no build command
        ("--limit", "1", "--build-command", "true", "--image", "/bin/ls"),
        ("--limit", "1", "--build-command", "echo > app", "--image", "app"),
        ("--limit", "1", *BUILD, "--metric", "lod"),
        ("--limit", "1", *BUILD, "--metric", "symbol/tabel"),  # no symbol has that name
        ("--limit", "1", *BUILD, "--commit", "no-such"),
        ("--limit", "1", "--build-command", "kill -9 $$", "--image", "app"),
        (
            "--limit",
            "1",
            "--build-command",
            "echo 'No space left on device'; exit 1",
            "--image",
            "app",
        ),
        ("--than", "HEAD~6", *BUILD),  # a commit that does not build
    ],
)
def test_what_is_no_verdict_is_128(steps: Path, arguments: tuple[str, ...]) -> None:
    done = run(steps, "bisect-step", *arguments, expect=128)
    assert done.stderr.strip()


def test_a_failure_of_ours_is_128(steps: Path, tmp_path: Path) -> None:
    """A crash, a store that cannot be written, changed files, a folder without a repository.

    The exit code does not blame the commit for any of them.
    """
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nif sys.flags.safe_path and '-c' in sys.orig_argv: raise SystemExit(1)\n"
    )
    broken = {
        **os.environ,
        "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    }
    crash = subprocess.run(
        [str(SIZEGUARD), "bisect-step", "--limit", "1", *BUILD],
        cwd=steps,
        capture_output=True,
        env=broken,
        check=False,
    )
    assert crash.returncode == 128, crash.stderr
    file = tmp_path / "file"
    file.touch()
    run(
        steps,
        "bisect-step",
        "--limit",
        "1",
        *BUILD,
        expect=128,
        environment={"SIZEGUARD_STORE": str(file / "store")},
    )
    (steps / "main.c").write_text((steps / "main.c").read_text() + "\n")
    done = run(steps, "bisect-step", "--limit", "1", *BUILD, expect=128)
    assert "differ from HEAD" in done.stderr
    subprocess.run(["git", "-C", str(steps), "checkout", "-q", "main.c"], check=True)
    run(tmp_path, "bisect-step", "--limit", "1", *BUILD, expect=128)
