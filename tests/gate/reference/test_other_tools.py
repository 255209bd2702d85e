"""Test limits that were set for another toolchain: only growth by the tools is excused.

A failing maximum is not run if the base, built with the same tools, also exceeds it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.builds.sizes import Sizes
from sizeguard.claims.verdict import FAIL, PASS
from sizeguard.gate.gate_result import (
    ABSOLUTE,
    GROWTH,
    MEASURED,
    NOT_RUN,
    PARENT,
    REVIEWED,
    SNAPSHOT,
    Base,
    Check,
)
from sizeguard.gate.policy.checks import SizeReference
from sizeguard.gate.reference.other_tools import limited_for, tools_of_limits
from sizeguard.measurement.measurement import Measurement
from sizeguard.projects.reader import parse_config

HOST = "x86_64-linux"
CONFIG = """targets: {x86_64-linux: , other: {machine: x86_64-linux}}
limits: {load: 1000 B}
apps:
  a: {build: make, image: app}
  b: {build: make, image: lib}
"""
SIZES = "load: 1\nram: 1\nfile: 1\npage_slack: 1\noperators: {}\n"
BASE = Base("4f2a91c", "main")
OVER = Check("x", "a", HOST, "load", 1000, 1100, -100, FAIL, "1000 B", "shrink it", ABSOLUTE)


@dataclass
class Case:
    """An app built by gcc 12.2; its reviewed sizes are those of gcc 11.2."""

    root: Path
    config: str = CONFIG
    then: str | None = CONFIG  # of the base

    def review(self, toolchain: str, tools: str) -> None:
        path = self.root / "baselines" / f"a.{HOST}.{toolchain}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"app: a\ntarget: {HOST}\ntoolchain: {toolchain}\ntools: {tools}\n{SIZES}")

    @property
    def request(self) -> Any:
        text = None if self.then is None else self.then.encode()
        history = SimpleNamespace(text_at=lambda commit, path: text)
        config = parse_config(self.root, self.config.encode())
        return SimpleNamespace(root=self.root, config=config, history=history)

    @property
    def subject(self) -> Any:
        build = SimpleNamespace(
            app="a", variant="image", target=HOST, toolchain="gcc-12.2", optimize="",
            link="executable", lto="", tools="gcc 12.2.0",
        )  # fmt: skip
        app = SimpleNamespace(name="a")
        return SimpleNamespace(build=build, app=app, target=HOST, toolchain=None)

    def judged(
        self,
        check: Check = OVER,
        load: int | None = 1100,
        source: str = MEASURED,
        base: Base | None = BASE,
    ) -> Check:
        """Judge a check. load: of the base, if it was measured."""
        old = None if load is None else Measurement(Sizes(load, 1, 1, 0), {}, {})
        growth = SizeReference("merge base 4f2a91c", old), source
        (found,) = limited_for(self.request, base, self.subject, (check,), growth)
        return found


@pytest.fixture
def case(tmp_path: Path) -> Case:
    made = Case(tmp_path)
    made.review("gcc-11.2", "gcc 11.2.0")
    return made


def test_the_reviewed_sizes_name_the_tools_of_limits(case: Case) -> None:
    assert tools_of_limits(case.request, case.subject) == "gcc-11.2"
    case.review("gcc-12.2", "gcc 12.2.0")
    assert tools_of_limits(case.request, case.subject) == ""
    case.review("gcc-12.2", "''")
    assert tools_of_limits(case.request, case.subject) == ""
    case.review("gcc-12.2", "gcc 12.2.1")
    assert tools_of_limits(case.request, case.subject) == "gcc 12.2.1"


@pytest.mark.parametrize("source", [MEASURED, PARENT])
@pytest.mark.parametrize(
    ("load", "verdict"), [(1099, FAIL), (1100, NOT_RUN), (1101, NOT_RUN), (None, FAIL)]
)
def test_only_a_base_that_is_as_large_excuses(
    case: Case, load: int | None, verdict: str, source: str
) -> None:
    found = case.judged(load=load, source=source)
    assert (found.verdict, found.set_for) == (verdict, "gcc-11.2")
    if verdict == NOT_RUN:
        told = "it is set for gcc-11.2, but this is gcc 12.2.0, with which the merge base 4f2a91c"
        assert found.advice.startswith(f"{told} has {load:,} bytes")
    else:
        assert found.advice == "shrink it"


@pytest.mark.parametrize("source", [REVIEWED, SNAPSHOT, ""])
def test_sizes_that_these_tools_did_not_make_excuse_nothing(case: Case, source: str) -> None:
    assert case.judged(source=source).verdict == FAIL


@pytest.mark.parametrize("base", [None, Base("", "")])
def test_without_a_merge_base_nothing_is_excused(case: Case, base: Base | None) -> None:
    assert case.judged(base=base).verdict == FAIL


@pytest.mark.parametrize(
    ("then", "verdict"),
    [
        (None, FAIL),
        ("apps: [", FAIL),
        (CONFIG.replace("a: {build: make", "a: {build: make CC=clang"), FAIL),
        (CONFIG.replace("x86_64-linux: ,", "x86_64-linux: {optimize: 2},"), FAIL),
        # Another app or target, another limit, and a comment before the target
        (CONFIG.replace("b: {build: make", "b: {build: make CC=clang"), NOT_RUN),
        (CONFIG.replace("other: {", "other: {optimize: 2, "), NOT_RUN),
        (CONFIG.replace("1000 B", "900 B"), NOT_RUN),
        (f"# words\n{CONFIG}", NOT_RUN),
    ],
)
def test_a_change_that_asks_for_other_tools_is_not_excused(
    case: Case, then: str | None, verdict: str
) -> None:
    case.then = then
    assert case.judged().verdict == verdict


@pytest.mark.parametrize(
    ("check", "verdict"),
    [
        (replace(OVER, limit=0, headroom=-1100), FAIL),
        (replace(OVER, limit=50, waived=50, headroom=-1050), FAIL),
        (replace(OVER, limit=1050, waived=50, headroom=-50), NOT_RUN),
        (replace(OVER, limit=None, headroom=None), FAIL),
        (replace(OVER, actual=900, headroom=100, verdict=PASS), PASS),
    ],
)
def test_a_limit_of_zero_holds_for_all_tools(case: Case, check: Check, verdict: str) -> None:
    found = case.judged(check)
    assert (found.verdict, found.set_for) == (verdict, "gcc-11.2")


def test_growth_limits_hold_for_all_tools(case: Case) -> None:
    grown = replace(OVER, kind=GROWTH)
    assert case.judged(grown) == grown
    growth = SizeReference("base", Measurement(Sizes(1100, 1, 1, 0), {}, {})), MEASURED
    both = limited_for(case.request, BASE, case.subject, (OVER, grown), growth)
    assert [check.verdict for check in both] == [NOT_RUN, FAIL]


def test_limits_for_these_tools_excuse_nothing(case: Case) -> None:
    case.review("gcc-12.2", "gcc 12.2.0")
    assert case.judged() == OVER
