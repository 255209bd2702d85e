"""sizeguard bisect and bisect-step on real repositories of small programs.

The runs are complete, killed and resumed, driven by `git bisect run`, or distributed by Dask.
"""

from __future__ import annotations

import html.parser
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import sizeguard
from sizeguard.base.errors import BuildError, InconclusiveError, InputError
from sizeguard.bisect.bisect_result import BisectResult
from sizeguard.bisect.whole_range import Question, bisect
from sizeguard.git.commits import line_of, undone_pairs
from sizeguard.measurement.measured_commits import MeasurementPlace
from sizeguard.measurement.measurers import LocalMeasurer, Wish, measured_by
from sizeguard.measurement.metric import Metric
from sizeguard.projects.command import CommandRecipe
from sizeguard.report.bisect.bisect_page import bisect_html
from sizeguard.snapshots.store import Store
from tests.support.histories.small_history import SmallRepository, state_of_checkout
from tests.support.places import SIZEGUARD

SCHEMA = json.loads(
    (Path(sizeguard.__file__).parent / "report" / "schemas" / "bisect.schema.json").read_text()
)
BUILD = ("--build-command", "cc -Os main.c -o app", "--image", "app")
BUILD_IGNORING = (*BUILD, "--ignore", "*.md")


def run(
    folder: Path, *arguments: str, expect: int = 0, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(SIZEGUARD), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, **(environment or {})},
        check=False,
    )
    assert done.returncode == expect, (
        f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    )
    assert "Traceback" not in done.stderr
    return done


