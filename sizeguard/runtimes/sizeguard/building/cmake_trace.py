"""Find the files that a project's CMake scripts name when they run, existing or not.

CMake lists the scripts that it includes, but not the files that file(READ) or programs read at
configure time. Its trace has each command of each script with expanded arguments.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import BuildError
from sizeguard.base.files import write_atomic

_TRACE = ".trace.json"
_NAMED = ".cmake_named.json"
_ROOT = re.compile(r"^CMAKE_ROOT:INTERNAL=(.+)$", re.MULTILINE)
_HOME = re.compile(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.+)$", re.MULTILINE)
_GENERATOR = re.compile(r"^(?:SG_)?SIZEGUARD:\w+=(.+)$", re.MULTILINE)
_ABSOLUTE = re.compile(r"/[\w./+@ -]*[\w+]")
_RELATIVE = re.compile(r"(?![\d.]+$)[\w.+@][\w./+@-]*[\w+]")
_PLAIN = re.compile(r"[\w.+-]+")
_LONGEST = 4096  # characters of a path
# CMake writes these scripts about a machine and its compilers.
_WRITTEN = re.compile(r"/CMakeFiles/\d[\w.-]*/CMake\w+\.cmake")
# Commands that start programs, which may read any file, and those that read what no word names.
_STARTING = frozenset({"execute_process", "exec_program", "try_compile", "try_run", "load_cache"})
_FETCHING = frozenset({"DOWNLOAD", "UPLOAD"})
# Functions of CMake's own scripts that read only files that their words name.
_TELLING = frozenset({"configure_package_config_file", "write_basic_package_version_file"})
_DEFINING = frozenset({"function", "macro"})
_NAMING = frozenset({"file", "include"})  # each word may be a path
_CONDITIONS = frozenset({"if", "elseif", "while"})
_ASKING = frozenset({"EXISTS", "IS_DIRECTORY", "IS_SYMLINK", "IS_NEWER_THAN"})
_GLOBS = {"GLOB": "", "GLOB_RECURSE": "**/"}
_OF_GLOBS = {"FOLLOW_SYMLINKS": 1, "LIST_DIRECTORIES": 2, "RELATIVE": 2}  # words to skip
_COPYING = frozenset({"COPY", "INSTALL", "ARCHIVE_CREATE"})  # whole folders
# CMake runs this script of the main folder, if there is one, and does not list it.
_UNASKED = "PreLoad.cmake"
_SEARCH_PATH = re.compile(r"CMAKE_(\w+_)?PATH")


@dataclass(frozen=True, slots=True)
class NamedByCMake:
    """Files that the CMake scripts of a project name, except CMake's own scripts.

    paths:     absolute paths of files and folders, existing or not
    started:   programs that ran, other than the generator, and commands that may read any file
    generator: the sizeguard command
    sources:   the folder of the project's main script
    globs:     patterns of files, which CMake looks for only when it configures
    searched:  folders in which CMake looked for files by their names
    """

    paths: tuple[str, ...]
    started: tuple[str, ...]
    generator: str
    sources: str
    globs: tuple[str, ...] = ()
    searched: tuple[str, ...] = ()


@dataclass(slots=True)
class _Names:
    """Collects what the rows of a trace name.

    folder, home: of the build and of the project's main script
    others: functions that CMake's own scripts define
    """

    folder: str
    home: str
    generator: str
    paths: set[str] = field(default_factory=set)
    started: set[str] = field(default_factory=set)
    globs: set[str] = field(default_factory=set)
    searched: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)

    def add(self, command: str, words: list[str], script: str) -> None:
        """Add a row of one of the project's scripts."""
        places = (os.path.dirname(script), self.home, self.folder)  # noqa: PTH120
        if command in _DEFINING and words:
            self.others.discard(words[0].lower())
        if command in _STARTING:
            self.started.update(_programs(command, words, self.generator))
        if (command in self.others and command not in _TELLING) or _fetches(command, words):
            self.started.add(command)
        self.paths.update(_paths(words, places))
        if command in _NAMING:
            self.paths.update(_all_paths(words, places))
        if command in _CONDITIONS:
            self.paths.update(_all_paths(_asked(words), places))
        if command == "aux_source_directory" and words:
            self.globs.update(f"{path}/*" for path in _all_paths(words[:1], places[:2]))
        if command == "file" and words and words[0] in _GLOBS and "CONFIGURE_DEPENDS" not in words:
            self.globs.update(_patterns(words, places[:2]))
        if command == "file" and words and words[0] in _COPYING:
            self._copied(_all_paths(words[1:], places[:2]))
        if command.startswith("find_") or any(map(_SEARCH_PATH.fullmatch, words)):
            self._looked_for(command, words, places)

    def _copied(self, paths: Iterable[str]) -> None:
        for path in paths:
            if os.path.isdir(path) and not self._has_build(path):  # noqa: PTH112
                self.searched.add(path)
                self.paths.update(map(str, Path(path).rglob("*")))

    def _looked_for(self, command: str, words: Sequence[str], places: Sequence[str]) -> None:
        """Add the folders that a command searches, and the names there that words tell."""
        found = [path for path in _all_paths(words, places) if os.path.isdir(path)]  # noqa: PTH112
        self.searched.update(path for path in found if not self._has_build(path))
        names = [word for word in words if _PLAIN.fullmatch(word)]
        named = {f"{path}/{name}" for path in found for name in names}
        self.paths.update(named)
        # A hash of the content does not change when a file becomes a program.
        if command == "find_program" and any(map(_is_no_program, named)):
            self.started.add(command)

    def _has_build(self, path: str) -> bool:
        """Return whether a folder contains the build, or is a part of it."""
        return f"{self.folder}/".startswith(f"{path}/") or path.startswith(f"{self.folder}/")


