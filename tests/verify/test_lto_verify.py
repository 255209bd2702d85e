"""Verification of LTO builds: what LTO inlines is no leak, and planted leaks are named."""

from __future__ import annotations

import pytest

from sizeguard.runtimes.sizeguard.building.variants import Variant
from sizeguard.toolchains.toolchain import Toolchain
from tests.conftest import built
from tests.support.histories.app_tree import selection_of
from tests.support.leaks.all_leaks import ALL_LEAKS, CONTROL
from tests.support.leaks.leak_bench import LeakBench
from tests.support.whole_products import choose

COVERING = (
    *("renamed_namespace", "inlined", "bytes_in_rodata", "c_function", "object_not_recorded"),
    *("alias", "init_option", "name_in_char_array", "dtype_of_own_switch"),
)


@pytest.fixture(scope="module")
def bench(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> LeakBench:
    selection = selection_of("vision")
    full = built(Variant("full", lto="full"), toolchain)
    vision = built(Variant("selective", "vision", selection, lto="full"), toolchain)
    return LeakBench(vision, full, tmp_path_factory.mktemp("leaks"))


def test_the_same_link_without_a_leak_passes(bench: LeakBench) -> None:
    assert bench.outcome(CONTROL).findings == ()


@pytest.mark.parametrize("name", choose(COVERING[::2], COVERING))
def test_a_leak_is_named(bench: LeakBench, name: str) -> None:
    leak = ALL_LEAKS[name]
    found = bench.outcome(leak)
    assert found.findings
    assert found.names(leak.expects), found.findings
