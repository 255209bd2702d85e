"""Made-up results of a bisect, for tests of its page."""

from __future__ import annotations

from sizeguard.bisect.bisect_result import (
    BUILT,
    DOES_NOT_BUILD,
    EQUAL_INPUTS,
    BisectResult,
    Builds,
    Culprit,
    Failure,
    Point,
    Smaller,
)
from sizeguard.diff.diff_result import DiffRow
from sizeguard.git.commits import Commit
from sizeguard.measurement.metric import Metric
from tests.support.results.hostile_results import HOSTILE

LONG_SYMBOL = "at::native::conv_body<double, std::vector<std::pair<int, long>>>(double const*)"


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
            (DiffRow(("aten::add", "Float", HOSTILE[i % len(HOSTILE)]), 300, 400, "grew"),),
            (Failure(commits[1], "main.c:1: error: expected ';'"),) if i == 1 else (),
        )
        for i, commit in enumerate(commits[2:], 1)
    )  # fmt: skip
    return BisectResult(
        Metric("load"), "vision for x86_64-linux", "v1.0", "main", tuple(points), culprits,
        Smaller(0, 0), (), Builds(9, 1, 3), 2, (),
    )  # fmt: skip


def three_culprits() -> BisectResult:
    """A large and a small change, and two commits that cannot be told apart."""
    subjects = [
        "Release 1.2",
        "Use a bigger tile",
        "Share the padding path",
        "Add a check",
        "Fix it",
    ]
    commits = [_commit(i, text) for i, text in enumerate(subjects)]
    loads = (5218, 8238, 7498, None, 7630)
    points = tuple(
        Point(commit, load, BUILT if load else DOES_NOT_BUILD)
        for commit, load in zip(commits, loads, strict=True)
    )
    tiles = DiffRow(("aten::convolution", "Float", "conv_body<float>"), 2104, 5124, "grew")
    doubles = DiffRow(("aten::convolution", "Double", LONG_SYMBOL), 1830, 1090, "shrank")
    checks = DiffRow(("aten::convolution", "", "check_stride"), 0, 132, "new")
    failure = Failure(commits[3], "convolution.cpp:88: error: expected ';'")
    culprits = (
        Culprit((commits[1],), 3020, 3020, (3020, 0, 0), (tiles,), ()),
        Culprit((commits[2],), -740, 2280, (0, -740, 0), (doubles,), ()),
        Culprit((commits[3], commits[4]), 132, 2412, (132, 0, 0), (checks,), (failure,)),
    )
    return BisectResult(
        Metric("operator", "aten::convolution"), "vision for x86_64-linux", "v1.2", "main", points,
        culprits, Smaller(0, 0), (), Builds(4, 1, 0), 0, (),
    )  # fmt: skip
