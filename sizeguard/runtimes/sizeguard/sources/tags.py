"""Find the tags of dtype switches in kernel sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_read

SUFFIXES = (".cpp", ".h")

# Names that the selection headers use themselves.
RESERVED = frozenset(
    {"operators", "classes", "features", "all_operators", "all_classes", "all_features"}
)

_NOISE = re.compile(
    r"""//[^\n]*                            # line comment
      | /\*.*?\*/                           # block comment
      | R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"
      | "(?:\\.|[^"\\\n])*"
      | '(?:\\[^\n]{1,9}|[^'\\\n])'         # character; a digit separator (1'000) stays
    """,
    re.DOTALL | re.VERBOSE,
)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define\b(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_SWITCH = re.compile(r"\b(SG_SWITCH_[A-Z0-9_]+)\s*\(")
_GUARD = re.compile(r"\bselected::([A-Za-z_][A-Za-z0-9_]*)\.any\(\)")
# The start of a function: clang-format puts nothing else with a parenthesis at the start of a line.
_FUNCTION = re.compile(
    r"^(?:[A-Za-z_][^\n;={}()]*[ *&:])?(operator\(\)|[A-Za-z_]\w*)\(", re.MULTILINE
)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class TagUse:
    """One dtype switch: the macro `macro` at a line of a file, in a function.

    SG_SWITCH_REAL(dtype, cumsum, …) has the macro SG_SWITCH_REAL.
    """

    file: Path
    line: int
    macro: str
    function: str = ""


def scan_tags(directories: Iterable[Path]) -> dict[str, tuple[TagUse, ...]]:
    """Find the dtype switches in all sources under the folders, sorted by tag, file and line.

    Raises InputError for a missing folder, and for a switch with a tag that is not an identifier.
    """
    found: dict[str, list[TagUse]] = {}
    for path in source_files(directories):
        for tag, use in _switches(path):
            found.setdefault(tag, []).append(use)
    return {
        tag: tuple(sorted(found[tag], key=lambda use: (use.file, use.line)))
        for tag in sorted(found)
    }


def scan_guards(directories: Iterable[Path]) -> dict[str, tuple[TagUse, ...]]:
    """Find code that checks whether a tag has any dtype: selected::copy.any().

    The guarded code is removed with the last dtype.
    """
    found: dict[str, list[TagUse]] = {}
    for path in source_files(directories):
        text = path.read_text(encoding="utf-8", errors="replace")
        if ".any()" in text:
            text = _DEFINE.sub(_blank, _NOISE.sub(_blank, text))
            for match in _GUARD.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                found.setdefault(match[1], []).append(
                    TagUse(path, line, "any", _function(text, match.start()))
                )
    return {tag: tuple(found[tag]) for tag in sorted(found)}


def source_files(directories: Iterable[Path]) -> list[Path]:
    """List the C++ files under the folders, sorted, each once."""
    files: set[Path] = set()
    for directory in directories:
        if directory.is_file():
            files.add(directory)
        elif directory.is_dir():
            files.update(
                path for path in directory.rglob("*") if path.suffix in SUFFIXES and path.is_file()
            )
        else:
            raise InputError(f"{directory}: no such folder of kernel sources")
    return sorted(files)


def _switches(path: Path) -> Iterator[tuple[str, TagUse]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise cannot_read(path, error) from error
    if "SG_SWITCH_" not in text:
        return
    # Blanks keep the offsets, newlines keep the lines.
    text = _DEFINE.sub(_blank, _NOISE.sub(_blank, text))
    for match in _SWITCH.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        arguments = _arguments(text, match.end())
        tag = arguments[1].strip() if len(arguments) > 1 else ""
        if not _IDENTIFIER.fullmatch(tag):
            shown = " ".join(tag.split()) or "nothing"
            raise InputError(
                f"{path}:{line}: {match[1]} needs a tag, an identifier, as its second argument, not"
                f" {shown}"
            )
        if tag in RESERVED:
            raise InputError(
                f"{path}:{line}: the selection headers use the name {tag} themselves; give the tag"
                " another name"
            )
        yield tag, TagUse(path, line, match[1], _function(text, match.start()))


def _function(text: str, position: int) -> str:
    """Find the function around a place, outside of classes; empty if there is none."""
    return next((match[1] for match in reversed(list(_FUNCTION.finditer(text, 0, position)))), "")


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _arguments(text: str, start: int) -> list[str]:
    """Split off the first macro arguments after the parenthesis at start - 1.

    Commas inside brackets do not count.
    """
    arguments = []
    depth = 0
    begin = start
    for i in range(start, len(text)):
        character = text[i]
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        if depth < 0 or (character == "," and depth == 0):
            arguments.append(text[begin:i])
            begin = i + 1
        if depth < 0 or len(arguments) == 2:
            break
    return arguments
