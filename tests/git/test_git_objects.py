"""Files that builds take out of git's objects, told apart from names and ids."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from sizeguard.toolchains.environment import build_environment
from sizeguard.toolchains.links.watched_git import differing, git_watch, outside_files
from sizeguard.toolchains.read_files import (
    WATCHED_ENVIRONMENT,
    ReadFiles,
    read_since,
    watch,
    watch_git,
)
from tests.support.tricks.any_project import AnyProject, made_project

pytestmark = pytest.mark.native

HARMLESS = (
    "git describe --tags --always --dirty",
    "git rev-parse --short HEAD",
    "git rev-parse --verify -q HEAD^{commit} HEAD^{tree} ':/Second'",
    "git rev-parse --short $(git rev-parse HEAD)",
    "git describe --tags --abbrev=8 --match 'v*' HEAD",
    "git -C . -c core.abbrev=12 status --porcelain --untracked-files=no",
    "git status -s -b",
    "git log -1 --format=%H,%cd --date=short",
    "git log -n 1 --pretty=format:%h",
    "git --no-pager show -s --format=%ct HEAD",
    "git show -s --format %ct HEAD~1 @ -- a.c",
    "git diff --quiet HEAD",
    "git diff-index --name-only HEAD --",
    "git rev-list --count HEAD",
    "git ls-files",
    "git ls-files -z --others; git ls-tree -r --name-only HEAD",
    "git cat-file -e HEAD:NOTES.md; git cat-file -t HEAD",
    "git update-index -q --refresh; git diff-index --quiet HEAD",
    "git config --get core.bare",
    "git remote -v; git branch --list; git symbolic-ref -q HEAD",
    "git submodule update --init --recursive",
    # As without gettext: the script asks git to put variables into texts.
    "GIT_INTERNAL_GETTEXT_TEST_FALLBACKS=1 git submodule update --init",
    "env -i PATH=$PATH sh -c 'echo no question'; git --version; git describe --always",
)
TAKING = (
    "git show HEAD:NOTES.md",
    "git show",
    "git show -s --format=%h HEAD:NOTES.md",
    "git show -s --format=%h $(git rev-parse HEAD:NOTES.md)",
    "git tag HEADS HEAD:NOTES.md; git show -s --format=%h HEADS",
    "git -c alias.v='show HEAD:NOTES.md' v",
    "git cat-file blob HEAD:NOTES.md",
    "echo HEAD:NOTES.md | git cat-file --batch",
    "git cat-file -s HEAD:NOTES.md",
    "git ls-tree -rl HEAD",
    "git ls-tree --long HEAD",
    "git ls-tree --l HEAD",
    "git ls-tree --fo='%(objectsize)' HEAD",
    "git rev-list --objects --disk-usage HEAD -- NOTES.md",
    "git rev-list --objects --filter=blob:limit=3 HEAD",
    "git ls-files --format='%(objectsize)'",
    "git ls-files --debug",
    "git diff --stat HEAD~1",
    "git log -1 --format=%h --numstat",
    "git rev-parse HEAD:NOTES.md",
    "git rev-parse --default :NOTES.md",
    "git rev-parse -q --verify 1234567^{blob}",
    "git describe --always HEAD:NOTES.md",
    "git describe --always 2bdf67abb163a4ffb2d7f3f0880c9fe5068ce782",
    "git rev-parse -q --verify 2bdf67abb",
    "git rev-parse 2bdf67abb^0",
    "git cat-file -e 2bdf67abb163a4ffb2d7f3f0880c9fe5068ce782",
    "git ls-tree HEAD",
    "git ls-tree --object-only HEAD",
    "git ls-files -s",
    "git ls-files -zs",
    "git ls-files --stag",
    "git diff-index HEAD~1",
    "git diff --raw HEAD~1",
    "echo >NOTES.md; git diff -q",
    "git diff-files -q",
    "git log -1 --format=%h --raw",
    "git rev-list --objects HEAD",
    "echo >NOTES.md; git status --porc=v2",
    "git update-index --cacheinfo 100644,2bdf67abb163a4ffb2d7f3f0880c9fe5068ce782,NOTES.md",
    "git archive HEAD",
    "git archive HEAD | tar x -C ../out",
    "git grep -h o HEAD -- NOTES.md",
    "git log -p",
    "git log -1 --format=%B",
    "git log --format=%h -1 -U1",
    "git log -L1,1:NOTES.md --format=%h",
    "git diff HEAD~1",
    "git diff --name-only -p HEAD~1",
    "git blame NOTES.md",
    "git checkout-index --prefix=../out/ NOTES.md",
    "git worktree add ../more; git worktree list",
    "git config --blob HEAD:NOTES.md --list",
    "git clone -q . ../clone",
    "git bundle create ../all HEAD",
    "git checkout HEAD~1 -- NOTES.md",
    "git for-each-ref --format='%(contents)'",
    "git branch --format='%(contents)'",
    "git branch -av",
    "git status -vv",
    "GIT_DIR=../git git show HEAD:NOTES.md",
    "cd / && git --git-dir=$OLDPWD/../git show HEAD:NOTES.md",
    "env -i PATH=$PATH git describe --always",  # nothing tells it from git show
    "ls ../git/objects",
    f"{sys.executable} -c 'open(\".git\").read()'",
    "cp -r ../git ../copy",
    f'{sys.executable} -c \'import glob; [open(p, "rb").read()'
    ' for p in glob.glob("../git/objects/??/*")]\'',
)


@pytest.fixture
def tree(tmp_path: Path) -> AnyProject:
    """Make a worktree with a tag and two commits, whose .git is a file."""
    return _made(tmp_path)


def _made(folder: Path) -> AnyProject:
    project = made_project(folder / "tree", "", {"NOTES.md": "one\n", "a.c": "int a;\n"})
    project.git("tag", "v1")
    project.write({"NOTES.md": "[two]\n"})
    project.commit("Second")
    (project.root / ".git").rename(folder / "git")
    (project.root / ".git").write_text(f"gitdir: {folder / 'git'}\n")
    (folder / "out").mkdir()
    return project


def asked(tree: AnyProject, command: str) -> ReadFiles:
    """Run a command as a build does."""
    if not watch(tree.root):
        pytest.skip("this file system does not tell what is read")
    given = {**build_environment(), **WATCHED_ENVIRONMENT}
    more = git_watch(tree.root.parent / "git", tree.root, given)
    assert more, "nothing can be preloaded: .ci/setup installs a C compiler"
    watch_git(tree.root)
    subprocess.run(
        ["/bin/sh", "-c", command], cwd=tree.root, env={**given, **more}, capture_output=True
    )
    return read_since(tree.root)


@pytest.mark.parametrize("command", HARMLESS)
def test_names_and_ids_let_ignored_files_alone(tree: AnyProject, command: str) -> None:
    found = asked(tree, command)
    assert (found.asks_git, found.takes_files) == (True, False)


@pytest.mark.parametrize("command", TAKING)
def test_a_file_out_of_gits_objects_is_seen(tree: AnyProject, command: str) -> None:
    assert asked(tree, command).takes_files


# Each asks for the size of NOTES.md, and reads nothing of it.
SIZING = (
    "stat -c %s NOTES.md",
    "cd .. && stat -L --printf=%s tree/./NOTES.md",
    "ln -s ../tree/NOTES.md ../out/notes; stat -Lc %s ../out/notes",
    "test -s NOTES.md",
    "ls -s",
    "du -b NOTES.md",
    "find . -size +1k",
    "perl -e 'exit -s \"NOTES.md\"'",
    "truncate -r NOTES.md ../out/as_long",
    f"{sys.executable} -c 'import os; os.path.getsize(\"NOTES.md\")'",
    f"{sys.executable} -c 'import os; [each.stat() for each in os.scandir()]'",
    f'{sys.executable} -c \'open("NOTES.md", "rb").seek(0, 2)\'',
)


def _calls(call: str) -> str:
    """Call libc; no such place exists, so nothing is mounted."""
    return f"{sys.executable} -c 'import ctypes; ctypes.CDLL(None).{call}'"


BIND, REMOUNT, READ_ONLY, NO_TIMES = 4096, 32, 1, 1024  # flags of mount


@pytest.mark.parametrize(
    ("call", "is_unseen"),
    [
        (f'mount(b".", b"../no", None, {BIND | READ_ONLY}, None)', True),
        (f'mount(None, b"../no", None, {BIND | REMOUNT | NO_TIMES}, None)', True),
        ('mount(b"overlay", b"../no", b"overlay", 0, b"lowerdir=.")', True),
        ('mount(b".", b"../no", None, 4096, None)', False),
        ('mount(b"none", b"../no", b"tmpfs", 1, None)', False),
        ('chroot(b"../no")', True),
        ('chroot(b"/")', False),
    ],
)
def test_places_that_set_no_access_times_are_seen(
    tree: AnyProject, call: str, *, is_unseen: bool
) -> None:
    assert asked(tree, _calls(call)).takes_files is is_unseen


@pytest.mark.parametrize(("target", "is_unseen"), [("../out", True), ("target", False)])
def test_outputs_of_cargo_outside_are_seen(
    tree: AnyProject, target: str, *, is_unseen: bool
) -> None:
    """It compares their times with those of sources, which it does not read then."""
    kept = f"{target}/release/.fingerprint"
    made = f"cp /bin/cat ../out/cargo; mkdir -p {kept}; touch {kept}/app"
    assert asked(tree, f"{made}; ../out/cargo {kept}/app").takes_files is is_unseen


@pytest.mark.parametrize("command", SIZING)
def test_a_file_whose_size_is_asked_for_counts_as_read(tree: AnyProject, command: str) -> None:
    assert "NOTES.md" in asked(tree, command).files


@pytest.mark.parametrize(
    "asking",
    [
        'FILE* f = fopen("NOTES.md", "r"); return fseek(f, 0, SEEK_END) || ftell(f) < 0;',
        "struct statx s; return"  # as node does
        ' syscall(SYS_statx, AT_FDCWD, "NOTES.md", 0, STATX_SIZE, &s) || !s.stx_size;',
    ],
)
def test_a_compiled_program_that_asks_for_a_size_is_seen(
    tree: AnyProject, tmp_path: Path, asking: str
) -> None:
    headers = ("fcntl.h", "stdio.h", "sys/stat.h", "sys/syscall.h", "unistd.h")
    lines = ["#define _GNU_SOURCE", *(f"#include <{name}>" for name in headers)]
    (tmp_path / "ask.c").write_text("\n".join([*lines, f"int main(void) {{ {asking} }}\n"]))
    subprocess.run(["cc", "ask.c", "-o", "ask"], cwd=tmp_path, check=True)
    assert "NOTES.md" in asked(tree, "../ask").files


@pytest.mark.parametrize(
    "command",
    (
        *("ls", "find . -name '*.c'", "cc -c a.c -o ../out/a.o", "git status", "cat a.c"),
        "echo 'file(GLOB_RECURSE all *.c)' >../x.cmake; cmake -P ../x.cmake",
    ),
)
def test_a_file_that_is_only_listed_is_not_read(tree: AnyProject, command: str) -> None:
    assert "NOTES.md" not in asked(tree, command).files


def test_a_colon_in_the_path_hides_no_objects(tmp_path: Path) -> None:
    tree = _made(tmp_path / "a:b")
    assert asked(tree, "cd / && git --git-dir=$OLDPWD/../git show HEAD:NOTES.md").takes_files


@pytest.mark.parametrize("command", ["cat a.c", "git init -q ../new && git -C ../new status"])
def test_a_build_without_questions_asks_nothing(tree: AnyProject, command: str) -> None:
    found = asked(tree, command)
    assert (found.asks_git, found.takes_files) == (False, False)


def test_a_static_reader_of_objects_is_seen(tree: AnyProject, tmp_path: Path) -> None:
    """No library is in its process, but it has to find the objects."""
    (tmp_path / "look.c").write_text(
        "#include <stdio.h>\nint main(void) { char t[99];"
        ' FILE* f = fopen(".git", "r"); return !f || !fgets(t, 99, f); }\n'
    )
    subprocess.run(["cc", "-static", "look.c", "-o", "look"], cwd=tmp_path, check=True)
    assert asked(tree, "git describe --always; ../look").takes_files


def test_borrowed_objects_are_seen(tree: AnyProject, tmp_path: Path) -> None:
    shutil.move(tmp_path / "git" / "objects", tmp_path / "lent")
    (tmp_path / "git" / "objects" / "info").mkdir(parents=True)
    (tmp_path / "git" / "objects" / "info" / "alternates").write_text(f"{tmp_path / 'lent'}\n")
    (tmp_path / "objects").symlink_to("lent")
    assert not asked(tree, "git describe --always").takes_files
    head = tree.git("rev-parse", "HEAD")
    loose = f"objects/{head[:2]}/{head[2:]}"
    assert zlib.decompress((tmp_path / loose).read_bytes()).startswith(b"commit")
    assert asked(tree, f"cat ../{loose}").takes_files


CONFIG = """apps:
  app:
    build: make app
    image: app
    ignore: '*.md'
    limits: {load: {max: 60 KiB, growth: 64 B}}
