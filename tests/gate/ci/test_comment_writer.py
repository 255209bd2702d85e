"""The writer of comments: its waits, settings and links, and comments of others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ci.github.size_comment import main
from tests.support.results.gate_events import EVENTS, OLD, PASSED, prepare
from tests.support.services.local_hub import HEAD, LocalHub, zipped

pytestmark = pytest.mark.native


def test_waits_are_those_that_github_asks_for(hub: LocalHub) -> None:
    prepare(hub, EVENTS["GitHub asks to wait"])
    waits: list[float] = []
    assert main(hub.environment(), waits.append) == 0
    assert waits == [7.0, 2.0, 1.0, 3.0]


@pytest.mark.parametrize(
    ("headers", "tried"),
    [({"Retry-After": "100000"}, 1), ({"X-RateLimit-Remaining": "0"}, 5), ({}, 1)],
)
def test_it_does_not_wait_for_ever(
    headers: dict[str, str], tried: int, hub: LocalHub, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(hub, EVENTS["growth beyond the limit"])
    hub.refusals = {"GET pulls": [(403, headers)] * 9}
    waits: list[float] = []
    assert main(hub.environment(), waits.append) == 1
    assert 10 - len(hub.refusals["GET pulls"]) == tried + 1
    assert sum(waits) < 240
    assert capsys.readouterr().err.startswith("::error title=sizeguard::GET pulls")
    assert not hub.written


def test_a_comment_that_was_made_all_the_same_is_not_made_twice(
    hub: LocalHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GitHub creates the comment, but its response is lost."""
    prepare(hub, EVENTS["growth beyond the limit"])
    write = hub._write

    def lossy(method: str, route: str, content: dict[str, Any]) -> Any:
        done = write(method, route, content)
        return (504, b"", {}) if method == "POST" and route.startswith("issues") else done

    monkeypatch.setattr(hub, "_write", lossy)
    assert main(hub.environment(), lambda _: None) == 0
    assert len(hub.comments) == 1


@pytest.mark.parametrize(
    "more",
    [
        {"COMMENT_POLICY": "sometimes"}, {"INFORMATIONAL": "yes"}, {"PROJECT": "--> x"},
        {"PROJECT": "a\n::error::b"}, {"ARTIFACT": "../x"}, {"COMMENT_AUTHOR": "a b"},
        {"RUN_ID": "42;"}, {"GITHUB_REPOSITORY": "org"}, {"GITHUB_API_URL": "file:///etc/passwd"},
    ],
    ids=lambda more: str(next(iter(more))),
)  # fmt: skip
def test_a_wrong_setting_is_named(
    more: dict[str, str], hub: LocalHub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(hub.environment(**more)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("::error title=sizeguard::")
    assert not hub.written


def test_findings_go_to_code_scanning_if_asked(
    hub: LocalHub, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(hub, EVENTS["growth beyond the limit"])
    assert main(hub.environment()) == 0
    assert not hub.scanned
    assert main(hub.environment(SARIF="true")) == 0
    ((found,),) = (hub.scanned,)
    assert (found["commit_sha"], found["ref"]) == (HEAD, "refs/pull/7/head")
    assert "vision" in json.dumps(found["sarif"]["runs"][0]["results"])
    hub.refusals["POST code-scanning"] = [(403, {})]
    assert main(hub.environment(SARIF="true")) == 0
    assert "security-events: write" in capsys.readouterr().err
    # A result that cannot be read is not uploaded
    hub.archive = zipped({"gate.json": "{"})
    assert main(hub.environment(SARIF="true")) == 0
    assert len(hub.scanned) == 1
    assert main(hub.environment(SARIF="yes")) == 2


@pytest.mark.parametrize(
    ("pages", "parts", "is_linked"),
    [("sizeguard-pages", "", True), ("", "", False), ("other", "", False),
     ("sizeguard-pages-x86", "x86 arm", True), ("sizeguard-pages", "x86 arm", False)],
)  # fmt: skip
def test_pages_of_the_run_are_linked(
    pages: str, parts: str, is_linked: bool, hub: LocalHub
) -> None:
    prepare(hub, EVENTS["matrix of two jobs" if parts else "pull request of a fork"])
    hub.pages = pages
    assert main(hub.environment(PARTS=parts)) == 0
    link = "[pages and snapshots](https://github.example/org/runtime/actions/runs/42#artifacts)"
    assert (link in hub.comments[0]["body"]) == is_linked


def test_comments_of_others_stay(hub: LocalHub) -> None:
    """Such as a copied marker, another project's comment, a null body and a deleted author."""
    prepare(hub, EVENTS["pull request of a fork"])
    bot = {"type": "Bot", "login": "github-actions[bot]"}
    theirs: list[tuple[Any, Any]] = [
        ({"type": "User", "login": "mallory"}, f"{OLD}\n{PASSED}"),
        ({"type": "Bot", "login": "mallory[bot]"}, f"{OLD}\n{PASSED}"),
        (bot, "<!-- sizeguard gate audio run 1.1 -->\nx"),
        (bot, "hello"), (bot, None), (None, f"{OLD}\n"), (bot, f"> {OLD}"),
    ]  # fmt: skip
    for i, (user, body) in enumerate(theirs):
        hub.comments.append({"id": i + 1, "issue": 7, "user": user, "body": body})
    hub.comments += [{"id": 1000 + i, "issue": 7, "user": bot, "body": f"{i}"} for i in range(250)]
    hub.comments.append({"id": 5000, "issue": 7, "user": bot, "body": "<!-- sizeguard gate -->\n"})
    before = json.dumps(hub.comments[:-1])
    assert main(hub.environment()) == 0
    assert json.dumps(hub.comments[:-1]) == before
    assert hub.comments[-1]["body"].startswith("<!-- sizeguard gate run 42.1 -->")
