"""Collect the inputs of a build from the dependency records of ninja, CMake and linkers."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import BuildError
from sizeguard.builds.build_inputs import (
    UNKNOWN,
    BuildInputs,
    Hash,
    absent_prefixes,
    glob_hash,
    looked_for,
)
from sizeguard.runtimes.sizeguard.building.cmake_trace import NamedByCMake, named_by_cmake
from sizeguard.runtimes.sizeguard.building.made_files import MadeFiles
from sizeguard.runtimes.sizeguard.building.named_files import (
    LAUNCHERS,
    StepPlace,
    assembled_files,
    assembler_folders,
    files_of_words,
    is_untold,
    untold,
    untold_steps,
    with_options,
)
from sizeguard.runtimes.sizeguard.building.search_paths import (
    PRECOMPILED,
    absent_headers,
    search_options,
    search_path,
)
from sizeguard.toolchains.environment import build_environment, recorded_environment
from sizeguard.toolchains.installed import is_installed

_GLOB = re.compile(r'file\((GLOB|GLOB_RECURSE) NEW_GLOB [^"\n]*"((?:[^"\\]|\\.)*)"\)')
# Programs that compiler drivers start.
_STARTED = ("cc1", "cc1plus", "as", "collect2", "lto1", "lto-wrapper", "ld")
_LIBRARY = re.compile(r"lib[^/]+?(?=\.so|\.a$)")
_QUOTING = frozenset("\"'\\")
_LINKER_READ = b"\x10"  # an entry of ld64's dependency information: a file that was read


@dataclass(frozen=True, slots=True)
class _Graph:
    """The build graph of a folder, as ninja reports it.

    commands: of all steps, as lists of words
    outputs:  the files that steps make
    deps:     object → the files that its compiler read
    made:     files that tools wrote in the folder
    """

    folder: Path
    commands: tuple[tuple[str, ...], ...]
    outputs: frozenset[str]
    deps: Mapping[str, tuple[str, ...]]
    made: MadeFiles

    def is_made(self, path: str) -> bool:
        """Return whether a tool of the build made a file, including temporary files."""
        return path in self.outputs or path in self.made


def read_inputs(made: MadeFiles, linker: str, strip: str, hash_of: Hash) -> BuildInputs:
    """Collect and hash all inputs of the build in a folder.

    made: files that the build's tools wrote there
    linker: its name for -fuse-ld

    Raises BuildError if a tool does not report its inputs.
    """
    folder = made.folder
    graph = _graph(made)
    read = {path for paths in graph.deps.values() for path in paths if path not in graph.outputs}
    # CMake links installed headers into the build folder, which another checkout does not have.
    real = {os.path.realpath(path) if path.startswith(f"{folder}/") else path for path in read}
    headers = {path for path in real if not graph.is_made(path)}
    linked = set(_linked(folder))
    cmake = named_by_cmake(folder)
    programs = _programs(graph)
    assembled, not_there = assembled_files(*_sources(graph, headers))
    told = {*headers, *linked, *assembled, *_named(graph, cmake.paths, headers)}
    files = {path for path in told if not graph.is_made(path)} - programs
    files |= untold_steps(graph.commands, cmake.generator, _place(folder, cmake))
    files |= {untold(program) for program in cmake.started}
    tools, tried = _tools(graph, programs, linker, strip)
    not_there |= {path for path in cmake.paths if not path.startswith(f"{folder}/")}
    absent = {*_absent_headers(graph, headers), *_absent_libraries(folder, linked), *tried}
    absent.update(absent_prefixes(not_there))
    return BuildInputs(
        files={path: UNKNOWN if is_untold(path) else hash_of(path) for path in files},
        tools={path: hash_of(path) for path in tools},
        absent=tuple(sorted(absent)),
        globs={
            pattern: glob_hash(pattern)
            for pattern in (
                *_globs(folder),
                *_configured(cmake, folder),
                *_below(cmake, folder, files),
            )
        },
        environment=recorded_environment(),
    )


def _place(folder: Path, cmake: NamedByCMake) -> StepPlace:
    return StepPlace(folder, os.path.dirname(cmake.sources), (sys.prefix,))  # noqa: PTH120


def _configured(cmake: NamedByCMake, folder: Path) -> Iterator[str]:
    """Yield the patterns of the project that count when CMake configures."""
    top = os.path.dirname(cmake.sources)  # noqa: PTH120
    for pattern in (*cmake.globs, *(f"{path}/**/*" for path in cmake.searched)):
        if pattern.startswith(f"{top}/") and not pattern.startswith((f"{folder}/", f"{top}/.")):
            yield pattern


def _below(cmake: NamedByCMake, folder: Path, files: Iterable[str]) -> Iterator[str]:
    """Yield a pattern for each folder of the project that scripts name, such as in if(EXISTS).

    Folders with read files need none, because commits without the folder lack these files.
    """
    top = os.path.dirname(cmake.sources)  # noqa: PTH120
    read = {*files, f"{folder}/", f"{cmake.sources}/"}
    with_read = {each[:at] for each in read for at, sign in enumerate(each) if sign == "/"}
    for path in cmake.paths:
        inside = path.startswith(f"{top}/") and not path.startswith((f"{folder}/", f"{top}/."))
        if inside and path not in with_read and os.path.isdir(path):  # noqa: PTH112
            yield f"{path}/**/*"


def _programs(graph: _Graph) -> frozenset[str]:
    """List the programs and scripts that commands name."""
    words = {word for command in graph.commands for word in command if word.startswith("/")}
    found = {word for word in words if os.path.isfile(word)}  # noqa: PTH113
    return frozenset(p for p in found if os.access(p, os.X_OK) and not graph.is_made(p))


def _named(graph: _Graph, by_cmake: Iterable[str], headers: Iterable[str]) -> set[str]:
    """List the files that steps, their commands and CMake's scripts name, and compiled headers."""
    folder = graph.folder
    words = {word for command in graph.commands for word in command}
    steps = {*_asked(folder, "inputs", "all"), *_asked(folder, "inputs", "build.ninja")}
    compiled = (f"{path}{PRECOMPILED}" for path in headers)
    found = {*steps, *by_cmake, *compiled, *_included_schemas(graph)}
    return {path for path in found if Path(path).is_file()} | files_of_words(words, folder)


