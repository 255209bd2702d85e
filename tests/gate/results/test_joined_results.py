"""Results of several measuring jobs, joined into one that can be no better than the worst."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest
import yaml

from ci.github.size_comment import main
from ci.results.judged_result import MOST_PARTS, Part, joined, judged_again
from sizeguard.claims.verdict import FAIL, PASS
from sizeguard.gate.contradictions import NOTHING
from sizeguard.gate.gate_result import Base, GateResult
from sizeguard.gate.policy.terms_result import SPENT, UNUSED, USED, Waiver, WaiverUse
from sizeguard.report.gate.render import gate_text
from tests.support.places import ROOT
from tests.support.results.consistent_results import consistent
from tests.support.results.gate_samples import SAMPLES, passing, terms
from tests.support.results.hostile_artifacts import document, edited, packed
from tests.support.services.local_hub import BASE, MERGE, LocalHub, served
from tests.support.services.workflow_expressions import Context

DAY = datetime.date(2026, 1, 1)
ORDER = {"pass": 0, "inconclusive": 1, "fail": 2}


def part(name: str, result: GateResult) -> Part:
    data = gate_text(consistent(result), "json").encode()
    return Part(name, judged_again(data, DAY))


@pytest.mark.parametrize("pair", [*itertools.combinations(SAMPLES, 2)], ids=" and ".join)
def test_the_verdict_is_the_worst_of_all(pair: tuple[str, str]) -> None:
    parts = [part(name, SAMPLES[name]()) for name in pair]
    verdicts = [each.judged.result.verdict for each in parts if each.judged]
    for some in (parts, parts[::-1]):
        assert joined(some).result.verdict == max(verdicts, key=ORDER.__getitem__)
        missing = joined([*some, Part("gone", None, "cancelled")]).result
        assert missing.verdict == max([*verdicts, "inconclusive"], key=ORDER.__getitem__)
        assert missing.problems[0].message == "gone: not measured: cancelled"


def test_a_verdict_that_a_part_claims_is_not_believed() -> None:
    with served(LocalHub()) as hub:
        hub.parts = {"a": packed(document()), "b": edited("verdict", "pass")}
        assert main(hub.environment()) == 0
        assert hub.statuses[0]["state"] == "failure"
        assert "b: the verdict is pass, but its parts give fail" in hub.statuses[0]["description"]
        assert "✅" not in hub.comments[0]["body"]


def use(state: str, verdict: str = PASS, used: int = 0) -> WaiverUse:
    waiver = Waiver("load", "", "", 900, "r", "o", "2999-01-01", "baselines/waivers.yaml:4")
    return WaiverUse(waiver, state, verdict, used)


@pytest.mark.parametrize(
    ("uses", "state", "used"),
    [
        ((use(UNUSED), use(USED, used=5)), USED, 5),
        ((use(USED, used=5), use(USED, used=80)), USED, 80),
        ((use(USED, used=5), use(SPENT, FAIL)), SPENT, 0),
        ((use(UNUSED), use(UNUSED)), UNUSED, 0),
    ],
)
def test_a_waiver_is_listed_once(uses: tuple[WaiverUse, ...], state: str, used: int) -> None:
    parts = [part(str(i), replace(passing(), waivers=(each,))) for i, each in enumerate(uses)]
    for some in (parts, parts[::-1]):
        (found,) = joined(some).result.waivers
        assert (found.state, found.used) == (state, used)


def test_what_all_jobs_say_is_said_once() -> None:
    one = joined([part("a", terms())]).result
    two = joined([part("a", terms()), part("b", terms())]).result
    assert two.policy_changes == one.policy_changes
    assert two.selection == one.selection
    assert [app.target for app in two.apps] == ["x86_64-linux (a)", "x86_64-linux (b)"]


def nothing() -> GateResult:
    base = Base(BASE, "origin/main")
    return GateResult(PASS, (), base=base, head=MERGE, skipped="documents")


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (lambda: replace(passing(), base=Base("a" * 40, "origin/main")), "counted from"),
        (nothing, NOTHING),
    ],
)
def test_jobs_that_do_not_agree(other: Callable[[], GateResult], text: str) -> None:
    found = joined([part("a", passing()), part("b", other())])
    assert any(text in line for line in found.against)


def test_documents_alone_pass_only_in_all_jobs() -> None:
    assert joined([part("a", nothing()), part("b", nothing())]).is_nothing
    assert not joined([part("a", nothing()), Part("b", None, "gone")]).is_nothing


def test_a_refused_part_leaves_the_others() -> None:
    with served(LocalHub()) as hub:
        hub.parts = {"a": packed(document()), "b": b"no archive", "\u202eevil": b"", "a b": b""}
        hub.run = {"conclusion": "failure"}
        assert main(hub.environment(PARTS="a b")) == 0
        body = hub.comments[0]["body"]
        assert "b: not measured: the artifact cannot be read" in body
        assert "`x86_64-linux`" in body and "evil" not in body
        assert hub.statuses[0]["state"] == "error"
        assert hub.statuses[0]["description"] == "inconclusive: not measured: b"


def test_parts_have_a_limit(capsys: pytest.CaptureFixture[str]) -> None:
    with served(LocalHub()) as hub:
        hub.parts = {f"p{i}": packed(document()) for i in range(MOST_PARTS + 1)}
        assert main(hub.environment()) == 0
        assert "more than 50 artifacts" in hub.statuses[0]["description"]
        names = " ".join(hub.parts)
        for wrong in (names, "a/b", "$(x)"):
            assert main(hub.environment(PARTS=wrong)) == 2
            assert "::error title=sizeguard::PARTS has" in capsys.readouterr().err


def test_a_job_of_a_matrix_names_its_artifact() -> None:
    content = yaml.safe_load((ROOT / ".github" / "workflows" / "measure.yml").read_text())
    steps = {step.get("name", ""): step for step in content["jobs"]["gate"]["steps"]}
    for step, begin in (("Results", "sizeguard-results"), ("Pages", "sizeguard-pages")):
        name = steps[step]["with"]["name"]
        assert Context({"inputs.part": ""}).text(name) == begin
        assert Context({"inputs.part": "arm"}).text(name) == f"{begin}-arm"
