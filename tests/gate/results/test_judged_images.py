"""Test what a gate run says of each image that it finds: its limits, its base and its growth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sizeguard.builds.build_record import Build
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate.gate_result import NOT_RUN
from sizeguard.snapshots.snapshot import write_snapshot
from tests.support.builds.recorded_builds import recorded_analysis, recorded_images
from tests.support.tricks.any_project import AnyProject
from tests.support.tricks.found_image import gated, project_of

CORE = 21_650  # load of the recorded build without operators


def verdicts(result: dict[str, Any]) -> set[tuple[str, str, str, str]]:
    """List the checks of sizes; those of libraries have no size."""
    return {
        (x["app"], x["metric"], x["kind"], x["verdict"])
        for x in result["checks"]
        if x["metric"] != "needed"
    }


def needed(result: dict[str, Any]) -> list[str]:
    return [x["verdict"] for x in result["checks"] if x["metric"] == "needed"]


def since_core(project: AnyProject) -> tuple[int, dict[str, Any], dict[str, Any]]:
    """Gate against the snapshot of a smaller build; return the code, the result and its app."""
    write_snapshot(project.root / "out" / "core.snapshot", recorded_analysis("core"))
    code, result = gated(project, "--base-snapshot", "out/core.snapshot")
    (app,) = result["apps"]
    return code, result, app


def test_each_app_and_target_has_its_own_limits(tmp_path: Path, recorded_build: Build) -> None:
    """The files are equal; only the app with the small limit fails."""
    apps = (
        "{a: {image: out/app, strip: false, limits: {load: 1 KiB}},"
        " b: {image: out/app, strip: false, limits: {ram: 1 MiB}}}"
    )
    limits = "targets: {x86_64-linux: {limits: {file: 2 MiB}}}\n"
    code, result = gated(project_of(tmp_path, recorded_build, apps, limits))
    assert code == 1
    assert verdicts(result) == {
        ("a", "load", "absolute", FAIL), ("a", "file", "absolute", PASS),
        ("b", "ram", "absolute", PASS), ("b", "file", "absolute", PASS),
    }  # fmt: skip
    assert [(app["app"], app["verdict"]) for app in result["apps"]] == [("a", FAIL), ("b", PASS)]


def test_growth_is_told_by_what_grew(tmp_path: Path, recorded_build: Build) -> None:
    project = project_of(
        tmp_path,
        recorded_build,
        "{a: {image: out/app, strip: false}}",
        "limits: {load: {growth: 0}}\n",
    )
    code, result, app = since_core(project)
    assert code == 1
    assert {each[1:] for each in verdicts(result)} == {
        ("load", "growth", FAIL), ("file", "growth", FAIL),
    }  # fmt: skip
    assert needed(result) == [INCONCLUSIVE]  # the snapshot does not list libraries
    assert (app["verdict"], app["base"], app["old_sizes"]["load"]) == (FAIL, "snapshot", CORE)
    grown = app["sizes"]["load"] - CORE
    assert sum(row["new"] - row["old"] for row in app["growth"]) == grown
    assert sum(row["new"] - row["old"] for row in app["growth_by_file"]) == grown
    assert app["causes"]
    assert (app["growth_since_base"]["load"], app["full"]) == (grown, None)
    assert app["folder"] == ".sizeguard/builds/a.x86_64-linux"


@pytest.mark.parametrize(
    ("limits", "load", "libraries"),
    [
        ("{load: {growth: 1 MiB}}", ("growth", INCONCLUSIVE), INCONCLUSIVE),
        ("{load: 1 MiB}", ("absolute", PASS), NOT_RUN),
    ],
)
def test_a_base_of_another_machine_is_inconclusive_for_limits_of_growth(
    tmp_path: Path, recorded_build: Build, limits: str, load: tuple[str, str], libraries: str
) -> None:
    text = f"limits: {limits}\n"
    project = project_of(tmp_path, recorded_build, "{a: {image: out/app, strip: false}}", text)
    other = recorded_images(tmp_path) / "lib-x86_64"
    code, result = gated(project, "--base-snapshot", str(other))
    assert ("a", "load", *load) in verdicts(result)
    assert needed(result) == [libraries]
    assert code == (3 if libraries == INCONCLUSIVE else 0)


def test_an_image_without_a_base_has_no_growth(tmp_path: Path, recorded_build: Build) -> None:
    limits = "limits: {load: {growth: 1 MiB}}\n"
    project = project_of(tmp_path, recorded_build, "{a: {image: out/app, strip: false}}", limits)
    code, result = gated(project)
    (app,) = result["apps"]
    assert code == 0
    assert ("a", "load", "growth", NOT_RUN) in verdicts(result)
    assert (app["old_sizes"], app["growth"], app["base"], app["causes"]) == (None, [], "", [])
    assert (app["growth_by_file"], app["growth_since_base"]) == ([], None)


WAIVER = "{metric: load, bytes: 100, reason: tiles, owner: ann, expires: 2999-01-31}"
TRAILER = "Size-Waiver: load --bytes 300 --owner ann --reason tiles --expires 2999-01-31"


def uses(result: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["state"], each["verdict"]) for each in result["waivers"]]


def test_only_a_whole_run_knows_that_a_waiver_is_spent(
    tmp_path: Path, recorded_build: Build
) -> None:
    apps = "{a: {image: out/app, strip: false}, b: {image: out/app, strip: false}}"
    project = project_of(tmp_path, recorded_build, apps)
    project.write({"baselines/waivers.yaml": f"- {WAIVER}\n"})
    code, result = gated(project)
    assert (code, uses(result)) == (1, [("spent", FAIL)])
    code, result = gated(project, "--app", "a")
    assert (code, uses(result)) == (0, [("unused", PASS)])
    # An app that was not measured may need it
    text = (project.root / "sizeguard.yaml").read_text()
    project.write({"sizeguard.yaml": text.replace("b: {image: out/app", "b: {image: out/gone")})
    code, result = gated(project)
    assert (code, uses(result)) == (4, [("unused", PASS)])
    assert [problem["app"] for problem in result["problems"]] == ["b"]


def test_a_trailer_is_spent_until_it_is_merged(tmp_path: Path, recorded_build: Build) -> None:
    project = project_of(tmp_path, recorded_build, "{a: {image: out/app, strip: false}}")
    project.write({"x.txt": "1"})
    project.commit(f"Grow\n\n{TRAILER}")
    code, result = gated(project, "--base", "main")
    assert (code, uses(result), result["base"]["merged"]) == (1, [("spent", FAIL)], False)
    project.git("branch", "--force", "main", "HEAD")
    code, result = gated(project, "--base", "main")
    assert (code, result["base"]["merged"]) == (0, True)
    assert ("spent", FAIL) not in uses(result)