def trace_options(folder: Path) -> list[str]:
    """Return the options that make CMake write the trace."""
    trace = folder / _TRACE
    return ["--trace-expand", "--trace-format=json-v1", f"--trace-redirect={trace}"]


def keep_trace(folder: Path) -> None:
    """Store the needed part of the trace, which has megabytes."""
    trace = folder / _TRACE
    cache = (folder / "CMakeCache.txt").read_text(errors="surrogateescape")
    own, home, command = _ROOT.search(cache), _HOME.search(cache), _GENERATOR.search(cache)
    if own is None or home is None or not trace.is_file():
        raise BuildError(f"{folder}: CMake wrote no trace")
    generator = command[1] if command else ""
    names = _Names(str(folder), home[1], generator)
    names.paths.add(f"{home[1]}/{_UNASKED}")
    for line in trace.read_bytes().splitlines():
        row = json.loads(line)
        script, called = str(row.get("file", "")), str(row.get("cmd", "")).lower()
        if script.startswith(f"{own[1]}/"):
            if called in _DEFINING and row["args"]:
                names.others.add(str(row["args"][0]).lower())
        elif script and not _WRITTEN.fullmatch(script.removeprefix(str(folder))):
            names.paths.add(script)
            words = [part for word in row["args"] for part in str(word).split(";")]
            names.add(called, words, script)
    named = {
        "paths": sorted(names.paths),
        "started": sorted(names.started),
        "generator": generator,
        "sources": home[1],
        "globs": sorted(names.globs),
        "searched": sorted(names.searched),
    }
    write_atomic(folder / _NAMED, json.dumps(named))
    trace.unlink()


def named_by_cmake(folder: Path) -> NamedByCMake:
    """Read the stored part of the trace. Raises BuildError if it is missing."""
    try:
        content = json.loads((folder / _NAMED).read_bytes())
        return NamedByCMake(
            tuple(content["paths"]),
            tuple(content["started"]),
            content["generator"],
            content["sources"],
            tuple(content["globs"]),
            tuple(content["searched"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BuildError(f"{folder}: the record of CMake's run is missing: {error}") from error


def _paths(words: Iterable[str], places: Iterable[str]) -> Iterable[str]:
    """List the paths that words may mean, relative to each folder that CMake may use."""
    for word in words:
        if _ABSOLUTE.fullmatch(word):
            yield os.path.normpath(word)
        elif ("/" in word or "." in word) and _RELATIVE.fullmatch(word):
            yield from (os.path.normpath(f"{place}/{word}") for place in places)


def _all_paths(words: Iterable[str], places: Iterable[str]) -> set[str]:
    """Return the paths that words mean if each is a path, whatever its characters."""
    found = set[str]()
    for word in words:
        path = word.removeprefix("file://")
        if path and len(path) < _LONGEST and path.isprintable():
            found.update(os.path.normpath(f"{place}/{path}") for place in places if path[0] != "/")
            found.update([os.path.normpath(path)] if path[0] == "/" else ())
    return found


def _asked(words: Sequence[str]) -> list[str]:
    """Return the words of a condition that name files: those beside a question."""
    at = [i for i, word in enumerate(words) if word in _ASKING]
    return [words[j] for i in at for j in (i - 1, i + 1) if 0 <= j < len(words)]


def _patterns(words: Sequence[str], places: Iterable[str]) -> Iterator[str]:
    """List the patterns of file(GLOB variable …) and file(GLOB_RECURSE variable …)."""
    between = _GLOBS[words[0]]
    left = list(words[2:])
    while left:
        if left[0] in _OF_GLOBS:
            del left[: _OF_GLOBS[left[0]]]
            continue
        for path in _all_paths([left.pop(0)], places):
            head, _, name = path.rpartition("/")
            yield f"{head}/{between}{name}"


def _is_no_program(path: str) -> bool:
    return os.path.isfile(path) and not os.access(path, os.X_OK)  # noqa: PTH113


def _fetches(command: str, words: Sequence[str]) -> bool:
    return command == "file" and not _FETCHING.isdisjoint(words[:1])


def _programs(command: str, words: list[str], generator: str) -> Iterable[str]:
    if command != "execute_process":
        yield command
        return
    for i, word in enumerate(words[:-1]):
        if word == "COMMAND" and words[i + 1] != generator:
            yield words[i + 1]
