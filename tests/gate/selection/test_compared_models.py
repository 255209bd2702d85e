"""Test when a model passes: each bundled input runs on both builds with equal outputs.

The runner gives the outputs, so nothing runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.claims.verdict import FAIL, PASS
from sizeguard.gate import model_runs
from sizeguard.gate.gate_result import NOT_RUN, ModelResult
from sizeguard.gate.model_runs import compare_model
from sizeguard.runtimes.runtime import ModelRun
from sizeguard.snapshots.store import Store

PROGRAM = Path("cnn.program")
CRASH = ModelRun("", missing=("aten::erf",), message="there is no aten::erf")


@dataclass
class Runner:
    """Gives the outputs of a build's cases; runs: what ran, with its expected outputs."""

    full: list[ModelRun]
    selective: list[ModelRun]
    runs: list[tuple[str, int, object]] = field(default_factory=list)

    def case_count(self, program: Path) -> int:
        assert program == PROGRAM
        return len(self.full)

    def run(
        self, build: Any, program: Path, case: int, timeout: float, expected: Mapping[int, Path]
    ) -> ModelRun:
        assert timeout == 7
        self.runs.append((build.name, case, dict(expected)))
        found: ModelRun = getattr(self, build.name)[case]
        return found

    def run_inputs(
        self, build: Any, program: Path, case: int, expected: Mapping[int, Path]
    ) -> Mapping[str, object]:
        return {"build": build.name, "case": case, "expected": sorted(expected)}


def compared(
    full: list[str | ModelRun], selective: list[str | ModelRun], store: Store | None = None
) -> tuple[ModelResult, Runner]:
    """Compare runs; a text stands for outputs."""
    runner = Runner(list(map(_run, full)), list(map(_run, selective)))
    builds: list[Any] = [
        SimpleNamespace(name=n, target="x86_64-linux") for n in ("full", "selective")
    ]
    models: Any = runner
    expected = [{0: Path("case0_expected0.npy")}]
    found = compare_model(models, PROGRAM, "a", *builds, store=store, timeout=7, expected=expected)
    assert (found.model, found.app, found.target) == ("cnn", "a", "x86_64-linux")
    return found, runner


def _run(run: str | ModelRun) -> ModelRun:
    return run if isinstance(run, ModelRun) else ModelRun(run)


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_runs, "run_prefix", lambda target: [])


def test_equal_outputs_of_every_case_pass() -> None:
    found, runner = compared(["x", "y"], ["x", "y"])
    assert (found.verdict, found.cases, found.message, found.cached) == (PASS, 2, "", False)
    # Only the full build's outputs are compared with expected ones, of the cases that have some
    files = {0: Path("case0_expected0.npy")}
    assert runner.runs == [
        ("full", 0, files), ("selective", 0, {}), ("full", 1, {}), ("selective", 1, {}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("full", "selective", "case", "message"),
    [
        ([], [], 0, "has no bundled inputs, so that nothing was compared"),
        (["x", "y"], ["x", "z"], 1, "case 1: a gives other results than full"),
        (["x", "y"], ["y", "y"], 0, "case 0: a gives other results than full"),
        (["x", CRASH], ["x", "y"], 1, "case 1 on full: there is no aten::erf"),
        (["x", "y"], ["x", CRASH], 1, "case 1 on a: there is no aten::erf"),
        # Two builds that give nothing are not equal
        ([CRASH], [CRASH], 0, "case 0 on full: there is no aten::erf"),
    ],
)
def test_what_fails(
    full: list[str | ModelRun], selective: list[str | ModelRun], case: int, message: str
) -> None:
    found, _ = compared(full, selective)
    assert (found.verdict, found.cases, found.message) == (FAIL, case, message)
    assert found.missing == (("aten::erf",) if "erf" in message else ())


def test_a_target_that_does_not_run_here_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_runs, "run_prefix", lambda target: None)
    found, runner = compared(["x"], ["y"])
    assert (found.verdict, found.cases, runner.runs) == (NOT_RUN, 1, [])


def test_a_run_that_succeeded_is_not_repeated(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert not compared(["x", "y"], ["x", "y"], store)[0].cached
    found, runner = compared(["x", "y"], ["x", "y"], store)
    assert (found.verdict, found.cached, runner.runs) == (PASS, True, [])
    # One case more is run, so not all of it is kept
    found, runner = compared(["x", "y", "z"], ["x", "y", "z"], store)
    assert (found.verdict, found.cached, len(runner.runs)) == (PASS, False, 2)


def test_a_run_that_failed_is_repeated(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for _ in range(2):
        found, runner = compared(["x"], [CRASH], store)
        assert found.verdict == FAIL
        assert ("selective", 0, {}) in runner.runs
    found, _ = compared(["x"], ["x"], store)
    assert (found.verdict, found.cached) == (PASS, False)
    # Kept outputs are compared, too
    assert compared(["x", "y"], ["x", "z"], store)[0].verdict == FAIL
    assert compared(["x", "y"], ["x", "z"], store)[0].verdict == FAIL
