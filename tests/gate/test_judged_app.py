"""Test that the gate judges one app by its own limits, base, claims and models.

The images are recorded programs, so nothing is built; references are recorded measurements.
"""

from __future__ import annotations

import datetime
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate.causes.dependencies import ChangedDependency
from sizeguard.gate.causes.growth_result import Share, SizeGrowth
from sizeguard.gate.causes.source_lines import SourceLines
from sizeguard.gate.gate_result import (
    ELIMINATION,
    MEASURED,
    NOT_RUN,
    PARENT,
    REVIEWED,
    RUN,
    SNAPSHOT,
    AppResult,
    Base,
    Check,
)
from sizeguard.gate.judged_app import judge_app
from sizeguard.gate.policy.checks import SizeReference
from sizeguard.gate.policy.terms_result import Waiver
from sizeguard.projects.any_build import AnyBuildRecipe
from sizeguard.projects.head_builds import HeadBuild
from sizeguard.projects.pairs import Pair
from sizeguard.snapshots.snapshot import read_snapshot
from tests.support.verdicts.app_judge import COMMIT, HOST, TODAY, A, Judge

BASE = Base(COMMIT, "main")


def verdicts(checks: tuple[Check, ...]) -> dict[str, str]:
    return {f"{check.metric} {check.kind}": check.verdict for check in checks}


OTHERS = """limits: {load: 10 KiB}
apps:
  a: {image: program, limits: {ram: 4 KiB}, targets: [x86_64-linux]}
  b: {image: program, limits: {load: {growth: 1%, creep: 1% since v9}, file: {growth: 0}}}
"""


def test_limits_of_other_apps_change_nothing(judge: Judge) -> None:
    """Without a growth limit of the app itself, nothing is inconclusive for want of a base."""
    judge.use(creep_reference=lambda *_: pytest.fail("this app has no creep limit"))
    result, reviewed = judge(OTHERS)
    assert verdicts(result.checks) == {
        "load absolute": PASS,
        "ram absolute": PASS,
        "file growth": NOT_RUN,
        "needed needed": NOT_RUN,
    }
    assert (result.verdict, reviewed) == (PASS, ())


def test_limits_of_another_target_change_nothing(judge: Judge) -> None:
    limits = "limits: {load: {growth: 0, creep: 0 since v9}}"
    apps = f"apps: {{a: {{image: program, targets: {{x86_64-linux: , small: {{{limits}}}}}}}}}\n"
    judge.use(creep_reference=lambda *_: pytest.fail("this target has no creep limit"))
    assert judge(apps)[0].verdict == PASS


def test_growth_without_a_base_is_inconclusive(judge: Judge) -> None:
    result, _ = judge(f"limits: {{load: {{growth: 1%}}}}\n{A}}}\n")
    assert verdicts(result.checks) == {
        "load growth": INCONCLUSIVE,
        "file growth": INCONCLUSIVE,
        "needed needed": INCONCLUSIVE,
    }
    assert result.verdict == INCONCLUSIVE
    assert (result.old_sizes, result.growth, result.causes, result.commands) == (None, (), (), ())


def grown(
    judge: Judge,
    source: str,
    limit: str = "0",
    waivers: tuple[Waiver, ...] = (),
    **parts: object,
) -> tuple[AppResult, tuple[Check, ...]]:
    """Judge program 01, which is larger than the base, program 00. parts: as of Judge.use."""
    judge.count_from(SizeReference(f"{source} 4f2a91c", judge.measured("00")), source)
    judge.use(
        reviewed_reference=lambda *_: SizeReference("baseline", judge.measured("00")),
        with_edited_lines=lambda result, *_: result,
        **{"changed_files": lambda *_: frozenset(), **parts},
    )
    config = f"limits: {{load: {{growth: {limit}}}}}\n{A}}}\n"
    with chdir(judge.root):
        return judge(config, "01", BASE, waivers)


@pytest.mark.parametrize("source", [MEASURED, PARENT, REVIEWED])
def test_growth_fails_with_its_causes_and_the_bases_snapshot(judge: Judge, source: str) -> None:
    result, reviewed = grown(judge, source)
    old, new = judge.measured("00").sizes, judge.measured("01").sizes
    delta = new.load - old.load
    assert delta > 100
    assert verdicts(result.checks)["load growth"] == result.verdict == FAIL
    assert (result.old_sizes, result.sizes, result.base) == (old, new, source)
    assert sum(cause.delta for cause in result.causes) == delta
    assert {cause.symbol for cause in result.causes} > {""}  # they name symbols
    assert sum(row.new - row.old for row in result.growth) == delta
    assert sum(row.delta for row in result.growth_by_file) == delta
    snapshot = judge.root / ".sizeguard" / COMMIT[:7] / f"a.{HOST}.snapshot"
    compare = [command for command in result.commands if command.label == "compare"]
    if source == REVIEWED:
        # The first value uses the baseline, whose snapshot is not that of a commit
        assert (reviewed, compare, snapshot.exists()) == ((), [], False)
    else:
        assert verdicts(reviewed) == {"load growth": FAIL, "file growth": PASS}
        assert read_snapshot(snapshot).image.load == old.load
        assert compare[0].text.startswith(f"sizeguard diff .sizeguard/{COMMIT[:7]}/a.{HOST}.snap")


