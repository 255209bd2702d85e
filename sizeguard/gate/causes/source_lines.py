"""Find the source file and line of a symbol, from its object file if that is known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

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
_MOST_PLACES = 2  # more places are not useful
_COMMENT_OR_TEXT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S
)
# The text between a function's parameters and its body: qualifiers, attributes, a type, member
# initializers, and parameter declarations of old-style C
_UP_TO_BODY = re.compile(
    r"""\s*(?:
      (?:const|noexcept|override|final|volatile|try|throw|requires)\b\s*(?:\([^(){};]*\)\s*)?
    | &&?\s* | ->[^{};]* | [A-Z_][A-Z0-9_]*\b\s*(?:\([^(){};]*\)\s*)?
    | __attribute__\s*\(\([^{};]*?\)\)\s* | \[\[[^\]]*\]\]\s*
    | (?:[A-Za-z_][\w\s*,\[\]]*;\s*)+
    )*(?::(?!:)[^;{}]*(?:\{[^{};]*\}\s*,[^;{}]*|\{[^{};]*\}\s*(?=\{))*)?\{""",
    re.X,
)


@dataclass
class SourceLines:
    """The sources in a folder; objects are named after them.

    commit: the commit of another project's sources; empty if the build is not of a commit; None for
    the runtime's own sources
    """

    root: Path
    texts: dict[str, str] = field(default_factory=dict)
    commit: str | None = None

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

    def place(self, object_: str, symbol: str) -> str:
        """Find file and line of a symbol.

        native/operators/kernels/convolution.cpp:88 for libsg_kernels.a(convolution.cpp.o). Empty
        unless exactly one source fits.
        """
        if not object_:
            return self._anywhere(symbol) if self.commit else ""
        member = _MEMBER.fullmatch(object_)
        source = (member[1] if member else object_).removesuffix(".o")
        known = self.paths.get(Path(source).name, [])
        if not known and self.commit:
            return self._anywhere(symbol)  # an object of several sources
        fitting = (
            known if len(known) == 1 else [path for path in known if _ending(path, source) >= 2]
        )
        if len(fitting) != 1:
            return ""
        line = self._line(fitting[0], symbol)
        return f"{fitting[0]}:{line}" if line else fitting[0]

    def _anywhere(self, symbol: str) -> str:
        """Find the only place in all sources where the function begins."""
        found: list[str] = []
        for path in (each for paths in self.paths.values() for each in paths):
            is_file = (self.root / path).is_file()
            line = self._line(path, symbol) if is_file and len(found) < _MOST_PLACES else 0
            found += [f"{path}:{line}"] if line else []
        return found[0] if len(found) == 1 else ""

    def _line(self, path: str, symbol: str) -> int:
        """Find the line where the function of that name begins; 0 unless there is exactly one.

        It reads the source text only, because objects may lack debug information.
        """
        name = re.search(r"([A-Za-z_]\w*)(?:<.*>)?$", short_name(symbol))
        if not name:
            return 0
        if path not in self.texts:
            text = (self.root / path).read_text(encoding="utf-8", errors="replace")
            self.texts[path] = _COMMENT_OR_TEXT.sub(_blank, text)
        text = self.texts[path]
        found = list(_bodies(text, name[1], is_rust=path.endswith(".rs")))
        return text.count("\n", 0, found[0]) + 1 if len(found) == 1 else 0


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
    begins = (
        r"^(?:\[\[[^\]]*\]\]\s*)*(?:[ \t]*[A-Za-z_](?:[^=;(){}\n]|\([^;{}\n]*?\))*[\s*&:])?"
        rf"({re.escape(name)})\s*\("
    )
    for each in re.finditer(begins, text, re.M):
        end = _behind_parameters(text, each.end())
        if end and _UP_TO_BODY.match(text, end):
            yield each.start(1)


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
