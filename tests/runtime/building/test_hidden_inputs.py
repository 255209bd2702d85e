"""Test that a build's record of inputs shows every way to hide growth.

tests/soak/gates/hidden_growth.py runs the gate on the same ways.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sizeguard.builds.build_inputs import BuildInputs, content_hash, input_changes
from sizeguard.builds.build_record import Build
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.made_files import read_made
from sizeguard.runtimes.sizeguard.building.variants import Variant
from sizeguard.toolchains.environment import recorded_environment
from sizeguard.toolchains.toolchain import Toolchain
from tests.support.histories.drawn_history import run_git
from tests.support.tricks.hidden_growth import WAYS, prepare

pytestmark = pytest.mark.native


@dataclass(frozen=True)
class BuiltTree:
    """A prepared tree in git, and its build without operators."""

    root: Path
    folder: Path
    inputs: BuildInputs
    toolchain: Toolchain

    def build(self) -> Build:
        return build(self.root, Variant("core"), self.toolchain, self.folder)


@pytest.fixture(scope="module")
def tree(
    tmp_path_factory: pytest.TempPathFactory, root: Path, toolchain: Toolchain
) -> Iterator[BuiltTree]:
    top = tmp_path_factory.mktemp("hidden") / "tree"
    ignored = shutil.ignore_patterns("models", "examples", "fuzzing")
    shutil.copytree(root / "native", top / "native", ignore=ignored)
    prepare(top)
    run_git(top, "init", "-q", "-b", "main")
    run_git(top, "add", "-A")
    run_git(top, "commit", "-q", "-m", "A runtime")
    folder = top / "build" / "core"
    made = build(top, Variant("core"), toolchain, folder)
    assert made.inputs
    yield BuiltTree(top, folder, made.inputs, toolchain)


def put_back(tree: BuiltTree) -> None:
    for hidden in ("--no-assume-unchanged", "--no-skip-worktree"):
        run_git(tree.root, "update-index", hidden, "native/runtime/table.inc")
    run_git(tree.root, "checkout", "-q", "-f", ".")
    run_git(tree.root, "clean", "-fdxq", "-e", "build")
    (tree.folder / "operators/code/ctime").unlink(missing_ok=True)


@pytest.mark.parametrize("name", WAYS)
def test_every_way_differs_from_the_record(
    tree: BuiltTree, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    way = WAYS[name]
    assert not input_changes(tree.inputs, content_hash, recorded_environment())
    for variable, value in way.variables(tree.root).items():
        monkeypatch.setenv(variable, value)
    try:
        if way.git:
            run_git(tree.root, *way.git)
        way.change(tree.root, tree.folder)
        found = input_changes(tree.inputs, content_hash, recorded_environment())
        texts = (
            *found.files, *found.tools, *found.appeared, *found.globs, *found.environment
        )  # fmt: skip
        assert any(way.names in text for text in texts), found
    finally:
        put_back(tree)


def test_what_the_build_made_is_no_input_and_what_somebody_put_there_is(tree: BuiltTree) -> None:
    assert not any(path.startswith(f"{tree.folder}/") for path in tree.inputs.files)
    assert {"/usr/bin/g++", "/usr/bin/ar"} <= set(tree.inputs.tools)
    try:
        before = tree.build()
        assert before.inputs == tree.inputs
        WAYS["a generated header"].change(tree.root, tree.folder)
        after = tree.build()
        assert after.inputs
        assert f"{tree.folder}/operators/code/ctime" in after.inputs.files
        assert after.sizes.load - before.sizes.load >= 6000
    finally:
        put_back(tree)


def test_an_output_that_somebody_changed_is_made_again(tree: BuiltTree) -> None:
    before = tree.build()
    for path in (before.shipped, tree.folder / "libsg_runtime.a"):
        content = path.read_bytes()
        path.write_bytes(content + b"more")
        assert read_made(tree.folder).changed_outputs(content_hash)
        assert tree.build().sizes == before.sizes
        assert path.read_bytes() == content
