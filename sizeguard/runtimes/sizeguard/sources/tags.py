"""Find the tags of dtype switches in kernel sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from sizeguard.base.dataclass import dataclass
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
    """One dtype switch, or one guard (see scan_guards).

    macro:    SG_SWITCH_REAL for SG_SWITCH_REAL(dtype, cumsum, …); "any" for a guard
    function: the name of the function around it, without scopes; empty if unknown
    """

    file: Path
    line: int
    macro: str
    function: str = ""


def scan_tags(directories: Iterable[Path]) -> dict[str, tuple[TagUse, ...]]:
    """Find the dtype switches in all sources under the folders, sorted by tag, file and line.

    Raises InputError for a missing folder, and for a switch with a tag that is not an identifier.
    """
    return _by_tag(use for path in source_files(directories) for use in _switches(path))


def scan_guards(directories: Iterable[Path]) -> dict[str, tuple[TagUse, ...]]:
    """Find code that checks whether a tag has any dtype: selected::copy.any().

    The guarded code is removed with the last dtype. The uses are sorted as those of scan_tags.
    """
    return _by_tag(use for path in source_files(directories) for use in _guards(path))


def source_files(directories: Iterable[Path]) -> list[Path]:
    """List the C++ files under folders, sorted, each once; a file stands for itself.

    Raises InputError for a missing folder.
    """
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


def _by_tag(uses: Iterable[tuple[str, TagUse]]) -> dict[str, tuple[TagUse, ...]]:
    """Group uses by their tags, which are sorted; the uses of a tag keep their order."""
    found: dict[str, list[TagUse]] = {}
    for tag, use in uses:
        found.setdefault(tag, []).append(use)
    return {tag: tuple(found[tag]) for tag in sorted(found)}


def _code_with(words: str, path: Path) -> str:
    """Read a source without comments, literals and macro definitions; empty without the words.

    Spaces stand for them, so that offsets and lines stay the same.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise cannot_read(path, error) from error
    return _DEFINE.sub(_blank, without_noise(text)) if words in text else ""


def without_noise(text: str, *, keeps_literals: bool = False) -> str:
    """Write spaces for the comments and literals of a source."""
    return _NOISE.sub(
        lambda match: match[0] if keeps_literals and match[0][0] != "/" else _blank(match), text
    )


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _use(path: Path, text: str, position: int, macro: str) -> TagUse:
    return TagUse(path, text.count("\n", 0, position) + 1, macro, _function(text, position))


def _guards(path: Path) -> Iterator[tuple[str, TagUse]]:
    text = _code_with(".any()", path)
    for match in _GUARD.finditer(text):
        yield match[1], _use(path, text, match.start(), "any")


def _switches(path: Path) -> Iterator[tuple[str, TagUse]]:
    text = _code_with("SG_SWITCH_", path)
    for match in _SWITCH.finditer(text):
        use = _use(path, text, match.start(), match[1])
        arguments = _arguments(text, match.end())
        tag = arguments[1].strip() if len(arguments) > 1 else ""
        if not _IDENTIFIER.fullmatch(tag):
            shown = " ".join(tag.split()) or "nothing"
            raise InputError(
                f"{path}:{use.line}: {use.macro} needs a tag, an identifier, as its second"
                f" argument, not {shown}"
            )
        if tag in RESERVED:
            raise InputError(
                f"{path}:{use.line}: the selection headers use the name {tag} themselves; give the"
                " tag another name"
            )
        yield tag, use


def _function(text: str, position: int) -> str:
    """Find the function around a place, outside of classes; empty if there is none."""
    name = ""
    for match in _FUNCTION.finditer(text, 0, position):
        name = match[1]
    return name


def _arguments(text: str, start: int) -> list[str]:
    """Split off the first two macro arguments after the parenthesis at start - 1.

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
