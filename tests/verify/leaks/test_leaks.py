"""Test that verification finds deselected code, hidden in a selective build in nineteen ways.

tests/soak/leaks.py tests all ways, with other compilers.
"""

from __future__ import annotations

import pytest

from sizeguard.builds.build_record import Build
from sizeguard.runtimes.sizeguard.building.variants import Variant
from sizeguard.toolchains.toolchain import Toolchain
from tests.conftest import built
from tests.support.histories.app_tree import selection_of
from tests.support.leaks.all_leaks import ALL_LEAKS, CONTROL
from tests.support.leaks.leak_bench import LeakBench

COVERING = (
    "renamed_namespace",
    "other_options",
    "without_debug_information",
    "bytes_in_rodata",
    "bytes_in_function",
    "fragment_of_init",
    "script_bytes_in_code",
    "entry_code_first",
    "dtype_of_own_loop",
    "other_object_not_recorded",
    "function_object",
    "shared_library",
    "bytes_between_sections",
    "helper_in_its_own_file",
    "dtype_of_auto_parameter",
    "dtype_of_overload",
    "dtype_of_member",
    "dtype_of_function_object",
    "one_feature_of_recompiled_file",
)


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
