"""Records of build inputs: changes that they detect, and files that tools report as read."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.base.kept import hash_cache
from sizeguard.base.kept.hash_cache import HashCache
from sizeguard.builds.build_inputs import (
    MISSING,
    BuildInputs,
    absent_prefixes,
    changed_keys,
    content_hash,
    glob_hash,
    glob_matches,
    glob_paths,
    input_changes,
    inputs_from_json,
    looked_for,
    placed,
    present_inputs,
)
from sizeguard.git.tree_contents import (
    blob_id,
    commit_files,
    differing,
    may_be_inside,
    relative_to,
)
from sizeguard.runtimes.sizeguard.building.read_inputs import (
    parse_deps,
    parse_ld64,
    parse_makefile,
    parse_query,
)
from sizeguard.runtimes.sizeguard.building.search_paths import (
    SearchPath,
    absent_headers,
    parse_search_path,
    search_options,
)
from sizeguard.runtimes.sizeguard.building.stale_outputs import first_moving
from sizeguard.toolchains.environment import (
    EXACT_CACHES,
    build_environment,
    code_variables,
    recorded_environment,
)
from sizeguard.toolchains.installed import foreign_inputs
from tests.support.histories.drawn_history import run_git


def record(folder: Path, environment: dict[str, str] | None = None) -> BuildInputs:
    """Record a build that read a.inc, ran tool, found one source and did not find first/a.h."""
    for name in ("a.inc", "tool", "src/a.cpp"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name)
    glob = f"{folder}/src/*.cpp"
    return BuildInputs(
        {str(folder / "a.inc"): content_hash(str(folder / "a.inc"))},
        {str(folder / "tool"): content_hash(str(folder / "tool"))},
        (f"{folder}/first",),
        {glob: glob_hash(glob)},
        environment or {"CPATH": "x"},
    )


def rewritten(path: Path) -> None:
    """Replace a file's content by other bytes of the same length, and keep its time."""
    before = path.stat()
    path.write_text("x" * before.st_size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "content": (lambda at: rewritten(at / "a.inc"), "files"),
    "gone": (lambda at: (at / "a.inc").unlink(), "files"),
    "tool": (lambda at: rewritten(at / "tool"), "tools"),
    "shadow": (lambda at: (at / "first").mkdir(), "appeared"),
    "dangling link": (lambda at: (at / "first").symlink_to("nothing"), "appeared"),
    "new source": (lambda at: (at / "src" / "b.cpp").write_text(""), "globs"),
    "hidden source": (lambda at: (at / "src" / ".b.cpp").write_text(""), "globs"),
    "no source": (lambda at: (at / "src" / "a.cpp").unlink(), "globs"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_differs_from_a_record_is_named(tmp_path: Path, what: str) -> None:
    inputs = record(tmp_path)
    assert not input_changes(inputs, content_hash, {"CPATH": "x"})
    change, kind = CHANGES[what]
    change(tmp_path)
    found = input_changes(inputs, content_hash, {"CPATH": "x"})
    kinds = ("files", "tools", "appeared", "globs", "environment")
    assert [name for name in kinds if getattr(found, name)] == [kind]
    assert found
    assert found.first.startswith(str(tmp_path))
    assert present_inputs(inputs, content_hash, {"CPATH": "x"}).digest() != inputs.digest()


def test_what_was_only_touched_does_not_differ(tmp_path: Path) -> None:
    inputs = record(tmp_path)
    os.utime(tmp_path / "a.inc")
    (tmp_path / "src" / "notes.txt").write_text("no source")
    assert not input_changes(inputs, content_hash, {"CPATH": "x"})
    assert present_inputs(inputs, content_hash, {"CPATH": "x"}) == inputs


@pytest.mark.parametrize("now", [{}, {"CPATH": "y"}, {"CPATH": "x", "CXXFLAGS": "-O0"}])
def test_variables_differ_by_value_and_by_being_there(tmp_path: Path, now: dict[str, str]) -> None:
    inputs = record(tmp_path)
    assert input_changes(inputs, content_hash, now).environment


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    inputs = record(tmp_path)
    assert inputs_from_json(json.loads(json.dumps(inputs.to_json()))) == inputs
    whole = inputs.to_json()
    assert inputs_from_json(None) is None
    for name in whole:
        assert inputs_from_json({**whole, name: 1}) is None
        assert inputs_from_json({key: value for key, value in whole.items() if key != name}) is None


def test_a_record_holds_in_another_checkout(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "one-and-more"
    for folder in (one, two):
        folder.mkdir()
    first, second = record(one), record(two)
    assert placed(first, str(one), str(two)) == second
    assert placed(first, str(one), "$ROOT").digest() == placed(second, str(two), "$ROOT").digest()
    assert placed(second, str(one), "$ROOT") == second


@given(st.lists(st.lists(st.sampled_from("ab"), min_size=1, max_size=3), max_size=6), st.data())
def test_patterns_find_on_disk_what_they_match(paths: list[list[str]], data: st.DataObject) -> None:
    parts = st.lists(st.sampled_from(["a", "b", "*", "?", "**"]), min_size=0, max_size=2)
    pattern = [*data.draw(parts), data.draw(st.sampled_from(["*.c", "a.c", "*"]))]
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        files = set()
        for path in paths:
            file = top.joinpath(*(f"{part}" for part in path[:-1]), f"{path[-1]}.c")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("")
            files.add(str(file.relative_to(top)))
        found = glob_paths("/".join([folder, *pattern]))
        here = {str(Path(each).relative_to(top)) for each in found if Path(each).is_file()}
    assert here == {each for each in files if glob_matches("/".join(pattern), each)}


def test_absent_paths_are_shortened_to_what_would_have_to_appear(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "a.h").write_text("")
    paths = [f"{tmp_path}/{name}" for name in ("no/bits/a.h", "no/bits/b.h", "there/a.h",
                                               "there/b.h")]  # fmt: skip
    assert absent_prefixes(paths) == (f"{tmp_path}/no", f"{tmp_path}/there/b.h")
    assert looked_for(("a.h",), ("/x", "/y", "/z"), "/z") == ["/x/a.h", "/y/a.h"]
    assert changed_keys({"a": "1", "b": "2"}, {"b": "3", "c": "4"}) == {"a", "b", "c"}


def test_headers_that_would_be_read_instead(tmp_path: Path) -> None:
    for name in ("root/native/run/a.cpp", "root/native/run/a.h", "usr/vector", "usr/bits/x.h"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    root, usr = str(tmp_path / "root"), str(tmp_path / "usr")
    headers = [f"{root}/native/run/a.h", f"{usr}/vector", f"{usr}/bits/x.h"]
    own = {
        f"{root}/native/run/a.cpp": b'#if __has_include("plugin.h") || __has_include ( <more/p> )',
        f"{root}/native/run/a.h": b"",
    }
    path = SearchPath((f"{tmp_path}/made", root, usr), (f"{tmp_path}/local",))
    beside = f"{root}/native/run"
    assert set(absent_headers(headers, path, own)) == {
        f"{tmp_path}/local", f"{tmp_path}/made", f"{root}/vector", f"{root}/bits",
        f"{beside}/native", f"{beside}/vector", f"{beside}/bits", f"{root}/plugin.h",
        f"{usr}/plugin.h", f"{beside}/plugin.h", f"{root}/more", f"{usr}/more", f"{beside}/more",
        f"{beside}/a.h.gch",
    }  # fmt: skip


GCC = """\
ignoring nonexistent directory "/usr/local/include/x86_64-linux-gnu"
#include "..." search starts here:
 quoted
#include <...> search starts here:
 /tree
 /usr/include/c++/12
 /usr/include
 /usr/include/c++/12
End of search list.
# 1 "/dev/null"
"""


def test_search_paths_as_compilers_print_them() -> None:
    found = parse_search_path(GCC, Path("/build"))
    assert found.folders == ("/build/quoted", "/tree", "/usr/include/c++/12", "/usr/include")
    assert found.missing == ("/usr/local/include/x86_64-linux-gnu",)
    command = "g++ -I/a -isystem /b -Os -DX=1 -nostdinc++ -m32 -o a.o -c a.cpp --sysroot=/s"
    assert search_options(command.split()) == (
        "-I/a", "-isystem", "/b", "-nostdinc++", "-m32", "--sysroot=/s",
    )  # fmt: skip


def test_what_ninja_and_linkers_print() -> None:
    deps = (
        "a.o: #deps 2, deps mtime 1 (VALID)\n    /x/a.cpp\n    made.h\n\n"
        "b.o: #deps 1, deps mtime 1 (STALE)\n    /x/b.cpp\n\n"
    )
    assert parse_deps(deps, Path("/build")) == {"a.o": ("/x/a.cpp", "/build/made.h")}
    query = "/x/a.fbs:\n  outputs:\n    schema/a.h\n    build.ninja\n"
    assert parse_query(query) == ["schema/a.h", "build.ninja"]
    bfd = "run: \\\n  /lib/crt1.o \\\n  with\\ space.o\n\n/lib/crt1.o:\n"
    assert parse_makefile(bfd) == ["/lib/crt1.o", "with space.o"]
    assert parse_makefile("run: /lib/crt1.o a$$b.o\n") == ["/lib/crt1.o", "a$b.o"]
    ld64 = b"\x00LLD 19\x00\x10/x/a.o\x00\x11/x/missing.tbd\x00\x40out\x00"
    assert parse_ld64(ld64) == ["/x/a.o"]


def test_an_object_that_was_touched_after_its_compilation_has_its_headers(tmp_path: Path) -> None:
    (tmp_path / "a.o").touch()
    deps = "a.o: #deps 1, deps mtime 1 (STALE)\n    a.h\n\nb.o: #deps 1, deps mtime 1 (STALE)\n"
    assert parse_deps(deps, tmp_path) == {"a.o": (f"{tmp_path}/a.h",)}


def test_a_cached_hash_stands_for_a_file_until_its_inode_changes(tmp_path: Path) -> None:
    read: list[str] = []

    def hash_of(path: str) -> str:
        read.append(path)
        return content_hash(path)

    file = tmp_path / "a.h"
    file.write_text("one")
    path = str(file)
    time.sleep(0.1)
    cache = HashCache(tmp_path / "cache.json", hash_of)
    first = cache(path)
    assert cache(path) == first
    assert read == [path]
    cache.save()
    again = HashCache(tmp_path / "cache.json", hash_of)
    assert again(path) == first
    assert read == [path]
    rewritten(file)  # same size, same time of modification
    assert again(path) == content_hash(path) != first
    file.unlink()
    assert again(path) == MISSING
    (tmp_path / "cache.json").write_text('{"version": 1, "files": {"a": [1]}}')
    assert HashCache(tmp_path / "cache.json", hash_of)(path) == MISSING


def test_a_large_cache_drops_files_that_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / f"{i}.h" for i in range(5)]
    for most, kept in ((5, 5), (4, 3)):
        monkeypatch.setattr(hash_cache, "_MANY", most)
        cache = HashCache(tmp_path / f"{most}.json", content_hash)
        for path in paths:
            path.write_text("one")
        time.sleep(0.1)
        for path in paths:
            cache(str(path))
        for path in paths[3:]:
            path.unlink()
        cache.save()
        assert len(json.loads((tmp_path / f"{most}.json").read_text())["files"]) == kept


def test_a_file_that_was_written_just_now_is_not_kept(tmp_path: Path) -> None:
    """A second write in the same tick of the clock would not change its time and size."""
    file = tmp_path / "a.h"
    file.write_text("one")
    cache = HashCache(tmp_path / "cache.json", content_hash)
    cache(str(file))
    cache.save()
    assert not (tmp_path / "cache.json").exists()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert content_hash(str(tmp_path / "pipe")) == MISSING
    assert HashCache(tmp_path / "cache.json", content_hash)(str(tmp_path / "pipe")) == MISSING


def test_a_file_that_changes_during_a_build_is_found(tmp_path: Path) -> None:
    inputs = record(tmp_path)
    hashes = HashCache(tmp_path / "cache.json", content_hash)
    start = time.time_ns() + 60_000_000_000
    assert first_moving(inputs, hashes, start) == ""
    assert first_moving(inputs, hashes, 0) == str(tmp_path / "a.inc")
    rewritten(tmp_path / "tool")
    assert first_moving(inputs, hashes, start) == str(tmp_path / "tool")


def test_only_recorded_variables_reach_a_build() -> None:
    given_ = {
        "PATH": "/bin", "CXXFLAGS": "-O0", "CPATH": "/x", "CPLUS_INCLUDE_PATH": "/x", "HOME": "/h",
        "LD_RUN_PATH": "/x", "EMPTY": "", "CFLAGS": "", "MY_GROWTH": "1", "SOURCE_DATE_EPOCH": "1",
        "CCC_OVERRIDE_OPTIONS": "+-O0", "GCC_EXEC_PREFIX": "/g", "LANG": "de_DE",
        "CARGO_HOME": "/c", "RUSTUP_HOME": "/r",
    }  # fmt: skip
    recorded = recorded_environment(given_)
    assert set(recorded) == {
        "PATH", "CXXFLAGS", "CPATH", "CPLUS_INCLUDE_PATH", "SOURCE_DATE_EPOCH",
        "CCC_OVERRIDE_OPTIONS", "GCC_EXEC_PREFIX",
    }  # fmt: skip
    assert set(build_environment(given_)) == {
        *recorded, *EXACT_CACHES, "HOME", "CARGO_HOME", "RUSTUP_HOME", "LC_ALL",
    }  # fmt: skip
    assert set(recorded) - set(code_variables(recorded)) == {"PATH"}


CACHED = {
    "CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CMAKE_C_COMPILER_LAUNCHER": "/usr/bin/sccache",
    "CCACHE_DIR": "/c", "CCACHE_MAXSIZE": "5G", "CCACHE_NOCOMPRESS": "1",
}  # fmt: skip
CHANGING = {
    "CMAKE_CXX_COMPILER_LAUNCHER": ("distcc", "/x/wrap", "ccache;wrap", "myccache", "ccache -x"),
    "CMAKE_CXX_LINKER_LAUNCHER": ("ccache",), "CMAKE_CXX_COMPILER": ("ccache",),
    "CCACHE_BASEDIR": ("/w",), "CCACHE_SLOPPINESS": ("time_macros",), "CCACHE_PREFIX": ("x",),
    "CCACHE_COMPILER": ("g++-11",), "CCACHE_CONFIGPATH": ("/x",), "CCACHE_NOHASHDIR": ("1",),
}  # fmt: skip


def test_a_cache_of_compilations_changes_no_code() -> None:
    assert recorded_environment(CACHED) == CACHED
    assert code_variables(CACHED) == {}
    for name, values in CHANGING.items():
        for value in values:
            assert code_variables({name: value}) == {name: value}


def test_inputs_that_are_neither_the_projects_nor_installed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    inputs = BuildInputs(
        {f"{root}/a.h": "1", "/usr/include/stdio.h": "2", f"{tmp_path}/x.h": "3",
         f"{root}/../y.h": "4"},
        {"/usr/bin/g++": "5", f"{tmp_path}/bin/g++": "6"},
        environment={"PATH": "/bin", "CPATH": "/x"},
    )  # fmt: skip
    assert foreign_inputs(inputs, root) == (
        "CPATH", f"{tmp_path}/bin/g++", f"{root}/../y.h", f"{tmp_path}/x.h",
    )  # fmt: skip


def test_ids_of_contents_are_gits(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "folder").mkdir()
    for name, data in (("a", b""), ("folder/b", b"\x00\r\n")):
        (tmp_path / name).write_bytes(data)
        shown = subprocess.run(
            ["git", "hash-object", name], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.strip()
        assert blob_id(data, shown) == shown
    (tmp_path / "link").symlink_to("a")
    run_git(tmp_path, "add", "-A")
    run_git(tmp_path, "commit", "-q", "-m", "one")
    files = commit_files(tmp_path, run_git(tmp_path, "rev-parse", "HEAD"))
    paths = [f"{tmp_path}/{name}" for name in ("a", "folder/b", "link", "folder/../a")]
    assert files.has("folder")
    assert differing(tmp_path, files, [*paths, "/usr/include/stdio.h"]) == set()
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("folder/b")  # another target
    assert differing(tmp_path, files, paths) == {"link"}
    (tmp_path / "new").write_text("")
    assert differing(tmp_path, files, [f"{tmp_path}/new"]) == {"new"}
    assert relative_to(tmp_path, f"{tmp_path}/x/../a") == "a"
    assert relative_to(tmp_path, f"{tmp_path}/../a") is None
    assert relative_to(tmp_path, f"{tmp_path}x/a") is None


@pytest.mark.parametrize(
    "path", ["/a/b/c.h", "/a//b/c.h", "//a/b//c.h", "/a/b/./c.h", "/a/x/../b/c.h", "/a/b//c.h"]
)
def test_every_spelling_of_a_path_inside_is_inside(path: str) -> None:
    """Compilers write include folders as they were given, also with two slashes."""
    root = Path("/a/b")
    assert relative_to(root, path) == "c.h"
    assert list(may_be_inside(root, [path, "/a/bc.h", "/usr/c.h"])) == [path]
