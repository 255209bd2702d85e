"""Test the gate's run over all apps: problems, waivers, and terms that the change sets itself.

The images are recorded programs that are measured as found, so nothing is built.
"""

from __future__ import annotations

import datetime
import shutil
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sizeguard.gate.gate_result import FAIL, INCONCLUSIVE, PASS, GateResult
from sizeguard.gate.request import Request
from sizeguard.gate.run import run_gate
from sizeguard.projects.reader import read_config
from tests.support.any_project import AnyProject, made_project
from tests.support.recorded_builds import unpack

CONFIG = """targets: {x86_64-linux: }
limits: {load: 10 KiB}
apps:
  a: {image: a/program, shipped: a/program.stripped}
  b: {image: b/program, shipped: b/program.stripped}
"""
WAIVER = "Size-Waiver: load --bytes 9 --app a --owner me --expires 2999-01-01 --reason 'wanted'"
BASELINE = "baselines/b.x86_64-linux.gcc-12.2.yaml"
VARIABLES = ("GITHUB_ACTIONS", "GITHUB_EVENT_PATH", "GITLAB_CI", "CI")


@dataclass(frozen=True)
class Gated:
    """A project on the branch `change`, which begins at main."""

    project: AnyProject

    def run(self, **options: Any) -> GateResult:
        root = self.project.root
        today = datetime.date(2026, 11, 21)
        with chdir(root):
            return run_gate(Request(root, read_config(root), today=today, **options))

    def on_main(self, text: str | None) -> None:
        """Let main have another sizeguard.yaml; None removes it."""
        here = self.project.git("show", "HEAD:sizeguard.yaml")
        self.project.git("checkout", "--quiet", "main")
        if text is None:
            self.project.git("rm", "--quiet", "sizeguard.yaml")
        else:
            self.project.write({"sizeguard.yaml": text})
        self.project.commit("Set the terms")
        self.project.git("checkout", "--quiet", "-B", "change")
        self.change({"sizeguard.yaml": f"{here}\n"})

    def change(self, files: dict[str, str], message: str = "Change") -> None:
        self.project.write(files)
        self.project.git("add", "--all")
        self.project.git("commit", "--quiet", "--allow-empty", "-m", message)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template")
    programs = unpack("programs", folder)
    project = made_project(folder / "p", CONFIG, {".gitignore": "/a/\n/b/\n"})
    project.git("checkout", "--quiet", "-b", "change")
    for app, name in (("a", "00"), ("b", "01")):
        (project.root / app).mkdir()
        for file in ("program", "program.stripped"):
            shutil.copy(programs / name / file, project.root / app)
    return project.root


