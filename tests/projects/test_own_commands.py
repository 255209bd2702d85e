"""Each commit is built with the commands of its own sizeguard.yaml, so changed ones can grow."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sizeguard.projects.any_build import AnyBuildRecipe, recipe_of_app
from sizeguard.projects.project import BuildSteps, ImageFiles
from sizeguard.projects.reader import parse_config
from sizeguard.projects.steps.commit_steps import steps_of_commit
from tests.support.tricks.any_project import AnyProject, made_project

APP = "    build: sh build.sh\n    image: app\n"
CONFIG = f"""limits:
  load: {{growth: 64 B}}
  file: {{growth: "max(1%, 512B)"}}
apps:
  app:
{APP}"""
FILES = {
    "build.sh": "mkdir -p out\ncc -Os $more $(cat more 2>/dev/null) -o ${1:-app} main.c\n",
    "main.c": "#ifndef SIZE\n#define SIZE 1\n#endif\nchar a[SIZE] = {1};\n"
    "int main(void) { return a[0]; }\n",
}
FAIL, PASS = 1, 0


def gated(project: AnyProject, code: int) -> Mapping[str, Any]:
    done = project.run("gate", "--base", "main", "--format", "json")
    assert done.code == code, done.out + done.err
    found: Mapping[str, Any] = json.loads(done.out)
    return found


@pytest.mark.native
@pytest.mark.parametrize(
    ("steps", "grown"),
    [
        ("    build: more=-DSIZE=6000 sh build.sh\n    image: app\n", "build"),
        (APP + "    env: {more: -DSIZE=6000}\n", "env"),
        (APP + "    setup: echo -DSIZE=6000 > more\n", "setup"),
        (APP + "    targets: {x86_64-linux: {env: {more: -DSIZE=6000}}}\n", "env"),
        ("    build: sh build.sh out/app\n    image: out/app\n", ""),
        ("    build: sh ./build.sh\n    image: app\n", ""),
    ],
    ids=["build", "env", "setup", "target", "another place", "other words"],
)
def test_growth_by_commands_is_growth(tmp_path: Path, steps: str, grown: str) -> None:
    """In one step, after a harmless commit, and with an empty store."""
    project = made_project(tmp_path, CONFIG, FILES)
    project.git("checkout", "-q", "-b", "work")
    project.write({"sizeguard.yaml": CONFIG.replace(APP, steps)})
    project.commit("Commands")
    for words in ("One.\n", "Two.\n"):
        found = gated(project, FAIL if grown else PASS)
        assert (found["apps"][0]["growth_since_base"]["load"] > 5000) == bool(grown)
        listed = {change["name"].rpartition(" ")[2] for change in found["policy_changes"]}
        assert grown in listed if grown else listed & {"build", "image"}
        project.write({"README.md": words})
        project.commit("Words")


@pytest.mark.native
def test_commands_of_a_linked_policy_grow(tmp_path: Path) -> None:
    """git shows a link as the path that it names, so the commands stand behind it."""
    project = made_project(tmp_path, CONFIG, FILES)
    policy, linked = tmp_path / "sizeguard.yaml", tmp_path / "terms" / "size.yaml"
    linked.parent.mkdir()
    policy.rename(linked)
    policy.symlink_to("terms/size.yaml")
    project.commit("Link the policy")
    project.git("checkout", "-q", "-b", "work")
    linked.write_text(CONFIG.replace("build: sh", "build: more=-DSIZE=6000 sh"))
    project.commit("Commands")
    found = gated(project, FAIL)
    assert found["apps"][0]["growth_since_base"]["load"] > 5000
    assert "build" in {each["name"].rpartition(" ")[2] for each in found["policy_changes"]}


@pytest.mark.native
def test_what_is_no_longer_stripped_grows(tmp_path: Path) -> None:
    sources = {**FILES, "build.sh": "cc -Os -g3 -o app main.c\n"}
    project = made_project(tmp_path, CONFIG, sources)
    project.git("checkout", "-q", "-b", "work")
    project.write({"sizeguard.yaml": CONFIG + "    strip: false\n"})
    project.commit("Ship debug information")
    growth = gated(project, FAIL)["apps"][0]["growth_since_base"]
    assert growth["load"] == 0
    assert growth["file"] > 1000


ALSO = {**FILES, "build.sh": "cc -Os -o app main.c\nfor each in plug*.c; do test ! -f $each ||"
        " cc -shared -fPIC -o ${each%.c}.so $each; done\n"}  # fmt: skip
PLUG = {"plug1.c": "int plug(void) { return 1; }\n"}


@pytest.mark.native
@pytest.mark.parametrize(
    ("before", "files", "also", "code"),
    [
        ("", PLUG, "plug*.so", FAIL),
        ("    also: 'plug?.so'\n", {}, "[plug1.so]", PASS),
        ("    also: 'plug?.so'\n", {}, "['plug*.so', 'lib*.so']", 4),
    ],
    ids=["a new library", "another pattern", "a pattern without files"],
)
def test_a_commit_may_lack_what_a_change_ships(
    tmp_path: Path, before: str, files: dict[str, str], also: str, code: int
) -> None:
    """The growth by a new library was unknown, because the base does not build it."""
    sources = ALSO | (PLUG if before else {})
    project = made_project(tmp_path, CONFIG + before, sources)
    project.git("checkout", "-q", "-b", "work")
    project.write({"sizeguard.yaml": f"{CONFIG}    also: {also}\n", **files})
    project.commit("Ship it")
    found = gated(project, code)
    if code != 4:
        assert (found["apps"][0]["growth_since_base"]["load"] > 1000) == bool(files)


STEPS = BuildSteps({"": ImageFiles("app")}, "make", rules="[]")


@pytest.mark.parametrize(
    ("config", "build"),
    [
        ("apps: {app: {build: make, image: app}}\n", "make"),
        ("apps: {app: {build: make -j, image: app}}\n", "make -j"),
        ("apps: {app: {build: make, image: out/app}}\n", "make"),
        ("apps: {app: {image: app}}\n", ""),
        ("apps: {other: {build: make -j, image: app}}\n", ""),
        ("apps: {app: {build: make -j, images: {a: app}}}\n", ""),
        ("apps: [\n", ""),
    ],
    ids=["equal", "command", "image", "as found", "another app", "several images", "broken"],
)
def test_the_steps_of_a_commit(tmp_path: Path, config: str, build: str) -> None:
    """The given steps count if the commit's are equal or unknown; rules are always the given."""
    project = made_project(tmp_path, config, {"a.c": "int a;\n"})
    commit = project.git("rev-parse", "HEAD")
    target = next(iter(parse_config(tmp_path, CONFIG.encode()).apps[0].steps))
    found = steps_of_commit(tmp_path, commit, "app", target, STEPS)
    is_given = not build or (build == "make" and "out" not in config)
    assert (found is STEPS) == is_given
    assert found.rules == "[]"
    if not is_given:
        assert found.build == build


