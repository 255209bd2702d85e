"""Objects from ccache are those that the compiler would make of the same commit."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from sizeguard.git.trees import Reads
from sizeguard.git.worktrees import Worktree
from sizeguard.projects.compiler_cache import ccache_path, note_other_inputs, other_inputs
from sizeguard.runtimes.sizeguard.building.native_recipe import _cache
from sizeguard.toolchains.environment import EXACT_CACHES, build_environment
from tests.support.histories.drawn_history import run_git

FILES = {"a.cpp": "", "b/c.h": "", "data.bin": "1", "tools/as": "2", "README.md": "3"}


def commit_of(root: Path, files: dict[str, str]) -> str:
    if not (root / ".git").exists():
        run_git(root, "init", "-q")
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    run_git(root, "add", "-A")
    run_git(root, "commit", "-q", "--allow-empty", "-m", "one")
    return run_git(root, "rev-parse", "HEAD")


def noted(root: Path, commit: str, reads: Reads | None) -> list[str]:
    tree = Worktree(root, root.parent / "tree-00")
    note_other_inputs(tree, commit, reads)
    text = Path(other_inputs(tree, {})["CCACHE_EXTRAFILES"]).read_text()
    return [line.partition("\t")[2] for line in text.splitlines()]


def test_files_count_that_the_preprocessor_does_not_show(tmp_path: Path) -> None:
    """Assembler directives read data, and `gcc -B tools` runs programs of the commit."""
    root = tmp_path / "root"
    root.mkdir()
    commit = commit_of(root, FILES)
    everything = ["README.md", "data.bin", "tools/as"]
    assert noted(root, commit, None) == everything
    assert noted(root, commit, Reads(frozenset(), unwatchable=True)) == everything
    assert noted(root, commit, Reads(frozenset({"a.cpp", "tools/as"}))) == ["tools/as"]
    before = (tmp_path / "tree-00.others").read_text()
    noted(root, commit_of(root, {"tools/as": "4"}), Reads(frozenset({"tools/as"})))
    assert (tmp_path / "tree-00.others").read_text() != before


@pytest.mark.parametrize(
    ("command", "is_cached"),
    [
        ("make", True),
        ("cp bazel-bin/app app && cmake --build build", True),
        ("bazel build -c opt //:app", False),
        ("FOO=1 /usr/bin/bazelisk build //:app && cp -L bazel-bin/app app", False),
    ],
)
def test_bazel_runs_compilers_without_ccache(
    command: str, is_cached: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sandbox makes the folder of ccache read-only, and each compilation failed."""
    monkeypatch.setattr("sizeguard.projects.compiler_cache._MASQUERADE", tmp_path)
    assert ("PATH" in ccache_path(command)) == is_cached


