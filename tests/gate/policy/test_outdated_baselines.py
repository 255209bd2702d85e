"""Outdated baselines: the change may not use the room that they leave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.tricks.any_project import SOURCES, AnyProject, made_project

POLICY = """policy_changes: fail
targets:
  x86_64-linux:
limits:
  load: {growth: "max(1%, 256B)"}
apps:
  count:
    build: mkdir -p build && g++ -Os -o build/count src/main.cpp src/words.cpp
    image: build/count
"""
pytestmark = pytest.mark.native
ROOM = 4000  # bytes that the baseline states too much
MORE = "static const char more[2000] = {1};\n"
USE = '  asm volatile("" : : "r"(more));\n'
MAIN = "int main(int argc, char** argv) {\n"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> AnyProject:
    """Make a project whose image is smaller than its baseline says, since nobody updated it."""
    root = tmp_path_factory.mktemp("outdated") / "words"
    project = made_project(root, POLICY)
    done = project.run("baseline", "update")
    assert done.code == 0, done.err
    edit(project, "load", "file")
    project.commit("An older baseline")
    return project


def edit(project: AnyProject, *sizes: str, add: int = ROOM) -> None:
    """Add bytes to sizes of the baseline."""
    (path,) = baselines(project)
    text = path.read_text()
    for size in sizes:
        head, _, rest = text.partition(f"\n{size}: ")
        number, _, rest = rest.partition("\n")
        text = f"{head}\n{size}: {int(number) + add}\n{rest}"
    path.write_text(text)


def baselines(project: AnyProject) -> list[Path]:
    return [*(project.root / "baselines").glob("*.yaml")]


@pytest.fixture
def grown(base: AnyProject) -> AnyProject:
    """Grow the image on a branch by fewer bytes than the baseline leaves."""
    base.git("checkout", "--quiet", "--force", "-B", "work", "main")
    text = SOURCES["src/main.cpp"].replace(MAIN, f"{MORE}{MAIN}{USE}")
    base.write({"src/main.cpp": text})
    return base


def gated(project: AnyProject) -> dict[str, Any]:
    project.commit("A change")
    done = project.run("gate", "--format", "json")
    found: dict[str, Any] = json.loads(done.out)
    assert (done.code == 0) == (found["verdict"] == "pass")
    return found


def test_a_comment_in_a_baseline_does_not_make_it_the_reference(grown: AnyProject) -> None:
    (path,) = baselines(grown)
    path.write_text(f"# Sizes\n{path.read_text()}")
    found = gated(grown)
    assert [c["metric"] for c in found["checks"] if c["verdict"] == "fail"] == ["load"]
    assert found["policy_changes"] == []


def test_a_smaller_baseline_that_accepts_growth_is_loosened(grown: AnyProject) -> None:
    edit(grown, "load", "file", add=-500)
    found = gated(grown)
    (change,) = found["policy_changes"]
    assert (change["what"], change["loosens"], change["verdict"]) == (
        "baseline replaced", True, "fail",
    )  # fmt: skip
    assert found["verdict"] == "fail"
    assert not [c for c in found["checks"] if c["verdict"] != "pass"]


def test_a_trailer_accepts_the_baseline_with_its_growth(grown: AnyProject) -> None:
    edit(grown, "load", "file", add=-500)
    grown.commit("Smaller\n\nSize-Accept: baselines/*")
    grown.write({"README.md": "More words.\n"})
    found = gated(grown)
    (change,) = found["policy_changes"]
    assert (change["loosens"], found["verdict"]) == (True, "pass")


def test_a_smaller_baseline_without_growth_is_not_loosened(base: AnyProject) -> None:
    base.git("checkout", "--quiet", "--force", "-B", "work", "main")
    edit(base, "load", "file", add=-500)
    found = gated(base)
    assert [change["loosens"] for change in found["policy_changes"]] == [False]
    assert found["verdict"] == "pass"
