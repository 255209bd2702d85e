"""A small history for golden files, with every source of a size and names that need escaping."""

from __future__ import annotations

from sizeguard.builds.sizes import Sizes
from sizeguard.diff.diff_result import DiffRow
from sizeguard.git.commits import Commit
from sizeguard.history.history_result import (
    DOES_NOT_BUILD,
    MEASURED,
    NOT_KNOWN,
    RELEASES,
    REVIEWED,
    HistoryLine,
    HistoryPoint,
    Release,
    SizeChange,
    SizeHistory,
)


def _release(number: int, *tags: str, subject: str = "Release") -> Release:
    day = f"2026-0{number}-01T12:00:00+00:00"
    return Release(Commit(f"{number:x}" * 40, (), "A. Author", day, subject), tags)


def _vision() -> HistoryLine:
    first, second, third = _release(1, "v1.0"), _release(2, "v1.1"), _release(3, "v2.0", "stable")
    last = _release(4, subject='Use <b>tiles</b> | "quoted"')
    grown = (
        DiffRow(("aten::convolution", "_Z9conv_bodyIfEvPKT_"), 2104, 3244, "grew"),
        DiffRow(("aten::gelu", "gelu"), 471, 0, "removed"),
        DiffRow(("aten::add", "loop<1>"), 0, 31, "added"),
    )
    points = (
        HistoryPoint(
            first, REVIEWED, Sizes(5000, 100, 8192, 0),
            parts={"aten::convolution": 2104, "aten::gelu": 471, "(core)": 2425},
        ),
        HistoryPoint(
            second, MEASURED, Sizes(5700, 100, 8192, 0),
            parts={"aten::convolution": 3244, "(core)": 2425, "aten::add": 31},
            change=SizeChange(first, 700, 0, 0, ("operator", "symbol"), grown),
        ),
        HistoryPoint(third, DOES_NOT_BUILD, why="main.c:1: error: expected ';'"),
        HistoryPoint(
            last, MEASURED, Sizes(5700, 92, 8192, 0),
            parts={"aten::convolution": 3244, "(core)": 2425, "aten::add": 31},
            change=SizeChange(second, 0, -8, 0, ("operator",), ()),
        ),
    )  # fmt: skip
    return HistoryLine("vision", "x86_64-linux", "operator", points)


def _parse() -> HistoryLine:
    first, last = _release(1, "v1.0"), _release(4)
    points = (
        HistoryPoint(first, NOT_KNOWN, why="not measured, and it has no baseline"),
        HistoryPoint(last, MEASURED, Sizes(198412, 4096, 262144, 12), parts={".text": 198412}),
    )
    return HistoryLine("parse", "arm64", "section", points)


def made_up_history() -> SizeHistory:
    """Make two apps; one has a commit that does not build, the other one that was not measured."""
    return SizeHistory(RELEASES, "v1.0", (_vision(), _parse()), built=1, older=True)
