"""Find the source file and line of symbols: in the text, the debug information, or the change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from sizeguard.base.dataclass import dataclass
from sizeguard.base.files import text_of_file
from sizeguard.builds.debug_lines import lines_of_functions
from sizeguard.gate.causes.edited_lines import edited_ranges, first_edit
from sizeguard.git.tree_contents import commit_files
from sizeguard.runtimes.known import short_name, source_tree

_MEMBER = re.compile(r".*\((.+)\)")
_SOURCES = (
    ".c",
    ".cc",
    ".cpp",
    ".cxx",
    ".c++",
    ".C",
    ".h",
    ".hh",
    ".hpp",
    ".hxx",
    ".ipp",
    ".inl",
    ".rs",
)
_COMMENT_OR_TEXT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S
)
# The text between a function's parameters and its body: parameter declarations of old-style C,
# qualifiers, attributes, a type, and member initializers. Possessive, because many declarations in
# a row can be split in 2^n ways.
_UP_TO_BODY = re.compile(
    r"""\s*(?:
      [A-Za-z_][\w\s*,\[\]]*+;\s*
    | (?:const|noexcept|override|final|volatile|try|throw|requires)\b\s*(?:\([^(){};]*\)\s*)?
    | &&?\s* | ->[^{};]* | [A-Z_][A-Z0-9_]*\b\s*(?:\([^(){};]*\)\s*)?
    | __attribute__\s*\(\([^{};]*?\)\)\s* | \[\[[^\]]*\]\]\s*
    )*+(?::(?!:)[^;{}]*(?:\{[^{};]*\}\s*,[^;{}]*|\{[^{};]*\}\s*(?=\{))*)?\{""",
    re.X,
)

_ATTRIBUTES = re.compile(r"^(?:\[\[[^\]]*\]\]\s*)+")
_INITIALIZER = re.compile(r"\)\s*:\s*$")  # of a member: A() : f(1) { … }
_PARENTHESES = re.compile(r"\([^;{}()]*\)")
_TYPE = re.compile(r"[ \t]*[A-Za-z_][^=;(){}]*")
_WIDEST = 1000  # characters before a function's name in its line

# Words that begin a line with a variable's name, but define none
_NO_VARIABLE = (
    r"(?:extern|return|using|typedef|goto|case|namespace|class|struct|union|enum|template"
    r"|friend|throw|delete|else|public|private|protected)\b(?![^{;\n]*[=\[])"
    r"|(?:extern|using|typedef)\b"
)


class ObjectSymbol(NamedTuple):
    """A symbol of an object file. object: empty if unknown."""

    object: str
    symbol: str


@dataclass(frozen=True, slots=True, order=True)
class _Place:
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class _Candidates:
    """The lines where a function may begin. file: known source; empty if unknown."""

    file: str
    lines: tuple[_Place, ...]

    @property
    def text(self) -> str:
        if len(self.lines) != 1:
            return self.file
        return f"{self.lines[0].path}:{self.lines[0].line}"


@dataclass
class SourceLines:
    """The sources in a folder; objects are named after them.

    commit: the commit of another project's sources; empty if the build is not of a commit; None for
    the runtime's own sources
    since:  the commit that growth is counted from; empty if unknown
    image:  with symbols, and debug information if the build makes any
    """

    root: Path
    texts: dict[str, str] = field(default_factory=dict)
    commit: str | None = None
    since: str = ""
    image: Path | None = None

    @cached_property
    def paths(self) -> dict[str, list[str]]:
        """Paths from the root, by file name."""
        found: dict[str, list[str]] = {}
        for path in self._files():
            found.setdefault(PurePosixPath(path).name, []).append(path)
        return found

    def _files(self) -> Iterable[str]:
        if self.commit is None:
            files = source_tree(self.root)[1].code_files()
            return [path.relative_to(self.root).as_posix() for path in files]
        if not self.commit:
            return []
        entries = commit_files(self.root, self.commit).entries
        return [path for path in entries if path.endswith(_SOURCES)]

    def places(self, pieces: Iterable[ObjectSymbol]) -> Mapping[ObjectSymbol, str]:
        """Find file and line of symbols: native/operators/kernels/convolution.cpp:88.

        A function that several lines could begin is the one that debug information names, else the
        only one that the change edits. The line, or all, is left out if it is unknown.
        """
        found = {piece: self._candidates(piece) for piece in dict.fromkeys(pieces)}
        unclear = {piece for piece, each in found.items() if len(each.lines) != 1}
        if unclear and self.commit is not None:
            debug = self._debug_lines({piece.symbol for piece in unclear})
            for piece in unclear:
                line = debug.get(piece.symbol) or self._edited(found[piece].lines)
                found[piece] = replace(found[piece], lines=(line,) if line else ())
        return {piece: each.text for piece, each in found.items()}

    def place(self, object_: str, symbol: str) -> str:
        """Find file and line of one symbol."""
        piece = ObjectSymbol(object_, symbol)
        return self.places([piece])[piece]

    def _candidates(self, piece: ObjectSymbol) -> _Candidates:
        """List the lines where functions of the symbol's name begin.

        They are in the source of its object, else in all sources.
        """
        if not piece.object:
            return _Candidates("", self._anywhere(piece.symbol) if self.commit else ())
        member = _MEMBER.fullmatch(piece.object)
        source = (member[1] if member else piece.object).removesuffix(".o")
        known = self.paths.get(Path(source).name, [])
        if not known and self.commit:
            return _Candidates("", self._anywhere(piece.symbol))  # an object of several sources
        fitting = (
            known if len(known) == 1 else [path for path in known if _ending(path, source) >= 2]
        )
        if len(fitting) != 1:
            return _Candidates("", ())
        return _Candidates(fitting[0], self._lines(fitting[0], piece.symbol))

    def _anywhere(self, symbol: str) -> tuple[_Place, ...]:
        """Find the places in all sources where the function begins."""
        files = (path for paths in self.paths.values() for path in paths)
        return tuple(line for path in files for line in self._lines(path, symbol))

    def _lines(self, path: str, symbol: str) -> tuple[_Place, ...]:
        """Find the lines where functions of that name begin, else those of variables.

        It reads the source text only, because objects may lack debug information.
        """
        name = re.search(r"([A-Za-z_]\w*)(?:<.*>)?$", short_name(symbol))
        if not name:
            return ()
        if path not in self.texts:
            self.texts[path] = _COMMENT_OR_TEXT.sub(_blank, text_of_file(self.root / path))
        text = self.texts[path]
        found = [*_bodies(text, name[1], is_rust=path.endswith(".rs"))]
        found = found or [*_variables(text, name[1], is_rust=path.endswith(".rs"))]
        return tuple(_Place(path, text.count("\n", 0, start) + 1) for start in found)

    def _debug_lines(self, symbols: Iterable[str]) -> Mapping[str, _Place]:
        """Find the lines of symbols that debug information names, in files of the project."""
        if self.image is None:
            return {}
        found = {}
        for symbol, line in lines_of_functions(self.image, symbols).items():
            known = self.paths.get(PurePosixPath(line.path).name, [])
            fitting = [path for path in known if f"/{line.path}".endswith(f"/{path}")]
            if fitting:
                found[symbol] = _Place(max(fitting, key=len), line.line)
        return found

    def _edited(self, lines: Iterable[_Place]) -> _Place | None:
        """Return the only function that differs from the base; None if there is no such one."""
        at = list(lines)
        if not self.since or len(at) < 2:
            return None
        ranges = edited_ranges(self.root, self.since, sorted({line.path for line in at}))
        edited = [
            line
            for line in at
            if first_edit(self.root / line.path, line.line, ranges.get(line.path, ()))
        ]
        return edited[0] if len(edited) == 1 else None


def _blank(found: re.Match[str]) -> str:
    """Replace a comment with blanks and keep its line ends; strings stay."""
    text = found[0]
    return re.sub(r"[^\n]", " ", text) if text.startswith("/") else text


def _bodies(text: str, name: str, *, is_rust: bool) -> Iterator[int]:
    """Yield the offsets of a function's name where its definition has a body."""
    if name not in text:
        return
    if is_rust:
        begins = rf"^[ \t]*(?:[\w()\"]+\s+)*fn\s+({re.escape(name)})\s*[<(]"
        yield from (each.start(1) for each in re.finditer(begins, text, re.M))
        return
    for each in re.finditer(rf"(?<![^\s*&:]){re.escape(name)}\s*\(", text):
        line = text.rfind("\n", 0, each.start()) + 1
        if each.start() - line > _WIDEST:
            continue
        # A scope may open in the same line: namespace app { int f() { … } }
        before = re.split("[{};]", text[line : each.start()])[-1]
        if _is_type(before) and not _INITIALIZER.search(before):
            end = _behind_parameters(text, each.end())
            if end and _UP_TO_BODY.match(text, end):
                yield each.start()


def _is_type(before: str) -> bool:
    """Return whether a definition's name can follow in a line: nothing, attributes or a type."""
    rest = _ATTRIBUTES.sub("", before)
    while (outside := _PARENTHESES.sub("", rest)) != rest:
        rest = outside
    return not rest or _TYPE.fullmatch(rest) is not None


def _variables(text: str, name: str, *, is_rust: bool) -> Iterator[int]:
    """Yield the offsets of a variable's name where it is defined at the scope of a file.

    Lines that are indented are locals and members, unless they say `static`.
    """
    if name not in text:
        return
    begins = (
        rf"^[ \t]*(?:pub(?:\([^)\n]*\))?\s+)?static\s+(?:mut\s+)?({re.escape(name)})\s*:"
        if is_rust
        else rf"^(?:[ \t]+static\b|(?!{_NO_VARIABLE})(?=[A-Za-z_\[]))[^=;{{}}\n]*[\s*&>:\])]"
        rf"({re.escape(name)})\s*(?:\[[^\]\n]*\]\s*)*(?:=(?!=)|\{{|;)"
    )
    yield from (each.start(1) for each in re.finditer(begins, text, re.M))


def _behind_parameters(text: str, start: int) -> int:
    """Return the offset after the parenthesis that closes the parameters at `start`; 0 for none."""
    depth = 1
    for found in re.compile(r"[();{]").finditer(text, start):
        if found[0] in ";{":
            return 0
        depth += 1 if found[0] == "(" else -1
        if depth == 0:
            return found.end()
    return 0


def _ending(path: str, source: str) -> int:
    """Count the trailing parts that two paths share."""
    count = 0
    for a, b in zip(reversed(path.split("/")), reversed(source.split("/")), strict=False):
        if a != b:
            break
        count += 1
    return count
