"""Culprits that sizeguard bisect finds in real repositories of small programs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sizeguard.base.errors import InputError
from sizeguard.bisect.bisect_result import BisectResult
from sizeguard.bisect.whole_range import Question, bisect
from sizeguard.git.commits import line_of, undone_pairs
from sizeguard.measurement.measured_commits import MeasurementPlace
from sizeguard.measurement.measurers import LocalMeasurer
from sizeguard.measurement.metric import Metric
from sizeguard.report.bisect.render import bisect_chunks
from sizeguard.snapshots.store import Store
from tests.support.histories.bisect_runs import BUILD, BUILD_IGNORING, bisected, check, run
from tests.support.histories.small_history import SmallRepository, state_of_checkout


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
    page = "".join(bisect_chunks(into, "html", 0))
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
