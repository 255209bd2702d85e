"""Test that the gate judges an app of a known runtime by its models, sources and savings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.claims.verdict import FAIL, OK, PASS, Verdict, Verification
from sizeguard.gate.causes.source_lines import SourceLines
from sizeguard.gate.gate_result import ELIMINATION, NOT_RUN, REVIEWED, Check, ModelResult, Saving
from sizeguard.gate.judged_app import judge_app, run_models
from sizeguard.gate.policy.checks import SizeReference
from sizeguard.gate.request import Request
from sizeguard.projects.pairs import Pair
from sizeguard.projects.project import App, Target
from sizeguard.projects.reader import parse_config
from tests.support.verdicts.app_judge import HOST, TODAY, TOOLCHAIN, A, Judge

CLAIMS_HOLD = Check("a/elimination", "a", HOST, ELIMINATION, 0, 0, 0, PASS, "", "", ELIMINATION)


@dataclass
class Runner:
    """Runs no model: gives the results of a comparison by the model's name."""

    judge: Judge

    def prepare(self, model: Path, folder: Path) -> Path:
        assert folder == self.judge.root / "build" / "programs"
        return folder / f"{model.stem}.program"

    def expected(self, model: Path) -> str:
        return f"expected outputs of {model.stem}"


def selective(judge: Judge, *, is_run: bool = True) -> tuple[Any, Pair]:
    """Return a request and a pair for an app of a known runtime with two models."""
    models = tuple(judge.root / f"{name}.pt2" for name in ("cnn", "rnn"))
    app = App("a", judge.root / "a.yaml", models, (HOST,))
    target = Target(HOST, HOST, run=is_run)
    config = SimpleNamespace(apps=(app,), targets=(target,), rules="", rules_file="")
    request: Any = SimpleNamespace(
        root=judge.root, config=config, limits=(), today=TODAY, source=None, tree=object(),
        history=Request(judge.root, parse_config(judge.root, (A + "}\n").encode())).history,
        models=Runner(judge), timeout=7, runtime=None, has_own_sources=False,
        snapshot_of=lambda *_: None,
    )  # fmt: skip
    full = replace(judge.build("15"), variant="full", app="")
    return request, Pair(app, target, TOOLCHAIN, full, judge.build("00"))


def test_every_model_runs_on_both_builds(judge: Judge) -> None:
    asked = []

    def compare(_: object, program: Path, app: str, *builds: object, **more: Any) -> Any:
        asked.append((program.name, app, builds, more["expected"], more["timeout"]))
        verdict = PASS if program.stem == "cnn" else FAIL
        return ModelResult(program.stem, app, verdict, 1, (), "")

    judge.use(compare_model=compare, run_prefix=lambda _: [])
    request, pair = selective(judge)
    found = run_models(request, pair)
    assert [(each.model, each.verdict, each.target) for each in found] == [
        ("cnn", PASS, HOST), ("rnn", FAIL, HOST),
    ]  # fmt: skip
    builds = (pair.full, pair.selective)
    assert asked == [
        (f"{name}.program", "a", builds, f"expected outputs of {name}", 7)
        for name in ("cnn", "rnn")
    ]
    # A model that differs fails its app, whatever the checks say
    holds = Verification("a", "s", (), (), OK, ())
    judge.use(check_elimination=lambda *_: (CLAIMS_HOLD, holds))
    result, _ = judge_app(request, None, (), pair)
    assert result.verdict == FAIL
    assert {check.verdict for check in result.checks} <= {PASS, NOT_RUN}
    (check,) = [check for check in result.checks if check.kind == ELIMINATION]
    assert (check.id, result.verification) == (f"a/{HOST}/elimination", holds)


@pytest.mark.parametrize("has_own_sources", [True, False])
def test_commits_of_a_runtime_are_built_if_the_project_has_its_sources(
    judge: Judge, has_own_sources: bool
) -> None:
    subjects, sources = [], []

    def reference(*arguments: Any) -> tuple[SizeReference, str]:
        subjects.append(arguments[-1])
        return SizeReference("baseline", judge.measured("15")), REVIEWED

    def lines(root: Path, **_: object) -> SourceLines:
        sources.append(root)
        return SourceLines(root, commit="")

    judge.use(growth_reference=reference, recipe_of_commits=lambda *_: "recipe", SourceLines=lines)
    judge.use(check_elimination=lambda *_: (CLAIMS_HOLD, None))
    request, pair = selective(judge, is_run=False)
    request.has_own_sources = has_own_sources
    request.source = None if has_own_sources else Path("/sources")
    judge_app(request, None, (), pair)
    (subject,) = subjects
    assert subject.recipe == ("recipe" if has_own_sources else None)
    assert (subject.tree, subject.head, subject.in_place) == (request.tree, "", False)
    assert sources == [judge.root if has_own_sources else Path("/sources")]
    # Without tools nothing else is built
    judge_app(request, None, (), replace(pair, toolchain=None))
    assert subjects[1].recipe is None


def test_savings_are_what_the_full_build_has_more(judge: Judge) -> None:
    left = Verdict("operator", "aten::x", "absent", FAIL, "still_there", 1, ("x",))
    holds = Verification("a", "s", (left,), (), OK, ())
    failing = Check("a/elimination", "a", HOST, ELIMINATION, 0, 1, -1, FAIL, "", "", ELIMINATION)
    judge.use(check_elimination=lambda *_: (failing, holds))
    request, pair = selective(judge, is_run=False)
    result, _ = judge_app(request, None, (), pair)
    assert [model.verdict for model in result.models] == [NOT_RUN, NOT_RUN]
    assert pair.full is not None
    assert (result.full, result.verdict, result.runs) == (pair.full.sizes, FAIL, False)
    assert all(isinstance(row, Saving) for row in result.savings)
    saved = pair.full.sizes.load - pair.selective.sizes.load
    assert sum(row.saved for row in result.savings) == saved > 0
    without, _ = judge_app(request, None, (), replace(pair, full=None))
    assert (without.full, without.savings) == (None, ())
