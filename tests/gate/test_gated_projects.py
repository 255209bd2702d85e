"""The gate of a project with build commands: its base, its terms, and runs that are skipped."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.tricks.any_project import AnyProject
from tests.support.tricks.c_project import GROWN, SOURCES, config_of, project_of, result_of


@pytest.mark.native
def test_a_snapshot_stands_for_the_base_and_needs_no_baseline(tmp_path: Path) -> None:
    project = project_of(tmp_path, "limits: {load: {growth: 256 B}}")
    subprocess.run(["make", "-s", "app"], cwd=project.root, check=True)
    assert project.run("gate").code == 0
    made = ".sizeguard/builds/a.x86_64-linux"
    assert project.run("report", made, "--save", "base.snapshot").code == 0
    held = project.run("gate", "--base-snapshot", "base.snapshot", "--format", "json")
    growth = {c["metric"]: c for c in result_of(held)["checks"] if c["kind"] == "growth"}
    assert (growth["load"]["verdict"], growth["load"]["since"]) == (
        "pass",
        "snapshot base.snapshot (names no commit or inputs)",
    )
    assert result_of(held)["apps"][0]["base"] == "snapshot"

    project.write({"lib.c": SOURCES["lib.c"] + GROWN})
    subprocess.run(["make", "-s", "app"], cwd=project.root, check=True)
    grown = result_of(project.run("gate", "--base-snapshot", "a=base.snapshot", "--format", "json"))
    assert "a/x86_64-linux/load/growth" in [
        check["id"] for check in grown["checks"] if check["verdict"] == "fail"
    ]
    assert grown["apps"][0]["causes"][0]["symbol"] == "g"

    for words, message in (
        (["b=base.snapshot"], "has no app 'b'"),
        (["missing.snapshot"], "missing.snapshot: no such file"),
        (["Makefile"], "Makefile"),
    ):
        done = project.run("gate", "--base-snapshot", *words)
        assert done.code == 2, done
        assert message in done.err + done.out


@pytest.mark.native
def test_a_run_with_nothing_changed_is_skipped_also_where_nothing_was_built(tmp_path: Path) -> None:
    project = project_of(
        tmp_path, "build: make app", "ignore: '*.md'", "limits: {load: {growth: 256 B}}"
    )
    project.write({"NOTES.md": "Notes.\n"})
    assert project.run("baseline", "update").code == 0
    project.commit("Review the sizes")
    # The first gate of a clone learns which files its builds read. Its inputs stay the same.
    shutil.rmtree(project.root / ".sizeguard")
    assert result_of(project.run("gate", "--format", "json"))["skipped"] == ""
    assert result_of(project.run("gate", "--format", "json"))["skipped"]

    # As in CI: only a document changes, and the checkout has the store but no builds
    project.git("checkout", "--quiet", "-b", "change")
    project.write({"NOTES.md": "Read by people.\n"})
    project.commit("Add notes")
    (project.root / ".sizeguard" / "builds").rename(tmp_path / ".sizeguard" / "gone")
    done = project.run("gate", "--format", "json")
    assert result_of(done)["skipped"]
    assert result_of(done)["apps"][0]["growth_since_base"] == {"load": 0, "ram": 0, "file": 0}
    assert "building" not in done.err

    for name, text in (
        ("sizeguard.yaml", config_of("build: make app", "limits: {load: 1 B}")),
        ("lib.c", SOURCES["lib.c"] + GROWN),
    ):
        project.write({name: text})
        assert project.run("gate").code == 1
        project.git("checkout", "--quiet", "--", ".")
    assert project.run("gate", "--again", "--format", "json").out.count('"skipped": ""') == 1


@pytest.mark.native
def test_a_change_cannot_bring_builds_along(tmp_path: Path) -> None:
    project = project_of(tmp_path, "build: make app", "limits: {load: 1 B}")
    project.write({".sizeguard/builds/a.x86_64-linux/build.json": "{}"})
    project.commit("Bring a build")
    done = project.run("gate")
    assert done.code == 2
    assert "git tracks .sizeguard/builds/a.x86_64-linux/build.json" in done.err


@pytest.mark.native
def test_a_change_of_commands_files_or_claims_is_listed(tmp_path: Path) -> None:
    lines = ("build: make app", "absent: [nothing]", "limits: {load: 1 MiB}")
    project = project_of(tmp_path, *lines)
    project.run("baseline", "update")
    project.commit("Review the sizes")
    project.git("checkout", "--quiet", "-b", "change")
    changed = (
        "build: make app MORE=-DNDEBUG", "ignore: '*.txt'", "timeout: 1 h", "strip: false",
        "absent: [nothing, other]", "limits: {load: 1 MiB}",
    )  # fmt: skip
    project.write({"sizeguard.yaml": config_of(*changed)})
    listed = {
        change["name"]: (change["old"], change["new"], change["loosens"])
        for change in result_of(project.run("gate", "--format", "json"))["policy_changes"]
    }
    at = "a for x86_64-linux"
    assert listed[f"{at} build"] == ("make app", "make app MORE=-DNDEBUG", True)
    assert listed[f"{at} ignore"] == ("", "*.txt", True)
    assert listed[f"{at} strip"] == ("", "false", True)
    assert listed[f"{at} absent"] == ("nothing", "nothing, other", False)
    assert listed[f"{at} timeout"] == ("1800", "3600", False)
    assert len(listed) == 5


@pytest.mark.native
def test_a_base_that_is_head_is_named_so(tmp_path: Path) -> None:
    """There is no growth since it; growth is counted from its parent."""
    project = project_of(tmp_path, "build: make app", "limits: {load: {growth: 64 B}}")
    project.write({"NOTES.md": "words\n"})
    project.commit("Add notes")
    done = project.run("gate")
    assert ", HEAD itself" in done.out
    assert "since merge base" not in done.out
    found = result_of(project.run("gate", "--format", "json"))
    assert found["base"]["text"] == "HEAD itself"
    assert found["apps"][0]["base"] == "first parent"
    project.git("checkout", "--quiet", "-b", "change")
    project.write({"lib.c": SOURCES["lib.c"] + GROWN})
    project.commit("Grow")
    done = project.run("gate")
    assert "HEAD itself" not in done.out
    assert "since merge base" in done.out


@pytest.mark.native
def test_a_repository_without_commits_is_judged_by_absolute_limits(tmp_path: Path) -> None:
    project = AnyProject(tmp_path)
    project.git("init", "--quiet", "--initial-branch=main")
    limits = "limits: {load: {max: 1 MiB, growth: 64 B}}"
    project.write({**SOURCES, "sizeguard.yaml": config_of("build: make", limits)})
    ended = project.run("gate", "--format", "json")
    result = result_of(ended)
    assert (ended.code, result["base"]["text"].partition(";")[0]) == (0, "there is no commit yet")
    verdicts = {(check["kind"], check["verdict"]) for check in result["checks"]}
    assert verdicts == {("absolute", "pass"), ("growth", "not_run"), ("needed", "not_run")}
    project.write({"sizeguard.yaml": config_of("build: make", limits.replace("1 MiB", "1 KiB"))})
    assert project.run("gate").code == 1
    assert project.run("baseline", "update").code == 0
    for words, code in (
        (("bisect", "HEAD~1", "HEAD", "--app", "a"), 2),
        (("gate", "--base", "main"), 3),
        (("baseline", "log"), 3),
    ):
        ended = project.run(*words)
        assert (ended.code, "there is no commit yet" in ended.err) == (code, True), ended
    project.git("commit", "--quiet", "--allow-empty", "-m", "Begin")
    project.git("checkout", "--quiet", "--orphan", "other")
    ended = project.run("gate")
    assert (ended.code, "with a checked-out commit" in ended.err) == (2, True)


@pytest.mark.native
def test_files_that_steps_of_ci_left_are_no_change_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last commit of the main branch would else not be judged."""
    project = project_of(tmp_path, "build: make", "limits: {load: {growth: 64 B}}")
    project.write({"lib.c": SOURCES["lib.c"] + GROWN})
    project.commit("Grow")
    project.write({"left.c": "int left;\n"})
    assert project.run("gate").code == 0  # the files that are not committed are the change
    monkeypatch.setenv("CI", "true")
    ended = project.run("gate")
    assert (ended.code, "grew" in ended.out) == (1, True)
