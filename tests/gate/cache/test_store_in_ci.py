"""The store in CI: the runs that write it, the results that are reused, and installed tools."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from ci.action.machines import machines
from sizeguard.base.errors import BuildError
from sizeguard.claims.verdict import PASS
from sizeguard.gate.cache.whole_run import earlier_result, keep_result
from sizeguard.gate.gate_result import GateResult
from sizeguard.gate.request import Request
from sizeguard.projects.reader import read_config
from sizeguard.runtimes.sizeguard.building.driver import _configure
from sizeguard.runtimes.sizeguard.building.variants import Variant
from sizeguard.runtimes.sizeguard.native_tree import CONFIGURED
from sizeguard.toolchains.toolchain import find_toolchain
from tests.support.places import ROOT
from tests.support.results.gate_samples import passing
from tests.support.services.workflow_expressions import Context
from tests.support.tricks.any_project import CONFIG, SOURCES, made_project

STEPS = {
    step["name"]: step
    for step in yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
}
# event, ref → whether its measurements are saved for other runs
WRITERS = {
    ("push", "refs/heads/main"): True,
    ("schedule", "refs/heads/main"): True,
    ("workflow_dispatch", "refs/heads/main"): True,
    ("push", "refs/heads/release/1"): False,
    ("push", "refs/heads/mainly"): False,
    ("push", "refs/tags/main"): False,
    ("pull_request", "refs/pull/7/merge"): False,
    ("pull_request_target", "refs/heads/main"): False,
    ("pull_request_review", "refs/heads/main"): False,
    ("workflow_run", "refs/heads/main"): False,
    ("issue_comment", "refs/heads/main"): False,
    ("repository_dispatch", "refs/heads/main"): False,
    ("merge_group", "refs/heads/gh-readonly-queue/main/pr-7-abc"): False,
}


@pytest.mark.parametrize("failed", [False, True])
@pytest.mark.parametrize(("event", "ref"), WRITERS)
def test_the_default_branch_alone_writes(event: str, ref: str, failed: bool) -> None:
    values = {
        "github.event_name": event,
        "github.ref": ref,
        "github.event.repository.default_branch": "main",
        "inputs.store": "true",
        "steps.check.outputs.key": "Linux-x86_64-0",
    }
    save, restore = (STEPS[f"{what} the store"]["if"] for what in ("Save", "Restore"))
    assert Context(values, failed).holds(save) == WRITERS[event, ref]
    assert Context(values).holds(restore)
    for without in ("inputs.store", "steps.check.outputs.key"):
        assert not Context({**values, without: ""}, failed).holds(save)
    assert not Context({**values, "inputs.store": "false"}).holds(restore)


EXPRESSIONS = {
    "always() && 'a' == 'A'": True,
    "failure() || steps.x.outputs.y": "z",
    "!startsWith(github.ref, 'refs/')": False,
    "format('{0}-{1}-{0}', 'it''s', 2)": "it's-2-it's",
    "github.nothing || 'other'": "other",
    "(true && false) != true": True,
}


def test_expressions_are_githubs() -> None:
    context = Context({"github.ref": "refs/x", "steps.x.outputs.y": "z"})
    for text, value in EXPRESSIONS.items():
        assert context.evaluate(text) == value, text
    assert context.text("a ${{ github.ref }} ${{ true }}") == "a refs/x true"
    for wrong in ("contains('a', 'b')", "secrets.x", "a b", "1 + 2"):
        with pytest.raises((ValueError, IndexError)):
            context.evaluate(wrong)


CONFIGS = """
targets:
  x86_64-linux:
  phone: {machine: arm64-android}
  desk: {machine: x86_64-linux, compiler: clang}
apps:
  one: {selection: s.yaml, models: [m.pt2], targets: [x86_64-linux]}
  two: {selection: s.yaml, models: [m.pt2], targets: [phone, desk]}
  other: {build: make, image: a, targets: [phone]}
