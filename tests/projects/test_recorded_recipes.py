"""Recipe builds are recorded, and files that the record needs outlive the worktree."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.tricks.any_project import AnyProject, made_project

SOURCES = {
    "main.c": "int used(int);\nint main(int c, char** v) { return used(c); }\n",
    "part.c": "int used(int x) { return x * 3; }\nint unused(int x) { return x * 5; }\n",
    "Makefile": (
        "app: libpart.a main.c\n\tcc -Os -ffunction-sections -o app main.c libpart.a"
        " -Wl,--gc-sections\nlibpart.a: part.c\n\tcc -Os -ffunction-sections -c part.c\n"
        "\tar rc $@ part.o\n"
    ),
}
CONFIG = """apps:
  app:
    build: make app
    image: app
    absent: unused
    present: used
    limits: {load: 60 KiB}
"""
BUILD = ".sizeguard/builds/app.x86_64-linux"


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> AnyProject:
    """Run the gate in a project, then delete its worktrees."""
    project = made_project(tmp_path_factory.mktemp("recorded"), CONFIG, SOURCES)
    assert project.run("baseline", "update").code == 0
    done = project.run("gate", "--format", "json")
    assert done.code == 0, done.out
    shutil.rmtree(project.root / ".sizeguard" / "worktrees")
    return project


@pytest.mark.native
def test_why_follows_the_link_of_a_recipe(gated: AnyProject) -> None:
    done = gated.run("why", BUILD, "used", "--format", "json")
    assert done.code == 0, done.err
    assert "main" in done.out
    assert "is not in the image" in gated.run("why", BUILD, "unused").out


@pytest.mark.native
def test_verify_proves_by_the_objects_of_the_link(gated: AnyProject) -> None:
    done = gated.run(
        *("verify", BUILD, "--absent", "unused", "--present", "used", "--format", "json")
    )
    assert done.code == 0, done.out + done.err
    assert json.loads(done.out)["verdict"] == "pass"
    assert gated.run("verify", BUILD, "--absent", "used").code == 1


@pytest.mark.native
def test_a_build_whose_link_was_not_seen_says_how_to_record_it(
    gated: AnyProject, tmp_path: Path
) -> None:
    folder = shutil.copytree(gated.root / BUILD, tmp_path / "app")
    content = json.loads((folder / "build.json").read_text())
    (folder / "build.json").write_text(json.dumps({**content, "link_command": None}))
    done = gated.run("why", str(folder), "used")
    assert done.code == 3
    assert "sizeguard record" in done.err


@pytest.mark.native
def test_a_library_that_was_linked_counts_with_its_own_image_alone(tmp_path: Path) -> None:
    config = """apps:
  app:
    build: cc -Os -fPIC -shared part.c -o libpart.so && cc -Os main.c libpart.so -o app
    images: {main: app, part: libpart.so}
    limits: {load: 60 KiB}
"""
    project = made_project(tmp_path, config, SOURCES)
    assert project.run("baseline", "update").code == 0
    found = json.loads(project.run("gate", "--format", "json").out)
    assert (project.root / ".sizeguard/builds/app.main.x86_64-linux/app.link.json").is_file()
    assert [app["libraries"] for app in found["apps"]] == [[], []]


@pytest.mark.native
def test_members_of_a_thin_archive_are_kept_with_it(tmp_path: Path) -> None:
    """Meson makes thin archives; their members are files of the worktree, which changes."""
    build = (
        "mkdir -p out/lib out/objects && cc -Os -c part.c -o out/objects/part.o"
        " && ar rcT out/lib/libpart.a out/objects/part.o"
        " && cc -Os main.c out/lib/libpart.a -Wl,-Map=app.map -o app"
    )
    config = f"apps:\n  app:\n    build: {build}\n    image: app\n    limits: {{load: 60 KiB}}\n"
    project = made_project(tmp_path, config, SOURCES)
    assert project.run("gate").code == 0
    for object_ in (project.root / ".sizeguard/worktrees").rglob("part.o"):
        object_.write_bytes(b"")  # of another commit
    done = project.run("why", ".sizeguard/builds/app.x86_64-linux/app", "used")
    assert done.code == 0, done.err
    assert "part.o" in done.out


@pytest.mark.native
def test_a_link_that_no_graph_models_has_its_map(tmp_path: Path) -> None:
    """Firmware has its own linker script; its map names objects and archives."""
    build = (
        "cc -Os -c main.c part.c && ar rc libpart.a part.o"
        " && cc main.o libpart.a -Wl,--wrap=nothing -Wl,-Map=app.map -o app"
    )
    config = f"apps:\n  app:\n    build: {build}\n    image: app\n    limits: {{load: 60 KiB}}\n"
    project = made_project(tmp_path, config, SOURCES)
    assert project.run("gate").code == 0
    done = project.run("why", BUILD, "used")
    assert done.code == 3 and "does not model" in done.err
    done = project.run("report", BUILD, "--by", "archive,symbol", "--format", "json")
    rows = [(row["archive"], row["symbol"]) for row in json.loads(done.out)["rows"]]
    assert ("libpart.a", "used") in rows


@pytest.mark.native
def test_named_objects_do_not_hide_the_recorded_link(tmp_path: Path) -> None:
    """`init` names objects; the record of the link has the map, too."""
    config = CONFIG.replace("image: app\n", "image: app\n    objects: [libpart.a]\n")
    project = made_project(tmp_path, config, SOURCES)
    assert project.run("gate").code == 0
    done = project.run("report", BUILD, "--by", "archive,symbol", "--format", "json")
    rows = [(row["archive"], row["symbol"]) for row in json.loads(done.out)["rows"]]
    assert ("libpart.a", "used") in rows
    done = project.run("verify", BUILD, "--absent", "unused", "--format", "json")
    assert (done.code, json.loads(done.out)["verdict"]) == (0, "pass")


def test_a_map_beside_an_image_is_named(tmp_path: Path) -> None:
    (tmp_path / "app").write_bytes(Path(shutil.which("true") or "").read_bytes())
    (tmp_path / "app.map").write_text("")
    done = AnyProject(tmp_path).run("report", str(tmp_path / "app"), "--by", "object")
    said = "".join(done.out.split())  # long paths break at hyphens
    assert f"ornameitsmap:--map{tmp_path / 'app.map'}" in said
