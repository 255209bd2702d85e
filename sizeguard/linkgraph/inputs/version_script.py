"""Read version scripts and dynamic lists, which show or hide symbols."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import translate
from functools import cached_property

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InconclusiveError


class _Ranked:
    """Patterns by rank: exact names, globs, and a bare `*`."""

    def __init__(self, patterns: Iterable[str]) -> None:
        """Sort the patterns; scripts may have thousands of names."""
        given = frozenset(patterns)
        names = frozenset(each for each in given if not set(each) & set("*?["))
        globs = [re.compile(translate(each)) for each in sorted(given - names - {"*"})]
        self._ranks: tuple[Callable[[str], bool], ...] = (
            names.__contains__,
            lambda name: any(glob.match(name) for glob in globs),
            lambda name: "*" in given,
        )

    def matches(self, name: str) -> Iterator[bool]:
        """Yield whether a pattern of each rank matches a name, the strongest rank first."""
        return (is_match(name) for is_match in self._ranks)


@dataclass(frozen=True)
class Visible:
    """Patterns as linkers match them.

    An exact name precedes a pattern; any other pattern precedes a bare `*`.
    """

    shown: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    @cached_property
    def _shown(self) -> _Ranked:
        return _Ranked(self.shown)

    @cached_property
    def _hidden(self) -> _Ranked:
        return _Ranked(self.hidden)

    def is_hidden(self, name: str) -> bool:
        """Return whether the strongest pattern that matches a name hides it."""
        if not self.hidden:
            return False
        both = zip(self._shown.matches(name), self._hidden.matches(name), strict=True)
        return next((not shows for shows, hides in both if shows or hides), False)

    def is_shown(self, name: str) -> bool:
        """Return whether any pattern shows a name."""
        return any(self._shown.matches(name))


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
