"""A build folder is untouched only if nothing that a build depends on differs."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sizeguard.base.kept.hash_cache import HashCache
from sizeguard.base.kept.moment import one_moment
from sizeguard.builds.build_inputs import BuildInputs, InputChanges, content_hash, glob_hash
from sizeguard.builds.build_record import RECORD, Build
from sizeguard.builds.sizes import Sizes
from sizeguard.runtimes.sizeguard.building import untouched
from sizeguard.runtimes.sizeguard.building.stale_outputs import recorded_inputs, remove_stale
from sizeguard.runtimes.sizeguard.building.untouched import keep_untouched, untouched_build
from sizeguard.runtimes.sizeguard.building.variants import Variant
from sizeguard.toolchains.environment import recorded_environment
from sizeguard.toolchains.toolchain import Toolchain

VARIANT = Variant("full")
TOOLS = Toolchain("gcc", "bfd", "x86_64-linux", "gcc", "g++", "12.2.0", "2.40")


def written(path: Path, text: str) -> None:
    """Write another text of the same length, and restore the time of modification."""
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make the folder of a complete build, and record its state."""
    folder = tmp_path / "build"
    (folder / "CMakeFiles").mkdir(parents=True)
    (tmp_path / "native").mkdir()
    for name in ("run_program", "run_program.stripped", "CMakeFiles/a.o", "build.ninja"):
        (folder / name).write_text("one")
    (tmp_path / "native" / "a.cpp").write_text("one")
    (tmp_path / "tool").write_text("one")
    pattern = f"{tmp_path}/native/*.cpp"
    inputs = BuildInputs(
        files={str(path): content_hash(str(path)) for path in [tmp_path / "native" / "a.cpp"]},
        tools={str(path): content_hash(str(path)) for path in [tmp_path / "tool"]},
        absent=(f"{tmp_path}/native/b.h",),
        globs={pattern: glob_hash(pattern)},
        environment=recorded_environment(),
    )
    image = folder / "run_program"
    build = Build(
        "full", "", "x86_64-linux", "gcc", "s", image, image, None, None, (), None, None, "0",
        Sizes(1, 1, 1, 0), inputs=inputs,
    )  # fmt: skip
    (folder / RECORD).write_text(json.dumps(build.to_json()))
    time.sleep(0.1)
    keep_untouched(tmp_path, VARIANT, TOOLS, folder)
    return folder


def test_an_untouched_folder_has_its_last_build(folder: Path) -> None:
    for _ in range(2):
        found = untouched_build(folder.parent, VARIANT, TOOLS, folder)
        assert found is not None
        assert found.image == folder / "run_program"
    assert "Building" not in (folder / "build.log").read_text()


CHANGES: dict[str, Callable[[Path], object]] = {
    "an output with its old time": lambda at: written(at / "run_program.stripped", "two"),
    "an object with its old time": lambda at: written(at / "CMakeFiles/a.o", "two"),
    "an output is gone": lambda at: (at / "run_program").unlink(),
    "the record": lambda at: written(at / RECORD, (at / RECORD).read_text().replace("0", "1", 1)),
    "a library appears": lambda at: (at / "CMakeFiles" / "liba.so").write_text("one"),
    "an unfinished build": lambda at: (at / ".unfinished").write_text(""),
    "an input with its old time": lambda at: written(at.parent / "native/a.cpp", "two"),
    "an input is gone": lambda at: (at.parent / "native/a.cpp").unlink(),
    "a tool": lambda at: written(at.parent / "tool", "two"),
    "a file appears where one was looked for": lambda at: (at.parent / "native/b.h").write_text(""),
    "a file of a pattern": lambda at: (at.parent / "native/b.cpp").write_text(""),
    "a damaged state": lambda at: (at / untouched._FILE).write_text('{"asked": 1'),
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_is_seen(folder: Path, change: str) -> None:
    CHANGES[change](folder)
    assert untouched_build(folder.parent, VARIANT, TOOLS, folder) is None


def test_another_variable_is_seen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O0")
    assert untouched_build(folder.parent, VARIANT, TOOLS, folder) is None


def test_another_request_is_seen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = folder.parent
    others = [replace(VARIANT, optimize="2"), replace(VARIANT, lto="full"), Variant("core")]
    assert not any(untouched_build(root, other, TOOLS, folder) for other in others)
    tools = [replace(TOOLS, compiler_version="13.1.0"), replace(TOOLS, linker="gold")]
    assert not any(untouched_build(root, VARIANT, other, folder) for other in tools)
    assert not untouched_build(root / "native", VARIANT, TOOLS, folder)
    monkeypatch.setattr(untouched, "code_hash", lambda: "other")
    assert not untouched_build(root, VARIANT, TOOLS, folder)


def test_an_output_that_was_written_just_now_is_not_recorded(folder: Path) -> None:
    """A second write in the same tick of the clock would not change its state."""
    (folder / "run_program").write_text("two")
    keep_untouched(folder.parent, VARIANT, TOOLS, folder)
    assert untouched_build(folder.parent, VARIANT, TOOLS, folder) is None
    assert not (folder / untouched._FILE).exists()


def test_builds_of_each_target_use_hashes_of_their_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of one target do not have the headers and tools of another."""
    root, other = folder.parent, folder.parent / "other"
    shutil.copytree(folder, other)
    header = root / "header.h"
    header.write_text("one")
    record = json.loads((other / RECORD).read_text())
    record["inputs"]["files"] = {str(header): content_hash(str(header))}
    (other / RECORD).write_text(json.dumps(record))
    tools = {folder: TOOLS, other: replace(TOOLS, target="aarch64-linux")}
    time.sleep(0.1)
    for place, toolchain in tools.items():
        keep_untouched(root, VARIANT, toolchain, place)
        hashes = HashCache(place / untouched.HASHES, content_hash)
        for path in ("native/a.cpp", "tool") if place == folder else ("header.h", "tool"):
            hashes(str(root / path))
        hashes.save()
    read: list[str] = []
    monkeypatch.setattr(untouched, "content_hash", lambda path: read.append(path) or "")
    with one_moment():
        found = [untouched_build(root, VARIANT, tools[place], place) for place in tools]
    assert all(found)
    assert not read


@pytest.mark.native
def test_a_program_that_no_step_makes_is_removed_before_the_next_build(folder: Path) -> None:
    """A step that is gone may have made it; all other steps run again."""
    rule = "rule make\n command = true\n"
    (folder / "build.ninja").write_text(f"{rule}build made.so run_program: make\n")
    (folder / "CMakeFiles").mkdir(exist_ok=True)
    for name in ("CMakeCache.txt", "CMakeFiles/rules.ninja"):
        (folder / name).touch()
    for name in ("made.so", "package/left", ".left"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(shutil.which("true") or "", folder / name)
    recorded = recorded_inputs(folder)
    assert recorded is not None
    remove_stale(folder, recorded, InputChanges())
    assert (folder / ".left").exists()
    remove_stale(folder, recorded, InputChanges(files=(str(folder / "CMakeLists.txt"),)))
    assert (folder / "made.so").exists()
    assert not (folder / ".left").exists()
    assert not (folder / "package" / "left").exists()
    assert not (folder / "CMakeFiles").exists()
