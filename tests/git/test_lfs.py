"""Files of Git LFS, also in submodules, in the builds of a change and of its base."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.tricks.any_project import AnyProject, made_project

pytestmark = pytest.mark.native

CONFIG = """targets: {x86_64-linux: }
apps:
  app:
    build: sh build.sh
    image: app
    limits: {load: {max: 60 KiB, growth: 64 B}}
"""
CODE = """asm(".section .rodata\\n.global blob\\nblob: .incbin \\"FILE\\"\\n.previous");
extern const char blob[];
int NAME(int x) { return blob[x]; }
"""
MAIN = "int own(int);\nint other(int);\nint main(int c) { return own(c) + other(c); }\n"
BUILD = "gcc -Os -o app main.c own.c third/other.c -Wl,--no-gc-sections\n"
ATTRIBUTES = "*.bin filter=lfs diff=lfs merge=lfs -text\n"


def with_lfs(folder: Path, sources: dict[str, str], config: str = "") -> AnyProject:
    """Make a repository whose *.bin files are in Git LFS."""
    made = made_project(folder, config, {".gitattributes": ATTRIBUTES})
    made.git("lfs", "install", "--local")
    made.write(sources)
    made.commit("Add files")
    assert made.git("show", f"HEAD:{next(n for n in sources if n.endswith('.bin'))}").startswith(
        "version https://git-lfs"
    )
    return made


@pytest.fixture
def project(tmp_path: Path) -> AnyProject:
    """Make a project with a submodule; both have a file in Git LFS."""
    code = {
        name: CODE.replace("FILE", f"{place}{name}.bin").replace("blob", f"{name}_blob")
        for name, place in (("own", ""), ("other", "third/"))
    }
    inner = with_lfs(
        tmp_path / "other",
        {"other.bin": "o" * 3000, "other.c": code["other"].replace("NAME", "other")},
    )
    sources = {"main.c": MAIN, "build.sh": BUILD, "own.bin": "a" * 5000, ".gitignore": "/app\n"}
    made = with_lfs(
        tmp_path / "tree", {**sources, "own.c": code["own"].replace("NAME", "own")}, CONFIG
    )
    allow = ("-c", "protocol.file.allow=always")
    made.git(*allow, "submodule", "--quiet", "add", str(inner.root), "third")
    inside = AnyProject(made.root / "third")
    inside.git("lfs", "install", "--local")
    inside.git("lfs", "fetch")
    inside.git("lfs", "checkout")
    assert (made.root / "third" / "other.bin").read_text() == "o" * 3000
    made.commit("Add the submodule")
    return made


def test_base_and_change_have_the_contents_of_git_lfs(project: AnyProject) -> None:
    project.write({"own.bin": "a" * 9000})
    done = project.run("gate", "--format", "json")
    (app,) = json.loads(done.out)["apps"]
    assert app["old_sizes"]["load"] > 8000  # not the sizes of pointers
    assert 3900 < app["growth_since_base"]["load"] < 4200
    assert done.code == 1
    project.git("checkout", "--", ".")
    inside = AnyProject(project.root / "third")
    inside.write({"other.bin": "o" * 4000})
    inside.commit("Grow")
    project.commit("Take the grown submodule")
    done = project.run("gate", "--base", "HEAD~1", "--format", "json")
    (app,) = json.loads(done.out)["apps"]
    assert 900 < app["growth_since_base"]["load"] < 1200
    assert [each["name"] for each in app["growth_by_dependency"]] == ["third"]


def test_a_content_that_the_clone_lacks_is_one_clear_error(project: AnyProject) -> None:
    project.write({"own.bin": "b" * 5000})  # the base's content is not in the checkout either
    shutil.rmtree(project.root / ".git" / "lfs" / "objects")
    done = project.run("gate")
    assert done.code in (2, 3, 4), done.out
    text = " ".join((done.out + done.err).split())
    assert "own.bin: the clone lacks its content in Git LFS; run git lfs fetch --all" in text
    assert "Traceback" not in text
