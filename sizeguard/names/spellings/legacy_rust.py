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
    return "::".join(map(_unescaped, words))


def _unescaped(word: str) -> str:
    if word.startswith("_$"):
        word = word[1:]
    return _RUST_ESCAPE.sub(_character, word)


def _character(match: re.Match[str]) -> str:
    if not match[1]:
        return _RUST_ESCAPES[match[0]]
    code = int(match[1], 16)
    is_one = code < 0xD800 or 0xDFFF < code <= 0x10FFFF
    return chr(code) if is_one else match[0]
