"""Test `sizeguard init` on builds by CMake and make: the gate takes its files unchanged."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from sizeguard.projects.reader import read_config
from tests.support.tricks.any_project import AnyProject

CMAKE = """cmake_minimum_required(VERSION 3.20)
project(words CXX)
enable_testing()
option(LOUD "Print more" OFF)
option(QUIET "Print less" ON)
include(CMakeDependentOption)
cmake_dependent_option(TRIED "Try words" ON "QUIET" OFF)
add_library(words SHARED words.cpp)
set_target_properties(words PROPERTIES VERSION 1.2.3 SOVERSION 1)
add_executable(count main.cpp)
set_target_properties(count PROPERTIES OUTPUT_NAME "wörter it's")
if(LOUD)
  target_compile_definitions(count PRIVATE LOUD)
endif()
target_link_libraries(count PRIVATE words)
add_executable(try_words main.cpp)
target_link_libraries(try_words PRIVATE words)
add_test(NAME words COMMAND try_words)
"""
SOURCES = {
    "words.cpp": "int words(int x) {\n  return x * 3;\n}\n",
    "main.cpp": "int words(int);\nint main(int c, char**) {\n  return words(c) - 3;\n}\n",
    ".gitignore": "/build*/\n",
}
MAKE = """PROGRAM = app
$(PROGRAM): main.cpp words.cpp
\tc++ -Os -ffunction-sections main.cpp words.cpp -o $@ -Wl,-Map=app.map
"""


def project_of(root: Path, files: dict[str, str]) -> AnyProject:
    """Make a project with one commit, and no sizeguard.yaml."""
    root.mkdir(parents=True)
    project = AnyProject(root)
    project.git("init", "--quiet", "--initial-branch=main")
    project.write({**SOURCES, **files})
    project.commit("Begin")
    return project


def check_gated(project: AnyProject, grown: str) -> None:
    """Gate the files of init: an unchanged project passes, and a grown function fails."""
    project.commit("Add a size gate")
    done = project.run("baseline", "update")
    assert done.code == 0, done.err
    project.commit("Add baselines")
    project.git("checkout", "--quiet", "-b", "change")
    done = project.run("gate")
    assert done.code == 0, done.out + done.err
    project.write({"words.cpp": SOURCES["words.cpp"] + grown})
    project.commit("Grow")
    done = project.run("gate", "--format", "json")
    assert done.code == 1, done.out + done.err
    assert "grown" in done.out


GROWN = (
    f"int grown(int x) {{\n  volatile int y = x;\n  {'y = y * 3 + 1; ' * 100}\n  return y;\n}}\n"
)


@pytest.mark.native
def test_cmake_from_nothing_to_a_gate(tmp_path: Path) -> None:
    root = tmp_path / 'the "wörds" it\'s'
    project = project_of(root, {"CMakeLists.txt": CMAKE})
    setup = ["cmake", "-S", root, "-B", root / "build x", "-G", "Ninja", "-DLOUD=1", "-DTRIED=OFF"]
    subprocess.run([*setup, "-DCMAKE_BUILD_TYPE=MinSizeRel"], check=True, capture_output=True)
    subprocess.run(["cmake", "--build", root / "build x"], check=True, capture_output=True)
    before = project.git("status", "--porcelain")
    done = project.run("init", "--check")
    assert done.code == 0, done.err
    assert "left out: build x/try_words (of tests)" in done.out
    assert project.git("status", "--porcelain") == before
    done = project.run("init", "build x", "--ci", "github")
    assert done.code == 0, done.err
    assert (root / ".github/workflows/size.yml").is_file()
    config = read_config(root)
    [steps] = {json.dumps([app.steps["x86_64-linux"].setup]) for app in config.apps}
    assert "-DLOUD=1" in steps
    assert "-DTRIED=OFF" in steps
    assert "QUIET" not in steps
    assert "MinSizeRel" in steps
    images = {app.steps["x86_64-linux"].images[app.image].image for app in config.apps}
    assert images == {"build x/wörter it's", "build x/libwords.so"}
    again = project.run("init", "build x")
    assert again.code == 2
    assert "--force" in again.err
    assert project.run("init", "build x", "--force").code == 0
    check_gated(project, GROWN)


@pytest.mark.native
@pytest.mark.parametrize("ignored", [True, False])
def test_make_from_nothing_to_a_gate(tmp_path: Path, ignored: bool) -> None:
    more = {".gitignore": "/app\n*.map\n"} if ignored else {}
    project = project_of(tmp_path / "p", {"Makefile": MAKE, **more})
    subprocess.run(["make", "-C", project.root], check=True, capture_output=True)
    done = project.run("init")
    assert done.code == 0, done.err
    [app] = read_config(project.root).apps
    steps = app.steps["x86_64-linux"]
    assert steps.build == ("make app" if ignored else "make -B app")
    assert steps.images[""].map == "app.map"
    assert ("git does not ignore" in done.out) is not ignored
    if not ignored:
        (project.root / "app").unlink()
        (project.root / "app.map").unlink()
    check_gated(project, GROWN)


def test_nothing_is_found_in_one_line(tmp_path: Path) -> None:
    project = project_of(tmp_path / "p", {"Makefile": MAKE})
    done = project.run("init")
    assert done.code == 3
    assert len(done.err.splitlines()) == 1
    assert "build the project" in done.err
