"""Find paths in header search paths where a new file would be read instead."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import BuildError
from sizeguard.builds.build_inputs import absent_prefixes, looked_for

# Options that affect the search path, and those that take the next word as value.
_OPTION = re.compile(r"-(I|isystem|iquote|idirafter|nostd|-?target|-?sysroot|isysroot|B|m|std)")
_VALUE_FOLLOWS = frozenset(
    {"-I", "-isystem", "-iquote", "-idirafter", "-target", "--sysroot", "-isysroot", "-B"}
)
# gcc reads x.h.gch in place of x.h, in each folder; clang does so for -include x.h.
PRECOMPILED = ".gch"
_IGNORED = re.compile(r'ignoring nonexistent directory "(.*)"')
_HAS_INCLUDE = re.compile(rb"__has_include(?:_next)?\s*\(\s*[<\"]([^>\"\n]+)[>\"]")


@dataclass(frozen=True, slots=True)
class SearchPath:
    """The folders that a compilation searches, in order.

    missing: folders of the list that do not exist
    """

    folders: tuple[str, ...]
    missing: tuple[str, ...]


def search_path(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> SearchPath:
    """Ask a compiler for its search path with the options of a command."""
    asked = (command[0], *search_options(command), "-E", "-v", "-x", "c++", "/dev/null")
    try:
        done = subprocess.run(
            asked, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise BuildError(f"{command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        raise BuildError(f"{shlex.join(asked)}: {done.stderr.strip()[-300:]}")
    return parse_search_path(done.stderr, folder)


def search_options(command: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a compile command that affect the search path."""
    found: list[str] = []
    words = iter(command[1:])
    for word in words:
        if _OPTION.match(word):
            found.append(word)
            if word in _VALUE_FOLLOWS:
                found.append(next(words, ""))
    return tuple(found)


def parse_search_path(text: str, folder: Path) -> SearchPath:
    """Parse the output of gcc and clang with -v."""
    missing = tuple(str(folder / path) for path in _IGNORED.findall(text))
    inside = text.partition("search starts here:")[2].partition("End of search list.")[0]
    lines = [line.strip() for line in inside.splitlines() if line.startswith(" ")]
    folders = [line.removesuffix(" (framework directory)") for line in lines]
    return SearchPath(tuple(dict.fromkeys(str(folder / path) for path in folders)), missing)


def absent_headers(
    headers: Iterable[str], path: SearchPath, own: Mapping[str, bytes]
) -> tuple[str, ...]:
    """List missing paths that a compiler would prefer to the headers that it read.

    The folder of the including file comes first in the search.

    headers: all files that were read
    own: files outside of the compiler's own folders, with their content
    """
    wanted: list[str] = list(path.missing)
    beside = sorted({str(Path(file).parent) for file in own})
    for header in headers:
        for found_in in path.folders:
            if not header.startswith(f"{found_in}/"):
                continue
            name = header[len(found_in) + 1 :]
            names = (name, f"{name}{PRECOMPILED}") if header in own else (name,)
            wanted += looked_for(names, path.folders, found_in)
            wanted += [f"{folder}/{each}" for folder in beside for each in names]
            wanted += [f"{found_in}/{each}" for each in names[1:]]
    asked = {name.decode("utf-8", "replace") for text in own.values() for name in
             _HAS_INCLUDE.findall(text)}  # fmt: skip
    wanted += [f"{folder}/{name}" for folder in (*path.folders, *beside) for name in asked]
    return absent_prefixes(wanted)
