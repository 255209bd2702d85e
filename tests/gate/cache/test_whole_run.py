"""Test the gate's run over all apps: problems, waivers, and terms that the change sets itself.

The images are recorded programs that are measured as found, so nothing is built.
"""

from __future__ import annotations

import datetime
import shutil
import subprocess
import sys
from contextlib import chdir
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate import judged_app, run
from sizeguard.gate.cache import fan_out
from sizeguard.gate.causes.growth_result import SizeGrowth
from sizeguard.gate.changed_terms import changed_terms, with_accepted_growth
from sizeguard.gate.gate_result import (
    MEASURED,
    REVIEWED,
    AppResult,
    Base,
    GateResult,
    Problem,
    SelectionFinding,
)
from sizeguard.gate.policy.terms_result import PolicyChange
from sizeguard.gate.request import Request
from sizeguard.gate.run import run_gate
from sizeguard.gate.selection import all_apps
from sizeguard.projects.project import App, Target
from sizeguard.projects.reader import read_config
from sizeguard.report.gate.render import gate_text
from sizeguard.report.writers.style import Style
from tests.support.builds.recorded_builds import unpack
from tests.support.results.gate_samples import passing
from tests.support.tricks.any_project import AnyProject, made_project

pytestmark = pytest.mark.native

CONFIG = """targets: {x86_64-linux: }
limits: {load: 10 KiB}
apps:
  a: {image: a/program, shipped: a/program.stripped}
  b: {image: b/program, shipped: b/program.stripped}
"""
WAIVER = "Size-Waiver: load --bytes 9 --app a --owner me --expires 2999-01-01 --reason 'wanted'"
BASELINE = "baselines/b.x86_64-linux.gcc-12.2.yaml"
TODAY = datetime.date(2026, 11, 21)
VARIABLES = ("GITHUB_ACTIONS", "GITHUB_EVENT_PATH", "GITLAB_CI", "CI")


@dataclass(frozen=True)
class Gated:
    """A project on the branch `change`, which begins at main."""

    project: AnyProject

    def run(self, **options: Any) -> GateResult:
        root = self.project.root
        with chdir(root):
            return run_gate(Request(root, read_config(root), today=TODAY, **options))

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


def test_a_skipped_run_names_no_build_that_is_gone_or_of_other_files(gated: Gated) -> None:
    root = gated.project.root
    first = {app.app: root / app.folder for app in gated.run().apps}
    shutil.rmtree(first["a"])
    assert built(gated.run()) == {"b"}
    record = first["b"] / "build.json"
    record.write_text(record.read_text().replace('"fingerprint": "', '"fingerprint": "0'))
    assert built(gated.run()) == set()
    assert built(gated.run(again=True)) == built(gated.run()) == {"a", "b"}


def built(result: GateResult) -> set[str]:
    """Return the apps whose build a result names."""
    return {app.app for app in result.apps if app.folder}


def test_the_terminal_says_that_a_build_is_gone() -> None:
    (app,) = passing().apps
    for folder in (app.folder, ""):
        result = replace(passing(), apps=(replace(app, unchanged=True, folder=folder),))
        told = gate_text(result, "terminal", Style(full=True))
        assert ("build is gone; --again makes it" in told) == (not folder)


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
    assert found.policy_changes[0].new == "2 apps, 1 limit"


def test_a_base_whose_terms_cannot_be_read_is_inconclusive(gated: Gated) -> None:
    gated.on_main(CONFIG.replace("10 KiB", "many"))
    found = gated.run()
    assert changes(found) == [("policy replaced", INCONCLUSIVE, True)]
    assert (found.verdict, found.exit_code) == (INCONCLUSIVE, 3)
    main = gated.project.git("rev-parse", "--short=7", "main")
    assert found.policy_changes[0].old.startswith(f"cannot be read: {main}: sizeguard.yaml:")


