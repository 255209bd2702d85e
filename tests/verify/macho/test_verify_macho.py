"""Verification of Mach-O images.

Cases are our builds for macOS, builds that are known to be wrong, other names, and missing
evidence.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from sizeguard.base.errors import InconclusiveError, SizeguardError
from sizeguard.builds.build_record import Build
from sizeguard.builds.open_build import Files, files_of
from sizeguard.claims.verdict import ABSENT, FAIL, INCONCLUSIVE, PASS, Verification
from sizeguard.formats.macho import read_macho
from sizeguard.gate.cache.requested_claims import RequestedClaims
from sizeguard.gate.verified_builds import verify_build, verify_path, verify_symbols
from sizeguard.runtimes.sizeguard.building.variants import Variant
from sizeguard.toolchains.toolchain import find_toolchain
from sizeguard.verify.evidence.gather_evidence import gather
from tests.conftest import built
from tests.support.builds.claim_laws import (
    check_alone_nothing_is_gone,
    check_no_failure_passes,
    counted,
)
from tests.support.histories.app_tree import selection_of
from tests.support.whole_products import choose


@pytest.fixture(scope="module")
def selection(root: Path) -> Path:
    return selection_of("vision")


@pytest.fixture(scope="module", params=choose(["arm64-macos"], ["arm64-macos", "x86_64-macos"]))
def vision(request: pytest.FixtureRequest, selection: Path, native_tools: None) -> Build:
    """Build the selection; `unselected` judges the full builds of both machines."""
    toolchain = find_toolchain(None, None, request.param)
    return built(Variant("selective", "vision", selection), toolchain)


@pytest.fixture(scope="module")
def full_beside(vision: Build) -> Build:
    """Build everything for the same machine."""
    return built(Variant("full"), find_toolchain(None, None, vision.target))


@pytest.fixture(scope="module")
def unselected(root: Path, macos_full: Build, selection: Path) -> Verification:
    return verify_build(root, macos_full, RequestedClaims(selection=selection))


def test_a_build_against_its_selection(root: Path, vision: Build) -> None:
    found = verify_build(root, vision, RequestedClaims())
    assert (found.verdict, found.canary, found.gaps) == (PASS, "ok", ())
    assert found.count(INCONCLUSIVE) == 0
    kernels = [
        v for v in found.verdicts if (v.kind, v.expect, v.verdict) == ("kernel", ABSENT, PASS)
    ]
    assert len(kernels) > 100
    assert {v.how for v in kernels} <= {"discarded_by_linker", "removed_by_compiler"}
    gone = {v.name for v in kernels}
    names = subprocess.run(
        ["llvm-nm-19", "-C", str(vision.image)], capture_output=True, text=True, check=True
    ).stdout
    assert not [name for name in gone if f" sg::kernels::{name}(" in names]


def test_everything_that_is_not_selected_fails_on_the_full_build(unselected: Verification) -> None:
    by_kind = counted(unselected)
    for kind in ("operator", "kernel", "class", "feature"):
        assert set(by_kind[kind, ABSENT]) == {FAIL}, kind
    assert [
        v.name
        for v in unselected.verdicts
        if (v.kind, v.expect, v.verdict) == ("dtype", ABSENT, PASS)
    ] == ["any other"]
    assert unselected.canary == "ok"
    kernels = [v for v in unselected.verdicts if v.kind == "kernel" and v.verdict == FAIL]
    assert all(v.bytes and v.chain for v in kernels)
    assert {v.chain[0].symbol for v in kernels} <= {"main"} | {
        step.symbol for v in kernels for step in v.chain
    }


@pytest.mark.parametrize("change", ["other names", "no symbols"])
def test_without_names_nothing_that_failed_passes(
    root: Path,
    macos_full: Build,
    selection: Path,
    unselected: Verification,
    change: str,
    tmp_path: Path,
) -> None:
    image = tmp_path / "image"
    if change == "no symbols":
        image.write_bytes(macos_full.shipped.read_bytes())
    else:
        strings = read_macho(macos_full.image).extent("string table")
        assert strings is not None
        data = bytearray(macos_full.image.read_bytes())
        end = strings.offset + strings.size
        shifted = bytes.maketrans(bytes(range(97, 123)), bytes([*range(98, 123), 97]))
        data[strings.offset : end] = data[strings.offset : end].translate(shifted)
        image.write_bytes(data)
    found = verify_path(
        root,
        image,
        RequestedClaims(selection=selection),
        replace(files_of(macos_full), image=image, twin=None),
    )
    check_no_failure_passes(unselected, found)


def test_stripped_and_alone_nothing_is_gone(root: Path, vision: Build, selection: Path) -> None:
    alone = verify_path(
        root,
        vision.shipped,
        RequestedClaims(selection=selection),
        Files(vision.shipped),
    )
    check_alone_nothing_is_gone(alone)


def test_without_the_map_places_are_those_of_nm(vision: Build) -> None:
    files = files_of(vision)
    with_map, without = gather(files), gather(replace(files, link_map=None))
    code = [n for n in with_map.placement.address if with_map.placement.section(n).is_executable]
    assert len(code) > 200
    assert sum(
        without.placement.address.get(node) == with_map.placement.address[node] for node in code
    ) > 0.97 * len(code)


def test_the_section_graph_agrees_with_the_map(macos_full: Build) -> None:
    evidence = gather(files_of(macos_full))
    assert evidence.reachable is not None
    code = {n for n in evidence.placement.address if evidence.placement.section(n).is_executable}
    assert {
        n
        for n in evidence.reachable
        if evidence.placement.section(n).is_executable and evidence.placement.section(n).size
    } == code


def test_files_of_another_build_are_refused(
    vision: Build, full_beside: Build, full_build: Build
) -> None:
    for change in (
        {"link_map": full_beside.map},
        {"objects": full_beside.objects},
        {"twin": full_beside.shipped},
    ):
        with pytest.raises(InconclusiveError, match="of another build"):
            verify_symbols(replace(files_of(vision), **change), ["main"], [])
    with pytest.raises(SizeguardError, match=r"neither an object nor an archive|not a relocatable"):
        verify_symbols(replace(files_of(vision), objects=full_build.objects[:1]), ["main"], [])


def test_free_claims(vision: Build) -> None:
    gone, there = (
        ["sg::kernels::erf", "_ZN2sg7kernels3erfERNS_7ContextENS_6TensorE"],
        ["sg::kernels::relu", "main"],
    )
    found = verify_symbols(files_of(vision), gone, there)
    assert [v.verdict for v in found.verdicts] == [PASS] * 4
    assert "the linker's own list" in " ".join(found.verdicts[0].evidence)
    swapped = verify_symbols(files_of(vision), there, gone)
    assert [v.verdict for v in swapped.verdicts] == [FAIL] * 4
    assert swapped.verdicts[0].chain[-1].symbol == "relu"


def test_cut_objects_end_in_one_line(vision: Build, tmp_path: Path) -> None:
    whole = vision.objects[0].read_bytes()
    for size in (3, 40, 400, len(whole) // 2, len(whole) - 40):
        cut = tmp_path / "cut.o"
        cut.write_bytes(whole[:size])
        with pytest.raises(SizeguardError) as caught:
            verify_symbols(
                replace(files_of(vision), objects=(cut, *vision.objects[1:])),
                ["main"],
                [],
            )
        assert "\n" not in str(caught.value)
