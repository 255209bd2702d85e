"""sizeguard bisect on a real history of the native runtime.

Each commit is built as `sizeguard build` builds it.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.histories.native_history import make_history
from tests.support.histories.small_history import state_of_checkout
from tests.support.places import SIZEGUARD

pytestmark = pytest.mark.native


def bisected(folder: Path, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [str(SIZEGUARD), "bisect", *arguments, "--format", "json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    print(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_what_moved_an_app_is_found_with_operator_and_dtype(tmp_path: Path) -> None:
    history = make_history(tmp_path / "runtime")
    folder, commits = history.repository.path, history.commits
    before = state_of_checkout(folder, ".sizeguard")
    ends = (commits["good"], commits["bad"], "--app", "tiny", "--keep-worktrees")
    result = bisected(folder, *ends)
    names = {commit: name for name, commit in commits.items()}
    assert [names[each["commit"]] for each in result["culprits"]] == list(history.moves)
    total = 0
    for culprit in result["culprits"]:
        operator, dtype, sign = history.moves[names[culprit["commit"]]]
        assert culprit["delta"] * sign > 0, culprit
        # Rows are ordered by size, so the changed operator is first.
        assert (culprit["rows"][0]["operator"], culprit["rows"][0]["dtype"]) == (
            operator,
            dtype,
        ), culprit["rows"][:3]
        assert sum(row["delta"] for row in culprit["rows"]) == culprit["delta"]
        total += culprit["delta"]
    assert total == result["delta"] == result["bad"]["value"] - result["good"]["value"]
    moved = {names[each["commit"]]: each["delta"] for each in result["culprits"]}
    assert moved["bound relu"] == -moved["relu as it was"]
    assert result["equal_inputs"] == 3
    tried = {
        names[point["commit"]] for point in result["series"] if point["how"] == "does not build"
    }
    assert tried <= {"broken 1", "broken 2"}
    print(
        f"{result['builds']} builds, {result['failed_builds']} of them failed, of"
        f" {result['commits']} commits"
    )
    by_operator = bisected(folder, *ends, "--metric", "operator/aten::relu")
    assert by_operator["builds"] == 0
    assert [names[each["commit"]] for each in by_operator["culprits"]] == [
        "bound relu",
        "relu as it was",
    ]
    assert state_of_checkout(folder, ".sizeguard") == before
