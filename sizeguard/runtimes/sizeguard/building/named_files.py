"""Find files that only commands and assembler directives name, not dependency files.

Compilers list only headers: not files that an assembler includes, nor specs, plug-ins, profiles and
files with further options.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

_UNTOLD = "/untold: "
_OPTION = re.compile(r"-[A-Za-z]")
_PROFILE = re.compile(r"-f(?:auto-profile|profile(?:-\w+)?-use)=(.+)")
_DIRECTIVE = re.compile(rb'\.(incbin|include)\b\s*(\\?")([^"\\\s][^"\\\n]*)\2')
_EMBEDS = re.compile(rb"\.?incbin\b", re.IGNORECASE)
_ARCHIVER = re.compile(r"(?:.*[-/])?(?:ar|ranlib)(?:-\d+)?")
_DEPENDENCY_FILE = ("-Wl,--dependency-file=", "-Wl,-dependency_info,")
_MAXIMUM_DEPTH = 8  # nesting of option files


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
    """List the files that assembler directives name, and the paths that are tried before them.

    A source may read any file if a macro names the file of a directive.

    folders: search path of assemblers: the build folder, then the include path
    """
    files: set[str] = set()
    wanted: set[str] = set()
    for source, text in sources.items():
        named = _DIRECTIVE.findall(text)
        embedded = sum(directive == b"incbin" for directive, _, _ in named)
        if len(_EMBEDS.findall(text)) > embedded:
            files.add(untold(f"what {source} embeds"))
        for name in {os.fsdecode(each) for _, _, each in named}:
            for folder in folders:
                path = os.path.normpath(f"{folder}/{name}" if name[:1] != "/" else name)
                if os.path.isfile(path):  # noqa: PTH113
                    files.add(path)
                    break
                wanted.add(path)
    return files, wanted


def untold_steps(commands: Iterable[Sequence[str]], generator: str) -> set[str]:
    """List the ninja steps with programs that do not list their inputs."""
    found = set()
    for command in commands:
        for step in _steps(command):
            if not _tells(step, generator):
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


def _tells(step: Sequence[str], generator: str) -> bool:
    """Return whether a program names all its inputs, in its arguments or in a dependency list."""
    name = os.path.basename(step[0])  # noqa: PTH119
    if name in (":", "cd", "flatc") or step[0] == generator or _ARCHIVER.fullmatch(step[0]):
        return True
    if name == "cmake":
        return "-P" not in step and not {"env", "time"} & set(step[2:3])
    if any(word.startswith(_DEPENDENCY_FILE) for word in step):
        return True
    return "-c" in step and any(word in ("-MD", "-MMD") for word in step)


def is_untold(path: str) -> bool:
    """Return whether a path of a record marks unknown reads."""
    return path.startswith(_UNTOLD)
