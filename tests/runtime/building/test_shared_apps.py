"""Two apps with shared kernels: each passes with its effective selection; a leak fails only one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sizeguard.builds.build_record import Build
from sizeguard.gate.gate_result import ELIMINATION
from sizeguard.gate.request import Request
from sizeguard.gate.run import run_gate
from sizeguard.projects.reader import read_config
from tests.support.histories.app_tree import APPS, AppTree, selection_of

CONFIG = """\
apps:
  shared:
    shared_kernels: {shared}
    images:
      vision:
        image: {vision}
        map: {vision}.map
        objects: [{of_vision}, "*.a"]
        selection: vision.yaml
      language:
        image: language
        map: language.map
        objects: [{of_language}, "*.a"]
        selection: language.yaml
"""


@pytest.fixture(scope="module")
def tree(root: Path, native_tools: None) -> AppTree:
    """Build native/apps as test_build does."""
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
    """The other app uses the same kernels and still passes after the leak."""
    image, leak = tree.leak("vision", tmp_path)
    code, wrong = tree.verified(full_build, "vision", image, tree.objects("vision", leak))
    assert code == 1
    assert wrong["kernel erf"] == "fail"
    other = tree.objects("language")
    assert tree.verified(full_build, "language", tree.folder / "language", other) == (0, {})


def gated(
    tree: AppTree, root: Path, vision: str = "vision", shared: str = "true"
) -> dict[str, str]:
    """Return the gate's verdict on each app's claims, in a project with existing images."""
    for app in APPS:
        shutil.copyfile(selection_of(app), tree.folder / f"{app}.yaml")
    leak = f", {Path(vision).parent}/leak.o" if vision != "vision" else ""
    objects = {f"of_{app}": f"CMakeFiles/{app}*.dir/**/*.o" for app in APPS}
    objects["of_vision"] += leak
    text = CONFIG.format(shared=shared, vision=vision, **objects)
    (tree.folder / "sizeguard.yaml").write_text(text)
    config = read_config(tree.folder)
    result = run_gate(Request(tree.folder, config, source=root, in_place=True))
    assert [app.app for app in result.apps] == ["shared.vision", "shared.language"]
    assert not result.problems
    return {
        f"{app.app}: {check.advice}": check.verdict
        for app in result.apps
        for check in app.checks
        if check.kind == ELIMINATION
    }


def test_the_gate_takes_the_effective_selection(tree: AppTree, root: Path) -> None:
    assert list(gated(tree, root).values()) == ["pass", "pass"]
    found = gated(tree, root, shared="false")
    assert list(found.values()) == ["fail", "fail"]
    assert next(iter(found)).endswith("shared.vision.x86_64-linux --selection vision.yaml")


def test_the_gate_fails_the_app_with_the_leak_alone(tree: AppTree, root: Path) -> None:
    folder = tree.folder / "leak"
    folder.mkdir(exist_ok=True)
    tree.leak("vision", folder)
    found = gated(tree, root, "leak/vision")
    assert list(found.values()) == ["fail", "pass"]
    assert next(iter(found)).endswith("--selection vision.yaml --shared-with language.yaml")
