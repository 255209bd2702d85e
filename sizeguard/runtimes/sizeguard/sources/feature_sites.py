"""Find the places where sources ask for a build feature, and what they add to an image."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sizeguard.runtimes.sizeguard.sources.tags import source_files

_ASKED = re.compile(r"(if constexpr\s*\(\s*)?SG_BUILD_FEATURE\((\w+)\)\s*(\)|\?)?")
_TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_RECORDED = re.compile(r"\brecord_\w+\([^)]*\);")
_FUNCTION = re.compile(r"[^;{}]*?\b([A-Za-z_]\w*)\(([^;{}]*)\)[^;{}()]*\{")
_KEYWORDS = frozenset(
    {
        "if",
        "for",
        "while",
        "switch",
        "return",
        "sizeof",
        "static_cast",
        "reinterpret_cast",
        "const_cast",
    }
)

# Shorter texts may stand anywhere.
_TELLING = 8


@dataclass(frozen=True, slots=True)
class FeatureSite:
    """One place that asks.

    with_: texts that stand in the image only with the feature, without: only without it.

    function: around it; calls: what it calls only with the feature
    """

    feature: str
    file: Path
    line: int
    function: str
    with_: tuple[str, ...]
    without: tuple[str, ...]
    calls: tuple[str, ...]


def read_features(sources: Sequence[Path]) -> tuple[FeatureSite, ...]:
    """All sites in the sources, in their order."""
    texts = {
        path: path.read_text(encoding="utf-8", errors="replace") for path in source_files(sources)
    }
    sites = []
    for path, text in texts.items():
        for match in _ASKED.finditer(text):
            line_start = text.rfind("\n", 0, match.start()) + 1
            if text[line_start : match.start()].lstrip().startswith(("#", "//")):
                continue
            sites.append(_site(path, text, match, texts.values()))
    return tuple(sites)


def build_features(sources: Sequence[Path]) -> frozenset[str]:
    """Return the names of all features that the sources ask for."""
    return frozenset(site.feature for site in read_features(sources))


def _site(path: Path, text: str, match: re.Match[str], texts: Iterable[str]) -> FeatureSite:
    kept = left = ""
    if match[1] and match[3] == ")":
        kept, end = _block(text, match.end())
        other = re.match(r"\s*else\s*(?=\{)", text[end:])
        if other:
            left, _ = _block(text, end + other.end())
    elif match[3] == "?":
        statement = text[match.end() : text.find(";", match.end())]
        kept, _, left = statement.partition(":")
    kept, left = _RECORDED.sub("", kept), _RECORDED.sub("", left)
    function, takes_text = _around(text, match.start())
    own = _texts(kept)
    if not own and takes_text:
        # invalid("…") hands its text on only with the feature.
        given = re.compile(rf'\b{re.escape(function)}\(\s*"((?:[^"\\\n]|\\.)*)"')
        own = [t for source in texts for t in given.findall(source)]
    calls = {name for name in _CALL.findall(kept) if name not in _KEYWORDS} - set(
        _CALL.findall(left)
    )
    line = text.count("\n", 0, match.start()) + 1
    return FeatureSite(
        match[2],
        path,
        line,
        function,
        _telling(own),
        _telling(_texts(left)),
        tuple(sorted(calls - {function})),
    )


def _texts(code: str) -> list[str]:
    return _TEXT.findall(code)


def _telling(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            text for text in texts if len(text) >= _TELLING and "\\" not in text and "%" not in text
        )
    )


def _block(text: str, start: int) -> tuple[str, int]:
    """Return the text between the braces that open at or after `start`, and the end."""
    opening = text.find("{", start)
    if opening < 0:
        return "", len(text)
    depth = 0
    for i in range(opening, len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return text[opening + 1 : i], i + 1
    return text[opening + 1 :], len(text)


def _around(text: str, position: int) -> tuple[str, bool]:
    """Find the function around a place, and whether it takes a string."""
    before = text[:position]
    depth = 0
    for i in range(len(before) - 1, -1, -1):
        depth += (before[i] == "}") - (before[i] == "{")
        if depth < 0:
            start = (
                max(before.rfind(";", 0, i), before.rfind("}", 0, i), before.rfind("\n\n", 0, i))
                + 1
            )
            match = _FUNCTION.match(before[start : i + 1])
            if match and match[1] not in _KEYWORDS:
                return match[1], "const char*" in match[2]
            depth = 0
    return "", False
