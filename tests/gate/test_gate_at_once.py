"""Test that gate --jobs and --scheduler build in parallel with the result of a serial run."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.places import SIZEGUARD
from tests.support.tricks.any_project import AnyProject, made_project

# Two apps for two targets, one with two images. Each build writes its worker's id, then waits.
CONFIG = """targets: {{x86_64-linux: , small: }}
limits: {{load: {{growth: 256B}}, ram: {{growth: 1KiB}}}}
apps:
  pair:
    build: "{note} cc $OPTIMIZE -c extra.c && cc $OPTIMIZE main.c extra.o -o app"
    images: {{one: app, two: extra.o}}
    env: {{OPTIMIZE: -O2}}
    targets: {{x86_64-linux: {{}}, small: {{env: {{OPTIMIZE: -Os}}}}}}
  alone:
    build: "{note} cc -Os main.c extra.c -o alone"
    image: alone
"""
SOURCES = {
    "main.c": "int extra(int n);\nint main(int n, char** v) { return extra(n) + (v == 0); }\n",
    "extra.c": "int extra(int n) { return 3 * n; }\n",
}
GROWN = "static const char table[{n}] = {{1}};\nint extra(int n) {{ return table[n % {n}]; }}\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, native_tools: None) -> AnyProject:
    """Make a branch whose code is larger than main's; main has reviewed baselines."""
    folder = tmp_path_factory.mktemp("at_once")
    note = f"echo $PPID >> {folder}/builders; sleep 0.2;"
    made = made_project(folder / "p", CONFIG.format(note=note), SOURCES)
    assert made.run("baseline", "update").code == 0
    made.commit("Review")
    made.write({"extra.c": GROWN.format(n=100)})
    made.commit("Use a table")
    made.git("checkout", "-q", "-b", "change")
    made.write({"extra.c": GROWN.format(n=5000)})
    made.commit("Use a larger table")
    return made


def gated(project: AnyProject, *arguments: str) -> tuple[dict[str, Any], str]:
    """Run the gate with an empty store; return its result and its messages."""
    shutil.rmtree(project.root / ".sizeguard", ignore_errors=True)
    done = project.run("gate", "--base", "main", "--format", "json", *arguments)
    assert done.code == 1, done.err
    result: dict[str, Any] = json.loads(done.out)
    assert {app["growth_since_base"]["load"] > 4500 for app in result["apps"]} == {True}
    return result, done.err


@pytest.fixture(scope="module")
def serial(project: AnyProject) -> dict[str, Any]:
    result, said = gated(project)
    assert "at once" not in said
    assert len(result["apps"]) == 6
    return result


@pytest.mark.native
def test_several_jobs_have_the_result_of_one(project: AnyProject, serial: dict[str, Any]) -> None:
    builders = project.root.parent / "builders"
    builders.write_text("")
    result, said = gated(project, "--jobs", "3")
    assert result == serial
    assert "building in parallel   4 heads, 5 other commits" in said
    assert "building pair" not in said
    # Each app is built for two targets, and so are the bases. The targets of `alone` have
    # equal bases, which are built once.
    assert len(builders.read_text().split()) == 7


@pytest.mark.native
def test_what_fails_is_said_by_the_gate(project: AnyProject) -> None:
    project.write({"extra.c": "#error no table\n"})
    try:
        said = []
        for more in ((), ("--jobs", "2")):
            shutil.rmtree(project.root / ".sizeguard", ignore_errors=True)
            done = project.run("gate", "--base", "main", "--format", "json", *more)
            said.append((done.code, done.out))
    finally:
        project.git("checkout", "--", ".")
    assert said[0] == said[1]
    assert said[0][0] == 4
    assert "no table" in said[0][1]


@pytest.mark.native
def test_a_killed_worker_changes_nothing(
    project: AnyProject, serial: dict[str, Any], scheduler: str
) -> None:
    """Kill the worker of the first build; another worker repeats that build."""
    builders = project.root.parent / "builders"
    builders.write_text("")
    shutil.rmtree(project.root / ".sizeguard")
    arguments = ["gate", "--base", "main", "--format", "json", "--scheduler", scheduler]
    with subprocess.Popen(
        [str(SIZEGUARD), *arguments],
        cwd=project.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as gate:
        deadline = time.monotonic() + 120
        while not (found := builders.read_text().split()) and time.monotonic() < deadline:
            time.sleep(0.02)
        worker = int(found[0])
        assert worker not in (os.getpid(), gate.pid)
        os.kill(worker, signal.SIGKILL)
        out, err = gate.communicate(timeout=300)
    assert gate.returncode == 1, err
    assert json.loads(out) == serial
    assert "left to this machine" not in err
    built = [int(each) for each in builders.read_text().split()]
    assert len(built) > 7  # the killed build was started again
    assert not {gate.pid} & {*built}
    assert project.git("status", "--porcelain") == ""


@pytest.mark.native
def test_a_scheduler_that_does_not_answer_is_one_line(project: AnyProject) -> None:
    shutil.rmtree(project.root / ".sizeguard", ignore_errors=True)
    done = project.run("gate", "--base", "main", "--scheduler", "tcp://127.0.0.1:1")
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert "cannot connect" in done.err


@pytest.mark.native
@pytest.mark.parametrize("command", ["gate --jobs 2", "gate", "history --build --jobs 2"])
def test_a_command_that_is_ended_leaves_no_process(tmp_path: Path, command: str) -> None:
    started = tmp_path / "started"
    build = f"echo $$ >> {started}; exec sleep 300"
    apps = "".join(f"  {name}: {{build: '{build}', image: a}}\n" for name in ("one", "two"))
    made = made_project(tmp_path / "p", f"targets: {{x86_64-linux: }}\napps:\n{apps}", SOURCES)
    words = [str(SIZEGUARD), *command.split()]
    with subprocess.Popen(words, cwd=made.root, stdout=subprocess.DEVNULL, stderr=-1) as run:
        deadline = time.monotonic() + 60
        while not started.is_file() and time.monotonic() < deadline:
            time.sleep(0.05)
        run.terminate()
        run.communicate(timeout=60)
    assert run.returncode == 130
    deadline = time.monotonic() + 10  # a killed process exists until its new parent reaps it
    for process in started.read_text().split():
        while Path(f"/proc/{process}/exe").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not Path(f"/proc/{process}/exe").exists()
