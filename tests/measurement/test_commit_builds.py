"""Builds of commits: each once, in worktrees, whatever fails or is killed meanwhile."""

from __future__ import annotations

import hashlib
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from sizeguard.base.errors import BuildError, InputError
from sizeguard.builds.build_inputs import BuildInputs
from sizeguard.git.worktrees import MARKER, remove_worktrees, worktree
from sizeguard.measurement.measured_commits import (
    MeasurementPlace,
    measure_commit,
    measurement_key,
    try_commit,
)
from sizeguard.measurement.metric import Metric, metric_value
from sizeguard.projects.command import CommandRecipe, check_command
from sizeguard.runtimes.sizeguard.building.commit_inputs import runtime_hash
from sizeguard.runtimes.sizeguard.building.native_recipe import _elsewhere
from sizeguard.snapshots.store import Store
from sizeguard.toolchains.recipe import DoesNotBuildError, Limits
from tests.support.histories.small_history import SmallRepository, state_of_checkout
from tests.support.tricks.any_project import made_project


def place_of(repository: SmallRepository, folder: Path) -> MeasurementPlace:
    return MeasurementPlace(repository.path, folder / "trees", Store(folder / "store"))


@pytest.mark.native
def test_a_commit_is_built_once_and_the_checkout_is_untouched(tmp_path: Path) -> None:
    repository = SmallRepository(tmp_path / "r")
    first, second = repository.sized(40), repository.sized(80)
    broken = repository.commit("broken", {"main.c": "int main(void) { return }\n"})
    (repository.path / "main.c").write_text("uncommitted\n")
    (repository.path / "untracked").write_text("mine\n")
    before = state_of_checkout(repository.path)
    place, recipe = place_of(repository, tmp_path), repository.recipe
    a, b = measure_commit(place, first[:9], recipe), measure_commit(place, second, recipe)
    assert a.was_built
    assert b.was_built
    assert a.analysis is not None
    assert b.analysis is not None
    assert (
        metric_value(b.analysis, Metric("symbol", "table"))
        - metric_value(a.analysis, Metric("symbol", "table"))
        == 40
    )
    assert not measure_commit(place, first, recipe).was_built
    with pytest.raises(DoesNotBuildError, match=r"main\.c:1:.*error"):
        measure_commit(place, broken, recipe)
    assert not try_commit(place, broken, measurement_key(place, broken, recipe), recipe).was_built
    assert state_of_checkout(repository.path) == before
    remove_worktrees(repository.path, place.worktrees)
    assert repository.git("worktree", "list", "--porcelain").count("worktree ") == 1
    assert [path.name for path in place.worktrees.iterdir()] == ["tree-00.lock"]


@pytest.mark.native
def test_equal_inputs_at_two_paths_of_one_length_give_one_key(tmp_path: Path) -> None:
    repository = SmallRepository(tmp_path / "r")
    commit = repository.sized(40)
    keys = [
        measurement_key(
            MeasurementPlace(repository.path, tmp_path / name, Store(tmp_path)),
            commit,
            repository.recipe,
        )
        for name in ("ab", "cd", "abc")
    ]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.native
def test_a_machine_that_fails_says_nothing_of_the_commit(tmp_path: Path) -> None:
    repository = SmallRepository(tmp_path / "r")
    commit = repository.sized(40)
    place = place_of(repository, tmp_path)
    for command, told in (
        (
            "echo 'x.c: fatal error: error writing to x.o: No space left on device'; exit 1",
            "No space left on device",
        ),
        ("kill -9 $$", "signal 9"),
        ("echo > app", "cannot be measured"),
    ):
        with pytest.raises(BuildError, match=told) as raised:
            measure_commit(place, commit, CommandRecipe(command, "app"))
        assert not isinstance(raised.value, DoesNotBuildError)
    with pytest.raises(BuildError, match="did not end within"):
        measure_commit(
            MeasurementPlace(place.repository, place.worktrees, place.store, Limits(timeout=0.3)),
            commit,
            CommandRecipe("sleep 60", "app"),
        )
    with pytest.raises(DoesNotBuildError, match="made no app"):
        measure_commit(place, commit, CommandRecipe("true", "app"))
    assert len(list((place.store.folder / "facts").iterdir())) == 1
    for image in ("", "/bin/ls", "../x"):
        with pytest.raises(InputError):
            check_command("make", image)


