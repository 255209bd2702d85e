"""Snapshots of the base: they must have its commit, inputs and tools."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sizeguard.snapshots.origin import Origin
from sizeguard.snapshots.snapshot import read_snapshot, write_snapshot
from tests.support.tricks.any_project import AnyProject, made_project

SOURCES = {
    "main.c": "int f(int);\nint main(int c, char** v) {\n  return f(c);\n}\n",
    "lib.c": "int f(int x) {\n  return x * 3;\n}\n",
    "Makefile": "app: main.c lib.c\n\t$(or $(TOOL),cc) -Os -g main.c lib.c -o app\n",
    "NOTES.md": "Notes.\n",
}
CONFIG = "apps:\n  a:\n    build: make\n    image: app\n    limits: {load: {growth: 64 B}}\n"
GROWN = f"int g(int x) {{\n  volatile int y = x;\n  {'y = y * 3 + 1; ' * 20}\n  return y;\n}}\n"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> AnyProject:
    """Make a project on a branch, with a snapshot of its base, as the CI of main saves it."""
    project = made_project(tmp_path_factory.mktemp("saved"), CONFIG, SOURCES)
    project.git("branch", "-M", "main")
    assert project.run("gate").code == 0
    _save(project, "../base.snapshot")
    _change(project)
    return project


def _change(project: AnyProject) -> None:
    """Start a branch from main with one commit."""
    project.git("checkout", "--quiet", "-B", "change", "main")
    project.write({"main.c": SOURCES["main.c"] + "// changed\n"})
    project.commit("Change")


def _save(project: AnyProject, file: str) -> None:
    build = ".sizeguard/builds/a.x86_64-linux"
    assert project.run("report", build, "--save", file).code == 0


def _gate(project: AnyProject, snapshot: str = "../base.snapshot") -> tuple[int, dict[str, Any]]:
    done = project.run("gate", "--base-snapshot", snapshot, "--format", "json")
    assert done.out, done.err
    return done.code, json.loads(done.out)


def _load(found: dict[str, Any]) -> dict[str, Any]:
    (check,) = [c for c in found["checks"] if c["kind"] == "growth" and c["metric"] == "load"]
    return dict(check)


def _written(project: AnyProject, **values: Any) -> str:
    """Write a copy of the base's snapshot with another origin; return its path."""
    snapshot = read_snapshot(project.root.parent / "base.snapshot")
    origin = snapshot.origin
    assert origin is not None
    changed = replace(origin, **values)
    write_snapshot(project.root.parent / "other.snapshot", snapshot, changed)
    return "../other.snapshot"


@pytest.mark.native
def test_growth_is_counted_from_the_bases_own_snapshot(saved: AnyProject) -> None:
    saved.write({"lib.c": SOURCES["lib.c"] + GROWN})
    code, found = _gate(saved)
    saved.git("checkout", "--", ".")
    assert (code, _load(found)["verdict"]) == (1, "fail")
    assert _load(found)["since"] == "snapshot base.snapshot"
    # Both sides have data of the link, so only the growth is a cause.
    assert [c["symbol"] for c in found["apps"][0]["causes"]] == ["g", ""]


@pytest.mark.native
@pytest.mark.parametrize("is_known", [True, False])
def test_a_base_that_differs_in_nothing_that_is_read_has_its_snapshot(
    saved: AnyProject, *, is_known: bool
) -> None:
    """Another commit's snapshot is used if all files that builds read are equal in both."""
    before = saved.git("rev-parse", "main")
    saved.git("checkout", "--quiet", "main")
    saved.write({"NOTES.md": "More notes.\n"})
    saved.commit("Add notes")
    _change(saved)
    snapshot = "../base.snapshot" if is_known else _written(saved, commit="1" * 40)
    verdict = _load(_gate(saved, snapshot)[1])["verdict"]
    saved.git("branch", "--force", "main", before)
    _change(saved)
    assert verdict == ("pass" if is_known else "inconclusive")


@pytest.mark.native
def test_a_snapshot_of_another_commit_is_inconclusive(saved: AnyProject) -> None:
    before = saved.git("rev-parse", "main")
    saved.git("checkout", "--quiet", "main")
    saved.write({"lib.c": SOURCES["lib.c"] + GROWN})
    saved.commit("Grow")
    _change(saved)
    code, found = _gate(saved)
    saved.git("branch", "--force", "main", before)
    _change(saved)
    assert (code, _load(found)["verdict"]) == (3, "inconclusive")
    assert f"is of {before[:7]}, and growth is counted from" in json.dumps(found)


@pytest.mark.native
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"commands": "0"}, "made by other commands"),
        ({"image": "0"}, "made by other image and its files"),
        ({"environment": "0"}, "made by other environment variables"),
        ({"toolchain": "0"}, "made by another compiler or linker"),
        ({"packages": "0"}, ""),
        ({"path_length": "0"}, ""),
    ],
)
def test_a_snapshot_made_in_another_way_is_inconclusive(
    saved: AnyProject, changed: dict[str, str], message: str
) -> None:
    origin = read_snapshot(saved.root.parent / "base.snapshot").origin
    assert origin is not None
    assert changed.keys() <= origin.parts.keys()
    code, found = _gate(saved, _written(saved, parts={**origin.parts, **changed}))
    assert (code, _load(found)["verdict"]) == ((3, "inconclusive") if message else (0, "pass"))
    assert message in json.dumps(found)
    if not message:
        assert _load(found)["since"].startswith("snapshot other.snapshot, built ")