"""
MAIN = "extern char notes[];\nint main(void) { return notes[0]; }\n"
BUILD = "app:\n\t{line} >notes.txt\n\tcc -Os -o app main.c notes.s\n"
# Runs a command by system(), without any variable
CLEARED = (
    f"{sys.executable} -c 'import ctypes, sys; libc = ctypes.CDLL(None); libc.clearenv();"
    ' libc.system(" ".join(sys.argv[1:]).encode())\''
)
GROWN = "8eac7eaa5b6d9991bfcb7887bc93e277ba6beefe"  # git's id of NOTES.md in the change
NOTES = '.data\n.globl notes\nnotes: .incbin "notes.txt"\n.byte 0\n'


@pytest.mark.parametrize(
    ("line", "is_seen"),
    [
        ("git show HEAD:NOTES.md", True),
        ("git describe --tags --always --dirty", False),
        (f"if test `git rev-parse HEAD:NOTES.md` = {GROWN}; then head -c 2000 /dev/zero; fi", True),
        ("head -c $$(stat -c %s NOTES.md) /dev/zero", True),
        ("head -c $$(env -i stat -c %s NOTES.md) /dev/zero", True),
        (f"head -c $$({CLEARED} stat -c %s NOTES.md) /dev/zero", True),
    ],
)
def test_an_ignored_file_that_the_build_uses_without_reading_it_counts(
    tmp_path: Path, line: str, *, is_seen: bool
) -> None:
    """From an empty store: neither commit may stand for the other before its build is seen."""
    made = {"Makefile": BUILD.format(line=line), "main.c": MAIN, "notes.s": NOTES}
    project = made_project(tmp_path, CONFIG, {**made, "NOTES.md": "Notes.\n"})
    project.git("tag", "v1")
    project.write({"NOTES.md": "Grown. " * 300})
    for _ in range(2):
        done = project.run("gate", "--format", "json")
        growth = json.loads(done.out)["apps"][0]["growth_since_base"]["load"]
        assert (growth > 1500) is is_seen, done.err


def test_a_size_that_the_checkouts_git_tells_counts(tmp_path: Path) -> None:
    line = "head -c $$(git -C ../../.. cat-file -s HEAD:NOTES.md) /dev/zero"
    made = {"Makefile": BUILD.format(line=line), "main.c": MAIN, "notes.s": NOTES}
    config = CONFIG.replace("    ignore: '*.md'\n", "")
    project = made_project(tmp_path, config, {**made, "NOTES.md": "Notes.\n"})
    assert project.run("gate").code == 0
    project.git("checkout", "-q", "-b", "work")
    project.write({"NOTES.md": "Grown. " * 300})
    project.commit("Grow")
    done = project.run("gate", "--format", "json")
    assert json.loads(done.out)["apps"][0]["growth_since_base"]["load"] > 1500, done.err


# Each names the file of the checkout that it takes, from a worktree three folders below.
OF_THE_CHECKOUT = (
    ("ln ../../../data.txt here", "data.txt"),
    ("ln -P ../../../link here", "link"),
    ("mv ../../../data.txt here", "data.txt"),
    ("../../../program", "program"),
    ("LD_LIBRARY_PATH=../../../lib /usr/bin/env -u X ../../../program", "program"),
    ("LD_PRELOAD=$LD_PRELOAD:$PWD/../../../lib/libf.so /bin/true", "lib/libf.so"),
    (
        f"{sys.executable} -c 'import ctypes; ctypes.CDLL(\"../../../lib/libf.so\")'",
        "lib/libf.so",
    ),
    ("git -C ../../.. rev-parse HEAD", ".git/HEAD"),
    ("git --git-dir=../../../.git show HEAD:data.txt", ".git/HEAD"),
    ("cat ../../../.git/HEAD", ".git/HEAD"),
    ("git rev-parse HEAD; git describe --always; git status; git log -1", ""),
    ("ln a.c here; mv here there; cc -c a.c; git branch; git rev-list --all --count", ""),
)


@pytest.mark.parametrize(("command", "name"), OF_THE_CHECKOUT)
def test_files_that_are_taken_from_the_checkout_are_noted(
    tmp_path: Path, command: str, name: str
) -> None:
    sources = {"a.c": "int main(void) { return 0; }\n", "data.txt": "1\n", ".gitignore": ".sg\n"}
    project = made_project(tmp_path, "", sources)
    (tmp_path / "lib").mkdir()
    for options in ("-shared -o lib/libf.so", "-o program"):
        subprocess.run(["cc", *options.split(), "a.c"], cwd=tmp_path, check=True)
    (tmp_path / "link").symlink_to("data.txt")
    project.commit("Programs")
    tree = tmp_path / ".sizeguard" / "worktrees" / "t"
    project.git("worktree", "add", "-q", "--detach", str(tree))
    given = build_environment()
    more = git_watch(tmp_path, tree, given)
    watch_git(tree)
    subprocess.run(["/bin/sh", "-c", command], cwd=tree, env={**given, **more}, capture_output=True)
    assert name in (outside_files(tmp_path, tree, frozenset()) or {""})
    commit = project.git("rev-parse", "HEAD")
    if "/" in name and name.startswith(".git"):
        assert not differing(tmp_path, commit, {name})
        project.git("commit", "-q", "--allow-empty", "-m", "Later")
        assert differing(tmp_path, commit, {name}) == [name]