@pytest.fixture
def gated(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gated:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    root = tmp_path / "p"
    shutil.copytree(template, root, symlinks=True)
    return Gated(AnyProject(root))


def changes(result: GateResult) -> list[tuple[str, str, bool]]:
    return [(each.what, each.verdict, each.loosens) for each in result.policy_changes]


def test_a_change_without_growth_or_new_terms_passes_twice(gated: Gated) -> None:
    for is_again in (False, True):
        found = gated.run()
        assert (found.verdict, found.exit_code, found.problems) == (PASS, 0, ())
        assert [app.app for app in found.apps] == ["a", "b"]
        assert found.base is not None
        assert found.base.commit == found.head == gated.project.git("rev-parse", "main")
        assert bool(found.skipped) == is_again
        assert changes(found) == []


@pytest.mark.parametrize(("mode", "verdict"), [("note", PASS), ("fail", FAIL)])
def test_the_base_says_whether_looser_limits_fail(gated: Gated, mode: str, verdict: str) -> None:
    """The first run's result is stored; the second one still compares the terms."""
    gated.on_main(f"policy_changes: {mode}\n{CONFIG}")
    gated.change({"sizeguard.yaml": CONFIG.replace("10 KiB", "11 KiB")})
    for _ in range(2):
        found = gated.run()
        assert ("limit loosened", verdict, True) in changes(found)
        assert (found.verdict, found.exit_code) == (verdict, int(verdict == FAIL))
    assert bool(found.skipped)


def test_terms_of_a_base_without_a_policy_are_all_new(gated: Gated) -> None:
    gated.on_main(None)
    found = gated.run()
    assert (changes(found), found.verdict) == ([("policy added", PASS, False)], PASS)
    assert found.policy_changes[0].new == "2 apps, 1 limits"


def test_a_base_whose_terms_cannot_be_read_is_inconclusive(gated: Gated) -> None:
    gated.on_main(CONFIG.replace("10 KiB", "many"))
    found = gated.run()
    assert changes(found) == [("policy replaced", INCONCLUSIVE, True)]
    assert (found.verdict, found.exit_code) == (INCONCLUSIVE, 3)
    main = gated.project.git("rev-parse", "--short=7", "main")
    assert found.policy_changes[0].old.startswith(f"cannot be read: {main}: sizeguard.yaml:")


def test_a_waiver_in_a_commit_message_is_a_term(gated: Gated) -> None:
    """No file of the terms differs from the base."""
    gated.change({}, f"Add more\n\n{WAIVER}")
    found = gated.run()
    assert ("waiver added", PASS, True) in changes(found)
    (use,) = found.waivers
    assert use.waiver.source.startswith("commit ")
    assert (use.state, use.verdict, found.verdict) == ("spent", FAIL, FAIL)
    # Once it is merged, nothing tells whether the growth that it was for needed it
    gated.project.git("checkout", "--quiet", "main")
    gated.project.git("merge", "--quiet", "--no-ff", "-m", "Merge", "change")
    found = gated.run()
    assert [(use.state, use.verdict) for use in found.waivers] == [("unused", PASS)]
    assert found.verdict == PASS


def test_a_malformed_waiver_fails_every_run(gated: Gated) -> None:
    assert gated.run().verdict == PASS
    gated.change({}, "Add more\n\nSize-Waiver: load --bytes")
    head = gated.project.git("rev-parse", "HEAD")
    for _ in range(2):
        found = gated.run()
        (problem,) = found.problems
        assert (found.verdict, found.exit_code, problem.exit_code) == (FAIL, 1, 1)
        assert head[:10] in problem.advice


def test_an_image_that_is_missing_leaves_the_other_apps(gated: Gated) -> None:
    (gated.project.root / "b" / "program").unlink()
    found = gated.run()
    assert [(problem.app, problem.exit_code) for problem in found.problems] == [("b", 4)]
    assert [(app.app, app.verdict) for app in found.apps] == [("a", PASS)]
    assert (found.verdict, found.exit_code) == (FAIL, 4)


def test_a_malformed_baseline_leaves_the_other_apps(gated: Gated) -> None:
    gated.change({BASELINE: "load: no number\n"})
    found = gated.run()
    assert [(problem.app, problem.exit_code) for problem in found.problems] == [("b", 2)]
    assert [(app.app, app.verdict) for app in found.apps] == [("a", PASS)]
    assert (found.verdict, found.exit_code) == (FAIL, 2)


LISTED = "- {metric: load, bytes: 9, reason: r, owner: o, expires: 2999-01-01}\n"


def test_a_waiver_that_nothing_needs_fails_only_a_whole_run(gated: Gated) -> None:
    """A run of some apps, or one with a problem, cannot tell that nothing needs it."""
    gated.change({"baselines/waivers.yaml": LISTED})
    assert [(use.state, use.verdict) for use in gated.run().waivers] == [("spent", FAIL)]
    partly = [gated.run(apps=("a",))]
    (gated.project.root / "b" / "program").unlink()
    partly.append(gated.run())
    for found in partly:
        assert [(use.state, use.verdict) for use in found.waivers] == [("unused", PASS)]