@pytest.mark.parametrize("source", [MEASURED, REVIEWED])
def test_changed_files_and_dependencies_are_those_since_the_base(judge: Judge, source: str) -> None:
    """Without a commit, nothing is known to be changed."""
    changed = ChangedDependency("words", "words.lock", "1.0", "1.1")
    asked = []

    def files(root: Path, commit: str) -> frozenset[str]:
        asked.append(commit)
        return frozenset({"words.lock", ""})

    parts: dict[str, Any] = {"changed_files": files, "changed_dependencies": lambda *_: (changed,)}
    result, _ = grown(judge, source, **parts)
    assert asked == ([COMMIT] if source == MEASURED else [])
    assert {row.changed for row in result.growth_by_file} == {source == MEASURED}
    found = [(row.name, row.old_version, row.new_version) for row in result.growth_by_dependency]
    assert found == ([("words", "1.0", "1.1")] if source == MEASURED else [])
    bare = replace(judge.measured("01"), analysis=None)
    result, _ = grown(judge, source, **parts, measure_build=lambda *_: bare)
    assert (result.verdict, result.growth_by_dependency) == (FAIL, ())


def test_growth_within_its_limit_has_causes_but_no_snapshot(judge: Judge) -> None:
    result, reviewed = grown(judge, MEASURED, "9 KiB")
    assert (result.verdict, result.commands) == (PASS, ())
    assert {check.verdict for check in (*result.checks, *reviewed)} == {PASS}
    assert result.causes
    assert not (judge.root / ".sizeguard" / COMMIT[:7]).exists()
    old, now = judge.measured("00").sizes, judge.measured("01").sizes
    grew = SizeGrowth(now.load - old.load, now.ram - old.ram, now.file - old.file)
    assert (result.old_sizes, result.sizes, result.growth_since_base) == (old, now, grew)


def test_a_waiver_in_force_covers_growth(judge: Judge) -> None:
    waiver = Waiver("load", "", "", 1 << 20, "r", "o", TODAY.isoformat(), "s")
    assert grown(judge, MEASURED, waivers=(waiver,))[0].verdict == PASS
    for other in (
        replace(waiver, expires=(TODAY - datetime.timedelta(1)).isoformat()),
        replace(waiver, app="b"),
        replace(waiver, target="small"),
        replace(waiver, metric="ram"),
    ):
        assert grown(judge, MEASURED, waivers=(other,))[0].verdict == FAIL


def test_equal_sizes_without_an_analysis_have_causes_by_operator(judge: Judge) -> None:
    """A reviewed baseline has sums of operators, and no symbols."""
    then = judge.measured("00")
    bare = replace(then, analysis=None)
    judge.count_from(SizeReference("baseline", bare), REVIEWED)
    result, _ = judge(f"limits: {{load: {{growth: 0}}}}\n{A}}}\n", "01")
    assert result.verdict == FAIL
    assert result.causes
    assert {cause.symbol for cause in result.causes} == {""}
    assert (result.growth_by_file, result.growth_by_dependency) == ((), ())
    # A stored measurement of a commit may have no symbols, too.
    judge.count_from(SizeReference("merge base 4f2a91c", bare), MEASURED)
    result, _ = judge(f"limits: {{load: {{growth: 0}}}}\n{A}}}\n", "01")
    assert [command.label for command in result.commands].count("compare") == 0


def test_a_given_snapshot_counts_before_the_base(judge: Judge) -> None:
    held = SizeReference("snapshot x", judge.measured("01"))
    judge.use(
        growth_reference=lambda *_: pytest.fail("the snapshot was not used"),
        snapshot_reference=lambda path, *_: held if path == Path("x") else None,
    )
    request = judge.request(f"limits: {{load: {{growth: 0}}}}\n{A}}}\n")
    build = judge.build("01")
    app, target = request.pairs()[0]
    head = HeadBuild(build, None, "")
    request = replace(request, base_snapshots={"a": Path("x")})
    result, reviewed = judge_app(request, None, (), Pair(app, target, None, None, build, head))
    assert (result.base, result.verdict, reviewed) == (SNAPSHOT, PASS, ())


