"""Remove outputs of an earlier build with other inputs, regardless of file times.

ninja compares file times. It misses an edit that keeps an old time, and a new file earlier in the
search path. It also misses another compiler of the same name, and another environment variable.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.base.files import write_atomic
from sizeguard.base.kept.hash_cache import HashCache, state_of
from sizeguard.builds.build_inputs import UNKNOWN, BuildInputs, InputChanges
from sizeguard.builds.build_record import RECORD, read_build
from sizeguard.builds.shipped_libraries import library_files
from sizeguard.runtimes.sizeguard.building.read_inputs import (
    objects_that_read,
    parse_query,
    step_outputs,
)
from sizeguard.runtimes.sizeguard.native_tree import CONFIGURED, STAMP
from sizeguard.selection.write import OUTPUTS
from sizeguard.toolchains.environment import build_environment, code_variables

# A file beside build.json while tools run. If a build finds it, an earlier build was interrupted.
_UNFINISHED = ".unfinished"
_TICK = 10_000_000  # ns by which file times may lag behind the clock
# Files of CMake without which ninja fails, or starts CMake a hundred times. An interruption can
# leave a folder without them.
_OF_CMAKE = ("build.ninja", "CMakeCache.txt", "CMakeFiles/rules.ninja")


def recorded_inputs(folder: Path) -> BuildInputs | None:
    """Read the recorded inputs of the last build in a folder; None if not recorded."""
    try:
        return read_build(folder / RECORD).inputs
    except InputError:
        return None


def begin(folder: Path) -> None:
    """Mark a build as unfinished, after removing the outputs of an earlier unfinished one.

    No record describes the inputs of those outputs.
    """
    mark = state_of(str(folder / _UNFINISHED))
    if mark is None:
        write_atomic(folder / _UNFINISHED, "")
        return
    since = max(mark[3:]) - _TICK
    for path in folder.rglob("*"):
        state = state_of(str(path))
        # ninja's logs and the records of builds begin with a dot
        is_kept = path.parent == folder and (path.name.startswith(".") or path.name == RECORD)
        if state is not None and max(state[3:]) >= since and not is_kept:
            path.unlink()
    (folder / CONFIGURED).unlink(missing_ok=True)


def finish(folder: Path) -> None:
    """Remove the mark, because the record describes everything in the folder."""
    (folder / _UNFINISHED).unlink(missing_ok=True)


def forget_everything(folder: Path) -> None:
    """Remove CMake's and ninja's state, so that CMake configures and ninja runs each step again."""
    for name in (CONFIGURED, "CMakeCache.txt", ".ninja_log", ".ninja_deps"):
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / "CMakeFiles", ignore_errors=True)


def has_cmake_files(folder: Path) -> bool:
    """Return whether a folder has the files of CMake that ninja needs."""
    return all((folder / name).is_file() for name in _OF_CMAKE)


def remove_stale(folder: Path, recorded: BuildInputs, changes: InputChanges) -> None:
    """Remove the files that were made from inputs that changed since the record was written."""
    is_known = has_cmake_files(folder)
    left = _by_products(folder) if changes else []
    for file in left:
        file.unlink()
    reaches_all = bool(changes.tools or changes.appeared or left)
    if not is_known or reaches_all or _reach_code(changes.environment, recorded):
        forget_everything(folder)
        return
    if changes.environment or changes.globs:
        (folder / CONFIGURED).unlink(missing_ok=True)
    if not changes.files:
        return
    outputs = {*objects_that_read(folder, changes.files)}
    for path in changes.files:
        made = _made_of(folder, path)
        if made is None:
            if not objects_that_read(folder, [path]):
                forget_everything(folder)
                return
            continue
        outputs.update(made)
    if "build.ninja" in outputs:
        (folder / CONFIGURED).unlink(missing_ok=True)
    for output in outputs - {"build.ninja"} - _rewritten_if_changed(folder, outputs):
        file = folder / output
        if file.is_file():
            file.unlink()


def _by_products(folder: Path) -> list[Path]:
    """List the libraries and programs that no step declares.

    They ship, but the step that made them may be gone. Without CMake's files, no step is known.
    """
    build = read_build(folder / RECORD)
    apart = filter(None, (build.image, build.shipped, build.model_tracer))
    declared = step_outputs(folder) if has_cmake_files(folder) else frozenset()
    return [path for path in library_files(folder, apart) if str(path) not in declared]


def _rewritten_if_changed(folder: Path, outputs: Collection[str]) -> frozenset[str]:
    """List the outputs that a generator rewrites itself, but only if their content changes.

    It does so if the stamp beside its list of outputs is missing. Removing the files themselves
    would recompile every file that includes one.
    """
    found: set[str] = set()
    for path in outputs:
        place, _, name = path.rpartition("/")
        if name != OUTPUTS or f"{place}/{STAMP}" not in outputs:
            continue
        names = (folder / path).read_text().splitlines() if (folder / path).is_file() else ()
        found.update((path, *(f"{place}/{each}" for each in names)))
    return frozenset(found)


def remove_outputs(folder: Path, outputs: Iterable[str]) -> None:
    """Remove outputs, relative to the folder, that something else changed, to make them again."""
    paths = {str(folder / output) for output in outputs}
    if not paths:
        return
    if not has_cmake_files(folder) or not paths <= step_outputs(folder):
        forget_everything(folder)  # no single step makes a linker's by-products
    for path in paths:
        Path(path).unlink(missing_ok=True)


def first_moving(inputs: BuildInputs, hashes: HashCache, start: int) -> str:
    """Name an input that changed after a build began; empty if there is none.

    Then it is unknown whether tools read the old or the new content.

    start: start of the build, in nanoseconds since 1970
    """
    for path, content in {**inputs.files, **inputs.tools}.items():
        if content == UNKNOWN:
            continue  # differs on each read
        state = state_of(path)
        if state is not None and max(state[3:]) >= start:
            return path
        if hashes(path) != content:
            return path
    return ""


def _reach_code(names: Iterable[str], recorded: BuildInputs) -> bool:
    values: Mapping[str, str] = {name: recorded.environment.get(name, "") for name in names}
    return bool(code_variables(values))


def _made_of(folder: Path, path: str) -> list[str] | None:
    """List the direct outputs of steps that read a file; None if ninja does not know the file."""
    done = subprocess.run(
        ["ninja", "-C", str(folder), "-t", "query", path],
        capture_output=True,
        text=True,
        env=build_environment(),
        check=False,
    )
    return parse_query(done.stdout) if done.returncode == 0 else None
