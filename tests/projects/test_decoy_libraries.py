"""The largest library with a needed name counts, not a smaller one of the same name."""

from __future__ import annotations

import re
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from sizeguard.base.errors import SizeguardError
from sizeguard.projects.gathering import shipped_files
from sizeguard.projects.gathering.gathered import MadeImage, gather
from sizeguard.projects.project import NO_STRIP, ImageFiles
from sizeguard.toolchains.recipe import DoesNotBuildError
from tests.support.links.made_libraries import NEEDED, RUNPATH, image

SMALL, LARGE = 10, 6000  # bytes of a search path
MACHINE = 18  # offset of an ELF file's machine
AARCH64 = 183


def library(path: Path, size: int, *needed: str) -> Path:
    """Write a library; size: of its search path; needed: names of libraries that it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return image(path, *((NEEDED, name) for name in needed), (RUNPATH, "x" * size))


def counted(root: Path, *apart: str) -> dict[str, int]:
    """Gather a program that needs libf.so; see `gathered`."""
    image(root / "app", (NEEDED, "libf.so"))
    return gathered(root, ImageFiles("app", strip=NO_STRIP), *apart)


def gathered(root: Path, files: ImageFiles, *apart: str, command: str = "make") -> dict[str, int]:
    """Gather an image; return the libraries that count, with their sizes.

    apart: images with limits of their own; command: that builds it, empty for an image as found
    """
    made = MadeImage("app", "t", files, "key", command=command, apart=apart)
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
    ((name, size),) = counted(root).items()
    assert name == real
    assert size > LARGE


def test_equal_copies_count_once(root: Path) -> None:
    for folder in ("lib", "install/lib"):
        library(root / folder / "libf.so", LARGE)
    assert len(counted(root)) == 1


def test_variants_for_processors_count_apart(root: Path) -> None:
    """The loader takes one of them on each machine."""
    names = ("lib/libf.so", "lib/glibc-hwcaps/x86-64-v3/libf.so", "glibc-hwcaps/x86-64-v3/libf.so")
    for name, size in zip(names, (SMALL, LARGE, SMALL), strict=True):
        library(root / name, size)
    assert {*counted(root)} == {*names[:2]}


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


@pytest.fixture
def outside(root: Path) -> Path:
    """A folder of outputs beside the tree."""
    return root.with_name("outputs")


def test_outputs_behind_the_link_of_the_image_count(root: Path, outside: Path) -> None:
    """Bazel keeps its outputs in a cache, and links to them."""
    library(outside / "bin/lib/libf.so", SMALL, "libg.so")
    library(outside / "bin/libg.so", SMALL)
    library(outside / "other/libf.so", LARGE)
    image(outside / "bin/app", (NEEDED, "libf.so"))
    (root / "bazel-bin").symlink_to(outside / "bin")
    (root / "others").symlink_to(outside / "other")  # the image is not there
    found = gathered(root, ImageFiles("bazel-bin/app", strip=NO_STRIP))
    assert {*found} == {"bazel-bin/lib/libf.so", "bazel-bin/libg.so"}


def test_a_link_to_a_library_elsewhere_counts(root: Path, outside: Path) -> None:
    library(outside / "libf.so", LARGE)
    (root / "libf.so").symlink_to(outside / "libf.so")
    assert [*counted(root)] == ["libf.so"]


def test_libraries_of_the_system_do_not_count(
    root: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A root folder for cross compilers links to them."""
    monkeypatch.setattr(shipped_files, "_SYSTEM", (f"{outside}/",))
    library(outside / "libf.so", LARGE)
    (root / "libf.so").symlink_to(outside / "libf.so")
    assert counted(root) == {}


def test_libraries_of_every_counted_library_count(root: Path) -> None:
    library(root / "libf.so", SMALL)
    library(root / "lib/libf.so", LARGE, "libg.so")
    library(root / "libg.so", SMALL)
    assert {*counted(root)} == {"lib/libf.so", "libg.so"}


PACKAGE = "out/app.aar"
IMAGE_IN_PACKAGE = f"{PACKAGE}!jni/x86_64/libapp.so"


def package(root: Path, **libraries: tuple[str, ...]) -> None:
    """Write a package with a library libNAME.so for each name.

    libraries: for each name, the libraries that it needs
    """
    (root / "out").mkdir()
    with zipfile.ZipFile(root / PACKAGE, "w") as file:
        for name, needed in libraries.items():
            path = root.with_name("member.so")
            image(path, *((NEEDED, each) for each in needed))
            file.write(path, f"jni/x86_64/lib{name}.so")


