"""Files that a build reads, as the file system reports them, and rebuilds after their changes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from sizeguard.git.trees import Reads, Scope, reads_hash
from sizeguard.projects.known_reads import KnownReads
from sizeguard.proposals.propose import _ignores_markdown
from sizeguard.toolchains.read_files import ReadFiles, read_since, records_reads, watch
from tests.support.tricks.any_project import AnyProject, made_project

FILES = {"a.c": "int a;\n", "sub/b.c": "int b;\n", "sub/notes.txt": "Notes.\n"}
MAKE = "app: *.c\n\tcc -Os -o app *.c\n"
CONFIG = """apps:
  app:
    build: make app
    image: app
    limits: {{load: {{max: 60 KiB, growth: 64 B}}}}
{more}"""
C = {"a.c": "int b(int);\nint main(void) { return b(1); }\n", "b.c": "int b(int x) { return x; }\n"}
GROWN = "int b(int x) {\n  volatile int v = x;\n" + "  v = v * 3 + 1;\n" * 60 + "  return v;\n}\n"


@pytest.fixture
def tree(tmp_path: Path) -> AnyProject:
    """Make a repository on a file system that reports which files are read."""
    project = made_project(tmp_path / "tree", "", FILES)
    # As in a worktree, where .git is a file
    (project.root / ".git").rename(tmp_path / "git")
    (project.root / ".git").write_text(f"gitdir: {tmp_path / 'git'}\n")
    if not watch(project.root):
        pytest.skip("this file system does not tell what is read")
    return project


def test_files_that_any_program_reads_are_told(tree: AnyProject) -> None:
    subprocess.run(["cat", "sub/b.c"], cwd=tree.root, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ls", "sub"], cwd=tree.root, check=True, stdout=subprocess.DEVNULL)
    (tree.root / "a.c").stat()
    assert read_since(tree.root) == ReadFiles(frozenset({"sub/b.c"}))


def test_times_that_a_build_sets_hide_no_read(tree: AnyProject) -> None:
    """Also within the first step of the file system's clock: reads were lost there."""
    for _ in range(20):
        assert watch(tree.root)
        before = (tree.root / "a.c").stat()
        (tree.root / "a.c").read_bytes()
        os.utime(tree.root / "a.c", ns=(before.st_atime_ns, before.st_mtime_ns))
        assert read_since(tree.root) == ReadFiles(frozenset({"a.c"}))


def test_a_replaced_file_counts_as_read(tree: AnyProject) -> None:
    (tree.root / "a.c").unlink()
    found = read_since(tree.root)
    assert "a.c" in found.files


def test_a_build_that_asks_git_is_told(tree: AnyProject) -> None:
    """Where no library tells the commands apart, any of them may take files."""
    tree.git("describe", "--always")
    assert read_since(tree.root) == ReadFiles(asks_git=True, takes_files=True)


def test_what_builds_read_is_united_and_unknown_stays_unknown(tmp_path: Path) -> None:
    known = KnownReads(tmp_path / "reads", "app")
    assert known.get() is None
    known.add(ReadFiles(frozenset({"a"})))
    known.add(ReadFiles(frozenset({"b"}), asks_git=True))
    assert known.get() == Reads(frozenset({"a", "b"}), asks_git=True)
    known.add(ReadFiles(takes_files=True))
    assert known.get() == Reads(frozenset({"a", "b"}), asks_git=True, takes_files=True)
    known.add(None)
    known.add(ReadFiles())
    assert known.get() is None


