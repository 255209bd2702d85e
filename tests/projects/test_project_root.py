"""The folder that a command works on: a project, the runtime's sources, or none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from sizeguard.base.errors import InputError
from sizeguard.builds.build_record import RECORD, Build
from sizeguard.cli.main import cli
from sizeguard.gate.request import Request
from sizeguard.projects.reader import read_config
from sizeguard.projects.root import (
    build_root,
    find_project,
    find_sources,
    project_root,
    source_root,
    sources_of,
)
from sizeguard.runtimes.known import built_from, source_tree
from tests.support.histories.git_runs import git
from tests.support.own_python import sizeguard
from tests.support.parts import mostly_second
from tests.support.results.gate_samples import passing

pytestmark = pytest.mark.native

APPS = "apps:\n  shop: {selection: shop.yaml, models: []}\n"
WAIVE = [
    "waive", "load", "--bytes", "1", "--reason", "r", "--owner", "o", "--expires", "2099-01-01",
]  # fmt: skip


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """Make a git repository inside the folder of an unrelated project."""
    (tmp_path / "sizeguard.yaml").write_text(APPS)
    for part in ("CMakeLists.txt", "runtime/a.h"):
        (tmp_path / "native" / part).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "native" / part).write_text("")
    repository = tmp_path / "theirs"
    (repository / "src").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    return repository


def files_in(folder: Path) -> list[str]:
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if ".git" not in path.relative_to(folder).parts
    )


@pytest.mark.parametrize(
    "command",
    mostly_second(
        [["baseline", "show"], ["baseline", "log"], ["baseline", "update"], ["gate"], WAIVE,
         ["select", "update"]],
        [["gate"], WAIVE],
    ),
    ids=" ".join,
)  # fmt: skip
def test_a_stranger_has_no_project(stranger: Path, command: Sequence[str]) -> None:
    done = sizeguard(stranger / "src", *command)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"error: not in a project: there is no sizeguard.yaml in {stranger}/src or above, up to"
        f" {stranger}; sizeguard init writes one\n"
    )
    assert files_in(stranger) == ["src"]


@pytest.mark.parametrize(
    "command",
    [["build", "full"], ["trace", "a.sgp", "-o", "a.yaml"], ["predict", "--app", "vision"]],
    ids=" ".join,
)
def test_a_stranger_has_no_sources(stranger: Path, command: Sequence[str]) -> None:
    done = sizeguard(stranger, *command)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: this needs the runtime's sources, but there is no native/ in"
        f" {stranger}; name its folder with --runtime-source DIR\n"
    )
    done = sizeguard(stranger, *command, "--runtime-source", stranger / "src")
    assert done.returncode == 2
    assert done.stderr == (
        f"error: --runtime-source {stranger}/src: there is no native/ with the runtime's sources\n"
    )
    assert files_in(stranger) == ["src"]


def test_a_project_without_baselines_says_so(stranger: Path) -> None:
    (stranger / "sizeguard.yaml").write_text(APPS)
    done = sizeguard(stranger / "src", "baseline", "show")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"error: {stranger}: there are no baselines; run `sizeguard baseline update`\n"
    )


def test_roots_are_found_above_up_to_the_repository(
    stranger: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root / "native" / "apps")
    assert project_root() == root
    assert source_root(None) == root
    assert build_root() == root

    monkeypatch.chdir(stranger / "src")
    assert find_project() is None
    assert find_sources(None) is None
    assert build_root() == stranger / "src"
    assert source_root(root) == root

    (stranger / "sizeguard.yaml").write_text(APPS)
    assert project_root() == build_root() == stranger

    monkeypatch.chdir(stranger.parent)
    assert project_root() == source_root(None) == stranger.parent


def test_a_work_tree_of_git_is_a_root_of_its_own(
    stranger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The .git of a worktree is a file."""
    (stranger / "sizeguard.yaml").write_text(APPS)
    tree = stranger / ".sizeguard" / "worktrees" / "one"
    tree.mkdir(parents=True)
    (tree / ".git").write_text("gitdir: somewhere\n")
    monkeypatch.chdir(tree)
    assert find_project() is None


def test_sources_elsewhere_are_no_input_of_the_project(root: Path, stranger: Path) -> None:
    """A project's file does not change binaries, even if it has the name of a runtime source."""
    (stranger / "sizeguard.yaml").write_text(APPS)
    (stranger / "shop.yaml").write_text("operators: {}\n")
    request = Request(stranger, read_config(stranger), source=root)
    assert not request.has_own_sources
    assert request.tree.key() == source_tree(root)[1].key()
    assert Request(root, read_config(root), source=root).has_own_sources
    assert Request(root, read_config(root)).has_own_sources


def test_models_are_read_with_the_operators_of_the_project(root: Path, stranger: Path) -> None:
    shutil.copytree(
        root / "native", stranger / "native", ignore=shutil.ignore_patterns("models", "kernels")
    )
    added = "\n- {func: 'my::op(Tensor self) -> Tensor', kernel: op, kind: core}\n"
    with (stranger / "native" / "operators" / "operators.yaml").open("a") as file:
        file.write(added)
    mine = sizeguard(stranger / "src", "select", "ops", "--list").stdout
    packaged = sizeguard(stranger.parent / "native", "select", "ops", "--list", "--runtime-source",
                         root).stdout  # fmt: skip
    assert "my::op" in mine
    assert "my::op" not in packaged
    elsewhere = stranger.parent / "elsewhere"
    (elsewhere / ".git").mkdir(parents=True)
    assert sizeguard(elsewhere, "select", "ops", "--list").stdout == packaged