def objects_that_read(folder: Path, paths: Iterable[str]) -> tuple[str, ...]:
    """List the objects that were compiled from one of the given files."""
    wanted = frozenset(paths)
    deps = _deps(folder)
    return tuple(name for name, files in deps.items() if not wanted.isdisjoint(files))


def _sources(graph: _Graph, headers: Iterable[str]) -> tuple[Mapping[str, bytes], list[str]]:
    """Read the compiled sources of the project, and list the search paths of assemblers."""
    commands = (with_options(each, graph.folder) for each in graph.commands)
    named = {folder for each in commands for folder in assembler_folders(each)}
    folders = [str(graph.folder / each) for each in sorted(named)]
    own = {path: _content(path) for path in headers if not is_installed(path, graph.folder)}
    return own, [str(graph.folder), *folders]


def _included_schemas(graph: _Graph) -> Iterator[str]:
    """List the files that flatc reads."""
    for command in graph.commands:
        at = next((i for i, word in enumerate(command) if word.endswith("/flatc")), None)
        if at is not None:
            done = subprocess.run(
                [command[at], "-M", *command[at + 1 :]],
                cwd=graph.folder,
                capture_output=True,
                text=True,
                check=False,
            )
            yield from (str(graph.folder / path) for path in parse_makefile(done.stdout))


def made_and_read(folder: Path) -> frozenset[str]:
    """List files that steps make and files that linkers read."""
    return step_outputs(folder) | set(_linked(folder))


def _graph(made: MadeFiles) -> _Graph:
    folder = made.folder
    commands = tuple(_split(line) for line in _ninja(folder, "commands").splitlines())
    return _Graph(folder, tuple(filter(None, commands)), step_outputs(folder), _deps(folder), made)


def step_outputs(folder: Path) -> frozenset[str]:
    """List the files that steps of ninja make, by absolute path."""
    targets = (line.rpartition(": ") for line in _ninja(folder, "targets", "all").splitlines())
    # CMake writes phony rules for its own inputs.
    return frozenset(str(folder / path) for path, _, rule in targets if rule != "phony")


def _ninja(folder: Path, tool: str, *arguments: str) -> str:
    done = subprocess.run(
        ["ninja", "-C", str(folder), "-t", tool, *arguments],
        capture_output=True,
        text=True,
        errors="surrogateescape",
        env=build_environment(),
        check=False,
    )
    if done.returncode != 0:
        raise BuildError(f"ninja -t {tool} in {folder}: {done.stderr.strip()}")
    return done.stdout


def _asked(folder: Path, tool: str, target: str) -> list[str]:
    """Return the paths that a ninja tool lists in shell quoting."""
    lines = _ninja(folder, tool, target).splitlines()
    return [str(folder / word) for line in lines for word in _split(line)]


def _split(line: str) -> tuple[str, ...]:
    if line.isascii() and _QUOTING.isdisjoint(line):  # 12 times as fast as shlex
        return tuple(line.split())
    try:
        return tuple(shlex.split(line))
    except ValueError as error:
        raise BuildError(f"ninja printed a line with broken shell quoting: {line[:200]}") from error


def _deps(folder: Path) -> Mapping[str, tuple[str, ...]]:
    return parse_deps(_ninja(folder, "deps"), folder)


def parse_deps(text: str, folder: Path) -> dict[str, tuple[str, ...]]:
    """Parse the output of `ninja -t deps`: each object, and the files it was compiled from.

    An object that something changed after its compilation is stale, but was compiled from them.
    """
    found: dict[str, tuple[str, ...]] = {}
    # Most objects include the same headers: 5,544 lines of a full build name 467 files.
    paths: dict[str, str] = {}
    for block in text.split("\n\n"):
        head, *lines = block.strip("\n").split("\n")
        name, mark, rest = head.partition(": #deps ")
        if mark and ("(VALID)" in rest or (folder / name).is_file()):
            for line in lines:
                if line not in paths:
                    paths[line] = str(folder / line[4:])
            found[name] = tuple(paths[line] for line in lines)
    return found


