"""Answers of one moment are shared; before, afterwards and elsewhere everything is asked again."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sizeguard.base.kept import moment
from sizeguard.base.kept.moment import ask_again, kept_now, one_moment
from sizeguard.builds.build_inputs import (
    BuildInputs,
    content_hash,
    glob_hash,
    input_changes,
)
from sizeguard.gate.reference import tree_inputs
from sizeguard.gate.reference.tree_inputs import differing_inputs
from sizeguard.snapshots.kept import kept
from sizeguard.snapshots.store import Facts, Store


def test_a_question_is_asked_once_in_a_moment_and_each_time_elsewhere() -> None:
    asked: list[int] = []

    def ask() -> int:
        asked.append(0)
        return len(asked)

    assert [kept_now("a", ask), kept_now("a", ask)] == [1, 2]
    with one_moment():
        assert [kept_now("a", ask), kept_now("a", ask), kept_now("b", ask)] == [3, 3, 4]
        with one_moment():
            assert kept_now("a", ask) == 5
        assert kept_now("a", ask) == 6
        ask_again()
        assert kept_now("a", ask) == 7
    assert kept_now("a", ask) == 8


def test_an_answer_becomes_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with one_moment():
        assert kept_now("a", lambda: 1) == 1
        now[0] += moment._SECONDS / 2
        assert kept_now("a", lambda: 2) == 1
        now[0] += moment._SECONDS
        assert kept_now("a", lambda: 3) == 3


def recorded(folder: Path, app: str) -> BuildInputs:
    """Record a build that reads a common header and a file of its app."""
    files = [folder / "common.h", folder / app]
    pattern = f"{folder}/*.cpp"
    return BuildInputs(
        files={str(path): content_hash(str(path)) for path in files},
        absent=(f"{folder}/first/common.h",),
        globs={pattern: glob_hash(pattern)},
    )


CHANGES: dict[str, Callable[[Path], object]] = {
    "files": lambda folder: (folder / "common.h").write_text("two"),
    "appeared": lambda folder: (folder / "first" / "common.h").write_text("two"),
    "globs": lambda folder: (folder / "new.cpp").write_text(""),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_inputs_of_many_builds_are_compared_once_in_a_moment(tmp_path: Path, kind: str) -> None:
    (tmp_path / "first").mkdir()
    for name in ("common.h", "app1", "app2"):
        (tmp_path / name).write_text("one")
    asked: list[str] = []

    def hash_of(path: str) -> str:
        asked.append(Path(path).name)
        return content_hash(path)

    builds = [recorded(tmp_path, "app1"), recorded(tmp_path, "app2")]
    with one_moment():
        assert not any(input_changes(each, hash_of, {}) for each in builds)
        assert sorted(asked) == ["app1", "app2", "common.h"]
        CHANGES[kind](tmp_path)
        ask_again()
        for each in builds:  # a difference is found for each build, not only for the first
            assert getattr(input_changes(each, hash_of, {}), kind)
        assert not input_changes(replace(builds[0], files={}, absent=(), globs={}), hash_of, {})
    assert getattr(input_changes(builds[0], hash_of, {}), kind)


def test_a_changed_file_is_found_after_the_moment(tmp_path: Path) -> None:
    for name in ("common.h", "app1"):
        (tmp_path / name).write_text("one")
    build = recorded(tmp_path, "app1")
    with one_moment():
        assert not input_changes(build, content_hash, {})
        before = (tmp_path / "common.h").stat()
        (tmp_path / "common.h").write_text("two")
        os.utime(tmp_path / "common.h", ns=(before.st_atime_ns, before.st_mtime_ns))
    for _ in range(2):
        with one_moment():
            assert input_changes(build, content_hash, {}).first == f"{tmp_path}/common.h"


def test_equal_paths_with_other_recorded_contents_differ(tmp_path: Path) -> None:
    for name in ("common.h", "app1"):
        (tmp_path / name).write_text("one")
    build = recorded(tmp_path, "app1")
    other = replace(build, files=dict.fromkeys(build.files, "other"), globs={f"{tmp_path}/*": ""})
    with one_moment():
        assert not input_changes(build, content_hash, {})
        found = input_changes(other, content_hash, {})
    assert (len(found.files), found.globs) == (2, (f"{tmp_path}/*",))


def test_builds_differ_from_a_commit_as_they_do_one_by_one(tmp_path: Path) -> None:
    for name in ("common.h", "app1", "app2", "a.cpp"):
        (tmp_path / name).write_text("one")
    who = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "One"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout.strip()
    builds = [recorded(tmp_path, "app1"), recorded(tmp_path, "app2")]
    builds += [replace(builds[0], absent=(f"{tmp_path}/a.cpp",)), recorded(tmp_path, "app1")]
    (tmp_path / "app2").write_text("two")
    (tmp_path / "b.cpp").write_text("two")
    alone = [differing_inputs(tmp_path, head, [each]) for each in builds]
    with one_moment():
        together = [differing_inputs(tmp_path, head, [each]) for each in builds]
        assert together == alone == [{"b.cpp"}, {"app2", "b.cpp"}, {"a.cpp", "b.cpp"}, {"b.cpp"}]
        (tmp_path / "common.h").write_text("two")
    with one_moment():
        found = differing_inputs(tmp_path, head, builds[:2])
    assert found == {"app2", "b.cpp", "common.h"}


def test_files_that_no_commit_has_differ_unless_they_are_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A generated header is one. Files outside of the repository are compared elsewhere."""
    root = tmp_path / "tree"
    names = ("tree/made.h", "tree/venv/lib.h", "tree/venv/own.h", "tree/../elsewhere.h")
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("one")
    who = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    for command in (["init", "-q"], ["add", "venv/own.h"], [*who, "commit", "-qm", "One"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    monkeypatch.setattr(tree_inputs, "installed_folders", lambda _: (f"{root}/venv/",))
    build = BuildInputs({f"{tmp_path}/{name}": "1" for name in names}, {}, environment={})
    assert differing_inputs(root, "HEAD", [build]) == {"made.h"}
    (root / "venv" / "own.h").write_text("two")
    assert differing_inputs(root, "HEAD", [build]) == {"made.h", "venv/own.h"}


def test_a_result_is_not_stored_if_its_inputs_changed_meanwhile(tmp_path: Path) -> None:
    file, store = tmp_path / "input", Store(tmp_path / "store")
    file.write_text("one")

    def key() -> dict[str, object]:
        return {"input": kept_now("input", file.read_text)}

    def made(then: str) -> str:
        text = file.read_text()
        file.write_text(then)
        return text

    def result(then: str) -> str:
        def read(facts: Facts) -> str:
            return str(facts["text"])

        return kept(store, key, lambda: made(then), lambda text: {"text": text}, read)

    with one_moment():
        assert result("two") == "one"
        file.write_text("one")
        ask_again()
        assert result("one") == "one"  # made again, and stored
        assert result("three") == "one"
    assert file.read_text() == "one"