@pytest.mark.native  # the key has the compilers' versions
def test_a_recipe_with_other_commands_has_its_own_reads(tmp_path: Path) -> None:
    """Reads that are fixed for one command say nothing of another."""
    project = made_project(tmp_path, CONFIG, FILES)
    commit = project.git("rev-parse", "HEAD")
    app = parse_config(tmp_path, CONFIG.encode()).apps[0]
    target = next(iter(app.steps))
    recipe = recipe_of_app(app, target, tmp_path / "store")
    assert isinstance(recipe, AnyBuildRecipe)
    assert recipe.at(tmp_path, commit) is recipe
    other = replace(recipe, steps=replace(recipe.steps, build="make")).as_known
    own = other.at(tmp_path, commit)
    assert own.steps.build == "sh build.sh"
    assert own.is_fixed
    assert own.at(tmp_path, commit) is own
    assert own.key(tmp_path, commit, 9) != other.key(tmp_path, commit, 9)


@pytest.mark.native
def test_a_bisect_finds_the_commit_that_changed_the_commands(tmp_path: Path) -> None:
    """It built all commits with the present commands, so that none of them grew."""
    project = made_project(tmp_path, CONFIG, FILES)
    project.write({"sizeguard.yaml": CONFIG.replace("sh build", "more=-DSIZE=6000 sh build")})
    culprit = project.commit("Commands")
    project.write({"notes.txt": "x"})
    project.commit("Notes")
    ends = ("HEAD~2", "HEAD")
    done = project.run("bisect", *ends, "--app", "app", "--metric", "load", "--format", "json")
    (found,) = json.loads(done.out)["culprits"]
    assert found["commit"] == culprit
    assert found["delta"] > 5000
    asked = ("bisect-step", "--app", "app", "--metric", "load", "--than", ends[0])
    assert project.run(*asked).code == 1
    assert project.run(*asked, "--commit", ends[0]).code == 0
