"""Find files that only commands and assembler directives name, not dependency files.

Compilers list only headers: not files that an assembler includes, nor specs, plug-ins, profiles and
files with further options.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from sizeguard.base.dataclass import dataclass

_UNTOLD = "/untold: "
_OPTION = re.compile(r"-[A-Za-z]")
_PROFILE = re.compile(r"-f(?:auto-profile|profile(?:-\w+)?-use)=(.+)")
_DIRECTIVE = re.compile(rb'\.(incbin|include)\b\s*(\\?")([^"\\\s][^"\\\n]*)\2', re.IGNORECASE)
# `.include` is also how C++ calls a member: include(x)
_READS = re.compile(rb'\.?incbin\b|\.include(?=[\s"\\]|$)', re.IGNORECASE)
_ARCHIVER = re.compile(r"(?:.*[-/])?(?:ar|ranlib)(?:-\d+)?")
_DEPENDENCY_FILE = ("-Wl,--dependency-file=", "-Wl,-dependency_info,")
# What a shell does in a word: it runs a command, or reads a file.
_SHELL_READS = re.compile(r"`|\$\(|^<|<\(")
# Commands of `cmake -E` that read only files that their words name; others read folders, or run
# programs.
_CMAKE_TELLS = frozenset(
    {"cat", "cmake_symlink_executable", "cmake_symlink_library", "compare_files", "copy"}
    | {"copy_if_different", "create_hardlink", "create_symlink", "echo", "echo_append", "false"}
    | {"make_directory", "remove", "remove_directory", "rename", "rm", "rmdir", "touch"}
    | {"touch_nocreate", "true"}
)
_COMPILER = re.compile(
    r"(?:.*[-/])?(?:cc|c\+\+|gcc|g\+\+|clang|clang\+\+|icx|icpx)(?:-\d+(?:\.\d+)*)?"
)
# Programs that CMAKE_CXX_COMPILER_LAUNCHER puts before a compiler.
LAUNCHERS = frozenset({"ccache", "sccache", "distcc", "icecc"})
# The script of native/ that runs linkers, by the hashes of its versions. Another one may read more.
_LOGGED = "link_logged.sh"
_LOGGED_VERSIONS = frozenset({"c812406379c2dd31", "2ac233a8249232b7", "64619160e6bba506"})
# Options that name programs which a compiler starts, or the folder where it looks for them.
_RUNS = re.compile(
    r"-B|--?specs\b|-wrapper\b|-fplugin\b|-fpass-plugin\b|--ld-path\b|-fuse-ld\b"
    r"|--?gcc-(?:toolchain|install-dir)\b|-Wl,--?plugin\b"
)
_FOLDERS = ("-I", "-iquote", "-isystem", "-idirafter", "--include-directory=")
_OPTION_FILE = re.compile(r"@(?!rpath/|loader_path\b|executable_path\b)")
_MAXIMUM_DEPTH = 8  # nesting of option files


@dataclass(frozen=True, slots=True)
class StepPlace:
    """The folders that decide which programs of a step are the project's own.

    folder: of the build; top: the top folder of the project
    tools: folders of installed tools, which may be in the project
    """

    folder: Path
    top: str
    tools: tuple[str, ...] = ()


def untold(what: str) -> str:
    """Return the path that marks unknown reads in a record.

    No such file exists, so it is neither in a project nor installed.
    """
    return f"{_UNTOLD}{what}"


def files_of_words(words: Iterable[str], folder: Path, depth: int = 0) -> set[str]:
    """List the files that words of commands name, also in parts of words and in option files."""
    found: set[str] = set()
    for word in set(words):
        parts = {word, *re.split(r"[=,@:]", word)}
        if _OPTION.match(word):
            parts.add(word[2:])
        named = {os.path.normpath(folder / part) for part in parts if part}
        files = {path for path in named if os.path.isfile(path)}  # noqa: PTH113
        found |= files
        if "@" in word and depth < _MAXIMUM_DEPTH:
            options = [path for path in files if word.endswith(os.path.basename(path))]  # noqa: PTH119
            found |= files_of_words(_words_in(options), folder, depth + 1)
        if profile := _PROFILE.match(word):
            below = Path(folder, profile[1]).rglob("*")
            found |= {str(path) for path in below if path.is_file()}
    return found


def with_options(command: Sequence[str], folder: Path) -> list[str]:
    """Return the words of a command, with those of the option files that it names."""
    words, new = [*command], [*command]
    for _ in range(_MAXIMUM_DEPTH):
        new = _words_in([str(folder / word[1:]) for word in new if word[:1] == "@"])
        words += new
    return words


def _words_in(paths: Iterable[str]) -> list[str]:
    words: list[str] = []
    for path in paths:
        try:
            words += shlex.split(Path(path).read_text(errors="surrogateescape"))
        except (OSError, ValueError):
            continue  # not an option file that a compiler could read
    return words


def assembled_files(
    sources: Mapping[str, bytes], folders: Sequence[str]
) -> tuple[set[str], set[str]]:
    """Return the paths of files that assembler directives name: those that exist, and the others.

    A source may read any file if a macro names the file of a directive. Included files may have
    directives of their own.

    folders: the build folder and all include paths; each source may search them in another order
    """
    files: set[str] = set()
    wanted: set[str] = set()
    included: set[str] = set()
    left = dict(sources)
    while left:
        source, text = left.popitem()
        named = _DIRECTIVE.findall(text)
        if len(_READS.findall(text)) > len(named):
            files.add(untold(f"what {source} embeds"))
        for directive, _, name in named:
            file = os.fsdecode(name)
            paths = {os.path.normpath(os.path.join(each, file)) for each in folders}  # noqa: PTH118
            found = {path for path in paths if os.path.isfile(path)}  # noqa: PTH113
            files |= found
            wanted |= paths - found
            for path in sorted(found - included) if directive.lower() == b"include" else ():
                included.add(path)
                left[path] = Path(path).read_bytes()
    return files, wanted


def assembler_folders(words: Iterable[str]) -> Iterator[str]:
    """Yield the folders that options of a compiler add to its assembler's search path.

    -Idir, -I dir, -iquote dir and the like, and -Wa,-I,dir and -Xassembler -Idir.
    """
    parts = (
        part for word in words for part in (word[4:].split(",") if word[:4] == "-Wa," else [word])
    )
    left = iter([part for part in parts if part not in ("-Xassembler", "-Xclang")])
    for part in left:
        option = next((each for each in _FOLDERS if part.startswith(each)), "")
        if option:
            yield part.removeprefix(option) or next(left, "")


def untold_steps(commands: Iterable[Sequence[str]], generator: str, place: StepPlace) -> set[str]:
    """List the ninja steps with programs that do not list their inputs."""
    found = set()
    for command in commands:
        for step in _steps(command):
            if not _tells(step, generator, place):
                found.add(untold(shlex.join(step)[:200]))
    return found


def _steps(command: Sequence[str]) -> Iterable[list[str]]:
    step: list[str] = []
    for word in (*command, "&&"):
        if word in ("&&", ";", "||", "|"):
            if step:
                yield step
            step = []
        else:
            step.append(word)


def _tells(step: Sequence[str], generator: str, place: StepPlace) -> bool:
    """Return whether a program names all its inputs, in its arguments or in a dependency list."""
    if step[0] == generator:
        return True
    if any(map(_SHELL_READS.search, step)) or _starts_own(step, place):
        return False
    if any(_OPTION_FILE.match(word) and not (place.folder / word[1:]).is_file() for word in step):
        return False  # ninja removes files of options that it wrote
    name = os.path.basename(step[0])  # noqa: PTH119
    if name == "cmake":
        return step[1:2] == ["-E"] and not _CMAKE_TELLS.isdisjoint(step[2:3])
    if name == "sh" and len(step) > 2:
        return _is_logged(place.folder / step[1]) and _tells(step[2:], generator, place)
    while name in LAUNCHERS and len(step) > 1:
        step = step[1:]
        name = os.path.basename(step[0])  # noqa: PTH119
    if name in (":", "cd", "flatc") or _ARCHIVER.fullmatch(name):
        return True
    if not _COMPILER.fullmatch(name):
        return False
    is_compiled = "-c" in step and not {"-MD", "-MMD"}.isdisjoint(step)
    return is_compiled or any(word.startswith(_DEPENDENCY_FILE) for word in step)


def _is_logged(script: Path) -> bool:
    try:
        text = script.read_bytes()
    except OSError:
        return False
    return script.name == _LOGGED and hashlib.sha256(text).hexdigest()[:16] in _LOGGED_VERSIONS


def _starts_own(step: Sequence[str], place: StepPlace) -> bool:
    """Return whether a step starts a program of the project, or lets a compiler start one.

    It is unknown which files such a program reads.
    """
    words = [*with_options(step, place.folder), ""]
    named = [step[0], *itertools.chain(*map(_programs_named, itertools.pairwise(words)))]
    if "-load" in words:
        named += [word for word in words if word.endswith(".so")]
    at = {os.path.normpath(place.folder / word) for word in named if "/" in word}
    own = tuple(f"{path}/" for path in place.tools)
    return any(path.startswith(f"{place.top}/") and not path.startswith(own) for path in at)


def _programs_named(pair: tuple[str, str]) -> Iterable[str]:
    """Yield what an option says of programs; the option may have its value in the next word."""
    word, following = pair
    if found := _RUNS.match(word):
        yield from re.split(r"[=,]", word[found.end() :] or following)


def is_untold(path: str) -> bool:
    """Return whether a path of a record marks unknown reads."""
    return path.startswith(_UNTOLD)
