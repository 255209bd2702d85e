"""Events of a repository: the gate's exit code, the comment and the status for each.

The writer uses an API on this machine. The results are those of a gate on the event.
"""

from __future__ import annotations

import re

import pytest

from ci.github.size_comment import main
from tests.support.results.gate_events import EVENTS, NONE, prepare
from tests.support.services.local_hub import HEAD, TOKEN, LocalHub

pytestmark = pytest.mark.native


@pytest.mark.parametrize("name", EVENTS)
def test_event(name: str, hub: LocalHub, capsys: pytest.CaptureFixture[str]) -> None:
    event = EVENTS[name]
    result = prepare(hub, event)
    if result is not None:
        assert result.exit_code == event.code
        assert (event.run.get("conclusion", "success") == "success") == (result.exit_code == 0) or (
            "contradiction" in str(event.status)
            or "INFORMATIONAL" in event.environment
            or "inconclusive: not measured: " in str(event.status)
            or event.run.get("conclusion") == "cancelled"
        )
    waits: list[float] = []
    assert main(hub.environment(**event.environment), waits.append) == 0
    printed = capsys.readouterr()
    assert TOKEN not in printed.out + printed.err
    assert not hub.leaked
    assert all(line.startswith("::warning title=sizeguard::") for line in printed.err.splitlines())
    set_ = hub.statuses[1:] if event.status_of else hub.statuses
    state = [(each["state"], each["description"]) for each in set_]
    if event.status is None:
        assert not state
    else:
        ((found, title),) = state
        assert found == event.status[0]
        assert event.status[1] in title
        assert hub.statuses[0]["target_url"] == "https://github.example/org/runtime/actions/runs/42"
    bodies = [each["body"] for each in hub.comments]
    written = [each for each in hub.written if "statuses" not in each]
    if event.comment is None:
        assert not written
    elif not event.comment:
        assert not written and bodies
    else:
        ours = [each for each in bodies if "run 42." in each.partition("\n")[0]]
        assert len(ours) == (2 if event.comment == (NONE, NONE) else 1)
        if "PATCH issues" not in event.refusals:
            assert len(written) == len(ours)
        for body in ours:
            assert re.match(r"<!-- sizeguard gate (libs/audio )?run 42\.\d -->\n### ", body)
            assert not [part for part in event.comment if part not in body]
            assert f"`{HEAD[:7]}`" in body
    if event.refusals:
        assert all(not answers for answers in hub.refusals.values())


def test_the_table_is_long_enough() -> None:
    assert len(EVENTS) >= 40
