"""The grammar of Rust's mangled names (v0), as far as needed to find references in them."""

from __future__ import annotations

import re

# Symbols after a letter
_PATH = {
    "C": ("mark", "identifier"),
    "M": ("mark", "path", "type"),
    "X": ("mark", "path", "type", "path"),
    "Y": ("type", "path"),
    "N": ("letter", "path", "mark", "identifier"),
    "I": ("path", "arguments"),
    "B": ("number",),
}
_TYPE = _PATH | {
    "A": ("type", "constant"),
    "S": ("type",),
    "T": ("types",),
    "R": ("lifetime", "type"),
    "Q": ("lifetime", "type"),
    "P": ("type",),
    "O": ("type",),
    "F": ("binder", "abi", "types", "type"),
    "D": ("binder", "bounds", "lifetime"),
}
_ARGUMENT = {"L": ("number",), "K": ("constant",)}
_REPEATED = {"arguments": "argument", "types": "type", "bounds": "bound"}
_TERMINALS = {
    "letter": re.compile(r"[a-zA-Z]"),
    "number": re.compile(r"[0-9a-zA-Z]*_"),
    "mark": re.compile(r"(?:s[0-9a-zA-Z]*_)?"),
    "binder": re.compile(r"(?:G[0-9a-zA-Z]*_)?"),
    "lifetime": re.compile(r"(?:L[0-9a-zA-Z]*_)?"),
    "value": re.compile(r"p|[a-z]n?[0-9a-f]*_"),
    "basic": re.compile(r"[a-z]"),
}
# Terminals where no rule applies; a path and a bound always have one.
_LEAF = {"type": "basic", "argument": "basic", "constant": "value"}
_LENGTH = re.compile(r"u?(0|[1-9]\d{0,8}(?!\d))_?")
_ABI = re.compile(r"U?(?:KC|(K))?")


def references(name: str) -> list[tuple[int, int]] | None:
    """Find the references, such as B3_, to earlier parts of a name; None if it is malformed.

    name: without the suffix of a clone
    """
    found = []
    at = len("_R")
    todo = ["path"]
    while todo or at < len(name):
        symbol = todo.pop() if todo else "path"  # after the name, that of the instantiating crate
        letter = name[at : at + 1]
        if symbol in _REPEATED:
            if letter == "E":
                at += 1
            else:
                todo += [symbol, _REPEATED[symbol]]
        elif symbol in ("identifier", "abi", "associated"):
            end = _end_of_special(name, at, symbol, todo)
            if end is None:
                return None
            at = end
        elif rule := _rule(symbol, letter):
            if letter == "B":
                end = name.find("_", at) + 1
                if not end:
                    return None
                found.append((at, end))
            todo += reversed(rule)
            at += 1
        else:
            pattern = _TERMINALS.get(_LEAF.get(symbol, symbol))
            terminal = pattern.match(name, at) if pattern else None
            if terminal is None:
                return None
            at = terminal.end()
    return found


def _rule(symbol: str, letter: str) -> tuple[str, ...]:
    """Return the symbols that follow a letter; empty if the symbol is a terminal there."""
    if symbol == "path":
        return _PATH.get(letter, ())
    if symbol == "type":
        return _TYPE.get(letter, ())
    if symbol == "argument":
        return _ARGUMENT.get(letter, ()) or _TYPE.get(letter, ())
    if symbol == "bound":
        rule = _PATH.get(letter, ())
        return (*rule, "associated") if rule else ()
    return _PATH["B"] if symbol == "constant" and letter == "B" else ()


def _end_of_special(name: str, at: int, symbol: str, todo: list[str]) -> int | None:
    """Read an identifier, an ABI, or the bindings of a trait's types; return their end."""
    if symbol == "associated":
        if name[at : at + 1] != "p":
            return at
        todo += ["associated", "type", "identifier"]
        return at + 1
    if symbol == "abi":
        abi = _ABI.match(name, at)
        if abi is None:
            return None
        if abi[1]:
            todo.append("identifier")
        return abi.end()
    length = _LENGTH.match(name, at)
    if length is None or length.end() + int(length[1]) > len(name):
        return None
    return length.end() + int(length[1])
