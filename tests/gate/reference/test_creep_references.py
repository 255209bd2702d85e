"""The measurement that creep is counted from, over made-up commits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.base.errors import BuildError
from sizeguard.gate.policy import baselines
from sizeguard.gate.reference import reference
from sizeguard.gate.reference.reference import creep_reference
from sizeguard.toolchains.recipe import DoesNotBuildError, ReadsElsewhereError
from tests.support.histories.made_up_commits import COMMIT, World, subject_of


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"tree": None}, "the image is measured as found, without a build command"),
        ({"build": SimpleNamespace(link="shared", lto="")}, "other commits are built only as"),
        ({"build": SimpleNamespace(link="executable", lto="full")}, "other commits are built only"),
        ({}, "the runtime's sources are not part of this project's commits"),
    ],
)
def test_creep_needs_a_recipe(world: World, changed: dict[str, Any], why: str) -> None:
    subject = subject_of(recipe=None, **changed)
    found = creep_reference(world.root, world.history, "v1", subject)
    assert (found.text, found.measured) == ("v1", None)
    assert found.why.startswith(f"v1 cannot be measured: {why}")


def test_creep_needs_git(world: World) -> None:
    world.history.head = None
    found = creep_reference(world.root, world.history, "v1", subject_of())
    assert found.why == "v1 cannot be measured: there is no commit yet"
    assert world.history.asked == []


@pytest.mark.parametrize(
    ("made", "baseline", "expected", "why"),
    [
        ("measured", b"gcc", ("v1", "measured"), ""),
        (None, b"gcc", ("v1", None), "v1 could not be measured"),
        (BuildError("no disk"), b"gcc", ("v1", None), "v1 could not be measured: no disk"),
        (DoesNotBuildError("x"), b"gcc", ("baseline of v1", "gcc"), ""),
        (ReadsElsewhereError("x"), b"", ("baseline of v1", ""), ""),
        (
            DoesNotBuildError("x"),
            b"clang",
            ("v1", None),
            "x, and its baseline is for clang, but this is gcc",
        ),
        (DoesNotBuildError("x"), None, ("v1", None), "x, and it has no baseline a.yaml"),
    ],
)
def test_creep_is_counted_from_a_release_or_its_baseline(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    made: Any,
    baseline: bytes | None,
    expected: tuple[str, str | None],
    why: str,
) -> None:
    history = world.history
    history.made[COMMIT] = made
    history.texts = {} if baseline is None else {COMMIT: baseline}

    def parsed(text: bytes, path: str) -> Any:
        assert path == "bbbbbbbbbb:a.yaml"
        return SimpleNamespace(tools=text.decode(), rules="")

    monkeypatch.setattr(reference, "parse_baseline", parsed)
    monkeypatch.setattr(reference, "measurement_of_baseline", lambda baseline: baseline.tools)
    monkeypatch.setattr(baselines, "tools_text", lambda toolchain, build: "gcc")
    found = creep_reference(world.root, history, "v1", subject_of())
    assert ((found.text, found.measured), found.why.partition(": eff")[0]) == (expected, why)
    unknown = creep_reference(world.root, history, "v9", subject_of())
    assert (unknown.measured, unknown.why[:21]) == (None, "this clone has no v9:")
