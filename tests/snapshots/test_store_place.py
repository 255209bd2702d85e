"""The folder of the store: one with files that git tracks is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.base.errors import InputError
from sizeguard.gate.reference.history import History
from sizeguard.measurement.store_place import project_store, store_at
from sizeguard.snapshots.store import FOLDER_VARIABLE
from tests.support.histories.drawn_history import run_git

TRACKED = "git tracks {}, so a change can write it; name another folder with SIZEGUARD_STORE"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "project"
    root.mkdir()
    run_git(root, "init", "-q", "-b", "main")
    write(root, "sizeguard.yaml")
    commit(root)
    return root


def write(root: Path, path: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text("{}")


def commit(root: Path) -> None:
    run_git(root, "add", "-f", "-A")
    run_git(root, "commit", "-q", "-m", "files")


def refused(root: Path, tracked: str) -> None:
    with pytest.raises(InputError) as error:
        History(root)
    assert str(error.value).endswith(TRACKED.format(tracked))


def test_the_usual_place(project: Path, tmp_path: Path) -> None:
    assert project_store(project).folder == project / ".sizeguard" / "store"
    assert store_at(project, tmp_path / "x").folder == tmp_path / "x"
    write(project, ".sizeguard/store/facts/x.json")  # not tracked: this machine wrote it
    assert project_store(project).folder == project / ".sizeguard" / "store"


def test_a_change_that_brings_measurements_is_refused(project: Path) -> None:
    write(project, ".sizeguard/store/facts/x.json")
    commit(project)
    refused(project, ".sizeguard/store/facts/x.json")
    # Removed from the index, it is still in the commit.
    run_git(project, "rm", "-q", "--cached", ".sizeguard/store/facts/x.json")
    refused(project, ".sizeguard/store/facts/x.json")
    run_git(project, "commit", "-q", "-m", "without")
    assert project_store(project)


def test_files_that_are_only_added_are_refused(project: Path) -> None:
    write(project, ".sizeguard/store/facts/x.json")
    run_git(project, "add", "-f", ".sizeguard")
    refused(project, ".sizeguard/store/facts/x.json")


@pytest.mark.parametrize("link", [".sizeguard", ".sizeguard/store"])
def test_a_link_to_tracked_files_is_refused(project: Path, link: str) -> None:
    write(project, "docs/store/facts/x.json")
    (project / link).parent.mkdir(exist_ok=True)
    (project / link).symlink_to(project / "docs" / "store")
    commit(project)
    refused(project, link)
    # The link is no longer tracked, but the files that it points to are.
    run_git(project, "rm", "-q", "--cached", link)
    run_git(project, "commit", "-q", "-m", "no link")
    if link == ".sizeguard/store":
        refused(project, "docs/store/facts/x.json")


def test_a_folder_of_another_repository_is_refused(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    run_git(other, "init", "-q")
    write(other, "store/facts/x.json")
    commit(other)
    monkeypatch.setenv(FOLDER_VARIABLE, str(other / "store"))
    refused(project, "store/facts/x.json")
    monkeypatch.setenv(FOLDER_VARIABLE, str(project))
    refused(project, "sizeguard.yaml")
    monkeypatch.setenv(FOLDER_VARIABLE, str(other / "new" / "store"))
    assert project_store(project).folder == other / "new" / "store"


@pytest.mark.parametrize("name", ["CI", "TF_BUILD", "JENKINS_URL"])
def test_each_service_is_ci(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "True")
    assert project_store(project).folder == tmp_path / "cache" / "sizeguard" / "store"


def test_in_ci_it_lies_outside_of_the_checkout(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    assert project_store(project).folder == tmp_path / "cache" / "sizeguard" / "store"
    assert store_at(project, project / "x").folder == tmp_path / "cache" / "sizeguard" / "store"
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "mine"))
    assert project_store(project).folder == tmp_path / "mine"
    for inside in (project / "store", project / "new" / ".." / "store", project):
        monkeypatch.setenv(FOLDER_VARIABLE, str(inside))
        with pytest.raises(InputError, match=r"checkout, which is not allowed in CI|git tracks"):
            project_store(project)
    (tmp_path / "link").symlink_to(project)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "link" / "store"))
    with pytest.raises(InputError, match="is inside the checkout"):
        project_store(project)
    monkeypatch.setenv("CI", "false")
    assert project_store(project).folder == tmp_path / "link" / "store"


def test_without_git_any_folder_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    write(tmp_path, ".sizeguard/store/facts/x.json")
    assert project_store(tmp_path).folder == tmp_path / ".sizeguard" / "store"