@pytest.mark.native
def test_what_a_killed_run_started_is_ended_and_its_tree_made_anew(tmp_path: Path) -> None:
    repository = SmallRepository(tmp_path / "r")
    commit = repository.sized(40)
    place = place_of(repository, tmp_path)
    code = (
        "import sys; from pathlib import Path; from sizeguard.measurement.measured_commits import"
        " *;from sizeguard.projects.command import CommandRecipe; from sizeguard.snapshots.store"
        " import Store;r, t, s, c = sys.argv[1:];measure_commit(MeasurementPlace(Path(r), Path(t),"
        " Store(Path(s))), c, CommandRecipe('touch half-written; (setsid sleep 1000 &) ; sleep"
        " 1000', 'app'))"
    )
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            code,
            str(repository.path),
            str(place.worktrees),
            str(place.store.folder),
            commit,
        ]
    )
    tree = place.worktrees.resolve() / "tree-00"
    deadline = time.monotonic() + 60
    while not (tree / "half-written").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (tree / "half-written").exists()
    (repository.path / ".git" / "worktrees" / "tree-00" / "index.lock").touch()
    measured = measure_commit(place, commit, repository.recipe)
    assert measured.was_built
    assert not (tree / "half-written").exists()
    mark = f"{MARKER}={tree}".encode()
    alive = []
    for each in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in each.read_bytes().split(b"\0"):
                alive.append(each.parent.name)
        except OSError:
            continue
    assert alive == []


def test_two_users_have_two_work_trees(tmp_path: Path) -> None:
    repository = SmallRepository(tmp_path / "r")
    commit = repository.sized(40)
    with (
        worktree(repository.path, tmp_path / "trees") as one,
        worktree(repository.path, tmp_path / "trees") as two,
    ):
        assert (one.path.name, two.path.name) == ("tree-00", "tree-01")
        with one.check_out(commit) as a, two.check_out(commit) as b:
            assert (a / "main.c").read_bytes() == (b / "main.c").read_bytes()
        remove_worktrees(repository.path, tmp_path / "trees")
        assert (one.path / "main.c").exists()
    remove_worktrees(repository.path, tmp_path / "trees")
    assert not (tmp_path / "trees" / "tree-01").exists()


def test_a_tree_that_somebody_damaged_is_repaired(tmp_path: Path) -> None:
    repository = SmallRepository(tmp_path / "r")
    commit = repository.sized(40)
    for damage in ("removed", "no .git", "edited", "unregistered"):
        with worktree(repository.path, tmp_path / "trees") as tree:
            if damage == "removed" and tree.path.exists():
                shutil.rmtree(tree.path)
            elif damage == "no .git":
                (tree.path / ".git").unlink()
            elif damage == "edited":
                (tree.path / "main.c").write_text("x")
                (tree.path / "more").write_text("x")
            elif damage == "unregistered":
                shutil.rmtree(repository.path / ".git" / "worktrees")
            with tree.check_out(commit) as path:
                assert sorted(each.name for each in path.iterdir()) == [".git", "main.c"]
                assert hashlib.sha1(
                    f"blob {(path / 'main.c').stat().st_size}\0".encode()
                    + (path / "main.c").read_bytes()
                ).hexdigest() in repository.git("ls-tree", commit)


def test_the_package_s_version_is_part_of_the_key_and_nothing_else_beside_the_sources(
    tmp_path: Path,
) -> None:
    """CMake reads it for the installed package; bases in our own repository are measured."""
    read = ["sizeguard/__init__.py", "native/runtime/value.h", "s.yaml"]
    inputs = BuildInputs({f"{tmp_path}/{name}": "1" for name in read}, {}, environment={})
    assert _elsewhere(inputs, tmp_path, "s.yaml") == ""
    for name in ("sizeguard/base/__init__.py", "extra/table.inc", "sizeguard/other.py"):
        more = BuildInputs({**inputs.files, f"{tmp_path}/{name}": "1"}, {}, environment={})
        assert _elsewhere(more, tmp_path, "s.yaml") == name
    looked = ["ctime", "extra", "native/runtime/x.h", "build/app/ctime"]
    told = replace(inputs, absent=tuple(f"{tmp_path}/{name}" for name in looked))
    assert _elsewhere(told, tmp_path, "s.yaml") == ""
    told = replace(inputs, globs={f"{tmp_path}/native/runtime/*.cpp": "1"})
    assert _elsewhere(told, tmp_path, "s.yaml") == ""
    for name in ("extra/switch", "extra/*.inc", "extra/folder/**/*"):
        path = f"{tmp_path}/{name}"
        assert _elsewhere(replace(inputs, absent=(path,)), tmp_path, "s.yaml") == name
        assert _elsewhere(replace(inputs, globs={path: "1"}), tmp_path, "s.yaml") == name
    project = made_project(tmp_path / "p", "", {"sizeguard/__init__.py": "1", "a.py": "1"})
    first = runtime_hash(project.root, project.git("rev-parse", "HEAD"), "")
    project.write({"a.py": "2"})
    assert runtime_hash(project.root, project.commit("Two"), "") == first
    project.write({"sizeguard/__init__.py": "2"})
    assert runtime_hash(project.root, project.commit("Three"), "") != first