def test_terms_behind_a_link_that_leads_out_of_the_repository_are_inconclusive(
    gated: Gated,
) -> None:
    """No commit shows how such a file changes."""
    name, outside = "baselines/waivers.yaml", gated.project.root.parent / "waivers.yaml"
    outside.write_text("[]\n")
    path = gated.project.root / name
    path.parent.mkdir()
    path.symlink_to(outside)
    gated.change({})
    here = gated.run()
    gated.project.git("branch", "--force", "main", "HEAD")
    gated.change({})
    both = gated.run()
    path.unlink()
    gated.change({name: "[]\n"})
    then = gated.run()
    commit = gated.project.git("rev-parse", "--short=7", "main")
    out = "a link leads out of the repository"
    before = f"cannot be read: {commit}: {out}"
    texts = [("", out), (before, out), (before, "is in the repository")]
    for found, (old, new) in zip((here, both, then), texts, strict=True):
        (change,) = found.policy_changes
        assert (change.name, change.old, change.new) == (name, old, new)
        assert (change.what, change.loosens) == ("policy replaced", True)
        assert (change.verdict, found.verdict, found.exit_code) == (INCONCLUSIVE, INCONCLUSIVE, 3)


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


def test_a_waiver_in_a_commit_message_is_seen_beside_the_base_s_own(gated: Gated) -> None:
    gated.project.git("checkout", "--quiet", "main")
    gated.change({"baselines/waivers.yaml": LISTED})
    gated.project.git("checkout", "--quiet", "-B", "change")
    gated.change({}, f"Add more\n\n{WAIVER}")
    assert changes(gated.run()) == [("waiver added", PASS, True)]


def test_inputs_of_models_are_terms(gated: Gated) -> None:
    """Nothing but an input beside the model differs from the base."""
    files = {"m/model.pt2": "model", "m/case0.npy": "1", "a.yaml": "operators: {}\n"}
    selective = "targets: {x86_64-linux: }\napps: {a: {selection: a.yaml, models: [m/model.pt2]}}\n"
    gated.change({**files, "sizeguard.yaml": selective})
    base = Base(gated.project.git("rev-parse", "HEAD"), "main")
    gated.change({"m/case0.npy": "2"})
    root = gated.project.root
    request: Any = SimpleNamespace(
        root=root, config=read_config(root), limits=(), is_selective=True, has_own_sources=False,
        models=SimpleNamespace(case_role=lambda name: "input" if name.endswith("npy") else ""),
        history=SimpleNamespace(trailers=lambda *_: [], changes_since=lambda base: base.commit),
    )  # fmt: skip
    (change,) = changed_terms(request, base, ())
    assert (change.what, change.place, change.loosens) == ("input replaced", "m/case0.npy", True)


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


