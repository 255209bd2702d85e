"""Test that the commit of the checked-out files follows their contents, with a kept index."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sizeguard.git import checked_out
from sizeguard.git.checked_out import _KEPT, checked_out_commit
from sizeguard.git.git import git_bytes
from sizeguard.git.worktrees import worktree
from tests.support.tricks.any_project import AnyProject, made_project

FILES = {"a.c": "1\n", "d/b.c": "1\n", ".gitignore": "*.o\n"}


@pytest.fixture
def project(tmp_path: Path) -> AnyProject:
    """Make a project whose files are two seconds old, as git counts."""
    made = made_project(tmp_path, "", FILES)
    (tmp_path / _KEPT).parent.mkdir(exist_ok=True)
    (tmp_path / _KEPT).with_name(".gitignore").write_text("*\n")
    return made


@pytest.fixture
def is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files count as old enough, which takes a second otherwise."""
    monkeypatch.setattr(checked_out, "_changed", lambda _path: 0)


def fresh(project: AnyProject, root: Path) -> str:
    """Return the commit that a new index gives."""
    kept = root / _KEPT
    saved = kept.with_name("saved")
    shutil.copy2(kept, saved)
    kept.unlink()
    try:
        return checked_out_commit(root)
    finally:
        saved.replace(kept)


def edit_keeping_size_and_time(root: Path) -> None:
    time.sleep(1.1)  # git compares the times of changes in seconds
    before = (root / "a.c").stat()
    (root / "a.c").write_text("2\n")
    os.utime(root / "a.c", ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda root: None,
    "an edit": lambda root: (root / "a.c").write_text("22\n"),
    "an edit of equal size and time": edit_keeping_size_and_time,
    "a new file": lambda root: (root / "new.c").write_text("1\n"),
    "a removed file": lambda root: (root / "a.c").unlink(),
    "a mode": lambda root: (root / "a.c").chmod(0o755),
    "a link": lambda root: ((root / "a.c").unlink(), (root / "a.c").symlink_to("d/b.c")),
    "a folder in place of a file": lambda root: (
        (root / "a.c").unlink(),
        (root / "a.c").mkdir(),
        (root / "a.c" / "in.c").write_text("1\n"),
    ),
    "an ignored file": lambda root: (root / "a.o").write_text("1\n"),
}


@pytest.mark.usefixtures("is_old")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_kept_index_gives_the_commit_of_a_new_one(
    project: AnyProject, tmp_path: Path, change: Callable[[Path], object]
) -> None:
    head = checked_out_commit(tmp_path)
    assert head == project.git("rev-parse", "HEAD")
    assert (tmp_path / _KEPT).is_file()
    change(tmp_path)
    made = checked_out_commit(tmp_path)
    assert made == fresh(project, tmp_path)
    assert (made == head) == (change in (CHANGES["nothing"], CHANGES["an ignored file"]))


@pytest.mark.usefixtures("is_old")
def test_marks_of_the_users_index_hide_nothing(project: AnyProject, tmp_path: Path) -> None:
    head = checked_out_commit(tmp_path)
    project.git("update-index", "--assume-unchanged", "a.c")
    project.git("config", "core.checkStat", "minimal")
    project.git("config", "core.trustctime", "false")
    edit_keeping_size_and_time(tmp_path)
    assert checked_out_commit(tmp_path) == fresh(project, tmp_path) != head


@pytest.mark.usefixtures("is_old")
def test_the_users_settings_mark_no_file_as_unchanged(project: AnyProject, tmp_path: Path) -> None:
    project.git("config", "core.ignoreStat", "true")
    head = checked_out_commit(tmp_path)
    (tmp_path / "a.c").write_text("22\n")
    assert checked_out_commit(tmp_path) == fresh(project, tmp_path) != head