@pytest.mark.parametrize(
    ("change", "is_equal"),
    [
        ({"sub/notes.txt": "Other notes.\n"}, True),
        ({"a.c": "int c;\n"}, False),
        ({"sub/b.c": "int c;\n"}, True),  # not read
        ({"sub/new.c": "int c;\n"}, False),
        ({"other/new.c": "int c;\n"}, False),  # in scope
        ({"sub/new.md": "New.\n"}, False),  # a build may ask whether it exists
        ({"sub/other.md": "Other.\n"}, True),
        ({"baselines/waivers.yaml": "[]\n"}, True),  # a term
        ({"baselines/a.b.c.yaml": "[]\n"}, False),  # a build may list such names
        ({"sub/.gitattributes": "* text eol=crlf\n"}, False),
        ({"new.inc": "int c;\n"}, False),
    ],
)
def test_what_was_read_and_names_that_may_be_met_decide(
    tmp_path: Path, change: dict[str, str], *, is_equal: bool
) -> None:
    project = made_project(tmp_path, "", FILES)
    project.write({"sub/other.md": "Document.\n", "baselines/waivers.yaml": ""})
    project.commit("Document")
    reads = Reads(frozenset({"a.c"}))
    scope = Scope((), ("*.md", "sub/*.c"), ("baselines/waivers.yaml", "baselines/*.*.*.yaml"))
    before = reads_hash(project.root, "HEAD", scope, reads)
    project.write(change)
    project.commit("Change")
    assert (reads_hash(project.root, "HEAD", scope, reads) == before) is is_equal


@pytest.mark.native
def test_ignoring_a_source_first_hides_no_growth(tmp_path: Path) -> None:
    sources = {"Makefile": MAKE, "NOTES": "Notes.\n", **C}
    project = made_project(tmp_path, CONFIG.format(more="    ignore: b.c\n"), sources)
    assert project.run("gate").code in (0, 3)
    if not list((project.root / ".sizeguard" / "store" / "reads").glob("*.json")):
        pytest.skip("nothing is known of reads")
    project.write({"b.c": GROWN})
    done = project.run("gate", "--format", "json")
    assert json.loads(done.out)["apps"][0]["growth_since_base"]["load"] > 500, done.err


@pytest.mark.native
def test_a_file_that_no_build_reads_is_skipped_without_ignore(tmp_path: Path) -> None:
    project = made_project(
        tmp_path, CONFIG.format(more=""), {"Makefile": MAKE, "NOTES": "Notes.\n", **C}
    )
    assert project.run("baseline", "update").code == 0
    project.commit("Review the sizes")
    assert project.run("gate").code == 0
    project.write({"NOTES": "Other notes.\n"})
    done = project.run("gate")
    assert done.code == 0
    assert "building" not in done.err


@pytest.mark.native
def test_a_build_that_asks_git_skips_ignored_files_that_it_does_not_open(tmp_path: Path) -> None:
    asks = (
        "app: *.c\n\tgit describe --always --dirty\n\tcat READ.md >/dev/null\n\tcc -Os -o app *.c\n"
    )
    texts = {"READ.md": "Read.\n", "OTHER.md": "Other.\n", "NOTES": "Notes.\n"}
    config = CONFIG.format(more="    ignore: '*.md'\n")
    project = made_project(tmp_path, config, {"Makefile": asks, **texts, **C})
    assert project.run("baseline", "update").code == 0
    project.commit("Review the sizes")
    assert project.run("gate").code == 0
    if not list((project.root / ".sizeguard" / "store" / "reads").glob("*.json")):
        pytest.skip("nothing is known of reads")
    builds = {}
    for name in texts:
        project.write({name: "Changed.\n"})
        builds[name] = "building" in project.run("gate").err
        project.git("checkout", "--", ".")
    assert builds == {"READ.md": True, "OTHER.md": False, "NOTES": True}


def test_documents_are_ignored_unless_code_makes_them_a_part_of_the_image(tmp_path: Path) -> None:
    project = made_project(tmp_path, "", {"Cargo.toml": 'readme = "README.md"\n'})
    assert _ignores_markdown(project.root) == records_reads(project.root)
    project.write({"src/lib.rs": '#![doc = include_str!("../README.md")]\n'})
    project.commit("Include")
    assert not _ignores_markdown(project.root)
    for taken in ("git show HEAD:NOTES.md", "git cat-file blob HEAD:NOTES.md", "git archive HEAD"):
        project.write({"src/lib.rs": "", "Makefile": f"notes.h:\n\t{taken} >$@\n"})
        project.commit("Take a file out of git")
        assert not _ignores_markdown(project.root)


def test_unknown_reads_stay_unknown_where_none_can_be_watched(tmp_path: Path) -> None:
    known = KnownReads(tmp_path, "app")
    known.add_unwatchable()
    found = known.get()
    assert found is not None
    assert found.unwatchable
    known.add(None)
    assert known.get() is None
    known.add_unwatchable()
    assert known.get() is None
