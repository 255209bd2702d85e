"""Read the build statements of build.ninja."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sizeguard.base.dataclass import dataclass

_WORD = re.compile(r"(?:\$.|[^\s$:|])+|:|\|{1,2}@?", re.S)
_ESCAPE = re.compile(r"\$(.)", re.S)


@dataclass(frozen=True, slots=True)
class Statement:
    """A build statement: the files it makes, its rule, and all files that it reads."""

    outputs: tuple[str, ...]
    rule: str
    inputs: tuple[str, ...]


def statements(text: str, rule: re.Pattern[str]) -> Iterator[Statement]:
    """Yield the statements whose rule matches."""
    for line in text.replace("$\r\n", "").replace("$\n", "").splitlines():
        if not line.startswith("build ") or not rule.search(line):
            continue
        words = _WORD.findall(line[len("build ") :])
        if ":" not in words:
            continue
        colon = words.index(":")
        name = words[colon + 1] if colon + 1 < len(words) else ""
        if rule.match(name):
            yield Statement(_paths(words[:colon]), name, _paths(words[colon + 2 :]))


def _paths(words: list[str]) -> tuple[str, ...]:
    return tuple(_ESCAPE.sub(r"\1", word) for word in words if not word.startswith("|"))