def no_lines(root: Path, *, image: Path, **_: str) -> SourceLines:
    """Read the sources of no commit, since there is no repository."""
    return SourceLines(root, commit="", image=image)


CREEP = "limits: {load: {creep: 0 since v1, growth: 9 MiB}, ram: {creep: 9 KiB since v1}}\n" + A


def test_creep_is_shared_out_only_if_it_fails_and_commits_can_be_built(judge: Judge) -> None:
    asked: list[object] = []
    subjects: list[Any] = []

    def shares(_: object, recipe: object, *what: object) -> tuple[Share, ...]:
        asked.append((recipe, *what))
        return (Share("4f2a91c", "Grow", 1),)

    def reference(*arguments: Any) -> SizeReference:
        subjects.append(arguments[-1])
        return SizeReference("v1", small)

    small, large = judge.measured("00"), judge.measured("01")
    judge.use(creep_shares=shares, creep_reference=reference)
    request = judge.request(CREEP + "}\n")
    app, target = request.pairs()[0]
    recipe = AnyBuildRecipe("a", HOST, app.steps[HOST])
    judge.count_from(SizeReference("baseline", small), REVIEWED)
    judge.use(growth_since_base=lambda *_: None, run_checks=lambda *_: (), SourceLines=no_lines)
    for made, expected in ((None, 0), (recipe, 1)):
        build = judge.build("01")
        head = HeadBuild(build, made, COMMIT if made else "")
        result, _ = judge_app(request, None, (), Pair(app, target, None, None, build, head))
        by_kind = {f"{c.metric} {c.kind}": c for c in result.checks}
        assert by_kind["load creep"].verdict == FAIL
        assert len(by_kind["load creep"].shares) == expected
        assert by_kind["ram creep"].verdict == PASS
        assert sum(len(check.shares) for check in result.checks) == expected
    told = [(each.recipe, each.head, each.tree) for each in subjects]
    assert told == [(None, "", None), (recipe, COMMIT, None)]
    assert asked == [(recipe, "v1", "load", small.sizes.load, large.sizes.load)]


def test_creep_without_its_release_has_no_shares(judge: Judge) -> None:
    judge.use(
        creep_reference=lambda *_: SizeReference("v1", None, "no v1"),
        creep_shares=lambda *_: pytest.fail("there is nothing to share out"),
    )
    result, _ = judge(CREEP + "}\n")
    assert verdicts(result.checks)["load creep"] == INCONCLUSIVE


CLAIMS = A[:-1] + ", absent: [nobody], present: [main]}}\n"


def test_named_claims_and_the_command_after_the_build_count(judge: Judge) -> None:
    """`nobody` is an unknown name, so its absence proves nothing."""
    result, _ = judge(CLAIMS)
    (check,) = [check for check in result.checks if check.kind == ELIMINATION]
    assert (check.verdict, result.verdict) == (INCONCLUSIVE, INCONCLUSIVE)
    assert result.verification is not None
    assert {v.name: v.verdict for v in result.verification.verdicts} == {
        "nobody": INCONCLUSIVE, "main": PASS,
    }  # fmt: skip
    judge.use(growth_since_base=lambda *_: None)
    runs = "apps: {a: {build: make, image: program, run: ./program}}\n"
    request = judge.request(runs)
    app, target = request.pairs()[0]
    recipe = AnyBuildRecipe("a", HOST, app.steps[HOST])
    judge.count_from(SizeReference("baseline", None, "no baseline", NOT_RUN), "")
    for failed, verdict in (("", PASS), ("it crashed", FAIL)):
        build = judge.build("00")
        head = HeadBuild(build, recipe, COMMIT, failed)
        result, _ = judge_app(request, None, (), Pair(app, target, None, None, build, head))
        assert verdicts(result.checks)[f"{RUN} {RUN}"] == result.verdict == verdict


def test_a_build_outside_of_the_project_is_shown_by_its_path(judge: Judge) -> None:
    result, _ = judge(A + "}\n")
    assert result.folder == str(judge.programs / "00")
    assert (result.savings, result.full, result.models, result.offers) == ((), None, (), ())
    inside = judge.root / "build" / "a"
    inside.mkdir(parents=True)
    for file in ("program", "program.stripped", "program.map"):
        (inside / file).write_bytes((judge.programs / "00" / file).read_bytes())
    judge.programs = inside.parent
    assert judge(A + "}\n", "a")[0].folder == "build/a"
