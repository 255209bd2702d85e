"""Waivers of the commit that growth is counted from, whose bytes no later change uses again."""

from __future__ import annotations

import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.gate.policy.checks import SizeReference
from sizeguard.gate.policy.terms_result import Waiver
from sizeguard.gate.reference import used_waivers as module
from sizeguard.gate.reference.used_waivers import used_before, waivers_at
from sizeguard.measurement.metric_names import MetricNames
from sizeguard.projects.project import App, Config, Target

CONFIG = Config((App("vision", Path("s"), (), ("linux",)),), (Target("linux", "x86_64-linux"),), ())
OWN = (Waiver("load", "vision", "", 100, "tiles", "ann", "2027-01-31", "x:1"),)
ENTRY = "- {{metric: load, bytes: {}, owner: ann, expires: {}, reason: tiles}}\n"
FILE = ENTRY.format(70, "2027-01-31") + ENTRY.format(80, "2026-01-31")


def request(text: str | None) -> Any:
    def text_at(commit: str, path: str) -> bytes | None:
        assert (commit, path) == ("b", "baselines/waivers.yaml")
        return None if text is None else text.encode()

    return SimpleNamespace(
        root=Path(),
        history=SimpleNamespace(text_at=text_at),
        config=CONFIG,
        names=MetricNames(Path()),
        today=datetime.date(2026, 11, 21),
    )


@pytest.mark.parametrize(
    ("text", "commit", "own", "expected"),
    [
        (FILE, "b", OWN, [70]),  # the other has ended
        (FILE, "", OWN, []),
        (FILE, "b", (), []),  # without waivers of the change, those of the commit do not matter
        (None, "b", OWN, []),
        ("- 3\n", "b", OWN, [100]),  # none may count twice
    ],
)
def test_the_waivers_of_the_base_are_those_in_force_of_its_file(
    text: str | None, commit: str, own: tuple[Waiver, ...], expected: list[int]
) -> None:
    assert [each.bytes for each in waivers_at(request(text), commit, own)] == expected


@pytest.mark.parametrize("has_merged", [False, True])
def test_the_baseline_is_read_for_merged_waivers_alone(
    monkeypatch: pytest.MonkeyPatch, has_merged: bool
) -> None:
    given: list[object] = []
    baseline = SizeReference("reviewed", None)
    monkeypatch.setattr(module, "reviewed_reference", lambda *_: baseline)
    monkeypatch.setattr(module, "used_bytes", lambda *each: given.extend(each))
    subject: Any = SimpleNamespace()
    base = SizeReference("base", None)
    used_before(request(FILE if has_merged else None), subject, "b", OWN, (), base)
    _, merged, _, *references = given
    assert [bool(merged), *references] == [
        has_merged,
        base,
        baseline if has_merged else SizeReference("", None),
    ]
