"""Test that models which cannot be traced are refused before the instrumented build is made."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from sizeguard.base.errors import InputError
from sizeguard.runtimes.sizeguard.building import tracing
from sizeguard.runtimes.sizeguard.building.tracing import trace
from sizeguard.runtimes.sizeguard.importing.importer import default_library, import_model
from sizeguard.runtimes.sizeguard.program.program_file import write_program
from tests.support.places import ROOT

MLP = ROOT / "native" / "models" / "mlp"


class Built(Exception):
    """Raised in place of making the instrumented build."""


@pytest.fixture(autouse=True)
def no_build(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(*_: Any) -> None:
        raise Built

    monkeypatch.setattr(tracing, "instrumented_build", build)


def trace_in(folder: Path, *models: Path) -> None:
    trace(ROOT, models, folder / "out.yaml", executed_only=False, root=folder)


def test_a_model_without_inputs_is_refused(tmp_path: Path) -> None:
    alone = tmp_path / "alone.pt2"
    shutil.copy(MLP / "model.pt2", alone)
    with pytest.raises(InputError, match=r"alone\.pt2: has no inputs to run: put case0_input0"):
        trace_in(tmp_path, alone)
    for name in ("case0_input0.npy", "case1_input0.npy"):
        shutil.copy(MLP / "case0_input0.npy", tmp_path / name)
    with pytest.raises(Built):
        trace_in(tmp_path, alone)


def test_a_program_without_inputs_is_refused(tmp_path: Path) -> None:
    for name, cases in (("empty", []), ("whole", [[MLP / "case0_input0.npy"]])):
        imported = import_model(MLP / "model.pt2", default_library(), name, cases)
        write_program(imported.program, tmp_path / f"{name}.sgp")
    with pytest.raises(InputError, match=r"empty\.sgp: has no inputs to run: import .* --case"):
        trace_in(tmp_path, tmp_path / "whole.sgp", tmp_path / "empty.sgp")
    with pytest.raises(Built):
        trace_in(tmp_path, tmp_path / "whole.sgp")


def test_two_models_of_one_name_are_refused(tmp_path: Path) -> None:
    copy = tmp_path / "mlp"
    shutil.copytree(MLP, copy)
    with pytest.raises(InputError, match=r"duplicate model name in mlp\.sgp, mlp\.sgp"):
        trace_in(tmp_path, MLP / "model.pt2", copy / "model.pt2")


@pytest.mark.parametrize("name", ["a,b", " a"])
def test_a_name_that_the_tracer_would_split_or_strip_is_refused(tmp_path: Path, name: str) -> None:
    shutil.copy(MLP / "case0_input0.npy", tmp_path)
    shutil.copy(MLP / "model.pt2", tmp_path / f"{name}.pt2")
    with pytest.raises(InputError, match=rf"'{name}\.sgp': .*; rename it"):
        trace_in(tmp_path, tmp_path / f"{name}.pt2")