def in_package(name: str) -> str:
    """Return where a library of the package is gathered."""
    return f"{PACKAGE}.members/jni/x86_64/{name}"


@pytest.mark.parametrize("command", ["make", ""])
def test_libraries_of_the_package_count(root: Path, command: str) -> None:
    package(root, app=("libf.so", "libc.so"), f=("libg.so",), g=(), other=("libg.so",))
    image(root / "libc.so")
    files = ImageFiles(IMAGE_IN_PACKAGE, strip=NO_STRIP)
    found = {*gathered(root, files, command=command)}
    assert found == {in_package("libf.so"), in_package("libg.so"), "libc.so"}


def test_equal_copies_count_once_as_in_the_package(root: Path) -> None:
    package(root, app=("libf.so",), f=())
    image(root / "libf.so")
    assert [*gathered(root, ImageFiles(IMAGE_IN_PACKAGE, strip=NO_STRIP))] == [
        in_package("libf.so")
    ]
    library(root / "lib/libf.so", LARGE)
    assert [*gathered(root, ImageFiles(IMAGE_IN_PACKAGE, strip=NO_STRIP))] == ["lib/libf.so"]


@pytest.mark.parametrize(("shipped", "strip"), [("app", ""), ("", NO_STRIP)])
def test_a_file_named_as_a_stripped_copy_is_refused(root: Path, shipped: str, strip: str) -> None:
    """It would stand for the library, or be overwritten by the library's stripped copy."""
    image(root / "app")
    library(root / "lib/libf.so", LARGE)
    library(root / "lib/libf.so.stripped", SMALL)
    files = ImageFiles("app", also=("lib/*",), shipped=shipped, strip=strip)
    with pytest.raises(DoesNotBuildError, match=r"^lib/libf.so.stripped and lib/libf.so ship"):
        gathered(root, files)
    image(root / "app", (NEEDED, "libf.so"), (NEEDED, "libf.so.stripped"))
    with pytest.raises(DoesNotBuildError, match=r"^lib/libf.so.stripped and lib/libf.so ship"):
        gathered(root, replace(files, also=()))
    image(root / "app")
    (root / "lib/libf.so").unlink()
    assert [*gathered(root, replace(files, shipped="", strip=NO_STRIP))] == ["lib/libf.so.stripped"]