def test_a_build_tells_what_it_was_made_from(root: Path, tmp_path: Path) -> None:
    def configured(*words: str | Path) -> Path | None:
        (tmp_path / "configure.txt").write_text("\n".join(map(str, words)))
        return built_from(tmp_path)

    assert configured("cmake", "-S", root / "native", "-B", tmp_path) == root
    assert configured("cmake", "-S", tmp_path / "native", "-B", tmp_path) is None
    assert configured("cmake", "-S", root / "tests") is None
    assert configured("cmake", "-S") is None
    (tmp_path / "configure.txt").write_bytes(b"\xff")
    assert built_from(tmp_path) is None
    assert built_from(tmp_path / "nowhere") is None


def test_sources_of_a_build(root: Path, stranger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the sources around the build, else those that it names, else the current folder's."""
    project = stranger.parent
    (project / "configure.txt").write_text(f"cmake\n-S\n{root}/native")
    monkeypatch.chdir(project)
    assert sources_of(project, None) == project
    assert sources_of(project / "build.json", root) == root
    monkeypatch.chdir(stranger)
    assert sources_of(project, None) == root
    assert sources_of(project / "build.json", None) == root
    (project / "configure.txt").unlink()
    with pytest.raises(InputError, match="there is no native/ in"):
        sources_of(project, None)
    monkeypatch.chdir(root)
    assert sources_of(project, None) == root


def test_errors_name_the_current_folder_alone_at_the_root_of_a_repository(
    stranger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(stranger)
    with pytest.raises(InputError) as error:
        project_root()
    looked_in = f"there is no sizeguard.yaml in {stranger}; "
    assert str(error.value) == f"not in a project: {looked_in}sizeguard init writes one"


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("nowhere")])
def test_a_configuration_that_is_no_file_is_named(
    stranger: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], object]
) -> None:
    make(stranger / "sizeguard.yaml")
    monkeypatch.chdir(stranger)
    with pytest.raises(InputError, match="cannot read: not a regular file"):
        project_root()


def test_verify_takes_the_sources_of_the_build(full_build: Build, stranger: Path) -> None:
    done = sizeguard(stranger, "verify", full_build.image.parent, "--format", "csv")
    assert done.returncode == 0, done.stderr
    assert "pass" in done.stdout


def test_a_static_selection_needs_no_sources(full_build: Build, root: Path, stranger: Path) -> None:
    """Operators and features are those of the full build and of the package."""
    model, folder = root / "native" / "models" / "mlp" / "model.pt2", full_build.image.parent
    copy = stranger / "full"
    copy.mkdir()
    shutil.copy(folder / RECORD, copy)  # which names no sources
    inside = sizeguard(root, "select", "static", model, "--build", folder)
    assert inside.returncode == 0, inside.stderr
    for more in (["--build", folder], ["--full", copy], ["--full", copy, "--runtime-source", root]):
        done = sizeguard(stranger, "select", "static", model, *more)
        assert (done.returncode, done.stdout) == (0, inside.stdout), done.stderr

    reached = ("select", "static", model, "--build", copy, "-o", stranger / "traced.yaml")
    assert sizeguard(stranger, *reached).returncode == 0
    told = ("select", "adequacy", model, "--trace", stranger / "traced.yaml", "--build")
    inside, done = sizeguard(root, *told, folder), sizeguard(stranger, *told, copy)
    assert (done.returncode, done.stdout) == (0, inside.stdout), done.stderr
    assert not (stranger / "build").exists()


@pytest.mark.parametrize(
    ("command", "where"),
    [
        (["baseline", "show"], "stdout"),
        (["baseline", "show", "--format", "json"], "stderr"),
        (["baseline", "log"], "stdout"),
        (["baseline", "log", "--format", "json"], "stderr"),
        (WAIVE, "stdout"),
        ([*WAIVE, "--trailer"], "stderr"),
        (["gate"], "stdout"),
        (["gate", "--format", "json"], "stderr"),
        (["gate", "--format", "markdown"], "stderr"),
        (["gate", "--output", "gate.txt"], "stderr"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_the_first_line_says_which_policy_rules(
    stranger: Path, root: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], where: str
) -> None:
    """The line also appears in subfolders of the project; machine-readable output is unchanged."""
    project = stranger / "src" / "mine\nand yours"
    (project / "baselines").mkdir(parents=True)
    (project / "deep").mkdir()
    (project / "sizeguard.yaml").write_text(APPS)
    baseline = next((root / "baselines").glob("vision.x86_64-linux.gcc*-Os.yaml"))
    shutil.copy(baseline, project / "baselines" / baseline.name)
    if command[:2] == ["baseline", "log"]:
        git(project, "init", "-q")
        git(project, "add", ".")
        git(project, "commit", "-qm", "Begin")
    source = [] if command[0] == "baseline" else ["--runtime-source", str(root)]
    monkeypatch.chdir(project / "deep")
    monkeypatch.setattr("sizeguard.gate.run.run_gate", lambda request: passing())
    done = CliRunner().invoke(cli, [*command, *source])
    assert done.exit_code == 0, done.output
    line = f"policy: {stranger}/src/mine\\nand yours/sizeguard.yaml"
    texts = {"stdout": done.stdout, "stderr": done.stderr}
    assert texts.pop(where).splitlines()[0] == line
    assert line not in texts.popitem()[1]
    if "json" in command:
        json.loads(done.stdout)
