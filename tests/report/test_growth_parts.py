"""Growth of a change by the files that it touches, and by dependencies with another version."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sizeguard.gate.causes.dependencies import (
    ChangedDependency,
    changed_dependencies,
    changed_files,
)
from sizeguard.gate.causes.growth_parts import growth_by_dependency
from tests.support.images.made_up import MadeUp, Part
from tests.support.tricks.any_project import AnyProject, made_project

CONFIG = """targets: {x86_64-linux: }
apps:
  app:
    build: make app
    image: app
    map: app.map
    limits: {load: {max: 60 KiB, growth: 64 B}}
"""
MAKE = """ZED = 1.1
app: main.o lib.o subprojects/zed-$(ZED)/zed.o
	$(CC) -o app $^ -Wl,-Map,app.map
"""
GROWN = "  volatile int v = x;\n" + "  v = v * 3 + 1;\n" * 60 + "  return v;\n}\n"
ONE = "int lib(int x) {\n  return x;\n}\n"
MAIN = "int lib(int);\nint zed(int);\nint main(int x) {\n  return lib(x) + zed(x);\n}\n"
ZED = "int zed(int x) {\n  return x * 2;\n}\n"
WRAP = "[wrap-file]\ndirectory = zed-1.1\n"


@pytest.fixture
def project(tmp_path: Path) -> AnyProject:
    """Make a project with a dependency."""
    sources = {
        **{"Makefile": MAKE, "main.c": MAIN, "lib.c": ONE, "subprojects/zed.wrap": WRAP},
        **{"subprojects/zed-1.1/zed.c": ZED, ".gitignore": "*.o\n/app\n"},
    }
    return made_project(tmp_path, CONFIG, sources)


@pytest.mark.native
def test_growth_is_split_by_touched_files_and_changed_dependencies(project: AnyProject) -> None:
    project.git("mv", "subprojects/zed-1.1", "subprojects/zed-1.2")
    project.write(
        {
            "Makefile": MAKE.replace("ZED = 1.1", "ZED = 1.2"),
            "lib.c": ONE.replace("  return x;\n}\n", GROWN),
            "subprojects/zed-1.2/zed.c": ZED.replace("  return x * 2;\n}\n", GROWN),
            "subprojects/zed.wrap": WRAP.replace("1.1", "1.2"),
        }
    )
    done = project.run("gate", "--format", "json")
    app = json.loads(done.out)["apps"][0]
    files = {row["file"]: row for row in app["growth_by_file"]}
    grown = {name: row["new"] - row["old"] for name, row in files.items()}
    total = app["sizes"]["load"] - app["old_sizes"]["load"]
    assert sum(grown.values()) == total > 1000
    assert files["lib.c"]["changed"]
    assert grown["lib.c"] > 500
    assert grown["subprojects/zed-1.2/zed.c"] > 500
    (zed,) = app["growth_by_dependency"]
    assert (zed["name"], zed["old_version"], zed["new_version"]) == ("zed", "zed-1.1", "zed-1.2")
    assert zed["file"] == "subprojects/zed.wrap"
    assert 500 < zed["new"] - zed["old"] < total
    text = project.run("gate").out
    assert "by source file" in text
    assert "zed zed-1.1 → zed-1.2" in text
    comment = project.run("gate", "--format", "markdown").out
    assert "**By source file**" in comment
    assert "**By dependency**" in comment


@pytest.mark.parametrize(
    ("file", "before", "name", "versions"),
    [
        (
            "Cargo.lock",
            '[[package]]\nname = "memchr"\nversion = "2.5.0"\n',
            "memchr",
            ("2.5.0", "2.6.1"),
        ),
        ("go.mod", "module x\nrequire (\n\tgolang.org/x/net v0.1.0 // why\n)\n",
         "golang.org/x/net", ("v0.1.0", "v0.2.0")),
        ("vcpkg.json", '{"overrides": [{"name": "fmt", "version": "9.1.0"}]}', "fmt",
         ("9.1.0", "10.0.0")),
        ("conanfile.txt", "[requires]\nzlib/1.2.13\n", "zlib", ("1.2.13", "1.3.1")),
        ("conan.lock", '{"requires": ["zlib/1.2.13#ab%17"]}', "zlib", ("1.2.13", "1.3.1")),
        ("MODULE.bazel", 'bazel_dep(name = "abseil-cpp", version = "1.0")\n', "abseil-cpp",
         ("1.0", "2.0")),
        ("sub/CMakeLists.txt", "FetchContent_Declare(\n  json\n  GIT_REPOSITORY u\n  GIT_TAG v1)\n",
         "json", ("v1", "v2")),
        ("deps.cmake", 'CPMAddPackage("gh:fmtlib/fmt#9.1.0")\n', "fmt", ("9.1.0", "10.0.0")),
        ("subprojects/z.wrap", "[wrap-git]\nrevision = abc\n", "z", ("abc", "def")),
    ],
)  # fmt: skip
def test_versions_are_read(
    tmp_path: Path, file: str, before: str, name: str, versions: tuple[str, str]
) -> None:
    project = made_project(tmp_path, "", {file: before, "other.txt": "1\n"})
    project.write({file: before.replace(*versions), "other.txt": "2\n", "new.txt": "3\n"})
    changed = changed_files(tmp_path, "HEAD")
    assert changed == {file, "other.txt", "new.txt"}
    (found,) = changed_dependencies(tmp_path, "HEAD", changed)
    assert (found.name, found.file, (found.old, found.new)) == (name, file, versions)


@pytest.mark.parametrize("name", ["Cargo.lock", "vcpkg.json", "go.mod", "conan.lock"])
def test_damaged_lock_files_have_no_versions(tmp_path: Path, name: str) -> None:
    project = made_project(tmp_path, "", {name: "{[\n"})
    project.write({name: '"]}\0\udcff'.encode("utf-8", "replace").decode()})
    assert changed_dependencies(tmp_path, "HEAD", [name]) == ()


def test_a_lock_file_that_leads_to_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    project = made_project(tmp_path, "", {"go.mod": "module x\nrequire a.b/c v0.1.0\n"})
    os.mkfifo(project.root / "pipe")
    (project.root / "go.mod").unlink()
    (project.root / "go.mod").symlink_to("pipe")
    (found,) = changed_dependencies(tmp_path, "HEAD", ["go.mod"])
    assert (found.old, found.new) == ("v0.1.0", "")


@pytest.mark.parametrize("ignored", ["none", "all"])
def test_the_commit_of_a_submodule_is_its_version(ignored: str, tmp_path: Path) -> None:
    other = made_project(tmp_path / "zed", "", {"zed.c": ZED})
    project = made_project(tmp_path / "tree", "", {"main.c": MAIN})
    allow = ("-c", "protocol.file.allow=always")
    project.git(*allow, "submodule", "--quiet", "add", str(other.root), "third_party/zed")
    project.git("config", "--file", ".gitmodules", "submodule.third_party/zed.ignore", ignored)
    project.commit("Add zed")
    old = other.git("rev-parse", "HEAD")
    inside = AnyProject(project.root / "third_party" / "zed")
    inside.write({"zed.c": ZED + "\n"})
    new = inside.commit("Change")
    (found,) = changed_dependencies(project.root, "HEAD", changed_files(project.root, "HEAD"))
    assert (found.name, found.old, found.new) == ("zed", old[:12], new[:12])


def test_a_dependency_in_a_folder_lib_has_the_objects_below_it() -> None:
    objects = {
        "CMakeFiles/app.dir/lib/a.cpp.o": 1, "lib/b.o": 2, "libzed.a(zed.o)": 4, "": 8,
        "/usr/lib/gcc/crtbegin.o": 16, "/tmp/main.o": 32,
    }  # fmt: skip
    analysis = MadeUp([Part({"object": name}, load=size) for name, size in objects.items()])
    (found,) = growth_by_dependency(
        MadeUp([]), analysis, [ChangedDependency("lib", "lib", "1", "2")]
    )
    assert (found.old, found.new) == (0, 3)
