"""The runtime with every compiler, linker and kind of link: ledgers are exact, and models run."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sizeguard.builds.build_record import Build
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import Variant, default_folder
from sizeguard.toolchains.targets import host_target
from sizeguard.toolchains.toolchain import find_toolchain
from tests.support.images.image_laws import (
    check_laws,
    check_ledger,
    check_report,
    check_runs,
    check_stripped_twin,
    ledger_of,
)
from tests.support.links.link_matrix import Row, build_row, covering_rows, image_of, product
from tests.support.whole_products import choose

# A model's shared library, its LTO and its build by gcc -O2 need objects of their own, half a
# minute each.
ROWS = choose(
    [
        row
        for row in covering_rows()
        if row.app == "core" or (row.form not in ("shared", "lto") and row.compiler == "clang")
    ],
    covering_rows(),
)


def test_the_rows_cover_every_pair() -> None:
    possible = {pair for row in product() for pair in row.pairs()}
    assert {pair for row in covering_rows() for pair in row.pairs()} == possible


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(
    row: Row,
    root: Path,
    models_dir: Path,
    selection: Callable[..., Path],
    program: Callable[..., Path],
    tmp_path: Path,
) -> None:
    built = build_row(row, lambda: selection("mlp"), root / "build" / "tests" / "targets")
    image = image_of(row, built)
    check_laws(image)
    check_stripped_twin(built)
    check_report(built)
    check_kind(row, image)
    assert built.gc_log.read_text().count("removing unused section") > 10
    assert built.map.stat().st_size > 10_000
    assert built.objects and all(path.is_file() for path in built.objects)
    if row.app == "mlp":
        check_runs(image, built.target, program("mlp"), models_dir / "mlp", tmp_path)
    elif row.form != "shared":
        done = subprocess.run(
            [image, "--program", program("mlp"), "--check"],
            capture_output=True,
            text=True,
            check=False,
        )
        # The model names three operators, and these can call nine more.
        assert (done.returncode, done.stderr.count(" is not in this build")) == (1, 12)


def check_kind(row: Row, image: Path) -> None:
    """Check with readelf that the image has the requested form."""
    told = subprocess.run(
        ["readelf", "-hldW", image], check=True, capture_output=True, text=True
    ).stdout
    assert ("Type:                              EXEC" in told) == (row.form == "static")
    assert ("Requesting program interpreter" in told) == (
        row.form in ("executable", "stripped", "lto")
    )
    assert ("(NEEDED)" in told) == (not row.form.startswith("static"))
    assert ("SONAME" in told) == (row.form == "shared")


def test_the_laws_can_be_broken(root: Path, full_build: Build) -> None:
    """The check of a ledger fails if it moves one byte to another section."""
    ledger = ledger_of(full_build.shipped)
    sections = list(ledger.sections)
    text, rodata = sections.index(".text"), sections.index(".rodata")
    check_ledger(full_build.shipped, ledger)
    ledger.owners.section[(ledger.owners.section == text).argmax()] = rodata
    with pytest.raises(AssertionError):
        check_ledger(full_build.shipped, ledger)


def test_lto_objects_are_those_in_the_map(root: Path, selection: Callable[..., Path]) -> None:
    for row in ROWS:
        if row.form == "lto":
            built = build_row(row, lambda: selection("mlp"), root / "build" / "tests" / "targets")
            assert [path.name for path in built.objects] == [
                "run_program.ltrans0.ltrans.o" if row.compiler == "gcc" else "run_program.lto.o"
            ]
            assert built.objects[0].name in built.map.read_text()
            assert len(built.lto_inputs) >= 3


@pytest.mark.native
def test_thin_lto_objects_are_those_in_the_map(root: Path) -> None:
    toolchain = find_toolchain("clang", "lld")
    built = build(
        root,
        Variant("core", lto="thin"),
        toolchain,
        root / "build" / "tests" / "targets" / "core-clang-Os-thinlto",
    )
    check_laws(built.image)
    check_stripped_twin(built)
    mapped = built.map.read_text()
    assert len(built.objects) > 5
    assert all(str(path.relative_to(built.image.parent)) in mapped for path in built.objects)


@pytest.mark.native
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_full_build(
    compiler: str, root: Path, models_dir: Path, program: Callable[..., Path], tmp_path: Path
) -> None:
    toolchain = find_toolchain(compiler, None)
    built = build(
        root, Variant("full"), toolchain, default_folder(root, Variant("full"), toolchain)
    )
    check_laws(built.image)
    check_laws(built.shipped)
    check_stripped_twin(built)
    check_report(built)
    for i, image in enumerate((built.image, built.shipped)):
        check_runs(image, built.target, program("mlp"), models_dir / "mlp", tmp_path / str(i))


@pytest.mark.native
@pytest.mark.parametrize("linker", choose(["lld-22"], ["lld-14", "lld-22"]))
def test_other_versions_of_lld(linker: str, root: Path) -> None:
    """They link the same as lld 19, except LTO, which is refused (see test_cross_targets.py)."""
    row = Row("core", "clang", "s", "executable", linker)
    built = build_row(row, Path, root / "build" / "tests" / "targets")
    check_laws(built.image)
    assert built.toolchain.startswith(f"clang-19.1-lld-{linker[4:]}.")
    assert (
        f"LLD {linker[4:]}."
        in subprocess.run(
            ["readelf", "-p", ".comment", built.image], capture_output=True, text=True, check=True
        ).stdout
    )


@pytest.mark.native
def test_relinking_compiles_nothing(root: Path) -> None:
    folder = root / "build" / "tests" / "targets"
    build_row(Row("core", "gcc", "s", "executable", "bfd"), Path, folder)
    built: Build = build_row(Row("core", "gcc", "s", "static", "gold"), Path, folder)
    log = (built.image.parent / "build.log").read_text()
    assert "Linking CXX executable" in log or "Linking C executable" in log
    assert "Building CXX object" not in log
    assert (built.target, built.link) == (host_target(), "static")
