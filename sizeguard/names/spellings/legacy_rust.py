"""Names of Rust in its older scheme: paths as in C++, with escapes in their words."""

from __future__ import annotations

import re

_RUST_ESCAPES = {
    "$LT$": "<",
    "$GT$": ">",
    "$RF$": "&",
    "$BP$": "*",
    "$C$": ",",
    "$SP$": "@",
    "$LP$": "(",
    "$RP$": ")",
    "..": "::",
}
_RUST_ESCAPE = re.compile(r"\$(?:LT|GT|RF|BP|C|SP|LP|RP)\$|\.\.|\$u([0-9a-f]{2,6})\$")
_LENGTH = re.compile(r"\d{1,9}")  # no name is longer
_PATH = re.compile(r"\w+(?:::\w+)+")


def legacy_rust(symbol: str) -> str:
    """Read _ZN4core3fmt5Write17h0123456789abcdefE: lengths, words and escapes.

    Empty for other names. Escapes are `$LT$` for < and `..` for ::.
    """
    words = []
    at = len("_ZN")
    while match := _LENGTH.match(symbol, at):
        at = match.end() + int(match[0])
        words.append(symbol[match.end() : at])
    if symbol[at:] != "E" or not words:
        return ""
    return "::".join(map(unescaped, words))


def implemented_for(word: str) -> tuple[str, ...]:
    """Return the path of the type in `_$LT$a..B$u20$as$u20$c..D$GT$`, which is <a::B as c::D>.

    A type without a path, such as &T, has the trait's path. Empty for a word without paths.
    """
    found = _PATH.search(unescaped(word))
    return tuple(found[0].split("::")) if found else ()


def unescaped(word: str) -> str:
    """Return a word of a path as it is written in the source: Vec<T> for Vec$LT$T$GT$."""
    if word.startswith("_$"):
        word = word[1:]
    return _RUST_ESCAPE.sub(_character, word)


def _character(match: re.Match[str]) -> str:
    if not match[1]:
        return _RUST_ESCAPES[match[0]]
    code = int(match[1], 16)
    is_one = code < 0xD800 or 0xDFFF < code <= 0x10FFFF
    return chr(code) if is_one else match[0]
