"""Made-up results of a bisect, for tests of its page."""

from __future__ import annotations

from sizeguard.bisect.bisect_result import (
    BUILT,
    DOES_NOT_BUILD,
    EQUAL_INPUTS,
    BisectResult,
    Builds,
    Culprit,
    CulpritRow,
    Failure,
    Point,
    Smaller,
)
from sizeguard.git.commits import Commit
from sizeguard.measurement.metric import Metric
from tests.support.hostile_results import HOSTILE


def _commit(number: int, subject: str) -> Commit:
    day = f"2026-11-{number + 1:02}T12:00:00+00:00"
    return Commit(f"{number:040x}", (), "Ann Example", day, subject)


def several_culprits() -> BisectResult:
    """Make a result with a commit for each hostile subject: 100 bytes each, one does not build."""
    commits = [_commit(i, text) for i, text in enumerate(["start", *HOSTILE])]
    points = [Point(commits[0], 4000, BUILT), Point(commits[1], None, DOES_NOT_BUILD)]
    points += [
        Point(commit, 4000 + 100 * i, BUILT if i % 2 else EQUAL_INPUTS)
        for i, commit in enumerate(commits[2:], 1)
    ]
    culprits = tuple(
        Culprit(
            (commits[1], commit) if i == 1 else (commit,), 100, 100 * i, (100, 0, 0),
            (CulpritRow(("aten::add", "Float", HOSTILE[i % len(HOSTILE)]), 300, 400, "grew"),),
            (Failure(commits[1], "main.c:1: error: expected ';'"),) if i == 1 else (),
        )
        for i, commit in enumerate(commits[2:], 1)
    )  # fmt: skip
    return BisectResult(
        Metric("load"), "vision for x86_64-linux", "v1.0", "main", tuple(points), culprits,
        Smaller(0, 0), (), Builds(9, 1, 3), 2, (),
    )  # fmt: skip
