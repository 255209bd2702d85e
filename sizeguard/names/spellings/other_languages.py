"""Scopes of symbols of other languages than C++ and Rust.

They are Swift, and those that demanglers leave as they are: Go, Zig, OCaml, D, Fortran, Ada and
Objective-C.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sizeguard.names.demangle import SWIFT
from sizeguard.names.spelling import shown_symbol
from sizeguard.names.spellings.patterns import WORD, NamePattern, is_global

_OF_D = re.compile(r"__?D(?=\d)")
# Arguments of a template of D, and parameters: scale!double, scale!(double), scale(int)*
_ARGUMENTS_OF_D = re.compile(r"(?:(?<!operator)!(?:\([^()]*\)|\w*)|(?<=[\w)])\([^()]*\))\*?")
_OF_FORTRAN = re.compile(r"__?_(\w+(?:\.\w+)?)_MOD_(\w+)")
_OF_OBJC = re.compile(r"[-+]\[(\w+)(?:\(\w*\))? ([\w:]+)\]")  # category in parentheses
_OF_ADA = re.compile(r"_?[a-z]\w*?__[a-z]\w*")
# An Ada program or library has one of these; C may have a__b for reasons of its own.
_ADAS = re.compile(r"_?(?:adainit|adafinal|_ada_\w+|__gnat_\w+|(?:ada|system)__\w+)")
_RESULT = re.compile(r" -> | : ")  # of Swift: app.Rows.gather(Swift.Int) -> ()
# Suffixes of clones and of local variables, which are not scopes: f.part.0, table.1
_CLONE = re.compile(
    r"(?:\.(?:part|isra|constprop|cold|lto_priv|llvm|localalias)(?:\.\d+)?|\.\d+)+\Z"
)


def symbol_in_scope(pattern: str, names: Iterable[str]) -> str:
    """Find a symbol of another language that a pattern would match with more scopes, or with `::`.

    Empty if there is none.
    """
    text = pattern.replace(".", "::")
    of_d = _ARGUMENTS_OF_D.sub("", text)
    words = WORD.findall(of_d)
    found = [name for name in names if all(word in _shown(name) for word in words)] if words else []
    if not found or is_global(pattern):
        return ""
    as_written, without_arguments = NamePattern.of(text), NamePattern.of(of_d)
    is_ada = any("__" in each for each in found) and any(map(_ADAS.fullmatch, names))
    for name in found:
        path = _scopes(name, is_ada=is_ada)
        wanted = without_arguments if _OF_D.match(name) else as_written
        if path and (wanted.matches("", path) or wanted.matches_part(path)):
            return _shown(name)
    return ""


def _shown(symbol: str) -> str:
    return shown_symbol(symbol) if symbol.startswith(SWIFT) else symbol


def _scopes(symbol: str, *, is_ada: bool) -> str:
    """Spell the scopes and the name of a symbol with `::`; empty if it has no scopes."""
    if symbol.startswith(("_Z", "__Z", "_R", "__R", "?")):
        return ""
    if symbol.startswith(SWIFT):
        return _RESULT.split(_shown(symbol), maxsplit=1)[0].replace(".", "::")
    if start := _OF_D.match(symbol):
        return "::".join(_words_of_d(symbol[start.end() :]))
    if of := _OF_FORTRAN.fullmatch(symbol):
        return f"{of[1].replace('.', '::')}::{of[2]}"
    if of := _OF_OBJC.fullmatch(symbol):
        return f"{of[1]}::{of[2]}"
    if is_ada and _OF_ADA.fullmatch(symbol):
        return symbol.removeprefix("_").replace("__", "::")
    symbol = _CLONE.sub("", symbol)
    return symbol.replace(".", "::") if re.search(r"\w\.\w", symbol) else ""


def _words_of_d(text: str) -> list[str]:
    """Return the names at the start of a mangled name, each after its length.

    A template's instance is __T7genericTfZ, with more lengths inside.
    """
    found = []
    while length := re.match(r"(?:__[TU])?(\d{1,4})", text):
        end = length.end() + int(length[1])
        word = text[length.end() : end]
        if word.startswith(("__T", "__U")):
            end, word = length.end(), ""
        found += [word] if word else []
        text = text[end:]
    return found
