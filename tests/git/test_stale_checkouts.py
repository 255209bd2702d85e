"""Worktrees have the files of their commit, whatever branches and filters the clone has."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sizeguard.git.git import branch_id
from sizeguard.git.own_filters import own_filters
from sizeguard.git.worktrees import EVERYTHING, Worktree
from sizeguard.projects.any_build import AnyBuildRecipe
from sizeguard.projects.project import BuildSteps, ImageFiles
from sizeguard.toolchains import native_code
from sizeguard.toolchains.read_files import watch
from tests.support.histories.drawn_history import run_git
from tests.support.tools import UNPRIVILEGED

ATTRIBUTES = "*.h filter=gen\n"


def commit(root: Path, **files: str) -> str:
    for name, text in files.items():
        (root / name.replace("_", ".")).write_text(text)
    run_git(root, "add", "-A")
    run_git(root, "commit", "-q", "-m", "one")
    return run_git(root, "rev-parse", "HEAD")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a repository whose filter `gen` replaces a file by another one."""
    root = tmp_path / "root"
    root.mkdir()
    run_git(root, "init", "-q", "-b", "main")
    run_git(root, "config", "filter.gen.smudge", "cat > /dev/null; cat a.txt")
    run_git(root, "config", "filter.gen.clean", "cat > /dev/null; echo x")
    return root


def test_a_branch_with_the_name_of_an_id_is_not_its_commit(root: Path, tmp_path: Path) -> None:
    """git checkout prefers the branch."""
    first, second = commit(root, a_txt="1"), commit(root, a_txt="2")
    run_git(root, "branch", first, second)
    run_git(root, "branch", second, first)
    tree = Worktree(root, tmp_path / "tree")
    for id_, text in (first, "1"), (second, "2"), (first, "1"):
        assert branch_id(root, id_) == id_
        with tree.check_out(id_) as path:
            assert (path / "a.txt").read_text() == text


@pytest.mark.parametrize("keep", [(), EVERYTHING])
def test_a_filter_of_the_clone_runs_again(
    root: Path, tmp_path: Path, keep: tuple[str, ...]
) -> None:
    """It may read files that differ; git writes no file anew whose blob is equal."""
    ids = [commit(root, _gitattributes=ATTRIBUTES, a_txt=text, z_h="") for text in ("1", "2", "1")]
    tree = Worktree(root, tmp_path / "tree")
    for id_, text in zip(ids, ("1", "2", "1"), strict=True):
        with tree.check_out(id_, keep) as path:
            assert (path / "z.h").read_text() == text


@pytest.mark.parametrize("clean", ["", "true"])
def test_all_files_count_if_a_filter_may_read_them(
    root: Path, clean: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_code, "host_toolchain", str)  # starts compilers
    steps = BuildSteps({"": ImageFiles("app")}, "true", clean=clean, ignore=("*.txt",))
    recipe = AnyBuildRecipe("a", "t", steps)
    ids = [commit(root, _gitattributes=ATTRIBUTES, a_txt=text, z_h="") for text in ("1", "2")]
    assert len({str(recipe.key(root, each, 0)["tree"]) for each in ids}) == 2


def test_other_folders_of_pkg_config_make_another_build(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_code, "host_toolchain", str)  # starts compilers
    recipe = AnyBuildRecipe("a", "t", BuildSteps({"": ImageFiles("app")}, "make"))
    id_ = commit(root, a_txt="1")
    keys = []
    for folder in ("/a", "/b", "/a"):
        monkeypatch.setenv("PKG_CONFIG_PATH", folder)
        keys.append(recipe.key(root, id_, 0))
    assert keys[0] == keys[2] != keys[1]


@pytest.mark.parametrize(
    ("setting", "attributes", "of_clone", "names"),
    [
        ("filter.gen.smudge", ATTRIBUTES, "", ["filter.gen.smudge"]),
        ("filter.a b.process", "*.h filter=gen\n", "", ["filter.gen.smudge"]),
        ("filter.b.process", "[attr]x text filter=b\n*.h x\n", "", ["filter.b.process"]),
        ("filter.b.process", "*.h text\n", "*.h filter=b\n", ["filter.b.process"]),
        ("filter.b.clean", "*.h filter=b\n", "", []),
        ("filter.lfs.process", "*.h filter=lfs\n", "", []),
        ("filter.gen.smudge", "*.h -filter text\n", "", []),
    ],
)
def test_filters_that_count(
    root: Path, setting: str, attributes: str, of_clone: str, names: list[str]
) -> None:
    run_git(root, "config", setting, "cat")
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/attributes").write_text(of_clone)
    assert [*own_filters(root, commit(root, _gitattributes=attributes))] == names


@pytest.mark.parametrize("setting", ["core.trustctime=true", "core.trustctime=false"])
@pytest.mark.parametrize("wait", [0, 1.1])
def test_a_file_that_a_build_wrote_is_checked_out_again(
    root: Path, tmp_path: Path, setting: str, wait: float
) -> None:
    """Git trusts its size and times; in the first second, all of them are those of the checkout."""
    run_git(root, "config", *setting.split("="))
    id_ = commit(root, a_txt="111")
    tree = Worktree(root, tmp_path / "tree")
    with tree.check_out(id_) as path:
        watch(path)
        file = path / "a.txt"
        before = file.stat()
        time.sleep(wait)
        file.write_text("999")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    with tree.check_out(id_) as path:
        assert (path / "a.txt").read_text() == "111"


def test_a_lock_of_a_build_that_was_ended_is_removed(root: Path, tmp_path: Path) -> None:
    """Its git can be killed with all other processes of the build."""
    id_ = commit(root, a_txt="1")
    tree = Worktree(root, tmp_path / "tree")
    with tree.check_out(id_):
        (root / ".git" / "worktrees" / "tree" / "index.lock").touch()
    with tree.check_out(id_) as path:
        assert (path / "a.txt").read_text() == "1"


_TWICE = """
import sys
import os
import subprocess
import sys
import time
from pathlib import Path
from sizeguard.git.worktrees import worktree
root = Path(sys.argv[1])
for _ in range(2):
    with worktree(root, root / ".sizeguard") as tree:
        with tree.check_out(sys.argv[2]) as path:
            made = path / "modules" / "deep"
            made.mkdir(parents=True)
            (made / "file").write_text("")
            made.chmod(0o555)
        if len(sys.argv) > 3:
            tree.remove()
"""


def _run_twice(root: Path, id_: str, *more: str) -> subprocess.CompletedProcess[str]:
    prefix = UNPRIVILEGED if os.geteuid() == 0 else ()
    command = [*prefix, sys.executable, "-c", _TWICE, str(root), id_, *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("more", [(), ("remove",)])
def test_read_only_folders_of_a_build_are_removed(root: Path, more: tuple[str, ...]) -> None:
    """Go makes the folders of its modules read-only, and each later gate failed."""
    done = _run_twice(root, commit(root, a_txt="1"), *more)
    assert done.returncode == 0, done.stderr


def test_a_worktree_of_another_user_is_an_error_of_one_line(root: Path) -> None:
    id_ = commit(root, a_txt="1")
    folder = root / ".sizeguard"
    folder.mkdir()
    folder.chmod(0o555)
    assert "InputError" in _run_twice(root, id_).stderr
    folder.chmod(0o755)
    (folder / "tree-00").mkdir()
    (folder / "tree-00").chmod(0o555)
    (folder / "tree-00.busy").touch()
    (folder / "tree-00.busy").chmod(0o444)
    (folder / "tree-00.reads").touch()
    assert "InputError" in _run_twice(root, id_).stderr