@pytest.mark.usefixtures("is_old")
def test_an_ignored_file_that_git_tracks_is_checked_out(
    project: AnyProject, tmp_path: Path
) -> None:
    """`git add --force` tracks it before the commit."""
    (tmp_path / ":(top) *.o").write_text("1\n")
    (tmp_path / "gone.o").write_text("1\n")
    head = checked_out_commit(tmp_path)
    project.git("add", "--force", "*.o")
    (tmp_path / "gone.o").unlink()
    made = checked_out_commit(tmp_path)
    assert made == fresh(project, tmp_path)
    assert project.git("diff", "--name-only", head, made) == ":(top) *.o"
    project.git("reset", "--quiet")
    assert checked_out_commit(tmp_path) == head


def test_line_ends_that_a_commit_changes_are_no_error(project: AnyProject, tmp_path: Path) -> None:
    project.git("config", "core.safecrlf", "true")
    project.git("config", "core.autocrlf", "input")
    head = checked_out_commit(tmp_path)
    (tmp_path / "a.c").write_bytes(b"1\r\n")
    assert checked_out_commit(tmp_path) == head


def test_names_that_differ_in_case_are_two_files(project: AnyProject, tmp_path: Path) -> None:
    """A repository that was made on another disk says that names have no case."""
    project.git("config", "core.ignoreCase", "true")
    (tmp_path / "A.c").write_text("2\n")
    made = checked_out_commit(tmp_path)
    assert [project.git("show", f"{made}:{name}") for name in ("A.c", "a.c")] == ["2", "1"]
    with worktree(tmp_path, tmp_path / _KEPT.parent) as tree, tree.check_out(made) as files:
        assert [(files / name).read_text() for name in ("A.c", "a.c")] == ["2\n", "1\n"]


def test_an_edit_after_git_read_the_file_keeps_no_index(
    project: AnyProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Edit in the second of the file's last change; the index is written a second later."""
    time.sleep(1.1)
    file = tmp_path / "a.c"
    old = file.stat().st_mtime_ns
    time.sleep(1.05 - time.time() % 1)
    file.touch()
    os.utime(file, ns=(old, old))

    def edited(repository: Path, *arguments: str, **more: Any) -> bytes:
        told = git_bytes(repository, *arguments, **more)
        if "add" in arguments:
            file.write_text("2\n")
            os.utime(file, ns=(old, old))
            later = time.time() + 1
            os.utime(more["more"]["GIT_INDEX_FILE"], (later, later))
        return told

    with monkeypatch.context() as patched:
        patched.setattr(checked_out, "git_bytes", edited)
        head = checked_out_commit(tmp_path)
    assert not (tmp_path / _KEPT).exists()
    assert checked_out_commit(tmp_path) != head


@pytest.mark.usefixtures("is_old")
def test_a_new_head_has_its_own_files(project: AnyProject, tmp_path: Path) -> None:
    """Commit an ignored file: `git add` alone would not add it."""
    checked_out_commit(tmp_path)
    (tmp_path / "a.o").write_text("1\n")
    project.git("add", "--force", "a.o")
    project.git("commit", "-q", "-m", "Add an ignored file")
    assert checked_out_commit(tmp_path) == project.git("rev-parse", "HEAD")


@pytest.mark.usefixtures("is_old")
@pytest.mark.parametrize("content", [b"", b"DIRC", b"x" * 100])
def test_a_damaged_index_is_not_used(project: AnyProject, tmp_path: Path, content: bytes) -> None:
    head = checked_out_commit(tmp_path)
    (tmp_path / _KEPT).write_bytes(content)
    assert checked_out_commit(tmp_path) == head
    (tmp_path / "a.c").write_text("2\n")
    (tmp_path / _KEPT).write_bytes(content)
    assert checked_out_commit(tmp_path) == fresh(project, tmp_path) != head


def test_files_that_just_changed_keep_no_index(project: AnyProject, tmp_path: Path) -> None:
    checked_out_commit(tmp_path)
    assert not (tmp_path / _KEPT).exists()
    time.sleep(1.1)
    checked_out_commit(tmp_path)
    assert (tmp_path / _KEPT).is_file()


@pytest.mark.usefixtures("is_old")
def test_nothing_is_kept_without_a_folder_of_the_gate(tmp_path: Path) -> None:
    made_project(tmp_path, "", FILES)
    checked_out_commit(tmp_path)
    assert not (tmp_path / _KEPT).parent.exists()
