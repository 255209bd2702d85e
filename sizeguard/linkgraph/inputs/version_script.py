"""Read version scripts and dynamic lists, which show or hide symbols."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from sizeguard.base.errors import InconclusiveError


@dataclass(frozen=True, slots=True)
class Visible:
    """Patterns as linkers match them.

    An exact name precedes a pattern; any other pattern precedes a bare `*`.
    """

    shown: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    def is_hidden(self, name: str) -> bool:
        """Return whether the strongest pattern that matches a name hides it."""
        if not self.hidden:
            return False
        for rank in _RANKS:
            if any(rank(pattern) and fnmatchcase(name, pattern) for pattern in self.shown):
                return False
            if any(rank(pattern) and fnmatchcase(name, pattern) for pattern in self.hidden):
                return True
        return False

    def is_shown(self, name: str) -> bool:
        """Return whether any pattern shows a name."""
        return any(fnmatchcase(name, pattern) for pattern in self.shown)


def _is_exact(pattern: str) -> bool:
    return not set(pattern) & set("*?[")


_RANKS: tuple[Callable[[str], bool], ...] = (
    _is_exact,
    lambda pattern: not _is_exact(pattern) and pattern != "*",
    lambda pattern: pattern == "*",
)


def parse_version_script(text: str, where: str) -> Visible:
    """Read the patterns of all versions together, since only visibility matters here.

    Raises InconclusiveError for patterns of C++ names.
    """
    text = re.sub(r"/\*.*?\*/|#[^\n]*", " ", text, flags=re.DOTALL)
    if re.search(r'\bextern\s+"C\+\+"', text):
        raise InconclusiveError(
            f'{where}: patterns of extern "C++" are not supported; name mangled symbols instead'
        )
    shown: list[str] = []
    hidden: list[str] = []
    current: list[str] | None = None
    for word in re.findall(r'global\s*:|local\s*:|"[^"]*"|[{};]|[^\s;{}]+', text):
        if word == "{":
            current = shown
        elif word == "}":
            current = None
        elif current is not None and word != ";":
            if re.fullmatch(r"local\s*:", word):
                current = hidden
            elif re.fullmatch(r"global\s*:", word):
                current = shown
            else:
                current.append(word.strip('"'))
    return Visible(tuple(shown), tuple(hidden))
