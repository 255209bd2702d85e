"""Decisions of the gate at their edges: bases that CI names, problems, results without a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.base.errors import GateError, InconclusiveError, InputError, SizeguardError
from sizeguard.builds.build_record import Build
from sizeguard.builds.open_build import Files
from sizeguard.builds.sizes import Sizes
from sizeguard.builds.unknown_sections import unknown_sections
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, OK, PASS, Verification
from sizeguard.gate import elimination, run
from sizeguard.gate.cache.requested_claims import RequestedClaims, full_beside
from sizeguard.gate.causes.growth_result import SizeGrowth
from sizeguard.gate.elimination import check_named_claims, judged_elimination
from sizeguard.gate.gate_result import MEASURED, NOT_RUN, REVIEWED, SNAPSHOT, Base, Problem
from sizeguard.gate.judged_app import run_models
from sizeguard.gate.policy.baselines import tools_text
from sizeguard.gate.policy.checks import SizeReference
from sizeguard.gate.reference.base_branch import how_to_fetch, named_base
from sizeguard.gate.reference.base_growth import growth_since_base
from sizeguard.gate.reference.ci_event import Candidate, CiEvent
from sizeguard.gate.reference.not_measured import may_be_written, not_measured
from sizeguard.gate.request import Request
from sizeguard.gate.run import all_waivers
from sizeguard.gate.verified_builds import list_claims
from sizeguard.measurement.measurement import Measurement
from sizeguard.projects.project import App, BuildSteps, ImageFiles, Target
from sizeguard.projects.reader import read_config
from sizeguard.toolchains.toolchain import Toolchain
from tests.support.builds.recorded_builds import RecordedRuntime, recorded_images, recorded_runtime
from tests.support.histories.drawn_history import run_git
from tests.support.places import ROOT


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> RecordedRuntime:
    return recorded_runtime(tmp_path_factory.mktemp("recorded"))


@pytest.fixture
def merged(tmp_path: Path) -> Path:
    """Make a repository whose HEAD merges the branch change into main."""
    root = tmp_path / "clone"
    root.mkdir()
    run_git(root, "init", "-q", "-b", "main")
    for branch in ("main", "change"):
        run_git(root, "checkout", "-q", "-B", branch)
        run_git(root, "commit", "-q", "--allow-empty", "-m", branch)
    run_git(root, "checkout", "-q", "main")
    run_git(root, "merge", "-q", "--no-ff", "-m", "merge", "change")
    return root


GONE = Candidate("1" * 40, "main")


def test_a_revision_that_is_asked_for_comes_first(merged: Path) -> None:
    event = CiEvent((Candidate("change", "change"),))
    assert named_base(merged, "main", event) == Candidate("main", "main")
    assert named_base(merged, "", event) == Candidate("change", "change")
    assert named_base(merged, "", CiEvent()) is None


@pytest.mark.parametrize("pushed", [True, False])
@pytest.mark.parametrize("asked", ["", "gone"])
@pytest.mark.parametrize("is_shallow", [True, False])
def test_a_base_that_is_gone_is_inconclusive_except_after_a_forced_push(
    merged: Path, tmp_path: Path, pushed: bool, asked: str, is_shallow: bool
) -> None:
    root = merged
    if is_shallow:
        root = tmp_path / "shallow"
        run_git(tmp_path, "clone", "-q", "--depth", "1", f"file://{merged}", str(root))
    event = CiEvent((GONE,), pushed=pushed)
    if pushed and not asked and not is_shallow:
        assert named_base(root, asked, event) is None
        return
    with pytest.raises(InconclusiveError) as raised:
        named_base(root, asked, event)
    assert f"unknown base '{asked or 'main'}'" in str(raised.value)
    assert ("the clone is shallow" in str(raised.value)) == is_shallow


def test_outside_of_git_nothing_is_shallow(tmp_path: Path) -> None:
    assert how_to_fetch(tmp_path) == "git fetch origin"


def test_the_first_parent_of_a_merge_that_ci_made_is_the_target_branch(merged: Path) -> None:
    head, parent = (run_git(merged, "rev-parse", name) for name in ("HEAD", "HEAD^1"))
    found = Candidate(parent, "main")
    assert named_base(merged, "", CiEvent((GONE,), merge=head)) == found
    # A branch that exists comes first, and a third one after the parent
    third = Candidate("change", "change")
    assert named_base(merged, "", CiEvent((third, GONE), merge=head)) == third
    assert named_base(merged, "", CiEvent((GONE, third), merge=head)) == found
    assert named_base(merged, "", CiEvent((GONE, third), merge=parent)) == third
    assert named_base(merged, "", CiEvent((GONE, third))) == third
    # Without a branch there is no name for the parent
    assert named_base(merged, "", CiEvent((), merge=head)) is None
    run_git(merged, "checkout", "-q", "change")
    change = run_git(merged, "rev-parse", "HEAD")
    with pytest.raises(InconclusiveError):
        named_base(merged, "", CiEvent((GONE,), merge=change))  # has one parent


@pytest.mark.parametrize(
    ("app", "target", "words"),
    [
        ("", "", "run sizeguard gate"),
        ("a", "", "run sizeguard gate --app a"),
        ("", "t", "run sizeguard gate --target t"),
        ("a", "t", "run sizeguard gate --app a --target t"),
    ],
)
def test_a_problem_says_what_to_run_again(app: str, target: str, words: str) -> None:
    found = Problem.of(InputError("bad"), app, target)
    assert (found.app, found.target, found.message, found.exit_code) == (app, target, "bad", 2)
    assert found.advice == f"fix it, then {words}"


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (InconclusiveError("x"), INCONCLUSIVE), (InputError("x"), FAIL), (GateError("x"), FAIL),
    ],
)  # fmt: skip
def test_a_problem_is_never_passed(error: SizeguardError, verdict: str) -> None:
    request: Any = SimpleNamespace(history=SimpleNamespace(head=None))
    for problems in ((Problem.of(error, "a", "t"),), (Problem.of(error, "", ""),) * 2):
        found = run._result(request, None, (), (), problems, ())
        assert (found.verdict, found.problems, found.head) == (verdict, problems, "")
    assert run._result(request, None, (), (), (), ()).verdict == PASS
    known: Any = SimpleNamespace(history=SimpleNamespace(head=SimpleNamespace(id="4f2a91c")))
    assert run._result(known, None, (), (), (), ()).head == "4f2a91c"


def test_a_result_without_a_run_names_its_commit(
    merged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GITHUB_SHA", "CI_COMMIT_SHA"):
        monkeypatch.delenv(name, raising=False)
    head = run_git(merged, "rev-parse", "HEAD")
    (problem,) = not_measured(merged, InputError("bad")).problems
    assert problem.message == f"not measured at {head[:7]}: bad"
    (unknown,) = not_measured(tmp_path / "none", InputError("bad")).problems
    assert unknown.message == "not measured: bad"


def test_only_files_outside_of_the_inputs_may_be_written(merged: Path, tmp_path: Path) -> None:
    (merged / ".gitignore").write_text("out/\n")
    assert may_be_written(merged, tmp_path / "result.json")
    assert may_be_written(merged, merged / "out" / "result.json")
    assert not may_be_written(merged, merged / "result.json")
    (tmp_path / "plain").mkdir()
    assert not may_be_written(tmp_path / "plain", tmp_path / "plain" / "out")  # not in git


SMALL, LARGE = (Measurement(Sizes(load, 2, 3, 0), {}, {}) for load in (10, 30))
HELD = SizeReference("base", SMALL)


@pytest.mark.parametrize(
    ("base", "source", "growth", "built", "expected"),
    [
        (None, MEASURED, HELD, SMALL, None),
        (Base("", "main"), MEASURED, HELD, SMALL, None),
        (Base("c", "main"), SNAPSHOT, HELD, SMALL, 20),
        (None, SNAPSHOT, HELD, SMALL, 20),
        (Base("c", "main"), SNAPSHOT, SizeReference("base", None, "why"), SMALL, None),
        (Base("c", "main"), MEASURED, HELD, None, 20),
        # The baseline is counted from, so the base is measured besides
        (Base("c", "main"), REVIEWED, SizeReference("baseline", LARGE), None, None),
        (Base("c", "main"), MEASURED, SizeReference("base", None, "why"), None, None),
    ],
)
def test_growth_since_the_merge_base(
    base: Base | None,
    source: str,
    growth: SizeReference,
    built: Measurement | None,
    expected: int | None,
) -> None:
    asked = []

    def measure(commit: str, recipe: object, tools: str) -> SimpleNamespace:
        asked.append(commit)
        return SimpleNamespace(analysis=built)

    history: Any = SimpleNamespace(head="c", measure=measure)
    made = SimpleNamespace(tools="")
    subject: Any = SimpleNamespace(recipe="r", now=LARGE, build=made)
    found = growth_since_base(history, base, subject, growth, source)
    assert found == (SizeGrowth(expected, 0, 0) if expected is not None else None)
    needs = base is not None and base.commit and source != SNAPSHOT
    assert asked == (["c"] if needs and growth is not HELD else [])


def test_an_app_of_a_target_that_does_not_run_has_no_results() -> None:
    app = App("a", Path("s"), (Path("m/cnn/model.pt2"), Path("m/rnn.pt2")), ("t",))
    target = Target("t", "x86_64-linux", run=False)
    request: Any = SimpleNamespace()

    def pair(target: Target, full: str | None) -> Any:
        return SimpleNamespace(app=app, target=target, full=full)

    for each in (pair(target, "full"), pair(replace(target, run=True), None)):
        found = run_models(request, each)
        assert [(model.model, model.verdict) for model in found] == [
            ("cnn", NOT_RUN), ("rnn", NOT_RUN),
        ]  # fmt: skip
    strange = replace(target, machine="no-such-machine", run=True, place="sizeguard.yaml:3:3")
    with pytest.raises(InconclusiveError, match="does not run here"):
        run_models(request, pair(strange, "full"))


def claiming(build: Build, selection: str = "") -> App:
    steps = BuildSteps({"": ImageFiles("app", selection=selection)}, "make")
    return App("a", None, (), (build.target,), steps={build.target: steps})


def test_a_selection_that_cannot_be_verified_is_inconclusive(
    runtime: RecordedRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_evidence(*arguments: object) -> Verification:
        roots.append(arguments[0])
        raise InconclusiveError("no map")

    roots: list[object] = []
    monkeypatch.setattr(elimination, "verified", no_evidence)
    app = claiming(runtime.build, selection="mlp.yaml")
    for source in (None, Path("/source")):
        (check,), found = check_named_claims(runtime.root, app, runtime.build, source=source)
        assert (check.verdict, check.advice, found) == (INCONCLUSIVE, "no map", None)
    assert roots == [runtime.root, Path("/source")]
    assert check_named_claims(runtime.root, claiming(runtime.build), runtime.build) == ((), None)


def test_advice_names_the_folder_of_a_build(runtime: RecordedRuntime) -> None:
    found = Verification("a", "s", (), (), "broken", ("x",))
    failed = Verification("a", "s", (), (), OK, ())
    app = claiming(runtime.build)
    assert judged_elimination(Path("/"), app, runtime.build, found, ()).verdict == FAIL
    assert judged_elimination(Path("/"), app, runtime.build, failed, ()).verdict == PASS
    folder = runtime.build.image.parent
    assert elimination._folder(runtime.root, runtime.build) == "build/mlp"
    assert elimination._folder(Path("/elsewhere"), runtime.build) == str(folder)


def test_the_tools_of_a_runtime_are_those_of_its_toolchain(runtime: RecordedRuntime) -> None:
    build = replace(runtime.build, tools="GCC: 3.2")
    toolchain = Toolchain("gcc", "bfd", "x86_64-linux", "gcc", "g++", "12.2.0", "2.40")
    assert tools_text(None, build) == "GCC: 3.2"
    assert tools_text(toolchain, build) == "gcc 12.2.0, bfd 2.40"


def test_files_of_other_formats_have_no_unknown_sections(tmp_path: Path) -> None:
    folder = recorded_images(tmp_path)
    for name in ("app-arm64", "x86_64.dll", "a.wasm"):
        assert unknown_sections(folder / name) == ()


def test_a_base_without_a_commit_brings_no_trailers() -> None:
    request = Request(ROOT, read_config(ROOT))
    assert all_waivers(request, Base("", "")) == all_waivers(request, None)


def test_the_full_build_is_beside_an_app(runtime: RecordedRuntime, tmp_path: Path) -> None:
    build = runtime.build
    assert full_beside(build) is None
    full = replace(build, variant="full")
    assert full_beside(full) is full
    place = tmp_path / "full"
    place.mkdir()
    record = (build.image.parent / "build.json").read_text()
    (place / "build.json").write_text(record)
    beside = replace(build, image=tmp_path / "mlp" / "run_program")
    found = full_beside(beside)
    assert found is not None
    assert found.fingerprint == build.fingerprint


def test_claims_of_a_build_and_of_an_image(runtime: RecordedRuntime, tmp_path: Path) -> None:
    root, build = runtime.root, runtime.build
    given = Files(build.image)
    listed = list_claims(root, build.image.parent, RequestedClaims(absent=("f",)), given)
    assert (listed.subject, bool(listed.claims)) == (build.app or build.variant, True)
    assert [claim.name for claim in listed.named] == ["f"]
    assert len(listed.all) == len(listed.claims.claims if listed.claims else ()) + 1
    other = tmp_path / "other.yaml"
    other.write_text((root / "mlp.yaml").read_text())
    for file, text in ((root / "mlp.yaml", "mlp.yaml"), (other, str(other))):
        asked = RequestedClaims(selection=file)
        for path in (build.image.parent, build.image):
            found = list_claims(root, path, asked, given)
            assert found.against == text
            assert found.claims is not None
        shared = list_claims(root, build.image, replace(asked, shared_with=(other,)), given)
        assert shared.against == f"{text}, on kernels shared with {other}"
    with pytest.raises(InputError, match="no claims to verify"):
        list_claims(root, build.image, RequestedClaims(), given)
    named = list_claims(root, build.image, RequestedClaims(present=("f",)), given)
    assert (named.against, named.claims, len(named.all)) == ("the given symbols", None, 1)