def test_files_that_the_user_counts_are_kept(tmp_path: Path) -> None:
    tree = Worktree(tmp_path, tmp_path / "tree-00")
    assert other_inputs(tree, {}) == {}
    (tmp_path / "tree-00.others").touch()
    found = other_inputs(tree, {"CCACHE_EXTRAFILES": "/x"})
    assert found == {"CCACHE_EXTRAFILES": f"/x:{tmp_path}/tree-00.others"}


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("m.cc", "// A module\nmodule;\n#include <x>\nexport module m;\n", True),
        ("m.ixx", "export module a.b:part [[x]];\n", True),
        ("main.cpp", "int a;\n  import std;\n", True),
        ("main.cpp", "import <vector>;\n", True),
        ("main.cpp", 'export import "m.h";\n', True),
        ("main.cpp", "import :part;\n", True),
        ("main.cpp", "int import;\nvoid module(int);\n", False),
        ("main.cpp", "module(1);\nimport(2);\nmodules m;\n", False),
        ("main.cpp", "/* Here we\nimport the data\nmodule by module */\n", False),
        ("main.py", "import os;\n", False),
        ("main.cp", "import m;\n", True),
        ("a.S", '.include "table.i"\n', True),
        ("a.s", "#define FILE\n .INCLUDE FILE\n", True),
        ("a.c", r'asm(".include \"table.i\"");', True),
        ("a.h", '#define TABLE ".include " NAME\n', True),
        ("a.S", '.incbin\t"table.i"\n', True),
        ("a.S", '.incbin  "table.i"\n', True),
        ("a.S", '.incbin "table.i"\n', False),  # ccache sees it
        ("a.c", r'asm("x: .incbin \"table.i\"");', False),
        ("a.cpp", "all.include(one); all.incbins; a.included = 1;\n", False),
        ("a.S", '#include "table.i"\n', False),
    ],
)
def test_code_with_unseen_reads_is_compiled_without_a_cache(
    tmp_path: Path, name: str, text: str, found: bool
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    tree = Worktree(root, tmp_path / "tree-00")
    for content, is_off in ((text, found), ("", False)):
        note_other_inputs(tree, commit_of(root, {name: content}), None)
        assert (other_inputs(tree, {}) == {"CCACHE_DISABLE": "1"}) == is_off


def test_commits_of_the_runtime_have_no_cache_for_unseen_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An object of another commit would stand for one with another included file."""
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    commits = [
        commit_of(tmp_path, {"native/a.cpp": text})
        for text in ("int a;\n", r'asm(".include \"table.i\"");')
    ]
    launched, compiled = (_cache(tmp_path, commit) for commit in commits)
    assert launched["CMAKE_CXX_COMPILER_LAUNCHER"] == "ccache"
    assert compiled == {"CCACHE_DISABLE": "1"}


MODULE = "export module m;\nexport enum {{ size = {} }};\n"
IMPORTER = "import m;\nchar a[size] = {1};\nint main() { return a[0]; }\n"
_GCC = "g++ -std=c++20 -fmodules-ts"
_CLANG = "clang++-19 -std=c++20"


@pytest.mark.native
@pytest.mark.parametrize(
    "build",
    [
        f"{_GCC} -c m.cc && {_GCC} -c main.cc",
        f"{_CLANG} -x c++-module --precompile m.cc -o m.pcm"
        f" && {_CLANG} -fmodule-file=m=m.pcm -c main.cc",
    ],
)
def test_a_module_that_grows_is_seen(build: str, tmp_path: Path) -> None:
    """The second build has a full cache."""
    root = tmp_path / "root"
    root.mkdir()
    tree = Worktree(root, tmp_path / "tree-00")
    sizes = []
    for size in (1, 1, 6000):
        files = {"m.cc": MODULE.format(size), "main.cc": IMPORTER, "build.sh": build}
        note_other_inputs(tree, commit_of(root, files), None)
        run_git(root, "clean", "-fdxq")
        environment = {**build_environment(), **ccache_path(""), "CCACHE_DIR": str(tmp_path / "c")}
        environment |= other_inputs(tree, {})
        subprocess.run(["sh", "build.sh"], cwd=root, env=environment, check=True)
        sizes.append((root / "main.o").stat().st_size)
    assert sizes[0] == sizes[1] < sizes[2] - 5900


def test_a_path_with_a_dollar_disables_the_cache(tmp_path: Path) -> None:
    """ccache takes it for a variable, and each compilation failed."""
    assert other_inputs(Worktree(tmp_path, tmp_path / "a$b" / "tree-00"), {}) == {
        "CCACHE_DISABLE": "1"
    }


def test_no_variable_lets_a_cache_skip_the_preprocessor() -> None:
    given = {"CCACHE_DIRECT": "1", "CCACHE_DEPEND": "1", "CCACHE_NODIRECT": ""}
    assert {name: build_environment(given)[name] for name in EXACT_CACHES} == EXACT_CACHES
    assert not {"CCACHE_DIRECT", "CCACHE_DEPEND"} & build_environment(given).keys()


NEW_FILES = {
    "found by __has_include": (
        '#if __has_include("a/new.h")\n#include "a/new.h"\n#endif\n',
        {},
        {"a/new.h": "char more[3000] = {1};\n"},
    ),
    "found before another": (
        '#include "new.h"\n',
        {"b/new.h": "\n"},
        {"a/new.h": "char more[3000] = {1};\n"},
    ),
    "read by the assembler": (
        'asm(".include \\"new.s\\"");\n',
        {"new.s": "\n"},
        {"new.s": ".data\n.space 3000\n"},
    ),
}


@pytest.mark.native
@pytest.mark.parametrize("way", NEW_FILES)
def test_a_file_that_a_cache_does_not_look_for_counts(way: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    code, before, after = NEW_FILES[way]
    tree = Worktree(root, tmp_path / "tree-00")
    sizes = []
    for files in ({"a.c": code, "b/k": "", "a/k": "", **before}, after):
        note_other_inputs(tree, commit_of(root, files), None)
        environment = {**build_environment(), **ccache_path(""), "CCACHE_DIR": str(tmp_path / "c")}
        environment |= other_inputs(tree, {})
        for _ in range(2):  # the second one comes from the cache
            command = ["gcc", "-Ia", "-Ib", "-c", "a.c"]
            subprocess.run(command, cwd=root, env=environment, check=True)
        sizes.append((root / "a.o").stat().st_size)
    assert sizes[1] > sizes[0] + 2900
    shutil.rmtree(tmp_path / "c", ignore_errors=True)