@pytest.mark.native
def test_another_compiler_and_a_snapshot_without_origin_are_inconclusive(
    saved: AnyProject,
) -> None:
    code, found = _gate(saved, _written(saved, tools="GCC: 3.2"))
    assert code == 3
    assert "base.snapshot" not in json.dumps(found)
    assert "is by GCC: 3.2, but this is GCC" in json.dumps(found)
    nothing = Origin()
    code, found = _gate(saved, _written(saved, commit=nothing.commit, parts=nothing.parts))
    assert code == 3
    assert "does not name its commit" in json.dumps(found)
    assert _gate(saved, ".sizeguard/builds/a.x86_64-linux/app")[0] == 3


@pytest.mark.native
def test_a_build_of_other_files_saves_no_commit(saved: AnyProject, tmp_path: Path) -> None:
    """A snapshot has a commit only if that commit was built unmodified; a copy keeps its origin."""
    file = str(tmp_path / "s.snapshot")
    _save(saved, file)
    origin = read_snapshot(Path(file)).origin
    assert origin is not None
    assert origin.commit == saved.git("rev-parse", "HEAD")
    again = str(tmp_path / "again.snapshot")
    assert saved.run("report", file, "--save", again).code == 0
    assert Path(again).read_bytes() == Path(file).read_bytes()
    saved.write({"lib.c": SOURCES["lib.c"] + GROWN})
    _save(saved, file)
    saved.git("checkout", "--", ".")
    origin = read_snapshot(Path(file)).origin
    assert origin is not None
    assert (origin.commit, origin.parts) == ("", {})


@pytest.mark.native
def test_a_base_of_a_found_image_is_measured_stripped_as_the_image_is(tmp_path: Path) -> None:
    """What strip removes of the base must not hide as much growth of the file."""
    config = "apps:\n  a:\n    image: app\n    limits: {load: {growth: 64 B}}\n"
    project = made_project(tmp_path / "project", config, SOURCES)
    image = project.root / "app"
    subprocess.run(["make"], cwd=project.root, check=True)
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, image], check=True)
    copied = tmp_path / "copied"
    shutil.copy(image, copied)
    for source, file in ((image, "s.sgs"), (stripped, "stripped.sgs")):
        assert project.run("report", str(source), "--save", str(tmp_path / file)).code == 0
    comparable = [str(tmp_path / name) for name in ("copied", "stripped", "stripped.sgs")]
    for base in comparable:
        assert _gate(project, base)[0] == 0, base
    (tmp_path / "blob").write_bytes(bytes(4_000))
    blob = ["objcopy", "--add-section", f".blob={tmp_path / 'blob'}", image]
    subprocess.run(blob, check=True)
    for base in comparable:
        code, found = _gate(project, base)
        assert code == 1, base
        assert found["apps"][0]["growth_since_base"]["file"] > 4_000
        assert [c["metric"] for c in found["checks"] if c["verdict"] == "fail"] == ["file"]
    code, found = _gate(project, str(tmp_path / "s.sgs"))
    assert code == 3
    assert "bytes of symbols and debug information, and the app is measured" in json.dumps(found)


@pytest.mark.native
def test_a_base_in_another_state_than_what_ships_is_none(tmp_path: Path) -> None:
    """Neither the symbols of an unstripped build nor what an own strip removes may hide growth."""
    config = "apps:\n  a:\n    image: app\n    limits: {file: {growth: 64 B}}\n"
    project = made_project(tmp_path / "project", config, SOURCES)
    image, blob = project.root / "app", tmp_path / "blob"
    subprocess.run(["make"], cwd=project.root, check=True)

    def write(line: str = "") -> None:
        text = config.replace("    limits", f"{line}    limits")
        (project.root / "sizeguard.yaml").write_text(text)

    write("    strip: false\n")
    project.run("gate")
    _save(project, str(tmp_path / "s.sgs"))
    write()
    assert _gate(project, str(tmp_path / "s.sgs"))[0] == 3
    blob.write_bytes(bytes(4_000))
    add = ["objcopy", "--add-section", f".blob={blob}"]
    subprocess.run([*add, image], check=True)
    base, before = tmp_path / "base", tmp_path / "before"
    shutil.copy(image, base)
    own = project.root / "own"
    subprocess.run(["strip", "-R", ".blob", "-o", own, image], check=True)
    shutil.copy(own, before)
    blob.write_bytes(bytes(2_000))
    subprocess.run([*add, own], check=True)
    write("    shipped: own\n")
    assert _gate(project, str(base))[0] == 3
    assert _gate(project, str(before))[0] == 1
    (project.root / "own").unlink()
    (project.root / "own.sh").write_text('#!/bin/sh\nexec strip -R .blob "$@"\n')
    (project.root / "own.sh").chmod(0o755)
    write("    strip: ./own.sh\n")
    grown = _gate(project, str(base))[1]["apps"][0]["growth_since_base"]
    assert grown == {"load": 0, "ram": 0, "file": 0}
