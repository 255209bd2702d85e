"""Test that earlier outputs, strip programs and files beside the terms hide no growth."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from sizeguard.git.checked_out import checked_out_commit
from sizeguard.git.trees import Reads, Scope, reads_hash, tree_hash
from sizeguard.git.worktrees import Worktree
from sizeguard.projects.head_builds import HeadBuilds
from sizeguard.projects.project import SHIPS, ImageFiles
from sizeguard.projects.reader import read_config
from sizeguard.projects.steps.left_outputs import note_shipped, remove_outputs
from tests.support.tricks.any_project import made_project

CONFIG = """limits:
  load: {growth: 64 B}
  file: {growth: "max(1%, 512B)"}
apps:
  app:
    build: sh build.sh
    image: app
    ignore: ['*.md', '*.sh']
"""
MAIN = "char a[1] = {1};\nint main(void) { return a[0]; }\n"
GROWN = MAIN.replace("[1]", "[6000]")
STRIP = '#!/bin/sh\nstrip "$@"\n'
MORE = 'for last; do :; done\nhead -c 9000 /dev/zero | tr "\\\\0" x >> "$2"\n'
FAIL = 1
OF_MAKE = CONFIG.replace("sh build.sh", "make N=1") + "    clean: rm -f app\n"


@pytest.mark.native
@pytest.mark.parametrize(
    ("config", "base", "change"),
    [
        (
            CONFIG + "    clean: 'true'\n",
            {"build.sh": "[ -f app ] || cc -Os -o app main.c\n", "main.c": MAIN},
            {"main.c": GROWN},
        ),
        (
            CONFIG + "    strip: ./strip.sh\n",
            {"build.sh": "cc -Os -o app main.c\n", "main.c": MAIN, "strip.sh": STRIP},
            {"strip.sh": STRIP + MORE},
        ),
        (
            CONFIG,
            {
                "build.sh": "[ -f baselines/old/a.b.c.yaml ] && cp grown.c main.c\n"
                "cc -Os -o app main.c\n",
                "main.c": MAIN,
                "grown.c": GROWN,
            },
            {"baselines/old/a.b.c.yaml": "1\n"},
        ),
        (
            OF_MAKE,
            {
                "Makefile": "app: main.o\n\tcc -o app main.o\nmain.o:\n\tcc -DN=$(N) -c main.c\n",
                "main.c": MAIN.replace("[1]", "[N]"),
            },
            {"sizeguard.yaml": OF_MAKE.replace("N=1", "N=6000")},
        ),
    ],
    ids=[
        "a kept output",
        "a strip program",
        "a file below the baselines",
        "an object that another command made",
    ],
)
def test_growth_is_seen(
    tmp_path: Path, config: str, base: dict[str, str], change: dict[str, str]
) -> None:
    """In one step, and after a harmless commit."""
    project = made_project(tmp_path, config, base)
    if "strip.sh" in base:
        (tmp_path / "strip.sh").chmod(0o755)
        project.commit("A program")
    project.run("gate", "--base", "main")
    project.git("checkout", "-q", "-b", "work")
    for files in (change, {"README.md": "Words.\n"}):
        project.write(files)
        project.commit("Change")
        done = project.run("gate", "--base", "main", "--format", "json")
        assert done.code == FAIL, done.err
        assert json.loads(done.out)["apps"][0]["growth_since_base"]["file"] > 5000


@pytest.mark.native
@pytest.mark.parametrize("clean", ["", "    clean: 'true'\n"])
def test_an_image_of_the_commit_is_not_that_of_the_build(tmp_path: Path, clean: str) -> None:
    """`make` finds it up to date, or writes it again."""
    base = {"build.sh": "[ -f app ] || cc -Os -o app main.c\n", "main.c": MAIN}
    project = made_project(tmp_path, CONFIG + clean, base)
    project.git("checkout", "-q", "-b", "work")
    subprocess.run(["cc", "-Os", "-o", "app", "main.c"], cwd=tmp_path, check=True)
    project.write({"main.c": GROWN})
    project.commit("Grow")
    for _ in range(2):
        done = project.run("gate", "--base", "main")
        assert done.code == 4
        assert "made no app: app is a file of the commit" in " ".join(done.out.split())
    project.write({"build.sh": "cc -Os -o app main.c\n"})
    done = project.run("gate", "--base", "main", "--format", "json")
    assert done.code == FAIL, done.err
    assert json.loads(done.out)["apps"][0]["growth_since_base"]["load"] > 5000


@pytest.mark.native
def test_a_sparse_checkout_hides_no_file(tmp_path: Path) -> None:
    base = {"build.sh": "cc -Os -o app main.c more/*.c\n", "main.c": MAIN, "more/b.c": "int b;\n"}
    project = made_project(tmp_path, CONFIG, base)
    project.git("checkout", "-q", "-b", "work")
    project.write({"more/b.c": "int b;\nchar c[6000] = {1};\n"})
    project.commit("Grow")
    project.git("sparse-checkout", "set", "--no-cone", "/*", "!/more/")
    assert not (tmp_path / "more").exists()
    done = project.run("gate", "--base", "main", "--format", "json")
    assert done.code == FAIL, done.err
    assert json.loads(done.out)["apps"][0]["growth_since_base"]["load"] > 5000


def test_the_files_that_a_sparse_checkout_leaves_out_belong_to_it(tmp_path: Path) -> None:
    project = made_project(tmp_path, "", {"a.c": "1\n", "d/b.c": "1\n", "d/é.c": "1\n"})
    head = project.git("rev-parse", "HEAD")
    project.git("sparse-checkout", "set", "--no-cone", "/*", "!/d/")
    assert checked_out_commit(tmp_path) == head
    project.write({"a.c": "2\n", "d/b.c": "2\n"})
    made = checked_out_commit(tmp_path)
    assert project.git("diff", "--name-only", head, made) == "a.c\nd/b.c"
    (tmp_path / "a.c").unlink()
    assert "D\ta.c" in project.git("diff", "--name-status", head, checked_out_commit(tmp_path))


def kept_tree(root: Path) -> Worktree:
    """Return a tree that is the repository itself, and was set up now."""
    tree = Worktree(root, root)
    tree.made.mkdir(exist_ok=True)
    tree.setup.write_text("{}\n")
    return tree


def test_what_the_last_build_shipped_is_removed(tmp_path: Path) -> None:
    """A library in another folder would count for a commit that does not make it."""
    root = tmp_path / "tree"
    root.mkdir()
    project = made_project(root, "apps: {}\n", {"kept.so": "1\n"})
    commit = project.git("rev-parse", "HEAD")
    project.write({"of_setup.so": "1\n"})
    tree = kept_tree(root)
    os.utime(tree.setup, ns=(0, (root / "of_setup.so").stat().st_ctime_ns))
    project.write({"a/libh.so": "1\n", "p.zip": "1\n", "other.so": "1\n"})
    shipped = {"one": ("kept.so", "of_setup.so", "a/libh.so"), "two": ("p.zip.members/lib/x.so",)}
    for app, names in shipped.items():
        for name in (*names, "gone.so"):
            path = tree.made / app / SHIPS / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        note_shipped(tree, tree.made / app)
    remove_outputs(tree, commit, [])
    left = {path.name for path in root.rglob("*.*") if ".git" not in path.parts}
    assert left == {"sizeguard.yaml", "kept.so", "of_setup.so", "other.so"}


def test_what_is_tracked_stays(tmp_path: Path) -> None:
    project = made_project(tmp_path, "apps: {}\n", {"kept": "1\n", "real": "1\n"})
    commit = project.git("rev-parse", "HEAD")
    made = ("app", "app.stripped", "app.map", "app.debug", "pack.zip", "other")
    project.write(dict.fromkeys(made, "1\n"))
    (tmp_path / "link").symlink_to("real")
    images = [
        ImageFiles("app", shipped="app.stripped", map="app.map", debug="app.debug"),
        ImageFiles("pack.zip!lib/x.so"),
        ImageFiles("kept"),
        ImageFiles("link"),
        ImageFiles("missing"),
    ]
    remove_outputs(kept_tree(tmp_path), commit, images)
    left = {path.name for path in tmp_path.iterdir()} - {".git", "sizeguard.yaml"}
    assert left == {"kept", "real", "other"}


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("baselines/a.b.c.yaml", False),
        ("baselines/a.b-c.d.yaml", False),
        ("baselines/a.yaml", True),
        ("baselines/old/a.b.c.yaml", True),
        ("other/baselines/a.b.c.yaml", True),
    ],
)
def test_only_files_of_the_terms_do_not_count(tmp_path: Path, path: str, *, counts: bool) -> None:
    """Builds may ask whether any other file exists."""
    project = made_project(tmp_path, "", {"a.c": "int a;\n"})
    before = project.git("rev-parse", "HEAD")
    project.write({path: "1\n"})
    after = project.commit("More")
    scope = Scope(unnamed=("baselines/*.*.*.yaml",))
    reads = Reads(frozenset({"a.c"}))
    hashes = (reads_hash(tmp_path, each, scope, reads, names=False) for each in (before, after))
    one, other = hashes
    assert (one != other) is counts
    one, other = (tree_hash(tmp_path, each, scope) for each in (before, after))
    assert (one != other) is counts


@pytest.mark.parametrize("debug", ["app.dSYM/Contents/DWARF/app", "dbg/.build-id/ab/cd.debug"])
def test_a_debug_file_in_a_folder_is_a_part_of_an_image_as_found(
    tmp_path: Path, debug: str
) -> None:
    """The gate said that nothing had changed, and kept the names of the older file."""
    config = f"apps: {{app: {{image: app, debug: {debug.partition('/')[0]}}}}}\n"
    project = made_project(tmp_path, config, {"app": "no image", debug: "one"})
    (app,) = read_config(tmp_path).apps
    heads = HeadBuilds(tmp_path, is_git=True)
    before = heads.content(app, app.targets[0])
    project.write({debug: "two"})
    assert heads.content(app, app.targets[0]) != before
