"""Find the files that a project's CMake scripts name when they run, existing or not.

CMake lists the scripts that it includes, but not the files that file(READ) or programs read at
configure time. Its trace has each command of each script with expanded arguments.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sizeguard.base.errors import BuildError
from sizeguard.base.files import write_atomic

_TRACE = ".trace.json"
_NAMED = ".cmake_named.json"
_ROOT = re.compile(r"^CMAKE_ROOT:INTERNAL=(.+)$", re.MULTILINE)
_HOME = re.compile(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.+)$", re.MULTILINE)
_GENERATOR = re.compile(r"^(?:SG_)?SIZEGUARD:\w+=(.+)$", re.MULTILINE)
_ABSOLUTE = re.compile(r"/[\w./+@ -]*[\w+]")
_RELATIVE = re.compile(r"(?![\d.]+$)[\w.+@][\w./+@-]*[\w+]")
# Commands that start programs, which may read any file.
_STARTING = ("execute_process", "exec_program", "try_compile", "try_run")


@dataclass(frozen=True, slots=True)
class NamedByCMake:
    """Files that the CMake scripts of a project name, except CMake's own scripts.

    paths:     absolute paths of files and folders, existing or not
    started:   programs that ran, other than the generator
    generator: the sizeguard command
    sources:   the folder of the project's main script
    """

    paths: tuple[str, ...]
    started: tuple[str, ...]
    generator: str
    sources: str


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
    paths: set[str] = set()
    started: set[str] = set()
    for line in trace.read_bytes().splitlines():
        row = json.loads(line)
        script = str(row.get("file", ""))
        if not script or script.startswith(f"{own[1]}/"):
            continue
        if script.startswith(f"{folder}/CMakeFiles/"):
            continue  # CMake wrote it
        words = [part for word in row["args"] for part in str(word).split(";")]
        if row["cmd"].lower() in _STARTING:
            started.update(_programs(row["cmd"], words, generator))
        places = (os.path.dirname(script), home[1], str(folder))  # noqa: PTH120
        paths.update(_paths(words, places))
    named = {
        "paths": sorted(paths),
        "started": sorted(started),
        "generator": generator,
        "sources": home[1],
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


def _programs(command: str, words: list[str], generator: str) -> Iterable[str]:
    if command.lower() != "execute_process":
        yield command
        return
    for i, word in enumerate(words[:-1]):
        if word == "COMMAND" and words[i + 1] != generator:
            yield words[i + 1]
