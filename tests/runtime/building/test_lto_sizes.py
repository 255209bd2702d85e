"""LTO does not enlarge a build: the link also gets the options that objects do not record."""

from __future__ import annotations

import pytest

from sizeguard.builds.build_record import Build
from sizeguard.formats.elf import read_elf
from sizeguard.gate.policy.baselines import baseline_files, read_baseline
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import Variant, default_folder
from sizeguard.toolchains.toolchain import Toolchain
from tests.support.places import ROOT


@pytest.fixture(scope="module")
def lto_core(toolchain: Toolchain) -> Build:
    variant = Variant("core", lto="full")
    return build(ROOT, variant, toolchain, default_folder(ROOT, variant, toolchain))


def unwind_bytes(build: Build) -> dict[str, int]:
    sections = read_elf(build.shipped).sections
    return {s.name: s.size for s in sections if s.name.startswith(".eh_frame")}


def test_lto_brings_no_unwind_tables_back(lto_core: Build, core_build: Build) -> None:
    assert lto_core.lto == "full"
    assert unwind_bytes(lto_core) == unwind_bytes(core_build)


def test_reviewed_apps_are_at_most_as_large_with_lto() -> None:
    with_lto = [path for path in baseline_files(ROOT) if path.stem.endswith("-lto")]
    assert len(with_lto) == 2
    for path in with_lto:
        plain = read_baseline(path.with_name(path.name.replace("-lto.yaml", ".yaml")))
        assert read_baseline(path).load <= plain.load


def test_lto_is_at_most_as_large(lto_core: Build, core_build: Build) -> None:
    assert lto_core.sizes.load <= core_build.sizes.load
