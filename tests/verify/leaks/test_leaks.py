"""Test that verification finds deselected code, hidden in a selective build in nineteen ways.

tests/soak/verifier/leaks.py tests all ways, with other compilers.
"""

from __future__ import annotations

import pytest

from sizeguard.builds.build_record import Build
from sizeguard.runtimes.sizeguard.building.variants import Variant
from sizeguard.toolchains.toolchain import Toolchain
from tests.conftest import built
from tests.support.histories.app_tree import selection_of
from tests.support.leaks.all_leaks import ALL_LEAKS, CONTROL, COVERING
from tests.support.leaks.leak_bench import LeakBench


@pytest.fixture(scope="module")
def bench(
    full_build: Build, toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory
) -> LeakBench:
    vision = built(Variant("selective", "vision", selection_of("vision")), toolchain)
    return LeakBench(vision, full_build, tmp_path_factory.mktemp("leaks"))


def test_the_same_link_without_a_leak_passes(bench: LeakBench) -> None:
    assert bench.outcome(CONTROL).findings == ()


@pytest.mark.parametrize("name", COVERING)
def test_a_leak_is_named(bench: LeakBench, name: str) -> None:
    leak = ALL_LEAKS[name]
    found = bench.outcome(leak)
    assert found.findings
    assert found.names(leak.expects), found.findings


def test_there_are_forty_leaks_for_each_format() -> None:
    for form in ("elf", "macho"):
        assert sum(form in leak.formats for leak in ALL_LEAKS.values()) >= 40
