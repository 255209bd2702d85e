"""Record everything that a build read, with content hashes, and find what has changed since.

Only content hashes decide, not times or names: a file with an old time counts as changed, a file
that was only touched does not.
"""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path

from sizeguard.base import OWN_FOLDER
from sizeguard.base.dataclass import dataclass
from sizeguard.base.digest import content_digest
from sizeguard.base.fingerprint import fingerprint
from sizeguard.base.kept.hash_cache import HashCache
from sizeguard.base.kept.moment import kept_now

MISSING = "missing"  # hash of a missing file
# Hash of files that a program reads without a record, under a path that names the program; it
# always differs.
UNKNOWN = "unknown"
_WILD = re.compile(r"[*?\[]")

Hash = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class BuildInputs:
    """The inputs of one build when it ended.

    files:       content hash of each file that compiler, linker, CMake or generator read, by path
    tools:       content hash of each program that ran, by path
    absent:      paths that were searched before a file was found elsewhere; they do not exist
    globs:       hash of the files that match a pattern of CMake, by pattern; ** matches any folders
    environment: the variables that the tools saw
    """

    files: Mapping[str, str]
    tools: Mapping[str, str] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    globs: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Return the record for build.json."""
        return {
            "files": dict(sorted(self.files.items())),
            "tools": dict(sorted(self.tools.items())),
            "absent": list(self.absent),
            "globs": dict(sorted(self.globs.items())),
            "environment": dict(sorted(self.environment.items())),
        }

    def digest(self) -> str:
        """Hash all inputs, with their paths."""
        return fingerprint(self.to_json())


@dataclass(frozen=True, slots=True)
class InputChanges:
    """Differences between the record of a build and the present state.

    files:       files with other content, and missing files
    tools:       programs with other content, and missing programs
    appeared:    paths that did not exist, but do now
    globs:       patterns that match other files now
    environment: names of variables with other values
    """

    files: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    appeared: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Return whether anything differs."""
        return any((self.files, self.tools, self.appeared, self.globs, self.environment))

    @property
    def first(self) -> str:
        """Name one change for messages; empty if there are none."""
        words = (*self.files, *self.tools, *self.appeared, *self.globs, *self.environment)
        return words[0] if words else ""


def inputs_from_json(content: object) -> BuildInputs | None:
    """Read the record from build.json; None if it is missing or incomplete."""
    if not isinstance(content, dict):
        return None
    tables = [content.get(name) for name in ("files", "tools", "globs", "environment")]
    absent = content.get("absent")
    if not isinstance(absent, list) or not all(isinstance(table, dict) for table in tables):
        return None
    files, tools, globs, environment = (
        {str(key): str(value) for key, value in table.items()}
        for table in tables
        if isinstance(table, dict)
    )
    return BuildInputs(files, tools, tuple(map(str, absent)), globs, environment)


def united_inputs(records: Iterable[BuildInputs]) -> BuildInputs:
    """Return everything that several builds of the same files read."""
    files: dict[str, str] = {}
    tools: dict[str, str] = {}
    absent: set[str] = set()
    globs: dict[str, str] = {}
    environment: dict[str, str] = {}
    for each in records:
        files |= each.files
        tools |= each.tools
        absent.update(each.absent)
        globs |= each.globs
        environment |= each.environment
    return BuildInputs(files, tools, tuple(sorted(absent)), globs, environment)


def present_inputs(
    recorded: BuildInputs, hash_of: Hash, environment: Mapping[str, str]
) -> BuildInputs:
    """Return the inputs that a build of the same files would record now."""
    return BuildInputs(
        files={path: hash_of(path) for path in recorded.files},
        tools={path: hash_of(path) for path in recorded.tools},
        absent=tuple(path for path in recorded.absent if not os.path.lexists(path)),
        globs={pattern: glob_hash(pattern) for pattern in recorded.globs},
        environment=dict(environment),
    )


def placed(inputs: BuildInputs, old: str, new: str) -> BuildInputs:
    """Replace the folder at the beginning of paths, to use a record in another checkout."""

    def moved(path: str) -> str:
        return new + path[len(old) :] if path.startswith(f"{old}/") or path == old else path

    return BuildInputs(
        files={moved(path): content for path, content in inputs.files.items()},
        tools={moved(path): content for path, content in inputs.tools.items()},
        absent=tuple(moved(path) for path in inputs.absent),
        globs={moved(path): found for path, found in inputs.globs.items()},
        environment=inputs.environment,
    )


