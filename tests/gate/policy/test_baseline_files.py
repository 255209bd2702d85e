"""Baselines are read as they were written; damaged ones are refused, and updates are not lost."""

from __future__ import annotations

import json
import multiprocessing
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.base.errors import InputError
from sizeguard.builds.build_record import Build
from sizeguard.gate.policy.baselines import (
    baseline_of,
    baseline_path,
    baseline_text,
    locked_baselines,
    measurement_of_baseline,
    other_toolchains,
    parse_baseline,
    read_baseline,
    write_baseline,
)
from sizeguard.gate.review_result import Baseline
from sizeguard.toolchains.toolchain import Toolchain
from tests.support.builds.measured_builds import measured


def test_a_baseline_reads_as_it_was_written(
    tmp_path: Path, core_build: Build, toolchain: Toolchain
) -> None:
    now = measured(core_build, "symbol/sg::*")
    baseline = baseline_of(core_build, toolchain, now)
    path = baseline_path(tmp_path, core_build)
    assert write_baseline(path, baseline)
    assert not write_baseline(path, baseline)
    assert read_baseline(path) == baseline
    assert other_toolchains(tmp_path, core_build) == [baseline.toolchain]
    then = measurement_of_baseline(baseline)
    assert (then.sizes, then.tables, then.symbols) == (now.sizes, now.tables, now.symbols)
    assert baseline.tools == f"gcc {toolchain.compiler_version}, bfd {toolchain.linker_version}"


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1),
        st.integers(0, 10**15),
        max_size=8,
    )
)
def test_any_name_survives_in_a_baseline(sizes: Mapping[str, int]) -> None:
    baseline = Baseline("a", "t", "c", 1, 2, 3, sizes, 4, "gcc 1", {"dtype": sizes}, rules="0e1")
    text = baseline_text(baseline)
    assert parse_baseline(text.encode(), "x") == baseline
    names = [line for line in text.split("dtypes:")[0].splitlines() if line.startswith("  ")]
    assert len(names) == len(sizes)  # one line each, so that a diff shows each change


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "app: x",
        "app: [",
        "app: a\ntarget: t\ntoolchain: c\nload: 1.5\nram: 1\nfile: 1\noperators: {}",
        "app: a\ntarget: t\ntoolchain: c\nload: 1\nram: 1\nfile: 1\noperators: {a: -1}",
        "app: a\ntarget: t\ntoolchain: c\nload: 1\nram: 1\nfile: 1\noperators: {}\nmore: 1",
        "app: a\napp: a",
    ],
)
def test_a_damaged_baseline_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(str(path))):
        read_baseline(path)


def hold_the_lock_and_add(root: Path, key: str) -> None:
    for _ in range(50):
        with locked_baselines(root):
            old = json.loads((root / "count").read_text())
            (root / "count").write_text(json.dumps({**old, key: old.get(key, 0) + 1}))


def test_the_lock_is_not_committed(tmp_path: Path) -> None:
    """`sizeguard waive` may be the first command of a clone."""
    with locked_baselines(tmp_path):
        assert (tmp_path / ".sizeguard" / ".gitignore").read_text() == "*\n"


@pytest.mark.native
def test_two_writers_never_lose_an_update(tmp_path: Path) -> None:
    (tmp_path / "count").write_text("{}")
    writers = [
        multiprocessing.get_context("spawn").Process(
            target=hold_the_lock_and_add, args=(tmp_path, key)
        )
        for key in "ab"
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert json.loads((tmp_path / "count").read_text()) == {"a": 50, "b": 50}