def test_images_are_built_at_once_only_if_asked(
    gated: Gated, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(fan_out, "build_at_once", lambda request, base: asked.append(base))
    assert (gated.run().verdict, asked) == (PASS, [])
    measurer = SimpleNamespace()
    found = gated.run(measurer=measurer, again=True)
    assert (found.verdict, asked) == (PASS, [found.base])


def test_selections_are_checked_once_for_all_targets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the full builds that there are show what can be selected."""
    app = App("a", tmp_path / "a.yaml", (), ("x", "y"))
    pairs = [(app, Target(name, "x86_64-linux")) for name in app.targets]
    built = [SimpleNamespace(app=a, target=t, full=t.name == "x" or None) for a, t in pairs]
    asked = []

    def check(root: Path, apps: object, fulls: object, *_: object, **more: object) -> Any:
        asked.append((apps, fulls, more["surplus"]))
        finding = SelectionFinding("a", "operator", "aten::x", FAIL, "needed")
        return (finding,), (Problem("a", "", "malformed", "fix it", 2),)

    def judge(*_: object) -> Any:
        return AppResult("a", "t", "gcc", PASS, None, None, (), (), (), (), None), ()

    def build(tree: object, *_: object) -> Any:
        assert tree == "sources"
        return built, []

    monkeypatch.setattr(run, "build_pairs", build)
    monkeypatch.setattr(judged_app, "judge_app", judge)
    monkeypatch.setattr(all_apps, "check_selections", check)
    request: Any = SimpleNamespace(
        pairs=lambda: pairs, is_selective=True, tree="sources", heads=None, measurer=None,
        source=None, root=tmp_path,
        history=SimpleNamespace(place=SimpleNamespace(store=None), head=None),
        config=SimpleNamespace(surplus="note"), today=TODAY, is_whole=True,
    )  # fmt: skip
    found = run._gate(request, None, ())
    assert asked == [((app,), [True], "note")]
    assert [app.app for app in found.apps] == ["a", "a"]
    assert (found.verdict, found.exit_code, len(found.problems)) == (FAIL, 1, 1)


GROWN = SizeGrowth(1, 0, 0)


@pytest.mark.parametrize("mode", ["note", "fail"])
@pytest.mark.parametrize(
    ("source", "growth", "counts"),
    [
        (REVIEWED, GROWN, True),
        (REVIEWED, SizeGrowth(-9, 1, 0), True),
        (REVIEWED, SizeGrowth(-9, 0, 1), True),
        (REVIEWED, SizeGrowth(0, -1, 0), False),
        (REVIEWED, None, False),
        (MEASURED, GROWN, False),
    ],
)
def test_a_baseline_that_accepts_growth_is_loosened(
    gated: Gated, mode: str, source: str, growth: SizeGrowth | None, counts: bool
) -> None:
    """Only that of an app whose growth is counted from it, and that grew since the merge base."""
    gated.on_main(f"policy_changes: {mode}\n{CONFIG}")
    root = gated.project.root
    app = AppResult("b", "x86_64-linux", "gcc-12.2", PASS, None, None, (), (), (), (), None)
    app = replace(app, base=source, growth_since_base=growth)
    other = replace(app, app="a", base=REVIEWED, growth_since_base=GROWN)
    change = PolicyChange("baseline replaced", BASELINE, "2", "1", False)
    accepted = replace(change, accepted="commit 4f2a91c")
    more = PolicyChange("target added", "t", "", "t", False)
    base = Base(gated.project.git("rev-parse", "main"), "main")
    request = Request(root, read_config(root))
    result = GateResult(PASS, (app, other))
    verdict = FAIL if mode == "fail" else PASS
    for each, expected in ((change, verdict), (accepted, PASS)):
        found = with_accepted_growth(request, base, result, (more, each))
        loosened = replace(each, loosens=True, verdict=expected)
        assert found == ((loosened, more) if counts else (more, each))
    is_looser = (replace(change, loosens=True, verdict=FAIL),)
    assert with_accepted_growth(request, base, result, is_looser) == is_looser
    assert with_accepted_growth(request, None, result, (change,)) == (change,)


def test_a_baseline_beside_a_base_without_a_policy_is_only_noted(gated: Gated) -> None:
    gated.on_main(None)
    root = gated.project.root
    app = AppResult("b", "x86_64-linux", "gcc-12.2", PASS, None, None, (), (), (), (), None)
    app = replace(app, base=REVIEWED, growth_since_base=GROWN)
    base = Base(gated.project.git("rev-parse", "main"), "main")
    change = PolicyChange("baseline added", BASELINE, "", "1", False)
    request = Request(root, read_config(root))
    (found,) = with_accepted_growth(request, base, GateResult(PASS, (app,)), (change,))
    assert (found.loosens, found.verdict) == (True, PASS)


def test_a_gate_without_changes_imports_no_numpy() -> None:
    """Importing it takes a fifth of the time of such a gate."""
    modules = (
        "gate.cache.whole_run",
        "gate.request",
        "gate.run",
        "runtimes.sizeguard.native_models",
    )
    imports = "".join(f"import sizeguard.{module}\n" for module in modules)
    code = f"import sys\n{imports}sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