def input_changes(
    recorded: BuildInputs, hash_of: Hash, environment: Mapping[str, str]
) -> InputChanges:
    """Compare the record of a build with the present files and variables."""
    same = kept_now("inputs", _Unchanged)
    missing = frozenset(recorded.absent) - same.absent
    appeared = frozenset(path for path in missing if os.path.lexists(path))
    same.absent |= missing - appeared
    return InputChanges(
        files=_changed(recorded.files, hash_of, same.files),
        tools=_changed(recorded.tools, hash_of, same.files),
        appeared=tuple(sorted(appeared)),
        globs=_changed(recorded.globs, glob_hash, same.globs),
        environment=tuple(sorted(changed_keys(recorded.environment, environment))),
    )


@dataclass(slots=True)
class _Unchanged:
    """Files and patterns that are as some build recorded them, and paths that do not exist."""

    files: set[tuple[str, str]] = field(default_factory=set)
    globs: set[tuple[str, str]] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)


def changed_keys(old: Mapping[str, str], new: Mapping[str, str]) -> frozenset[str]:
    """Return the keys that only one mapping has, or whose values differ."""
    return frozenset(key for key in {*old, *new} if old.get(key) != new.get(key))


def _changed(
    recorded: Mapping[str, str], hash_of: Hash, same: set[tuple[str, str]]
) -> tuple[str, ...]:
    """List what differs from the record, sorted, and add the rest to `same`."""
    unknown = recorded.items() - same
    changed = {(path, content) for path, content in unknown if hash_of(path) != content}
    same |= unknown - changed
    return tuple(sorted(path for path, _ in changed))


def glob_hash(pattern: str) -> str:
    """Hash the paths that match a pattern, relative to its fixed folder."""
    fixed = pattern[: match.start()] if (match := _WILD.search(pattern)) else pattern
    start = len(fixed.rpartition("/")[0])
    return fingerprint({"found": [path[start:] for path in glob_paths(pattern)]})


def glob_paths(pattern: str) -> list[str]:
    """List the paths that match a pattern of CMake, including hidden files, sorted.

    ** matches a folder and all folders below it.
    """
    parts = Path(pattern).parts
    folders = [parts[0]]
    for part in parts[1:-1]:
        folders = list(_folders(folders, part))
    name = parts[-1]
    return sorted({path for folder in folders for path in _entries(folder, name)})


def glob_matches(pattern: str, path: str) -> bool:
    """Return whether a path matches a pattern, with the rules of glob_paths."""
    return _matches(pattern.split("/"), path.split("/"))


def _matches(pattern: list[str], path: list[str]) -> bool:
    if not pattern or not path:
        return not pattern and not path
    if pattern[0] == "**":
        return _matches(pattern[1:], path) or _matches(pattern, path[1:])
    return fnmatch.fnmatchcase(path[0], pattern[0]) and _matches(pattern[1:], path[1:])


def _folders(folders: Iterable[str], part: str) -> Iterable[str]:
    for folder in folders:
        if part == "**":
            yield from (at for at, _, _ in os.walk(folder))
        elif _WILD.search(part):
            yield from (path for path in _entries(folder, part) if Path(path).is_dir())
        else:
            yield os.path.join(folder, part)  # noqa: PTH118  (6 µs less each than with Path)


def _entries(folder: str, pattern: str) -> list[str]:
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except OSError:
        return []
    return [f"{folder.rstrip('/')}/{name}" for name in names if fnmatch.fnmatchcase(name, pattern)]


def absent_prefixes(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the first missing part of each path, sorted, without duplicates.

    A path that exists has none. /usr/local/include/bits/a.h gives /usr/local/include/bits if this
    folder is missing: nothing below it can appear before the folder does.
    """
    exists: dict[str, bool] = {}

    def is_there(path: str) -> bool:
        if path not in exists:
            exists[path] = os.path.lexists(path)
        return exists[path]

    found = set()
    for path in paths:
        at = path
        if is_there(at):
            continue
        while (parent := os.path.dirname(at)) != at and not is_there(parent):  # noqa: PTH120
            at = parent
        found.add(at)
    return tuple(sorted(found))


def looked_for(names: Iterable[str], folders: Iterable[str], found_in: str) -> list[str]:
    """List the paths that a search tried before it found the names, in the order of the folders."""
    before = []
    for folder in folders:
        if folder == found_in:
            break
        before.append(folder)
    return [f"{folder}/{name}" for name in names for folder in before]


def content_hash(path: str) -> str:
    """Hash a file's content, or a folder's names; MISSING if it cannot be read."""
    try:
        mode = Path(path).stat().st_mode
        if stat.S_ISDIR(mode):
            return fingerprint({"names": sorted(os.listdir(path))})  # noqa: PTH208
        if not stat.S_ISREG(mode):
            return MISSING  # reading a pipe would wait for its writer
        with Path(path).open("rb") as file:
            return content_digest(file)
    except OSError:
        return MISSING


def project_hashes(root: Path) -> HashCache:
    """Open the cache of hashes that all commands of a project share."""
    file = root / OWN_FOLDER / "hashes.json"
    return kept_now(("hashes", file), lambda: HashCache(file, content_hash))