"""


def test_the_tools_of_the_requested_machines_alone_are_installed(tmp_path: Path) -> None:
    assert machines(tmp_path, [], []) == []
    (tmp_path / "sizeguard.yaml").write_text(CONFIGS)
    everything = ["arm64-android", "clang", "x86_64-linux"]
    assert machines(tmp_path, [], []) == everything
    assert machines(tmp_path, ["one"], []) == ["x86_64-linux"]
    assert machines(tmp_path, ["two"], ["phone"]) == ["arm64-android"]
    assert machines(tmp_path, ["two"], ["desk"]) == ["clang", "x86_64-linux"]
    assert machines(tmp_path, ["other"], []) == []
    ours = ["aarch64-linux", "arm64-macos", "x86_64-linux"]
    assert machines(ROOT, [], []) == ours
    assert machines(ROOT, ["vision"], ["arm64-macos"]) == ["arm64-macos"]


def test_a_stored_result_counts_only_for_the_requested_builds(tmp_path: Path) -> None:
    project = made_project(tmp_path / "work")
    request = Request(project.root, read_config(project.root))
    (pair,) = request.pairs()
    app = replace(passing().apps[0], app=pair[0].name, target=pair[1].name)
    other = replace(app, target="aarch64-linux")
    for number, apps in enumerate(([app], [other], [], [app, other], [app, app])):
        key = f"{number:0>64}"
        keep_result(request, key, GateResult(PASS, tuple(apps)))
        found = earlier_result(request, key, None)
        assert (found is not None) == (apps == [app]), apps


@pytest.mark.native
def test_a_failed_configuration_of_the_runtime_leaves_nothing(tmp_path: Path) -> None:
    native, folder = tmp_path / "native", tmp_path / "build"
    native.mkdir()
    begin = "cmake_minimum_required(VERSION 3.20)\nproject(x NONE)\n"
    seen = 'set(SEEN "first" CACHE STRING "")\nmessage(STATUS "seen ${SEEN}")\n'
    variant, tools = Variant("full"), find_toolchain("gcc", "bfd")
    folder.mkdir()
    (native / "CMakeLists.txt").write_text(begin + seen + "message(FATAL_ERROR stop)\n")
    for _ in range(2):  # the second run configures again
        with pytest.raises(BuildError, match="configuring build failed"):
            _configure(tmp_path, variant, tools, folder)
        assert not (folder / CONFIGURED).exists()
    assert "SEEN:STRING=first" in (folder / "CMakeCache.txt").read_text()
    (native / "CMakeLists.txt").write_text(begin + seen.replace("first", "second"))
    _configure(tmp_path, variant, tools, folder)
    assert "seen second" in (folder / "configure.log").read_text()
    assert (folder / CONFIGURED).is_file()


@pytest.mark.native
def test_a_failed_configuration_of_a_project_leaves_nothing(tmp_path: Path) -> None:
    """After a setup that failed halfway, the next one in the same place starts from scratch."""
    cmake = SOURCES["CMakeLists.txt"]
    stuck = cmake + 'set(MODE "broken" CACHE STRING "")\nmessage(FATAL_ERROR stop)\n'
    good = cmake + 'set(MODE "good" CACHE STRING "")\nif(MODE STREQUAL broken)\n'
    good += "  message(FATAL_ERROR stuck)\nendif()\n"
    project = made_project(tmp_path / "work", CONFIG, {**SOURCES, "CMakeLists.txt": stuck})
    result = tmp_path / "gate.json"
    assert project.run("gate", "--also", f"json={result}").code == 4
    project.write({"CMakeLists.txt": good})
    project.commit("Mend the configuration")
    ended = project.run("gate", "--base", "HEAD~1", "--also", f"json={result}")
    (app,) = json.loads(result.read_text())["apps"]
    assert (ended.code, app["sizes"] is not None) == (3, True), ended.err
    assert project.run("gate", "--base", "HEAD", "--also", f"json={result}").code in (0, 3)
