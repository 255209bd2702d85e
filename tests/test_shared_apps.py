"""Two apps over shared kernels: each holds its effective selection, and a leak is of one alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.builds.build_record import Build
from tests.support.app_tree import APPS, AppTree


@pytest.fixture(scope="module")
def tree(root: Path, native_tools: None) -> AppTree:
    """The build tree of native/apps, as test_build makes it."""
    tree = AppTree(root / "build" / "tests" / "apps-shared", shared=True)
    tree.configure()
    tree.make()
    return tree


@pytest.mark.parametrize("app", APPS)
def test_each_app_holds_its_effective_selection(app: str, tree: AppTree, full_build: Build) -> None:
    found = tree.verified(full_build, app, tree.folder / app, tree.objects(app))
    assert found == (0, {})


def test_alone_an_app_has_the_others_dtypes_too_many(tree: AppTree, full_build: Build) -> None:
    objects = tree.objects("vision")
    found = tree.verified(full_build, "vision", tree.folder / "vision", objects, alone=True)
    assert found == (1, {"dtype copy:Bool": "fail"})


def test_a_leak_in_the_glue_of_one_app_fails_that_app_alone(
    tree: AppTree, full_build: Build, tmp_path: Path
) -> None:
    """The other app is linked of the same kernels after the leak, and holds."""
    image, leak = tree.leak("vision", tmp_path)
    code, wrong = tree.verified(full_build, "vision", image, tree.objects("vision", leak))
    assert code == 1
    assert wrong["kernel erf"] == "fail"
    other = tree.objects("language")
    assert tree.verified(full_build, "language", tree.folder / "language", other) == (0, {})