def test_temporary_files_in_the_tree_give_no_names(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names of libraries would differ from build to build."""
    (root / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(root / "tmp"))
    package(root, app=("libf.so",), f=("libg.so",), g=())
    files = ImageFiles(IMAGE_IN_PACKAGE, strip=NO_STRIP)
    for command in ("make", ""):
        found = {*gathered(root, files, command=command)}
        assert found == {in_package("libf.so"), in_package("libg.so")}


def test_an_image_in_the_package_has_its_own_sizes(root: Path) -> None:
    package(root, app=("libf.so",), f=())
    files = ImageFiles(IMAGE_IN_PACKAGE, strip=NO_STRIP)
    assert gathered(root, files, f"{PACKAGE}!jni/x86_64/libf.so") == {}


def test_a_package_in_a_package(root: Path) -> None:
    package(root, app=("libf.so",), f=())
    with zipfile.ZipFile(root / "out/all.zip", "w") as file:
        file.write(root / PACKAGE, "app.aar")
    (root / PACKAGE).unlink()
    files = ImageFiles("out/all.zip!app.aar!jni/x86_64/libapp.so", strip=NO_STRIP)
    assert [*gathered(root, files)] == ["out/all.zip.members/app.aar.members/jni/x86_64/libf.so"]


def test_also_names_members_of_packages(root: Path) -> None:
    """Such as libraries that the app loads by name at run time."""
    package(root, app=(), f=(), g=(), h=())
    for pattern, found in (
        ("out/*.aar!jni/x86_64/*.so", {"libf.so", "libg.so", "libh.so"}),
        (f"{PACKAGE}!jni/*/lib[fg].so", {"libf.so", "libg.so"}),
    ):
        files = ImageFiles(IMAGE_IN_PACKAGE, also=(pattern,), strip=NO_STRIP)
        for apart, left in ((), found), ((f"{PACKAGE}!jni/x86_64/libf.so",), found - {"libf.so"}):
            assert {*gathered(root, files, *apart)} == {*map(in_package, left)}
    for pattern in (f"{PACKAGE}!*.so", "none.aar!jni/x86_64/*.so", f"{PACKAGE}!", "!libf.so"):
        files = ImageFiles(IMAGE_IN_PACKAGE, also=(pattern,), strip=NO_STRIP)
        with pytest.raises(DoesNotBuildError, match=f"made no {re.escape(pattern)}"):
            gathered(root, files)


def test_builds_of_other_commits_in_the_checkout_do_not_count(root: Path) -> None:
    """A build may make a folder of that name in its worktree."""
    (root / "app").write_bytes(image(root / "new", (NEEDED, "libf.so")).read_bytes())
    library(root / ".sizeguard/worktrees/0/tree/libf.so", LARGE)
    library(root / "libf.so", SMALL)
    files = ImageFiles("app", strip=NO_STRIP)
    assert [*gathered(root, files, command="")] == ["libf.so"]
    assert [*gathered(root, files)] == [".sizeguard/worktrees/0/tree/libf.so"]


@pytest.mark.parametrize("name", ["libapp.so", "libf.so"])
def test_two_members_of_one_name_are_refused(root: Path, name: str) -> None:
    """A linker takes the first member of the name, unzip the last."""
    package(root, app=("libf.so",), f=())
    files = ImageFiles(IMAGE_IN_PACKAGE, strip=NO_STRIP)
    assert len(gathered(root, files)) == 1
    large = library(root.with_name("large.so"), LARGE)
    with zipfile.ZipFile(root / PACKAGE, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.write(large, f"jni/x86_64/{name}")
    with pytest.raises(SizeguardError, match=f"two members are named 'jni/x86_64/{name}'"):
        gathered(root, files)


def test_a_library_that_a_file_of_also_needs_counts(root: Path) -> None:
    """The image does not name the plug-in, so it does not name what the plug-in needs."""
    image(root / "app")
    library(root / "plugin.so", SMALL, "libg.so")
    library(root / "lib/libg.so", SMALL, "libh.so")
    library(root / "lib/libh.so", LARGE)
    names = gathered(root, ImageFiles("app", strip=NO_STRIP, also=("plugin.so",)))
    assert {*names} == {"plugin.so", "lib/libg.so", "lib/libh.so"}


def test_a_library_of_also_counts_once(root: Path) -> None:
    """Of equal copies, the one that `also` names is the needed one."""
    image(root / "app")
    library(root / "dist/plugin.so", SMALL, "libg.so")
    for folder in ("build", "dist"):
        library(root / folder / "libg.so", LARGE)
    library(root / "tmp/libg.so", LARGE)
    names = gathered(root, ImageFiles("app", strip=NO_STRIP, also=("dist/*.so",)))
    assert {*names} == {"dist/plugin.so", "dist/libg.so"}


def test_libraries_in_a_linked_folder_outside_count(root: Path, outside: Path) -> None:
    """The build writes them to another file system, for example."""
    library(outside / "libf.so", LARGE)
    library(outside / "deep/libf.so", 2 * LARGE)
    (root / "lib").symlink_to(outside)
    assert [*counted(root)] == ["lib/libf.so"]


@pytest.mark.parametrize("origin", ["$ORIGIN/", "${ORIGIN}/", "/nowhere:$ORIGIN/"])
def test_libraries_beside_a_folder_outside_count(root: Path, outside: Path, origin: str) -> None:
    """The folder with the image is a link; the image finds its libraries beside that folder."""
    library(outside / "lib/libf.so", LARGE, "libg.so")
    library(outside / "lib/libg.so", LARGE)
    (outside / "bin").mkdir()
    image(outside / "bin/app", (NEEDED, "libf.so"), (RUNPATH, f"{origin}../lib"))
    image(outside / "lib/libf.so", (NEEDED, "libg.so"), (RUNPATH, "$ORIGIN"))
    (root / "bin").symlink_to(outside / "bin")
    found = gathered(root, ImageFiles("bin/app", strip=NO_STRIP))
    assert sorted(Path(name).name for name in found) == ["libf.so", "libg.so"]


def test_search_paths_of_the_building_machine_do_not_count(root: Path, outside: Path) -> None:
    library(outside / "libf.so", LARGE)
    image(root / "app", (NEEDED, "libf.so"), (RUNPATH, str(outside)))
    assert gathered(root, ImageFiles("app", strip=NO_STRIP)) == {}


def test_libraries_beside_the_tree_do_not_count(root: Path) -> None:
    """The path may be meant for the place of installation."""
    library(root.with_name("lib") / "libf.so", LARGE)
    image(root / "app", (NEEDED, "libf.so"), (RUNPATH, "$ORIGIN/../lib"))
    assert gathered(root, ImageFiles("app", strip=NO_STRIP)) == {}
