"""The largest library with a needed name counts, not a smaller one of the same name."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.projects.gathered import MadeImage, gather
from sizeguard.projects.project import NO_STRIP, ImageFiles
from tests.test_shipped_libraries import NEEDED, RUNPATH, image

SMALL, LARGE = 10, 6000  # bytes of a search path
MACHINE = 18  # offset of an ELF file's machine
AARCH64 = 183


def library(path: Path, size: int, *needed: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return image(path, *((NEEDED, name) for name in needed), (RUNPATH, "x" * size))


def counted(root: Path, *apart: str) -> dict[str, int]:
    """Gather a program that needs libf.so; return the libraries that count, with their sizes."""
    image(root / "app", (NEEDED, "libf.so"))
    files = ImageFiles("app", strip=NO_STRIP)
    made = MadeImage("app", "t", files, "key", command="make", apart=apart)
    folder = root.with_name("gathered")
    gather(root, made, folder)
    also = folder / "also"
    found = (path for path in also.rglob("*") if path.is_file()) if also.exists() else ()
    return {path.relative_to(also).as_posix(): path.stat().st_size for path in found}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    return tmp_path / "tree"


@pytest.mark.parametrize("decoy", ["libf.so", "aaa/libf.so", "lib/libf.so", "zzz/libf.so"])
@pytest.mark.parametrize("real", ["bin/libf.so", "x/.git/libf.so", "lib/deep/libf.so"])
def test_the_largest_library_counts(root: Path, decoy: str, real: str) -> None:
    library(root / decoy, SMALL)
    library(root / real, LARGE)
    (found,) = counted(root).items()
    assert found[0] == real
    assert found[1] > LARGE


def test_equal_copies_count_once(root: Path) -> None:
    for folder in ("lib", "install/lib"):
        library(root / folder / "libf.so", LARGE)
    assert len(counted(root)) == 1


def test_a_copy_of_an_image_with_its_own_limits_does_not_count(root: Path) -> None:
    for folder in ("lib", "install/lib"):
        library(root / folder / "libf.so", LARGE)
    assert counted(root, "lib/libf.so") == {}


def test_an_image_with_its_own_limits_is_no_decoy(root: Path) -> None:
    library(root / "lib/libf.so", SMALL)
    library(root / "bin/libf.so", LARGE)
    assert [*counted(root, "lib/libf.so")] == ["bin/libf.so"]


def test_libraries_for_other_machines_do_not_count(root: Path) -> None:
    library(root / "x86/libf.so", SMALL)
    other = library(root / "arm/libf.so", LARGE)
    data = bytearray(other.read_bytes())
    data[MACHINE] = AARCH64
    other.write_bytes(data)
    assert [*counted(root)] == ["x86/libf.so"]


def test_a_text_is_no_library(root: Path) -> None:
    """Linkers read scripts under the names of libraries."""
    (root / "libf.so").write_text("INPUT(lib/libf.so)\n" * 1000)
    library(root / "lib/libf.so", SMALL)
    assert [*counted(root)] == ["lib/libf.so"]


def test_libraries_of_every_counted_library_count(root: Path) -> None:
    library(root / "libf.so", SMALL)
    library(root / "lib/libf.so", LARGE, "libg.so")
    library(root / "libg.so", SMALL)
    assert {*counted(root)} == {"lib/libf.so", "libg.so"}