def bisected(folder: Path, good: str, bad: str, *arguments: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(
        run(folder, "bisect", good, bad, *BUILD, "--format", "json", *arguments).stdout
    )
    check(result)
    return result


def check(result: dict[str, Any]) -> None:
    """Check the properties of every result."""
    jsonschema.validate(result, SCHEMA)
    assert (
        sum(each["delta"] for each in result["culprits"]) + result["smaller"]["delta"]
        == result["delta"]
    )
    assert result["delta"] == result["bad"]["value"] - result["good"]["value"]
    for culprit in result["culprits"]:
        assert sum(row["delta"] for row in culprit["rows"]) == culprit["delta"]
    if result["culprits"] and not result["smaller"]["count"]:
        assert result["culprits"][-1]["total"] == result["delta"]


@pytest.fixture(scope="module")
def spike(
    tmp_path_factory: pytest.TempPathFactory, native_tools: None
) -> tuple[SmallRepository, dict[str, str]]:
    """Make sixteen commits: changes of size, failed builds, documents and plateaus.

    Four change the size, and one of them undoes another; two do not build; three change documents.
    """
    repository = SmallRepository(tmp_path_factory.mktemp("spike") / "r")
    names = {"good": repository.sized(40)}

    def plateau(name: str) -> None:
        names[name] = repository.commit(
            name, {"main.c": (repository.path / "main.c").read_text() + f"/* {name} */\n"}
        )

    plateau("plateau 1")
    names["docs 1"] = repository.commit("docs 1", {"README.md": "1"})
    names["grow"] = repository.sized(80)
    plateau("plateau 2")
    plateau("plateau 3")
    plateau("plateau 3b")
    names["spike"] = repository.sized(4080)
    names["docs 2"] = repository.commit("docs 2", {"README.md": "2"})
    names["broken 1"] = repository.commit("broken 1", {"main.c": "int main(void) { return x; }\n"})
    names["broken 2"] = repository.commit("broken 2", {"main.c": "int main(void) { return y; }\n"})
    names["undo"] = repository.sized(88)
    plateau("plateau 4")
    plateau("plateau 5")
    plateau("plateau 6")
    names["docs 3"] = repository.commit("docs 3", {"docs/a.md": "3"})
    names["shrink"] = repository.sized(48)
    names["bad"] = names["shrink"]
    return repository, names


def test_every_commit_that_moved_the_size_is_found(
    spike: tuple[SmallRepository, dict[str, str]],
) -> None:
    repository, names = spike
    (repository.path / "untracked").write_text("mine")
    before = state_of_checkout(repository.path)
    result = bisected(
        repository.path, names["good"], "main", "--ignore", "*.md", "--metric", "symbol/table"
    )
    assert [
        (each.get("commit") or each["range"], each["delta"]) for each in result["culprits"]
    ] == [
        (names["grow"], 40),
        (names["spike"], 4000),
        ([names["broken 1"], names["broken 2"], names["undo"]], -3992),
        (names["shrink"], -40),
    ]
    assert [each["commit"] for each in result["culprits"][2]["does_not_build"]] == [
        names["broken 1"],
        names["broken 2"],
    ]
    assert all("undeclared" in each["message"] for each in result["culprits"][2]["does_not_build"])
    assert [row["symbol"] for each in result["culprits"] for row in each["rows"]] == ["table"] * 4
    assert result["equal_inputs"] == 3
    assert result["builds"] <= 4 * (4 + 2)
    again = bisected(
        repository.path, names["good"], "main", "--ignore", "*.md", "--metric", "symbol/table"
    )
    assert (again["builds"], again["failed_builds"]) == (0, 0)
    for key in ("culprits", "series", "delta", "skipped"):
        assert again[key] == result[key]
    assert state_of_checkout(repository.path) == before
    assert repository.git("worktree", "list", "--porcelain").count("worktree ") == 1


def test_other_questions_reuse_what_was_measured(
    spike: tuple[SmallRepository, dict[str, str]],
) -> None:
    repository, names = spike
    whole = bisected(repository.path, names["good"], "main", "--ignore", "*.md", "--exhaustive")
    assert whole["skipped_ranges"] == []
    assert whole["blind_spot"] == ""
    by_jobs = bisected(
        repository.path,
        names["good"],
        "main",
        "--ignore",
        "*.md",
        "--metric",
        "section/.rodata",
        "--jobs",
        "2",
    )
    assert (by_jobs["builds"], by_jobs["nearest"]) == (0, "")
    misspelt = run(
        repository.path,
        "bisect",
        names["good"],
        "main",
        *BUILD_IGNORING,
        "--metric",
        "section/.rodat",
        expect=3,
    )
    assert "neither end has section/.rodat; nearest is section/.rodata" in misspelt.stdout
    small = bisected(
        repository.path,
        names["good"],
        "main",
        "--ignore",
        "*.md",
        "--threshold",
        "100",
        "--metric",
        "symbol/table",
    )
    assert [each["delta"] for each in small["culprits"]] == [4000, -3992]
    assert small["smaller"] == {"threshold": 100, "count": 2, "delta": 0}
    narrow = bisected(
        repository.path,
        names["good"],
        "main",
        "--ignore",
        "*.md",
        "--narrow",
        "--metric",
        "symbol/main",
    )
    assert narrow["culprits"] == []
    assert "the buckets of symbol/main are equal at both ends" in narrow["blind_spot"]


def test_jobs_find_the_same_with_as_many_builds(
    spike: tuple[SmallRepository, dict[str, str]], tmp_path: Path
) -> None:
    repository, names = spike
    results = []
    for jobs in ("1", "2"):
        arguments = [
            "bisect",
            names["good"],
            "main",
            *BUILD_IGNORING,
            "--format",
            "json",
            "--jobs",
            jobs,
            "--keep-worktrees",
        ]
        results.append(
            json.loads(
                run(
                    repository.path,
                    *arguments,
                    environment={"SIZEGUARD_STORE": str(tmp_path / jobs)},
                ).stdout
            )
        )
        check(results[-1])
    trees = repository.path / ".git" / "sizeguard" / "worktrees"
    assert sorted(path.name for path in trees.glob("tree-*") if path.is_dir()) == [
        "tree-00",
        "tree-01",
    ]
    for key in ("culprits", "series", "builds", "failed_builds"):
        assert results[0][key] == results[1][key]
    again = run(
        repository.path,
        *(
            "bisect",
            names["good"],
            "main",
            *BUILD_IGNORING,
            "--format",
            "json",
            "--build-failed-again",
        ),
        environment={"SIZEGUARD_STORE": str(tmp_path / "1")},
    )
    assert json.loads(again.stdout)["builds"] == results[0]["failed_builds"]
    nothing = bisected(repository.path, "main", "main", "--ignore", "*.md")
    assert (nothing["culprits"], nothing["delta"], nothing["commits"]) == ([], 0, 0)


def test_what_a_person_sees(spike: tuple[SmallRepository, dict[str, str]]) -> None:
    repository, names = spike
    done = run(
        repository.path,
        "bisect",
        names["good"][:10],
        "main",
        *BUILD_IGNORING,
        "--metric",
        "symbol/table",
    )
    lines = done.stdout.splitlines()
    assert lines[0].startswith("table grew 8 bytes in 16 commits: 4 changes did it")
    assert any(line.split()[:2] == ["+4,000", names["spike"][:7]] for line in lines)
    assert any("3 commits, 2 of them do not build (main.c:1:" in line for line in lines)
    assert any(f"= {names['good'][:10]} 40 → main 48" in line for line in lines)
    assert "for symbol/table" in done.stderr
    csv = run(
        repository.path,
        "bisect",
        names["good"],
        "main",
        *BUILD_IGNORING,
        "--metric",
        "symbol/table",
        "--format",
        "csv",
    )
    assert len(csv.stdout.splitlines()) == 5
    markdown = run(
        repository.path,
        "bisect",
        names["good"],
        "main",
        *BUILD_IGNORING,
        "--format",
        "markdown",
    ).stdout
    assert f"`{names['spike'][:7]}`" in markdown
    for command in ("bisect", "bisect-step"):
        assert "Example" in run(repository.path, command, "--help").stdout


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
    run(steps, "bisect-step", "--limit", "48", *table, *BUILD, expect=0)
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


@pytest.mark.native
def test_a_project_with_cmake(tmp_path: Path) -> None:
    """A repository without our files can be bisected.

    CMake builds a library and a program in C++; the command runs in a subfolder.
    """
    repository = SmallRepository(tmp_path / "r")
    lists = (
        "cmake_minimum_required(VERSION 3.22)\nproject(other LANGUAGES CXX)\nset(CMAKE_BUILD_TYPE"
        " MinSizeRel)\nadd_library(parts STATIC lib/parts.cpp)\nadd_executable(other"
        " main.cpp)\ntarget_link_libraries(other parts)\n"
    )
    parts = "#include <vector>\n#include <numeric>\n"
    parts += (
        "int total(const std::vector<int>& v) {{ return std::accumulate(v.begin(), v.end(), {});"
        " }}\n"
    )
    table = (
        "extern const unsigned char kTable[{0}] = {{1}};\nint entry(unsigned i) {{ return kTable[i"
        " % {0}]; }}\n"
    )
    main = "#include <vector>\nint total(const std::vector<int>&);\nint entry(unsigned);\n"
    main += "int main(int n, char**) { return total(std::vector<int>(n, 2)) + entry(n); }\n"
    good = repository.commit(
        "first",
        {
            "CMakeLists.txt": lists,
            "lib/parts.cpp": parts.format(0) + table.format(100),
            "main.cpp": main,
            "README.md": "x",
        },
    )
    for i in range(3):
        repository.commit("only words", {"README.md": str(i)})
    grown = repository.commit(
        "a bigger table", {"lib/parts.cpp": parts.format(0) + table.format(1100)}
    )
    repository.commit("other start", {"lib/parts.cpp": parts.format(1) + table.format(1100)})
    command = "cmake -S . -B out -G Ninja && cmake --build out"
    done = run(
        repository.path / "lib",
        *(
            "bisect",
            good,
            "main",
            "--build-command",
            command,
            "--image",
            "out/other",
            "--format",
            "json",
            "--metric",
            "symbol/kTable",
        ),
        *("--inputs", "CMakeLists.txt", "--inputs", "lib", "--inputs", "main.cpp"),
    )
    result = json.loads(done.stdout)
    check(result)
    assert [(each["commit"], each["delta"]) for each in result["culprits"]] == [(grown, 1000)]
    assert result["equal_inputs"] == 3
    assert not (repository.path / "out").exists()


def in_process(
    repository: SmallRepository, folder: Path, good: str, bad: str, **more: Any
) -> BisectResult:
    place = MeasurementPlace(repository.path, folder / "trees", Store(folder / "store"))
    question = Question((good, bad), (good, bad), Metric("symbol", "table"), **more)
    with LocalMeasurer(place, 1) as measurer:
        return bisect(place, repository.recipe, question, measurer, lambda news: None)


@pytest.mark.native
def test_merges_are_one_commit_or_a_branch(tmp_path: Path) -> None:
    repository = SmallRepository(tmp_path / "r")
    good = repository.sized(40)
    repository.git("checkout", "-q", "-b", "topic")
    one = repository.sized(140)
    two = repository.sized(100)
    repository.git("checkout", "-q", "main")
    repository.commit("main goes on", {"other.txt": "x"})
    repository.git("merge", "-q", "--no-ff", "-m", "Merge topic", "topic")
    merge = repository.git("rev-parse", "HEAD")
    after = repository.sized(108)
    plain = in_process(repository, tmp_path, good, after)
    assert [(each.commits[0].id, each.delta) for each in plain.culprits] == [
        (merge, 60),
        (after, 8),
    ]
    assert plain.culprits[0].branch is None
    into = in_process(repository, tmp_path, good, after, into_merges=True)
    branch = into.culprits[0].branch
    assert branch is not None
    assert [(each.commits[0].id, each.delta) for each in branch.culprits] == [
        (one, 100),
        (two, -40),
    ]
    assert branch.merge_itself == 0
    page = "".join(bisect_html(into, 0))
    assert page.count("<table") == page.count("</table>") > 2
    assert "{" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    with pytest.raises(InputError, match="is not an ancestor"):
        in_process(repository, tmp_path, after, good)


@pytest.mark.native
def test_a_revert_between_equal_ends_is_found(tmp_path: Path) -> None:
    """The ends of the range are equal.

    Patches or commit messages show that a commit undoes another, despite commits between them.
    """
    repository = SmallRepository(tmp_path / "r")
    good = repository.sized(40)
    for i in range(9):
        repository.commit(f"note {i}", {"notes.h": f"/* {i} */\n"})
    grown = repository.sized(400)
    repository.commit("between", {"notes.h": "/* between */\n"})
    back = repository.sized(40)
    for i in range(3):
        repository.commit(f"more {i}", {"notes.h": f"/* more {i} */\n"})
    bad = repository.git("rev-parse", "HEAD")
    history = line_of(repository.path, good, bad)
    assert undone_pairs(repository.path, history) == [(10, 12)]
    result = in_process(repository, tmp_path, good, bad)
    assert [(each.commits[0].id, each.delta) for each in result.culprits] == [
        (grown, 360),
        (back, -360),
    ]
    assert result.delta == 0
    assert result.builds.done <= 2 * (4 + 2)
    assert result.blind_spot


def test_an_end_that_does_not_build_is_an_error(
    spike: tuple[SmallRepository, dict[str, str]],
) -> None:
    repository, names = spike
    done = run(repository.path, "bisect", names["good"], names["broken 2"], *BUILD, expect=4)
    told = (
        f"error: {names['broken 2']} ({names['broken 2'][:12]}) does not build, but both ends must:"
        " main.c"
    )
    assert done.stderr.splitlines()[-1].startswith(told)
    for arguments, code in (
        (("nothing", "main", *BUILD), 2),
        (("main", names["good"], *BUILD), 2),
        (("--resume", "main", "main"), 2),
        (("main",), 2),
        ((names["good"], "main"), 2),
        ((names["good"], "main", *BUILD, "--ignore", "*"), 2),
        ((names["good"], "main", *BUILD, "--scheduler", "tcp://127.0.0.1:1"), 2),
        ((names["good"], "main", *BUILD, "--exhaustive", "--narrow"), 2),
    ):
        done = run(repository.path, "bisect", *arguments, expect=code)
        assert done.stderr.splitlines()[-1].startswith("error: ")


def test_a_refused_range_leaves_the_last_run(
    spike: tuple[SmallRepository, dict[str, str]],
) -> None:
    """A mistyped command after an interrupt must not make --resume forget the run."""
    repository, names = spike
    state = repository.path / ".git" / "sizeguard" / "bisect.json"
    run(repository.path, "bisect", names["good"], names["good"], *BUILD)
    before = state.read_bytes()
    run(repository.path, "bisect", "main", names["good"], *BUILD, expect=2)
    assert state.read_bytes() == before


class _Page(html.parser.HTMLParser):
    """Collect the names of elements and attributes on a page."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attributes}


HOSTILE = "<script>alert(1)</script> | `x` [a](javascript:1) \x1b[31m ‮ ::error:: \"'"


@pytest.mark.native
def test_hostile_texts_come_out_inert(tmp_path: Path) -> None:
    repository = SmallRepository(tmp_path / "r")
    good = repository.sized(40)
    repository.git("config", "user.name", "x")
    source = (
        (repository.path / "main.c").read_text().replace("[40]", "[140]").replace("% 40", "% 140")
    )
    repository.commit(HOSTILE, {"main.c": source})
    repository.git(
        "commit", "-q", "--amend", "--no-edit", "--author", "|`img src=x onerror=1` <b@example.org>"
    )
    repository.git("tag", "a`b|c<d")
    for format_ in ("terminal", "markdown", "html", "csv", "json"):
        text = run(repository.path, "bisect", good, "a`b|c<d", *BUILD, "--format", format_).stdout
        assert "\x1b" not in text
        if format_ != "json":
            assert "‮" not in text
        if format_ == "html":
            page = _Page()
            page.feed(text)
            assert not page.elements & {"script", "img", "iframe", "link", "object"}
            assert not {name for name in page.attributes if name.startswith("on")}
            assert "default-src 'none'" in text
            assert "http" not in re.sub(r"http-equiv|viewBox", "", text)
        if format_ == "markdown":
            for line in text.splitlines():
                assert "<script>" not in re.sub(r"(`+).*?\1", "", line)
            rows = [line for line in text.splitlines() if line.startswith("| +100")]
            assert rows
            assert all(len(re.split(r"(?<!\\)\|", line)) == 8 for line in rows[:1])


def test_the_plot_marks_culprits(
    spike: tuple[SmallRepository, dict[str, str]], tmp_path: Path
) -> None:
    repository, names = spike
    page = tmp_path / "plot.html"
    run(
        repository.path,
        "bisect",
        names["good"],
        "main",
        *BUILD_IGNORING,
        "--format",
        "html",
        "--output",
        str(page),
    )
    text = page.read_text()
    assert text.count('class="mark ') == 4
    assert text.count('class="failed"') == 2
    assert "+4,000" in text
    assert len(text) < 60_000


def test_builds_on_a_dask_cluster(
    spike: tuple[SmallRepository, dict[str, str]], scheduler: str, tmp_path: Path
) -> None:
    """The workers are separate processes.

    Their measurements equal those of this machine, and are stored on it.
    """
    repository, names = spike
    alone = bisected(repository.path, names["good"], "main", "--ignore", "*.md")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(repository.path), str(clone)], check=True)
    before = state_of_checkout(clone)
    there = bisected(clone, names["good"], "main", "--ignore", "*.md", "--scheduler", scheduler)
    assert there["builds"] == alone["builds"] + alone["reused"]
    for key in ("delta", "neutral"):
        assert there[key] == alone[key]
    assert [each["delta"] for each in there["culprits"]] == [
        each["delta"] for each in alone["culprits"]
    ]
    again = bisected(clone, names["good"], "main", "--ignore", "*.md")
    assert again["builds"] == 0
    assert again["culprits"] == there["culprits"]
    assert state_of_checkout(clone) == before


@pytest.mark.native
def test_a_worker_of_another_toolchain_is_refused(
    spike: tuple[SmallRepository, dict[str, str]], scheduler: str, tmp_path: Path
) -> None:
    from sizeguard.measurement.distributed import DaskMeasurer

    repository, names = spike
    place = MeasurementPlace(repository.path, tmp_path / "trees", Store(tmp_path / "store"))
    recipe, measurer = CommandRecipe("true", "app"), DaskMeasurer(place, scheduler)
    with measurer, pytest.raises(InconclusiveError, match="another toolchain"):
        list(measured_by(measurer, [Wish(names["good"], "not the key", recipe)]))


@pytest.mark.native
@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (CancelledError("lost"), "the connection to tcp://.* was lost"),
        (OSError(28, "No space left on device", "/tmp"), "a worker of tcp://.* No space left"),
    ],
)
def test_a_lost_scheduler_or_a_full_disk_of_a_worker_is_an_error_of_the_build(
    spike: tuple[SmallRepository, dict[str, str]], scheduler: str, tmp_path: Path,
    raised: Exception, said: str, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    from distributed import Future

    from sizeguard.measurement.distributed import DaskMeasurer

    def result(*_: object) -> None:
        raise raised

    monkeypatch.setattr(Future, "result", result)
    repository, names = spike
    place = MeasurementPlace(repository.path, tmp_path / "trees", Store(tmp_path / "store"))
    wish = Wish(names["good"], "not the key", CommandRecipe("true", "app"))
    with DaskMeasurer(place, scheduler) as measurer:
        (attempt,) = measurer.attempts([wish])
    assert isinstance(attempt.error, BuildError)
    assert re.match(said, str(attempt.error))