def parse_query(text: str) -> list[str]:
    """Parse the outputs from the output of `ninja -t query` for one file."""
    lines = text.partition("  outputs:\n")[2].splitlines()
    return [line.strip() for line in lines if line.startswith("    ")]


def _linked(folder: Path) -> Iterator[str]:
    """List the files that linkers read, except temporary files."""
    for record in folder.glob("*.link.d"):
        data = record.read_bytes()
        paths = parse_ld64(data) if data[:1] == b"\x00" else parse_makefile(os.fsdecode(data))
        yield from (str(folder / each) for each in paths)


def parse_makefile(text: str) -> list[str]:
    """Read the files of the first rule of a dependency file."""
    rule = text.replace("\\\n", " ").partition("\n")[0].partition(":")[2]
    words = re.findall(r"(?:\\.|[^\s\\])+", rule)
    return [re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in words]


def parse_ld64(data: bytes) -> list[str]:
    """Read the files of ld64's dependency information: a byte of kind, a path, a zero."""
    entries = data.split(b"\x00")[1:]  # the first entry is the linker's version
    return [os.fsdecode(each[1:]) for each in entries if each[:1] == _LINKER_READ]


def _globs(folder: Path) -> Iterator[str]:
    """List the patterns that CMake checks before each build."""
    file = folder / "CMakeFiles" / "VerifyGlobs.cmake"
    if file.is_file():
        for kind, pattern in _GLOB.findall(file.read_text(encoding="utf-8", errors="replace")):
            head, _, name = pattern.rpartition("/")
            yield f"{head}/**/{name}" if kind == "GLOB_RECURSE" else pattern


def _compilers(graph: _Graph) -> Mapping[tuple[str, ...], tuple[str, ...]]:
    """List one compile command for each set of options that affect the search path."""
    steps = (_without_launcher(command) for command in graph.commands)
    compiling = [
        tuple(with_options(command, graph.folder))
        for command in steps
        if "-c" in command and "-o" in command
    ]
    return {(command[0], *search_options(command)): command for command in reversed(compiling)}


def _without_launcher(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command without a launcher, which does not support the query options."""
    is_launched = os.path.basename(command[0]) in LAUNCHERS  # noqa: PTH119
    return command[1:] if is_launched and len(command) > 1 else command


def _absent_headers(graph: _Graph, headers: Iterable[str]) -> Iterator[str]:
    environment = build_environment()
    for command in _compilers(graph).values():
        path = search_path(command, graph.folder, environment)
        given = {
            str(graph.folder / word.removeprefix("-I")) for word in command if word[:2] == "-I"
        }
        theirs = tuple(f"{each}/" for each in path.folders if each not in given)
        own = {file: _content(file) for file in headers if not file.startswith(theirs)}
        yield from absent_headers(headers, path, own)


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def _absent_libraries(folder: Path, linked: Iterable[str]) -> tuple[str, ...]:
    """List the missing paths that a linker would have preferred to the libraries that it read."""
    wanted: list[str] = []
    for record in folder.glob("*.link.json"):
        words = json.loads(record.read_text())["arguments"]
        folders = [str(folder / word[2:]) for word in words if word[:2] == "-L" and word[2:]]
        for path in linked:
            at, _, name = path.rpartition("/")
            stem = _LIBRARY.match(name)
            # -lm searches each folder for both
            names = {name, *((f"{stem[0]}.so", f"{stem[0]}.a") if stem else ())}
            wanted += looked_for(sorted(names), folders, at) if at in folders else []
    return absent_prefixes(wanted)


def _tools(
    graph: _Graph, programs: Iterable[str], linker: str, strip: str
) -> tuple[frozenset[str], tuple[str, ...]]:
    """List the programs that run, and the missing paths that PATH would have preferred.

    Raises BuildError if a compiler does not report its programs.
    """
    found = {*programs, sys.executable}
    by_path = {"sh", "cmake", "ninja", strip}
    for driver in {key[0] for key in _compilers(graph)}:
        for name in (*_STARTED, f"ld.{linker}", f"ld64.{linker}"):
            started = _started(driver, name)
            (found if "/" in started else by_path).add(started)
    folders = [str(Path(each)) for each in os.environ.get("PATH", "").split(os.pathsep) if each]
    wanted: list[str] = []
    for program in found:
        at, _, name = program.rpartition("/")
        wanted += looked_for((name,), folders, at) if at in folders else []
    for name in by_path:
        path = shutil.which(name)
        if path is not None:
            found.add(path)
            wanted += looked_for((name,), folders, str(Path(path).parent))
    return frozenset(path for path in found if Path(path).is_file()), absent_prefixes(wanted)


def _started(driver: str, name: str) -> str:
    done = subprocess.run(
        [driver, f"-print-prog-name={name}"],
        capture_output=True,
        text=True,
        env=build_environment(),
        check=False,
    )
    if done.returncode != 0:
        raise BuildError(f"{driver} -print-prog-name={name}: {done.stderr.strip()}")
    return done.stdout.strip()
